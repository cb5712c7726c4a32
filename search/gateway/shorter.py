"""Shorter queries, which are offered where a query finds nothing."""

import re
from typing import NamedTuple

MAX_OFFERED = 6
"""The most shorter queries of a query: each costs a search."""

_PART = re.compile(r'[-+]?(?:\w+:)?"[^"]*"|\S+')
_OPERATORS = ("AND", "OR", "NOT")


class Shorter(NamedTuple):
    """A query without one of its parts."""

    left_out: str
    query: str


def shorter(query: str) -> list[Shorter]:
    """The queries without one of the words, phrases and filters of a query, filters first; none for a single part.

    >>> shorter("tide reef lang:ko")[0]
    Shorter(left_out='lang:ko', query='tide reef')
    """
    parts = _PART.findall(query)
    if len(parts) < 2 or any(part in _OPERATORS or "(" in part for part in parts):
        return []
    queries = [Shorter(part, " ".join(parts[:number] + parts[number + 1 :])) for number, part in enumerate(parts)]
    return sorted(queries, key=lambda offered: ":" not in offered.left_out)[:MAX_OFFERED]
