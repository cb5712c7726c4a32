"""Selects the URLs of a host that a round fetches."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..tables.schemas import FRONTIER, TIME
from ..urls.canonical import neatness
from .priority import EQUAL, Quota, UrlClass, pick
from .url_states import FIRST_WAIT_FOR_ORIGIN, LONGEST_WAIT

_DURATION = pa.duration("us")


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
    foreign: bool | None = None
    reason: str | None = None
    due_at: datetime | None = None
    class_: int = UrlClass.NORMAL


def order(due: Due) -> tuple[bool, int, float, str]:
    """Sort key: URLs that the site itself links first; depth, then highest priority, then URL, for equal runs."""
    return (bool(due.foreign), due.depth, -due.priority, due.url)


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


def _precedence(due: Due) -> tuple[bool, int, tuple[int, str], float]:
    """Sort key of the rows of one URL; the smallest is used."""
    return (bool(due.foreign), due.depth, neatness(due.url), -due.priority)


def group_by_host(rows: Iterable[Due]) -> dict[str, list[tuple]]:
    """Rows by host, as plain tuples, which Beam encodes fast; it pickles NamedTuples."""
    grouped: dict[str, list[tuple]] = {}
    for row in rows:
        grouped.setdefault(row.host, []).append(tuple(row))
    return grouped


def settled(rows: pa.Table, now: datetime, seen_since: datetime) -> pa.Table:
    """Rows of the frontier (columns due_at, failures) of which no retry waits for longer than its failures allow.

    A wait that starts in the future starts at `seen_since` (`clock_ahead`).
    """
    last = pc.max(rows["due_at"]).as_py()
    if last is None or last <= now + FIRST_WAIT_FOR_ORIGIN:
        return rows
    failures = pc.fill_null(rows["failures"], 1).to_numpy()
    first, longest = (wait / timedelta(microseconds=1) for wait in (FIRST_WAIT_FOR_ORIGIN, LONGEST_WAIT))
    waits = pa.array(np.minimum(first * 2.0 ** np.minimum(failures - 1, 30), longest).astype(np.int64), _DURATION)
    latest, ends = (pc.add(pa.scalar(start.astimezone(UTC), TIME), waits) for start in (now, seen_since))
    times = pc.if_else(pc.greater(rows["due_at"], latest), ends, rows["due_at"])
    return rows.set_column(rows.schema.get_field_index("due_at"), FRONTIER.field("due_at"), times)


class NextRound(NamedTuple):
    """When a frontier has work."""

    first: datetime  # when the first URL may be requested; not before now
    start: datetime  # when a round is worth its cost


def next_round(
    batches: Iterable[pa.Table],
    held: Mapping[str, datetime],
    silent: Collection[str],
    now: datetime,
    longest: timedelta,
    held_names: Mapping[str, datetime] = MappingProxyType({}),
) -> NextRound | None:
    """When the next round of some frontier rows (columns host and due_at) starts; None without rows.

    A URL is not requested before its own time, nor before the time of its host if `held` contains the host, or
    `held_names` its name without the port. `silent`
    hosts do not answer, so that their URLs are not urgent: while nothing else is due, the round starts at the last one
    of their times within `longest`, rather than one round at each of these times.
    """
    names = sorted({*held, *silent})
    hosts = pa.array(names, pa.string())
    until = pa.array([held.get(name, now).astimezone(UTC) for name in names], TIME).cast(pa.int64())
    answers = pa.array([name not in silent for name in names], pa.bool_())
    moments = pa.array([now.astimezone(UTC), (now + longest).astimezone(UTC)], TIME).cast(pa.int64())
    due_now, soon = moments.to_pylist()
    # Microseconds since the epoch: the first of all, the first of hosts that answer, the last of the others by `soon`.
    first = urgent = latest = None
    for rows in filter(len, batches):
        host = rows["host"].combine_chunks()
        ends = pc.min_max(host)  # files are sorted by host
        start = bisect_left(names, ends["min"].as_py())
        own = hosts.slice(start, bisect_right(names, ends["max"].as_py()) - start)
        places = pc.add(pc.index_in(host, own), start)
        times = pc.max_element_wise(rows["due_at"].combine_chunks().cast(pa.int64()), until.take(places), moments[0])
        if held_names:
            times = pc.max_element_wise(times, _times_of_names(host, held_names))
        is_urgent = pc.fill_null(answers.take(places), True)
        others = times.filter(pc.invert(is_urgent))
        first = _least(first, pc.min(times).as_py())
        urgent = _least(urgent, pc.min(times.filter(is_urgent)).as_py())
        latest = max(filter(None, (latest, pc.max(others.filter(pc.less_equal(others, soon))).as_py())), default=None)
        if urgent == due_now:
            break
    if first is None:
        return None
    return NextRound(*(pa.scalar(moment, TIME).as_py() for moment in (first, _least(urgent, latest) or first)))


def _times_of_names(hosts: pa.Array, held_names: Mapping[str, datetime]) -> pa.Array:
    """The time of the name of each host, in microseconds since the epoch; null for others."""
    coded = hosts.dictionary_encode()
    names = pc.replace_substring_regex(coded.dictionary, ":[0-9]+$", "")
    until = pa.array([moment.astimezone(UTC) for moment in held_names.values()], TIME).cast(pa.int64())
    return until.take(pc.index_in(names, pa.array(held_names, pa.string()))).take(coded.indices)


def _least(a: int | None, b: int | None) -> int | None:
    return min((n for n in (a, b) if n is not None), default=None)
