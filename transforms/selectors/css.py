"""Splits CSS selectors into what the parser's engine evaluates, and what is read of the elements that it finds."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import turbohtml

from .xpath import MAX_LENGTH

_PART = re.compile(r"(.*?)::(?:(text)|attr\(\s*([\w-]+)\s*\))\s*", re.DOTALL | re.IGNORECASE)
_PIECE = re.compile(r"""\\.|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[(\[]|[)\]]|,|[^\\"'()\[\],]+|.""", re.DOTALL)


class CssPath(NamedTuple):
    """A selector; `part` is the name of an attribute, "text()" for the text nodes, or "" for the elements."""

    selector: str
    part: str = ""


def css_paths(css: str, takes_parts: bool) -> list[CssPath]:
    """The selectors of a list (Selectors Level 4), in one if none ends with a part. ValueError with the reason.

    With `takes_parts`, a selector may end with `::attr(NAME)` or `::text`, as in parsel.

    >>> css_paths("#a p, li > a::attr(HREF)", True)
    [CssPath(selector='#a p', part=''), CssPath(selector='li > a', part='href')]
    """
    if len(css) > MAX_LENGTH:
        raise ValueError(f"has more than {MAX_LENGTH} characters")
    if any("|" in piece.replace("|=", "") for piece in _PIECE.findall(css) if piece[0] not in "\"'\\"):
        raise ValueError("has the prefix of a namespace; elements of pages have none")
    found = [_path(selector, takes_parts) for selector in _selectors(css)] if "::" in css else [CssPath(css)]
    for path in found:
        try:
            _EMPTY.select(path.selector)
        except turbohtml.SelectorSyntaxError as error:
            reason = str(error).rpartition('": ')[2]
            raise ValueError(f"is no CSS selector that can be used: {reason}") from error
        if path.selector.lower().count(":has(") > 1:
            raise ValueError("has several of :has(), where they cost too much")
    return found


_EMPTY = turbohtml.parse("")


def _path(selector: str, takes_parts: bool) -> CssPath:
    selector = selector.strip()
    if "::" not in selector:
        return CssPath(selector)
    if takes_parts and (match := _PART.fullmatch(selector)):
        return CssPath(match[1], "text()" if match[2] else match[3].lower())
    known = "; known are ::text and ::attr(NAME)" if takes_parts else ", which this key cannot have"
    raise ValueError(f"has a pseudo-element{known}")


def _selectors(css: str) -> Iterator[str]:
    """The selectors between commas that are in no string, bracket or parenthesis."""
    pieces, depth = list[str](), 0
    for piece in _PIECE.findall(css):
        depth += (piece in ("(", "[")) - (piece in (")", "]"))
        if piece == "," and not depth:
            yield "".join(pieces)
            pieces = []
        else:
            pieces.append(piece)
    yield "".join(pieces)
