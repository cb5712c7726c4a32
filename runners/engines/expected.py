"""Errors with a message for the user that occur inside a pipeline, where Beam wraps them."""

import contextlib
import re
from collections.abc import Iterator

from ...transforms.outcomes import BeamtrawlError
from ..terminal.errors import Failure

_LINE = re.compile(r"^(?:RuntimeError: )?beamtrawl\.[\w.]+: (.+)$", re.MULTILINE)
_STEP = re.compile(r"\s*\[while running '[^']*'\]\s*")


@contextlib.contextmanager
def reporting() -> Iterator[None]:
    """Raise a Failure with the message for the user where a pipeline fails with an error that has one."""
    try:
        yield
    except Exception as error:
        if message := message_of(error):
            raise Failure(message) from error
        raise


def message_of(error: Exception) -> str | None:
    """Return the message for the user; None if the error has none.

    In this process Beam raises the error with the step added to its message; from a worker process comes the text of a
    traceback.
    """
    lines = [str(error)] if isinstance(error, BeamtrawlError) else _LINE.findall(str(error))
    return _STEP.sub("", lines[-1]).strip() if lines else None
