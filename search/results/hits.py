"""What a search gives back."""

import dataclasses
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from .snippets import Snippet


@dataclasses.dataclass(frozen=True)
class Part:
    """What a word or a phrase of the query adds to the score of a hit."""

    text: str
    documents: int  # that have it
    frequencies: Mapping[str, int]  # how often the hit has it, by field
    score: float


@dataclasses.dataclass(frozen=True)
class Explanation:
    """How a score comes about: the sum of its parts, times links, quality and freshness."""

    parts: list[Part]
    links: float
    quality: float
    freshness: float


@dataclasses.dataclass(frozen=True)
class Hit:
    """A document that matches."""

    url: str
    title: str  # empty when the page has none
    snippet: Snippet
    score: float
    host: str
    language: str | None
    media_type: str | None
    noarchive: bool  # its site asks to show no copy
    round: int  # in which it was fetched
    fetched_at: datetime | None
    published_at: datetime | None
    explanation: Explanation | None = None


@dataclasses.dataclass(frozen=True)
class Results:
    """The answer to a query: one page of its hits, best first."""

    query: str
    total: int  # documents that match, on all pages
    hits: list[Hit]
    suggestion: str | None = None  # the query in another spelling, when there is no such word


@dataclasses.dataclass(frozen=True)
class Stored:
    """What is kept of a document."""

    url: str
    title: str
    text: str  # empty where `noarchive` is set
    language: str | None
    fetched_at: datetime | None
    noarchive: bool
    forms: Mapping[str, str]  # that its language has of the words of the query


def as_json(results: Results) -> dict[str, Any]:
    """The results as JSON values, in the shape that DESIGN section 4 promises."""
    help_with_spelling = {"suggestion": results.suggestion} if results.suggestion else {}
    hits = [_hit_as_json(hit) for hit in results.hits]
    return {"query": results.query, "total": results.total} | help_with_spelling | {"hits": hits}


def _hit_as_json(hit: Hit) -> dict[str, Any]:
    found = dataclasses.asdict(hit)
    found["snippet"] = "".join(piece for piece, _ in hit.snippet)
    for name in ("fetched_at", "published_at"):
        found[name] = found[name] and found[name].isoformat()
    if hit.explanation is None:
        del found["explanation"]
    return found
