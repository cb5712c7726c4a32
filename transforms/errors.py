"""Base classes of the errors that a user of the program or of the library meets."""

import errno
import os

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
MAKE_ROOM = "make room there"
"""The remedy in the line of a full disk."""

_NOT_ALLOWED = {errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR}


class BeamtrawlError(Exception):
    """Base of all errors that Beamtrawl raises on purpose; the message is one line that names the way out."""

    is_usage = False  # whether a command line or settings cannot be understood: exit code 2


class CrawlDirError(BeamtrawlError):
    """A crawl directory that cannot be read or written; the message is one line that states the remedy."""


class QueryTimeout(BeamtrawlError):
    """A query that took longer than its limit."""


class DiskError(CrawlDirError, OSError):
    """A file that cannot be written."""

    @classmethod
    def of(cls, path: str, error: OSError) -> "DiskError":
        """The error with the path of the file, the reason and the remedy; a path replaces that of another DiskError."""
        if isinstance(error, cls) and isinstance(error.__cause__, OSError):
            error = error.__cause__
        if error.errno == errno.EFBIG:
            remedy = "raise the limit of file sizes (ulimit -f) and run the command again; what is committed is safe"
        elif error.errno in _NO_ROOM:
            remedy = f"{MAKE_ROOM} and run the command again; what is committed is safe"
        elif error.errno in _NOT_ALLOWED:
            remedy = "name a directory that you may write"
        else:
            remedy = "check the disk and run the command again; what is committed is safe"
        return cls(f"cannot write {path}: {reason(error)}; {remedy}")


class StoreError(DiskError):
    """An object store that cannot be read or written."""


def is_full(error: BaseException | None) -> bool:
    """Whether a file could not be written since its disk is full, or the quota of its owner.

    >>> is_full(DiskError("x")), is_full(OSError(errno.ENOSPC, "full")), is_full(OSError(errno.EIO, "broken"))
    (False, True, False)
    """
    while error is not None:
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            return True
        error = error.__cause__
    return False


def reason(error: Exception) -> str:
    """The reason of a failed file operation, without the path, in one line."""
    if isinstance(error, OSError) and error.errno and not isinstance(error, DiskError):
        return os.strerror(error.errno)
    return (str(error) or type(error).__name__).splitlines()[0]
