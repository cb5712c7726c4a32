"""Facets: how many of the documents that match a query have each value of a fact."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Value(NamedTuple):
    value: str
    documents: int  # that match the query and have it
    filter: str  # of the query language, for these documents alone


Facets = Mapping[str, Sequence[Value]]
"""The most frequent values of each facet, by its name: site, lang, type and year."""

FACTS = {"site": "host", "lang": "language", "type": "media_type"}
"""The fact of documents that a facet counts; the year comes from their dates."""


def facets(counts: Mapping[str, Mapping[str, int]], years: Mapping[int, int], most: int) -> Facets:
    """The `most` most frequent values of each facet, by count and then by value.

    `counts` has the documents found by facet and value, where "" is an unknown one, which is left out; `years` has them
    by year.
    """
    result = {
        name: [Value(value, documents, f"{name}:{value}") for value, documents in _top(values, most)]
        for name, values in counts.items()
    }
    result["year"] = [Value(f"{y:04d}", n, f"after:{y:04d} before:{y + 1:04d}") for y, n in _top(years, most)]
    return result


def _top(counts: Mapping[Any, int], most: int) -> list[tuple[Any, int]]:
    known = ((value, count) for value, count in counts.items() if value != "")
    return sorted(known, key=lambda found: (-found[1], found[0]))[:most]
