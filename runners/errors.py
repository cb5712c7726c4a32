"""Errors that end a command with one line on stderr and an exit code."""

from ..transforms.errors import BeamtrawlError


class Usage(BeamtrawlError):
    """The command line cannot be understood: exit 2."""


class StartError(Usage):
    """A crawl cannot start with the given input: no seed URL, no robot name, unknown options of Beam."""


class Failure(BeamtrawlError):
    """The command cannot be carried out: exit 1."""


class LockedError(Failure):
    """Another process writes to the crawl directory."""
