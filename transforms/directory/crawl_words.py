"""Words of a command line that name crawl directories, as `DIR` or `NAME=DIR`. Importing it imports no library."""

import os.path
import re
from collections.abc import Callable

_GIVEN = re.compile(r"([\w.-]+)=(.+)", re.DOTALL)
_PATH = re.compile(r"\.{0,2}/|~")
_REMOTE = re.compile(r"(?!https?:)\w[\w+.-]*://.", re.IGNORECASE)


def split(word: str, is_crawl: Callable[[str], bool]) -> tuple[str, str]:
    """The name that a word gives to a directory, empty if it gives none, and the directory.

    A directory whose own name has an equals sign is meant as it stands if it is a crawl.

    >>> split("docs=./a", lambda path: False), split("./a", lambda path: False), split("a=b", "a=b".__eq__)
    (('docs', './a'), ('', './a'), ('', 'a=b'))
    """
    given = _GIVEN.fullmatch(word)
    return (given[1], given[2]) if given and not is_crawl(word) else ("", word)


def names_crawl(word: str) -> bool:
    """Whether a word names a crawl directory, and is no word of a query: a crawl, or the path of any directory.

    So the command says of a directory without a crawl that it has none. `NAME=DIR` is no word of a query if DIR has a
    slash, and what is on a store is none either.
    """
    given, directory = split(word, is_local_crawl)
    if _REMOTE.match(directory) or is_local_crawl(directory):
        return True
    return "/" in directory if given else bool(_PATH.match(directory)) and os.path.isdir(directory)


def holds_crawl(word: str) -> bool:
    """Whether there is a crawl in the directory that a word names, on this machine."""
    return is_local_crawl(split(word, is_local_crawl)[1])


def is_local_crawl(path: str) -> bool:
    """Whether a path is a crawl directory on this machine."""
    try:
        return not _REMOTE.match(path) and os.path.isdir(os.path.join(path, "manifests"))
    except (OSError, ValueError):  # a query may be too long for a name, or have a null character
        return False
