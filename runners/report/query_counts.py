"""What a query log says: how often each query was asked, and which find nothing."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from ...search.gateway.query_log import files_of, parse_line


class QueryCounts(NamedTuple):
    """Counts of queries, each in the form of `normalised`."""

    asked: Counter[str]
    pages: dict[str, int]  # that the newest of equal queries found
    first: datetime | None  # UTC; None without a query
    last: datetime | None
    unreadable: int  # lines

    def without_pages(self) -> list[tuple[str, int]]:
        """The queries that found nothing when they were asked last, the most frequent first, with their counts."""
        return [(query, count) for query, count in ranked(self.asked) if not self.pages[query]]


def ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    """Names with their counts, the largest first, equal ones by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def normalised(query: str) -> str:
    """The form in which queries are counted together.

    >>> normalised(" Fish   soup")
    'fish soup'
    """
    return " ".join(query.casefold().split())


def count_queries(lines: Iterable[str]) -> QueryCounts:
    """The counts of the lines of a log, in any order of time."""
    asked: Counter[str] = Counter()
    newest: dict[str, tuple[datetime, int]] = {}
    first = last = None
    unreadable = 0
    for line in lines:
        if (found := parse_line(line)) is None:
            unreadable += 1
            continue
        query = normalised(found.query)
        asked[query] += 1
        newest[query] = max(newest.get(query, (found.at, found.pages)), (found.at, found.pages))
        first, last = min(first or found.at, found.at), max(last or found.at, found.at)
    return QueryCounts(asked, {query: pages for query, (_, pages) in newest.items()}, first, last, unreadable)


def read_query_log(path: Path) -> QueryCounts:
    """The counts of a log with its older files; OSError if the newest cannot be read.

    Memory: as the log, which is at most 100 MB (`query_log.FILE_BYTES`).
    """

    def lines() -> Iterable[str]:
        for file in files_of(path):
            with file.open(encoding="utf-8", errors="replace") as text:
                yield from text

    return count_queries(lines())
