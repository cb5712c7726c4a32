"""Beam as a program or notebook of a user needs it: without its log, and without its notebook mode."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

_lock = threading.Lock()
_users, _undo = 0, ExitStack()


@contextmanager
def plain_beam() -> Iterator[None]:
    """`quiet` and `not_in_notebook` while any thread of the program is in here."""
    global _users  # noqa: PLW0603 - what they change is global, too
    with _lock:
        if not _users:
            _undo.enter_context(quiet())
            _undo.enter_context(not_in_notebook())
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                _undo.close()


@contextmanager
def quiet() -> Iterator[None]:
    """Drop what Beam logs below ERROR; everything of the program's own logging is as before afterwards.

    Beam logs through the root logger while it is imported, which would also configure it.
    """
    root, of_beam = logging.getLogger(), logging.getLogger("apache_beam")
    handler, level = logging.NullHandler(), of_beam.level  # a root logger with a handler counts as configured
    root.addHandler(handler)
    root.addFilter(_is_wanted)
    of_beam.setLevel(max(level, logging.ERROR))
    try:
        yield
    finally:
        of_beam.setLevel(level)
        root.removeFilter(_is_wanted)
        root.removeHandler(handler)


@contextmanager
def not_in_notebook() -> Iterator[None]:
    """Let Beam run pipelines in IPython as anywhere else.

    There, Beam 2.77 imports its interactive mode for each transform, which needs pandas below 3, renames the steps and
    leaves temporary folders behind. Nothing of Beam turns that off.
    """
    from apache_beam import pipeline  # noqa: PLC0415 - Beam is imported by who starts a crawl
    from apache_beam.utils import interactive_utils  # noqa: PLC0415

    before = pipeline.is_in_ipython, interactive_utils.is_in_ipython
    pipeline.is_in_ipython = interactive_utils.is_in_ipython = _never
    try:
        yield
    finally:
        pipeline.is_in_ipython, interactive_utils.is_in_ipython = before


def _never() -> bool:
    return False


def _is_wanted(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.ERROR or "apache_beam" not in record.pathname
