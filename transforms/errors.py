"""Base class of the errors that a user of the program or of the library meets."""


class BeamtrawlError(Exception):
    """Base of all errors that Beamtrawl raises on purpose; the message is one line that names the way out."""
