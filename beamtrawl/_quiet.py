"""Keeps Beam's log records below ERROR out of a program that only wants to crawl."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet_beam() -> Iterator[None]:
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


def _is_wanted(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.ERROR or "apache_beam" not in record.pathname
