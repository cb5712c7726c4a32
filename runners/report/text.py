"""Values of a crawl as text for people: harmless, and of bounded length."""

import unicodedata
from datetime import UTC, datetime
from typing import Any

from ..terminal.units import size, span
from .content import Kind

LONGEST = 160  # characters of a value

_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Categories of characters that are shown by number: controls, directional overrides, surrogates, unassigned."""


def visible(text: str, longest: int = LONGEST) -> str:
    """Return the text with invisible characters as numbers, and its middle cut out if it is too long.

    >>> visible("a\\u202eb\\x00"), visible("0123456789", 5)
    ('a⟨U+202E⟩b⟨U+0000⟩', '012…9')
    """
    if len(text) > longest:
        tail = longest // 4
        text = f"{text[: longest - tail - 1]}…{text[len(text) - tail :]}"
    return "".join(f"⟨U+{ord(c):04X}⟩" if unicodedata.category(c) in _INVISIBLE else c for c in text)


def show(value: Any, kind: Kind = "text") -> str:
    """Return a value as text; empty for None.

    >>> show(1234567, "count"), show(1234567, "bytes"), show(5000, "seconds"), show(0.5, "share"), show(None)
    ('1,234,567', '1.2 MB', '1.4 h', '50.0 %', '')
    """
    if value is None:
        return ""
    match kind:
        case "count":
            return f"{value:,.0f}"
        case "number":
            return f"{value:,.1f}" if abs(value) < 100 and value % 1 else f"{value:,.0f}"
        case "bytes":
            return size(value)
        case "seconds":
            return span(value)
        case "ms":
            return f"{value:,.0f} ms"
        case "share":
            return f"{100 * value:.1f} %"
        case "change":
            return f"{100 * value:+.1f} %"
        case "time":
            return _time(value)
    return visible(str(value))


def sort_key(value: Any, kind: Kind) -> str:
    """Return what a column sorts by: a number, or empty for texts and None."""
    if value is None or kind in ("text", "right"):
        return ""
    return f"{value.timestamp():.0f}" if isinstance(value, datetime) else f"{value:.10g}"


def _time(value: datetime) -> str:
    return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
