"""Queries without what is shown of hits, which takes longer than to rank them."""

from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.index.deadline import Deadline


def best(index: Index, text: str, most: int = 10) -> list[tuple[float, str]]:
    """(score, URL) of the best documents, as `Index.search` has them."""
    answer = index._answers.answer(text, most, "score", index._now(), Deadline())
    return [(candidate.score, candidate.url) for candidate in answer.candidates]
