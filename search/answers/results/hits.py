"""The results of a search, as data."""

import dataclasses
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from .facets import Facets
from .snippets import Snippet


@dataclasses.dataclass(frozen=True)
class Part:
    """The part of a hit's score that a word, a phrase, a pair of words or a name of the query adds."""

    text: str  # of an exact form in quotation marks, of the name of a section after "#"
    documents: int  # that contain it
    frequencies: Mapping[str, int]  # in the hit, by field
    score: float


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The explanation of a score: the sum of its parts, times links, quality and freshness."""

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
    noarchive: bool  # the page forbids showing a copy, by noarchive or nosnippet
    round: int  # of the fetch
    fetched_at: datetime | None
    published_at: datetime | None
    explanation: Explanation | None = None
    facts: Mapping[str, list[str]] = dataclasses.field(default_factory=dict)  # values by name; none for `nosnippet`
    crawl: str | None = None  # its name, if several crawls are searched
    section_url: str | None = None  # `url` with the id of the section of the snippet; None: the snippet is of the top
    path: tuple[str, ...] = ()  # the headings above the snippet, outermost first
    is_weaker: bool = False  # beyond the `total`: it lacks a phrase


@dataclasses.dataclass(frozen=True)
class Results:
    """One page of the hits of a query, best first."""

    query: str
    total: int  # documents that match, on all pages
    hits: list[Hit]
    suggestion: str | None = None  # the query in another spelling, if no document contains a word
    notes: tuple[str, ...] = ()  # on parts of the query that cannot be used as they were meant
    facets: Facets = dataclasses.field(default_factory=dict)  # empty unless asked for
    next: str | None = None  # the cursor of the hits after these; None if there are none, or if it would not be right
    is_partial: bool = False  # the time ran out: some documents were not compared, and `total` has only those found
    weaker: int = 0  # further documents, which follow all others: `Hit.is_weaker`
    unknown_words: tuple[str, ...] = ()  # of the query, that no document has, nor one like them; none without hits


@dataclasses.dataclass(frozen=True)
class Stored:
    """The stored text of a document."""

    url: str
    title: str
    text: str  # empty where `noarchive` is set
    language: str | None
    fetched_at: datetime | None
    noarchive: bool
    forms: Mapping[str, str]  # forms of the query's words, each with its word
    crawl: str | None = None  # as of a hit


def as_json(results: Results) -> dict[str, Any]:
    """The results as JSON values, for `search --json` and the API of the gateway."""
    help_with_spelling: dict[str, Any] = {"suggestion": results.suggestion} if results.suggestion else {}
    help_with_spelling |= {"unknown_words": list(results.unknown_words)} if results.unknown_words else {}
    notes = {"notes": list(results.notes)} if results.notes else {}
    hits = [_hit_as_json(hit) for hit in results.hits]
    facets = {name: [value._asdict() for value in values] for name, values in results.facets.items()}
    help_with_filters = {"facets": facets} if facets else {}
    partial = {"partial": True} if results.is_partial else {}
    next_ = {"next": results.next} if results.next else {}
    weaker = {"weaker": results.weaker} if results.weaker else {}
    fields = {"query": results.query, "total": results.total} | weaker | partial | help_with_spelling | notes
    return fields | {"hits": hits} | next_ | help_with_filters


def _hit_as_json(hit: Hit) -> dict[str, Any]:
    fields = dataclasses.asdict(hit)
    fields["snippet"] = str(hit.snippet)
    for name in ("fetched_at", "published_at"):
        fields[name] = fields[name] and fields[name].isoformat()
    fields["path"] = list(hit.path)
    for name in ("explanation", "facts", "crawl", "section_url", "path", "is_weaker"):
        if not fields[name]:
            del fields[name]
    return fields
