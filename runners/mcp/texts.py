"""Ids of documents, and texts in parts of bounded size. Pure functions."""

from collections.abc import Container
from typing import NamedTuple

from ...transforms.urls.canonical import canonicalize

MAX_TITLE = 300
"""The most characters of a title."""


class Id(NamedTuple):
    """What names a document."""

    url: str  # canonical
    crawl: str | None = None

    def __str__(self) -> str:
        return f"{self.crawl}:{self.url}" if self.crawl else self.url


def parse_id(text: str, crawls: Container[str]) -> Id | None:
    """The document that an id names: its URL, or `CRAWL:URL` if there are several crawls; None if it is neither.

    >>> parse_id("docs:HTTP://a.test", ["docs"]), parse_id("a.test", ["docs"])
    (Id(url='http://a.test/', crawl='docs'), None)
    """
    crawl, _, rest = text.partition(":")
    if not rest.startswith("//") and crawl in crawls:
        url = canonicalize(rest)
        return Id(url, crawl) if url else None
    url = canonicalize(text)
    return Id(url) if url else None


class Piece(NamedTuple):
    """A part of a text."""

    text: str
    next: int | None  # where the next part begins, in characters; None at the end


def piece(text: str, offset: int, most_bytes: int) -> Piece:
    """The part of a text from a character on, of at most so many bytes in UTF-8 (at least 4).

    >>> piece("tides", 1, 4), piece("tides", 1, 3), piece("mañana", 0, 3), piece("tides", 9, 3)
    (Piece(text='ides', next=None), Piece(text='ide', next=4), Piece(text='ma', next=2), Piece(text='', next=None))
    """
    found = text[offset : offset + most_bytes].encode(errors="replace")[:most_bytes].decode(errors="ignore")
    end = offset + len(found)
    return Piece(found, end if found and end < len(text) else None)


def shortened(text: str, longest: int = MAX_TITLE) -> str:
    """A text in one line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
