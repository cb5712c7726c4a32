"""Queries without what is shown of hits, which takes longer than to rank them."""

from beamtrawl.search.query.parse import parse
from beamtrawl.search.searcher import Index


def best(index: Index, text: str, most: int = 10) -> list[tuple[float, str]]:
    """(score, URL) of the best documents, as `Index.search` has them."""
    asked = parse(text)
    _, candidates = index._best(asked, index._scored(asked), most)
    return [(-candidate.negated_score, candidate.url) for candidate in candidates]
