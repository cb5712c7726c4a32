"""Selects the URLs of a host that a round fetches."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa

from ..urls.canonical import neatness
from .priority import EQUAL, Quota, UrlClass, pick


class Due(NamedTuple):
    """A frontier row as the fetch step uses it."""

    url_key: bytes
    url: str
    host: str
    depth: int
    priority: float
    referrer: str | None
    etag: str | None
    last_modified: str | None
    discovered_round: int
    redirects: int
    failures: int
    digest: bytes | None = None
    kind: str | None = None
    sitemap: dict[str, Any] | None = None
    links_without_news: bool | None = None
    class_: int = UrlClass.NORMAL


def order(due: Due) -> tuple[int, float, str]:
    """Sort key: depth, then highest priority, then URL, so that runs are reproducible."""
    return (due.depth, -due.priority, due.url)


def choose(
    queue: Iterable[Due],
    count: int,
    admit: Callable[[list[Due]], Iterable[Due]] | None = None,
    quota: Quota = EQUAL,
) -> list[Due]:
    """The URLs of a host that a round visits, sorted by `order`, each once, in its neatest spelling at the least depth.

    `admit` takes all URLs in that order and returns those that may be visited, in any order. If these are more than
    `count`, the first ones of each class are chosen, according to its share.
    """
    unique: dict[bytes, Due] = {}
    for due in queue:
        if due.url_key not in unique or _precedence(due) < _precedence(unique[due.url_key]):
            unique[due.url_key] = due
    rows = sorted(unique.values(), key=order)
    admitted = rows if admit is None else list(admit(rows))
    if len(admitted) > count:
        admitted = [admitted[position] for position in pick([due.class_ for due in admitted], count, quota)]
    return sorted(admitted, key=order)


def _precedence(due: Due) -> tuple[int, tuple[int, str], float]:
    """Sort key of the rows of one URL; the smallest is used."""
    return (due.depth, neatness(due.url), -due.priority)


def group_by_host(rows: Iterable[Due]) -> dict[str, list[tuple]]:
    """Rows by host, as plain tuples, which Beam encodes fast; it pickles NamedTuples."""
    grouped: dict[str, list[tuple]] = {}
    for row in rows:
        grouped.setdefault(row.host, []).append(tuple(row))
    return grouped


def first_due(batch: pa.Table, held: Mapping[str, datetime], now: datetime) -> datetime:
    """The earliest time at which one of some frontier rows (columns host and due_at; at least one) may be requested.

    A URL is not requested before its own time, nor before the time of its host if `held` contains the host.
    """
    by_host = batch.group_by("host", use_threads=False)
    firsts = by_host.aggregate([("due_at", "min"), ("due_at", "count"), ("host", "count")]).to_pydict()
    times = []
    for host, due_at, timed, all_ in zip(*(firsts[name] for name in _FIRSTS), strict=True):
        own = due_at if timed == all_ else now  # rows without a time are due now
        times.append(max(own, held.get(host, own)))
    return min(times)


_FIRSTS = ("host", "due_at_min", "due_at_count", "host_count")
