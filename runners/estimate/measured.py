"""Measures the rates of a crawl, and what it has cost."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ...transforms.directory.crawl_dir import CrawlDir, CrawlDirError, Manifest, files_of
from ...transforms.outcomes import REQUESTED
from ...transforms.politeness.request_pool import WAITING_SHARE
from ...transforms.settings import Fetch, Politeness
from ...transforms.tables.schemas import TABLES
from ...transforms.tables.sitemap_terms import EXTERNAL
from ...transforms.tables.table_files import read_table
from .plan import Estimate, Plan, Rates, Size

_STEPS = ("fetch", "update")
_RANKS = ("ranks", "host_ranks")
_TAIL = 100  # visits at the greatest depths that give the size of further visits


def measure(crawl: CrawlDir, politeness: Politeness, defaults: Rates, workers: int) -> Rates:
    """Return the rates of a crawl by so many workers; CrawlDirError if it has fetched nothing.

    The smallest step of a kind gives what a step costs whatever its size, except the first, which starts the workers.
    """
    manifests = crawl.require_manifests()
    found = _visits(crawl, manifests)
    if not found.visits:
        raise CrawlDirError(f"{crawl.root} has fetched nothing yet, so there is nothing to measure")
    hosts, response = _hosts(crawl, manifests), found.response
    head, head_bytes = _head(found)
    body_bytes = max(1.0, (found.bytes - head_bytes) / (found.visits - head))
    weights = {round_: size / body_bytes for round_, (_, size) in found.by_round.items()}
    turn = response + max(politeness.delay, politeness.response_factor * response)
    asked = {m.round: _asked(m) for m in manifests if m.step == "fetch"}
    fetches = [(asked[m.round], m.seconds) for m in manifests if m.step == "fetch"]
    fetch = _line([(n, seconds - n / hosts * turn) for n, seconds in fetches])
    update = _line([(weights.get(m.round, 0.0), m.seconds) for m in manifests if m.step == "update"])
    return Rates(
        source=crawl.root,
        body_bytes=body_bytes,
        response=response,
        response_factor=politeness.response_factor,
        fetch_overhead=fetch.visit * hosts,
        fetch_cpu=defaults.fetch_cpu,
        update_cpu=update.visit * workers,
        fetch_start=fetch.start,
        update_start=update.start,
        other=sum(m.seconds for m in manifests if m.step not in _STEPS) + fetch.first + update.first,
        rounds=len(fetches),
        head_visits=head / hosts,
        head_bytes=head_bytes / head if head else 0.0,
        disk={table: _size(manifests, table, total, weights) for table, total in bytes_by_table(manifests).items()},
    )


def plan_of(crawl: CrawlDir, politeness: Politeness, fetch: Fetch, workers: int) -> Plan:
    """Return the plan that a crawl has carried out: its hosts, and their mean number of visits."""
    manifests = crawl.require_manifests()
    hosts = _hosts(crawl, manifests)
    pages = round(_visits(crawl, manifests).visits / hosts)
    rounds = sum(m.step == "fetch" for m in manifests)
    connections = WAITING_SHARE * fetch.connections  # as most answers take longer than a moment
    return Plan(hosts, pages, politeness.delay, workers, connections, None, rounds)


def compare(found: Estimate, crawl: CrawlDir) -> dict[str, tuple[float, float]]:
    """Return (estimated, actual) by figure."""
    manifests = crawl.require_manifests()
    found_visits = _visits(crawl, manifests)
    seconds = {kind: sum(m.seconds for m in manifests if m.step == kind) for kind in _STEPS}
    return {
        "pages": (found.pages, found_visits.visits),
        "bytes in": (found.bytes_in, found_visits.bytes),
        "bytes on disk": (found.disk_total, sum(bytes_by_table(manifests).values())),
        "fetch, s": (found.fetch, seconds["fetch"]),
        "update, s": (found.update, seconds["update"]),
        "time, s": (found.time, sum(m.seconds for m in manifests)),
        **{
            f"bytes of memory, {step}": (found.memory.get(step, projected), peak)
            for step, (projected, peak) in memory_of(manifests).items()
        },
    }


def memory_of(manifests: Sequence[Manifest]) -> dict[str, tuple[int, int]]:
    """Return (projected, peak) bytes of memory of the step of each kind that took most."""
    found: dict[str, tuple[int, int]] = {}
    for m in manifests:
        projected, peak = (m.memory or {}).get("projected"), (m.memory or {}).get("peak")
        if projected is not None and peak is not None and peak > found.get(m.step, (0, 0))[1]:
            found[m.step] = projected, peak
    return found


def bytes_by_table(manifests: Sequence[Manifest]) -> dict[str, int]:
    """Return the bytes of the current files by table, and of the index."""
    sizes = {table: sum(file.bytes for file in files_of(manifests, table)) for table in TABLES}
    replaced = {folder for m in manifests for folder in m.index_replaced}
    index = (f for m in manifests for f in m.index_files if f.path.rpartition("/")[0] not in replaced)
    return {table: size for table, size in sizes.items() if size} | {"index": sum(file.bytes for file in index)}


class _Visits(NamedTuple):
    """The requested visits of a crawl."""

    visits: int
    bytes: int  # of their bodies
    response: float  # mean, in seconds
    by_depth: dict[int, tuple[int, int]]  # visits and bytes
    by_round: dict[int, tuple[int, int]]


def _visits(crawl: CrawlDir, manifests: Sequence[Manifest]) -> _Visits:
    paths = [file.path for file in files_of(manifests, "visits")]
    columns = ["outcome", "body_bytes", "elapsed_ms", "depth", "round", "kind"]
    rows = read_table(crawl.root, paths, TABLES["visits"], columns)
    rows = rows.filter(pc.is_in(rows["outcome"], pa.array(sorted(REQUESTED), pa.string())))
    rows = rows.filter(pc.fill_null(pc.not_equal(rows["kind"], EXTERNAL), True))  # they have no body
    mean = pc.mean(rows["elapsed_ms"]).as_py() or 0.0
    depths = rows.group_by("depth").aggregate([([], "count_all"), ("body_bytes", "sum")]).to_pylist()
    rounds = rows.group_by("round").aggregate([([], "count_all"), ("body_bytes", "sum")]).to_pylist()
    return _Visits(
        visits=rows.num_rows,
        bytes=pc.sum(rows["body_bytes"]).as_py() or 0,
        response=mean / 1000,
        by_depth={row["depth"] or 0: (row["count_all"], row["body_bytes_sum"] or 0) for row in depths},
        by_round={row["round"]: (row["count_all"], row["body_bytes_sum"] or 0) for row in rounds},
    )


def _head(found: _Visits) -> tuple[int, int]:
    """Return (visits, bytes) that further visits will not be like: those of small depths.

    A breadth-first crawl has all pages of small depths early; they are few, and indexes among them are large. What more
    visits bring is like the greatest depths that have at least `_TAIL` visits together, or like all if there are fewer.
    """
    tail = tail_bytes = 0
    for depth in sorted(found.by_depth, reverse=True):
        if tail >= _TAIL:
            return found.visits - tail, found.bytes - tail_bytes
        tail, tail_bytes = tail + found.by_depth[depth][0], tail_bytes + found.by_depth[depth][1]
    return 0, 0


def visits_of(crawl: CrawlDir, manifests: Sequence[Manifest]) -> int:
    """Return the number of visits that sent a request."""
    return _visits(crawl, manifests).visits


def hosts_of(crawl: CrawlDir) -> int:
    """Return the number of hosts that a crawl has requested; at least 1."""
    return _hosts(crawl, crawl.require_manifests())


def _hosts(crawl: CrawlDir, manifests: Sequence[Manifest]) -> int:
    paths = [file.path for file in files_of(manifests, "hosts")]
    return max(1, len(pc.unique(read_table(crawl.root, paths, TABLES["hosts"], ["host"])["host"])))


def _asked(manifest: Manifest) -> int:
    return sum(manifest.counters.get(outcome, 0) for outcome in REQUESTED)


class _Line(NamedTuple):
    """What steps take: `start + visits * visit`, and `first` more for the first one."""

    start: float
    visit: float
    first: float


def _line(steps: Sequence[tuple[float, float]]) -> _Line:
    """Return the line below (visits, seconds) of steps, through the least of all but the first, and with their sum."""
    if not steps:
        return _Line(0.0, 0.0, 0.0)
    first, *others = steps
    start = max(0.0, min(seconds for _, seconds in others or steps))
    visits = sum(count for count, _ in others)
    rest = sum(seconds for _, seconds in others) - start * len(others)
    slope = max(0.0, rest / visits) if visits else 0.0
    return _Line(start, slope, max(0.0, first[1] - start - slope * first[0]))


def _size(manifests: Sequence[Manifest], table: str, total: int, weights: Mapping[int, float]) -> Size:
    """Return the size of a table: its smallest round has the bytes of each round, and the rest is by bytes received.

    Ranks are written anew, so that only the last ones count.
    """
    sizes, last = dict.fromkeys(weights, 0), 0
    for m in manifests:
        files = m.index_files if table == "index" else [file for file in m.files if file.table == table]
        size = sum(file.bytes for file in files)
        last = size or last
        if m.round in sizes and m.step in _STEPS:
            sizes[m.round] += size
    if table in _RANKS:
        return Size(0.0, 0.0, last)
    least = min(sizes.values(), default=0)
    return Size(least, max(0.0, (total - least * len(sizes)) / max(1.0, sum(weights.values()))))
