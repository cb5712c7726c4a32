"""Where this program may keep files that it can make again at any time."""

import os
from collections.abc import Mapping
from pathlib import Path


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the program's folder in the user's cache directory (XDG Base Directory Specification); None without one.

    >>> cache_folder({"HOME": "/home/a"}), cache_folder({"HOME": "/home/a", "XDG_CACHE_HOME": "/var/cache/a"})
    (PosixPath('/home/a/.cache/beamtrawl'), PosixPath('/var/cache/a/beamtrawl'))
    >>> cache_folder({"HOME": "/home/a", "XDG_CACHE_HOME": "relative"})  # such values are to be ignored
    PosixPath('/home/a/.cache/beamtrawl')
    >>> cache_folder({})
    """
    home = environment.get("HOME", "")
    for folder in (environment.get("XDG_CACHE_HOME", ""), home and f"{home}/.cache"):
        if Path(folder).is_absolute():
            return Path(folder, "beamtrawl")
    return None
