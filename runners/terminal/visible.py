"""Shows the characters of untrusted text that a terminal would act on, in all that the program prints."""

import io
import re
import sys
from typing import TextIO

_ACTED_ON = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ud800-\udfff]")
r"""Control characters but tab and line feed (C0, DEL, C1), marks and overrides of the direction of text, separators of
lines and paragraphs, the byte order mark, and lone surrogates, which no charset can encode. Joiners and other invisible
characters that several scripts need, and that move nothing, are left."""


def visible(text: str) -> str:
    r"""The text with such characters as `\uXXXX`, which in JSON stands for the same character.

    >>> visible("a\x1b[2J\u202eb\tc\n")
    'a\\u001b[2J\\u202eb\tc\n'
    """
    return _ACTED_ON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class VisibleStream(io.TextIOWrapper):
    """A text stream that writes `visible` text. Its `buffer` writes bytes as they are."""

    def write(self, text: str) -> int:
        super().write(visible(text))
        return len(text)

    def for_drawing(self) -> TextIO:
        """A stream to the same terminal that passes everything on, for control sequences of the program's own."""
        self.flush()
        return open(self.fileno(), "w", encoding=self.encoding, errors=self.errors, closefd=False)


def make_visible() -> None:
    """Replace stdout and stderr by streams of visible text; what they cannot encode becomes an escape, too."""
    sys.stdout = sys.__stdout__ = _visible_stream(sys.stdout)  # type: ignore[misc, assignment]  # the old ones have no buffer
    sys.stderr = sys.__stderr__ = _visible_stream(sys.stderr)  # type: ignore[misc, assignment]


def _visible_stream(stream: TextIO) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper):  # another stream, as tests have
        return stream
    encoding, lines = stream.encoding, stream.line_buffering
    return VisibleStream(stream.detach(), encoding=encoding, errors="backslashreplace", line_buffering=lines)
