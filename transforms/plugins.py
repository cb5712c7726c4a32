"""Plug-ins: what installed packages offer under the entry points of ours, and what we offer there ourselves."""

from importlib import metadata
from typing import Any

from .errors import BeamtrawlError

PARSERS = "beamtrawl.parsers"
OBSERVERS = "beamtrawl.observers"
DOWNLOADERS = "beamtrawl.downloaders"


class PluginError(BeamtrawlError, ValueError):
    """A plug-in that cannot be used; the message names it, and what there is instead."""


def load(group: str, name: str) -> Any:
    """What the entry point of a group and a name stands for; PluginError if there is none, or it cannot be had."""
    found = next(iter(metadata.entry_points(group=group, name=name)), None)
    if found is None:
        installed = ", ".join(sorted(metadata.entry_points(group=group).names)) or "none; was this version installed?"
        raise PluginError(f'no "{name}" is installed among {group}; there are: {installed}')
    try:
        return found.load()
    except (ImportError, AttributeError) as error:
        raise PluginError(f'"{name}" among {group} cannot be loaded: {error}') from error
