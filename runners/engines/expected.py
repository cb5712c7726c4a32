"""Errors with a message for the user that occur inside a pipeline: Beam logs them with tracebacks and wraps them."""

import contextlib
import io
import logging
import re
from collections.abc import Iterator
from typing import TextIO

from ...transforms.errors import BeamtrawlError
from ..errors import Failure

_LOGGERS = ("apache_beam.runners.common", "apache_beam.runners.worker.sdk_worker")
_LINE = re.compile(r"^(?:\w+: )?beamtrawl\.[\w.]+: (.+)$", re.MULTILINE)
_STEP = re.compile(r"\s*\[while running '[^']*'\]\s*")


def drop_logs() -> None:
    """Make Beam log no traceback in this process for an error that a command reports in one line."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_is_unexpected)


class WithoutExpected(io.TextIOBase):
    """A stream for sys.stderr of a worker: drops the tracebacks of such errors, which Beam prints."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._has_dropped = False

    def write(self, text: str) -> int:
        is_end = self._has_dropped and text == "\n"  # of the dropped text
        self._has_dropped = text.startswith("Traceback ") and _LINE.search(text) is not None
        if not (self._has_dropped or is_end):
            self._stream.write(text)
            self._stream.flush()
        return len(text)

    def fileno(self) -> int:
        return self._stream.fileno()


def failure_of(error: Exception) -> Failure | None:
    """Return the failure of a pipeline with the message for the user; None if the error has none.

    In this process Beam raises the error with the step added to its message; from a worker process comes the text of a
    traceback.
    """
    lines = [str(error)] if isinstance(error, BeamtrawlError) else _LINE.findall(str(error))
    return Failure(_STEP.sub("", lines[-1]).strip()) if lines else None


@contextlib.contextmanager
def reporting() -> Iterator[None]:
    """Raise `failure_of` errors of the body."""
    try:
        yield
    except Exception as error:
        if failure := failure_of(error):
            raise failure from error
        raise


def _is_unexpected(record: logging.LogRecord) -> bool:
    if record.exc_info and isinstance(record.exc_info[1], BeamtrawlError):
        return False
    return _LINE.search(record.getMessage()) is None
