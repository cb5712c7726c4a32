"""Errors that end a command with one line on stderr and an exit code, and how other exceptions are shown."""

import traceback

from ...transforms.outcomes import MAKE_ROOM, BeamtrawlError

__all__ = ["BEAM_REPEATS", "MAKE_ROOM", "Failure", "LockedError", "StartError", "Usage", "full_traceback", "one_line"]


class Usage(BeamtrawlError):
    """The command line cannot be understood: exit 2."""

    is_usage = True


class StartError(Usage):
    """A crawl cannot start with the given input: no seed URL, no robot name, unknown options of Beam."""


class Failure(BeamtrawlError):
    """The command cannot be carried out: exit 1."""


class LockedError(Failure):
    """Another process writes to the crawl directory."""


BEAM_REPEATS = ("apache_beam.runners.common", "apache_beam.runners.worker.sdk_worker", "grpc._server")
"""Loggers with which Beam and gRPC log exceptions that also end the pipeline in the driver."""

_AGAIN = "\n\nDuring handling of the above exception, another exception occurred:\n\n"
_STEP = " [while running '"


def one_line(error: Exception) -> str:
    """Return the type and message of an exception in one line; of our own, the message.

    Beam passes an exception in a worker process on as text, with its traceback; the line is that exception's.

    >>> text = "Traceback (…):\\n  File 'x', line 1\\nValueError: not\\na number [while running 'Read']"
    >>> one_line(RuntimeError(text)), one_line(OSError("disk full"))
    ("ValueError: not a number [while running 'Read']", 'OSError: disk full')
    """
    lines = str(error).splitlines()
    frames = [number for number, line in enumerate(lines) if line.startswith(("Traceback (", "  File "))]
    if frames:
        lines = [line for line in lines[frames[-1] + 1 :] if not line.startswith("  ")]
    message = " ".join(line.strip() for line in lines if line.strip()) or "no message"
    return message if frames or isinstance(error, BeamtrawlError) else f"{type(error).__name__}: {message}"


def full_traceback(error: BaseException) -> str:
    """Return an exception's traceback, without Beam's repetition of it.

    Beam raises an exception of a DoFn again, with the step's name added.
    """
    text = "".join(traceback.format_exception(error)).rstrip()
    first, again, repeated = text.rpartition(_AGAIN)
    return first if again and _STEP in repeated else text
