"""What a search gives back."""

import dataclasses
from datetime import datetime
from typing import Any

from search.snippets import Snippet


@dataclasses.dataclass(frozen=True)
class Hit:
    """A document that matches."""

    url: str
    title: str  # empty when the page has none
    snippet: Snippet
    score: float
    host: str
    language: str | None
    round: int  # in which it was fetched
    fetched_at: datetime | None


@dataclasses.dataclass(frozen=True)
class Results:
    """The answer to a query: one page of its hits, best first."""

    query: str
    total: int  # documents that match, on all pages
    hits: list[Hit]


def as_json(results: Results) -> dict[str, Any]:
    """The results as JSON values, in the shape that DESIGN section 4 promises."""
    hits = [
        dataclasses.asdict(hit)
        | {
            "snippet": "".join(piece for piece, _ in hit.snippet),
            "fetched_at": hit.fetched_at and hit.fetched_at.isoformat(),
        }
        for hit in results.hits
    ]
    return {"query": results.query, "total": results.total, "hits": hits}
