"""Loads plug-ins, which installed packages declare as entry points. The built-in ones are declared in setup.py."""

import functools
import sys
from collections.abc import Sequence
from importlib import metadata
from typing import Any

from .outcomes import BeamtrawlError, meant

PARSERS = "beamtrawl.parsers"
OBSERVERS = "beamtrawl.observers"
DOWNLOADERS = "beamtrawl.downloaders"
URL_FILTERS = "beamtrawl.url_filters"
SCORERS = "beamtrawl.scorers"
EXPORTERS = "beamtrawl.exporters"


class PluginError(BeamtrawlError, ValueError):
    """A plug-in that cannot be loaded or configured; the message names it and the installed alternatives."""

    is_usage = True


@functools.lru_cache(maxsize=1)
def _installed(path: Sequence[str]) -> Any:  # of another class in Python 3.11 than later
    """The entry points of all packages in the folders of `sys.path`: reading them takes some 25 ms."""
    return metadata.entry_points()


def _of_group(group: str) -> metadata.EntryPoints:
    points: metadata.EntryPoints = _installed(tuple(sys.path)).select(group=group)
    return points


def names(group: str) -> set[str]:
    """The names of the entry points of a group that are installed."""
    return set(_of_group(group).names)


@functools.cache
def load(group: str, name: str) -> Any:
    """The object that the entry point of a group and a name refers to; PluginError if it cannot be loaded."""
    found = next(iter(_of_group(group).select(name=name)), None)
    if found is None:
        hint = meant(name, sorted(names(group)) or ["none; is its package installed?"], "there are:")
        raise PluginError(f'no "{name}" is installed among {group}{hint}')
    try:
        return found.load()
    except (ImportError, AttributeError) as error:
        raise PluginError(f'"{name}" among {group} cannot be loaded: {error}') from error
