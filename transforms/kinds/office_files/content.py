"""Collects what is read of a file, within bounds of text and time."""

import time
from typing import Any

_MAX_HEADINGS = 500
_MAX_LINKS = 10_000
_MAX_REFERENCE = 4_096  # characters


class Unreadable(Exception):
    """The file cannot be read at all; the message says why."""


class Enough(Exception):
    """A bound is reached: what was read before is the content."""


class Content:
    """The content of a file. `line` raises Enough when the text has `max_text` characters, or the time is over.

    `ends_at` is in seconds of CPU time of this process.
    """

    def __init__(self, max_text: int, ends_at: float) -> None:
        self.metadata: dict[str, str] = {}
        self.headings: list[str] = []
        self._lines: list[str] = []
        self._links: dict[tuple[str, str], None] = {}
        self._left, self._ends_at = max_text, ends_at
        self.initial = ""  # begins the next line

    def line(self, text: str, is_heading: bool = False) -> None:
        """Add a block of text; white space is collapsed, and an empty block is left out."""
        if time.process_time() >= self._ends_at:
            raise Enough
        text, self.initial = " ".join((self.initial + text).split()), ""
        if not text:
            return
        self._lines.append(text[: self._left])
        if is_heading and len(self.headings) < _MAX_HEADINGS:
            self.headings.append(text)
        self._left -= len(text) + 1
        if self._left <= 0:
            raise Enough

    def link(self, reference: str, anchor: str = "") -> None:
        if reference and len(reference) <= _MAX_REFERENCE and len(self._links) < _MAX_LINKS:
            self._links[reference, " ".join(anchor.split())] = None

    def fact(self, name: str, text: str | None) -> None:
        """Add a value to the metadata; the first one of a name counts."""
        if text and (text := " ".join(text.split())):
            self.metadata.setdefault(name, text)

    def result(self, is_cut: bool) -> dict[str, Any]:
        """What JSON can hold; `is_cut` says that content was left out for a bound."""
        return {
            "text": "\n".join(self._lines),
            "headings": self.headings,
            "links": list(self._links),
            "metadata": self.metadata,
            "is_cut": is_cut,
        }
