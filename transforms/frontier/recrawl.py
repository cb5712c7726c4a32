"""Selects the pages that are due again, and puts them into the frontier (docs/freshness.md)."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..batches.partitions import Partition
from ..directory.waiting import MATCHED
from ..settings import Recrawl, Sitemaps
from ..tables.batches import Batch, from_ipc, split
from ..tables.newest import newest
from ..tables.schemas import TIME, URLS
from ..tables.sitemap_terms import EXTERNAL, RSL, SITEMAP
from ..tables.table_files import TableFile, conform, open_parquet, statistics
from .files import write_frontier
from .revisit_plan import STATES_BY_KIND
from .url_states import remembered

_SEEN = pa.schema(
    [URLS.field(name) for name in ("url_key", "host", "state", "last_fetched_at", "kind", "sitemap_lastmod")]
)


class DueCriteria(NamedTuple):
    """Criteria by which a visited page or sitemap is due again; requisites of pages never are.

    An external target is, at the age of a page and whatever its last visit gave: a link that was broken may work.
    """

    pages: datetime  # due if last fetched at or before this time
    sitemaps: datetime  # the same for sitemaps
    now: datetime  # a sitemap's lastmod after the last visit counts, unless it is later than this

    @classmethod
    def of(cls, recrawl: Recrawl, sitemaps: Sitemaps, now: datetime) -> "DueCriteria | None":
        """The criteria of a crawl at a time; None if pages are never due by their age."""
        if recrawl.after is None:
            return None
        sitemaps_after = min(recrawl.after, sitemaps.after)
        return cls(now - timedelta(days=recrawl.after), now - timedelta(days=sitemaps_after), now)

    def mask(self, rows: pa.Table) -> pa.ChunkedArray:
        """Whether each of some URLs is due, given their newest rows of urls."""
        kind, state, seen, changed = (rows[name] for name in ("kind", "state", "last_fetched_at", "sitemap_lastmod"))
        is_page = pc.is_in(kind, pa.array([None, EXTERNAL], pa.string()))
        old = pc.less_equal(seen, pc.if_else(is_page, pa.scalar(self.pages, TIME), pa.scalar(self.sitemaps, TIME)))
        newer = pc.and_(pc.less(seen, changed), pc.less_equal(changed, pa.scalar(self.now, TIME)))
        counts = pc.equal(state, "fetched")
        for name, states in STATES_BY_KIND.items():
            is_kind = pc.fill_null(pc.equal(kind, name), False)
            counts = pc.if_else(is_kind, pc.is_in(state, pa.array(states, pa.string())), counts)
        return pc.and_(counts, pc.or_(pc.fill_null(old, False), pc.fill_null(newer, False)))

    def may_hold(self, seen: pq.Statistics | None, changed: pq.Statistics | None) -> bool:
        """Whether a row group can contain due rows, by the statistics of last_fetched_at and sitemap_lastmod."""
        if seen is None:
            return True
        if not seen.has_min_max:  # no URL of the group was visited
            return False
        return seen.min <= self.sitemaps or bool(changed and changed.has_min_max and changed.max > seen.min)


class Everything(NamedTuple):
    """The criterion by which all visited pages, sitemaps and external targets are due, also failed ones."""

    def mask(self, rows: pa.Table) -> pa.ChunkedArray:
        """Whether each of some URLs is due, given their newest rows of urls."""
        is_asked = pc.is_in(rows["kind"], pa.array([None, EXTERNAL, SITEMAP, RSL], pa.string()))
        return pc.and_(is_asked, pc.is_in(rows["state"], pa.array(_VISITED, pa.string())))

    def may_hold(self, seen: pq.Statistics | None, changed: pq.Statistics | None) -> bool:
        """Whether a row group can contain due rows."""
        return True


_VISITED = ("fetched", "redirected", "gone", "failed", "denied")


AgeCriteria: TypeAlias = DueCriteria | Everything


def count_due(root: str, paths: Iterable[str], criteria: "AgeCriteria") -> int:
    """The number of due rows in urls files: an upper bound, since a newer row of the same URL may not be due."""
    return sum(len(keys) for path in paths for keys in _due_keys(root, path, criteria))


def _due_keys(root: str, path: str, criteria: "AgeCriteria") -> Iterator[pa.Table]:
    """The keys of due rows, by row group; skips row groups that contain none by their statistics."""
    with open_parquet(root, path) as file:
        for group in range(file.num_row_groups):
            if criteria.may_hold(*(statistics(file, group, name) for name in ("last_fetched_at", "sitemap_lastmod"))):
                rows = conform(file.read_row_group(group, _SEEN.names, use_threads=False), _SEEN)
                yield rows.select(["url_key", "host"]).filter(criteria.mask(rows))


def read_due_keys(path: str, root: str, criteria: "AgeCriteria", count: int) -> Iterator[Batch]:
    """The keys of the due rows of a urls file, by partition."""
    for keys in _due_keys(root, path, criteria):
        yield from split(keys, "url_key", count)


def revisits(states: pa.Table, waiting: Iterable[bytes], criteria: "Criteria") -> Iterator[dict[str, Any]]:
    """Rows of the frontier for the pages that are due again and not in the frontier, whose keys are `waiting`.

    `states` are rows of urls; of several rows of a URL, the newest counts.
    """
    rows = states.append_column("is_due", criteria.mask(states)).to_pylist()
    in_frontier = set(waiting)
    for key, row in sorted(newest(rows, itemgetter("url_key")).items()):
        if row["is_due"] and key not in in_frontier:
            kept = ("url_key", "url", "host", "depth", "discovered_round", "failures", "kind", "sitemap")
            yield {
                **{name: row[name] for name in kept},
                **remembered(row),
                "priority": row["score"],
                "reason": "recrawl",
                "referrer": row["discovered_from"],
                "redirects": 0,
            }


class Criteria(Protocol):
    """Decides which pages are visited again."""

    def mask(self, rows: pa.Table) -> pa.ChunkedArray: ...


def write_revisits(partition: Partition, root: str, round_: int, criteria: Criteria) -> Iterator[TableFile]:
    """Write rows of the frontier for the pages that are due again.

    Takes `states`, URLS, and `frontier`, MATCHED, of a partition of url_key.
    """
    states, waiting = from_ipc(partition[1]["states"], URLS), from_ipc(partition[1]["frontier"], MATCHED)
    if file := write_frontier(root, round_, list(revisits(states, waiting["url_key"].to_pylist(), criteria))):
        yield file
