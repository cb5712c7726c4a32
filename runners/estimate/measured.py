"""Measures the rates of a crawl, and what it has cost."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ...transforms.outcomes import REQUESTED
from ...transforms.politeness.request_pool import WAITING_SHARE
from ...transforms.settings import Settings
from ...transforms.storage.crawl_dir import CrawlDir, CrawlDirError, Manifest, files_of
from ...transforms.storage.manifests import moment
from ...transforms.storage.schemas import TABLES
from ...transforms.storage.table_files import read_table
from .plan import Estimate, Plan, Rates, Size

_STEPS = ("fetch", "update")


def measure(crawl: CrawlDir, settings: Settings, defaults: Rates, workers: int) -> Rates:
    """Return the rates of a crawl by so many workers; CrawlDirError if it has fetched nothing.

    The smallest step of a kind gives what a step costs whatever its size, except the first, which starts the workers.
    """
    manifests = crawl.require_manifests()
    visits, body_bytes, response = _visits(crawl, manifests)
    if not visits:
        raise CrawlDirError(f"{crawl.root} has fetched nothing yet, so there is nothing to measure")
    hosts = _hosts(crawl, manifests)
    polite = settings.politeness
    turn = response + max(polite.delay, polite.response_factor * response)
    asked = {m.round: _asked(m) for m in manifests if m.step == "fetch"}
    steps = {kind: [(asked[m.round], _seconds(m)) for m in manifests if m.step == kind] for kind in _STEPS}
    fetch = _line([(n, seconds - n / hosts * turn) for n, seconds in steps["fetch"]])
    update = _line(steps["update"])
    return Rates(
        source=crawl.root,
        body_bytes=body_bytes / visits,
        response=response,
        response_factor=polite.response_factor,
        fetch_overhead=fetch.visit * hosts,
        fetch_cpu=defaults.fetch_cpu,
        update_cpu=update.visit * workers,
        fetch_start=fetch.start,
        update_start=update.start,
        other=sum(_seconds(m) for m in manifests if m.step not in _STEPS) + fetch.first + update.first,
        rounds=len(steps["fetch"]),
        disk={table: _size(manifests, table, total, asked) for table, total in disk_of(manifests).items()},
    )


def plan_of(crawl: CrawlDir, settings: Settings, workers: int) -> Plan:
    """Return the plan that a crawl has carried out: its hosts, and their mean number of visits."""
    manifests = crawl.require_manifests()
    hosts = _hosts(crawl, manifests)
    pages = round(_visits(crawl, manifests)[0] / hosts)
    rounds = sum(m.step == "fetch" for m in manifests)
    connections = WAITING_SHARE * settings.fetch.connections  # as most answers take longer than a moment
    return Plan(hosts, pages, settings.politeness.delay, workers, connections, None, rounds)


def compare(found: Estimate, crawl: CrawlDir) -> dict[str, tuple[float, float]]:
    """Return (estimated, actual) by figure."""
    manifests = crawl.require_manifests()
    visits, body_bytes, _ = _visits(crawl, manifests)
    seconds = {kind: sum(_seconds(m) for m in manifests if m.step == kind) for kind in _STEPS}
    return {
        "pages": (found.pages, visits),
        "bytes in": (found.bytes_in, body_bytes),
        "bytes on disk": (found.disk_total, sum(disk_of(manifests).values())),
        "fetch, s": (found.fetch, seconds["fetch"]),
        "update, s": (found.update, seconds["update"]),
        "time, s": (found.time, sum(map(_seconds, manifests))),
    }


def disk_of(manifests: Sequence[Manifest]) -> dict[str, int]:
    """Return the bytes of the current files by table, and of the index."""
    sizes = {table: sum(file.bytes for file in files_of(manifests, table)) for table in TABLES}
    replaced = {folder for m in manifests for folder in m.index_replaced}
    index = (f for m in manifests for f in m.index_files if f.path.rpartition("/")[0] not in replaced)
    return {table: size for table, size in sizes.items() if size} | {"index": sum(file.bytes for file in index)}


def _visits(crawl: CrawlDir, manifests: Sequence[Manifest]) -> tuple[int, int, float]:
    """Return (requested visits, bytes of their bodies, mean seconds of a response)."""
    paths = [file.path for file in files_of(manifests, "visits")]
    rows = read_table(crawl.root, paths, TABLES["visits"], ["outcome", "body_bytes", "elapsed_ms"])
    rows = rows.filter(pc.is_in(rows["outcome"], pa.array(sorted(REQUESTED), pa.string())))
    mean = pc.mean(rows["elapsed_ms"]).as_py() or 0.0
    return rows.num_rows, pc.sum(rows["body_bytes"]).as_py() or 0, mean / 1000


def _hosts(crawl: CrawlDir, manifests: Sequence[Manifest]) -> int:
    paths = [file.path for file in files_of(manifests, "hosts")]
    return max(1, len(pc.unique(read_table(crawl.root, paths, TABLES["hosts"], ["host"])["host"])))


def _asked(manifest: Manifest) -> int:
    return sum(manifest.counters.get(outcome, 0) for outcome in REQUESTED)


def _seconds(manifest: Manifest) -> float:
    return (moment(manifest.ended_at) - moment(manifest.started_at)).total_seconds()


class _Line(NamedTuple):
    """What steps take: `start + visits * visit`, and `first` more for the first one."""

    start: float
    visit: float
    first: float


def _line(steps: Sequence[tuple[int, float]]) -> _Line:
    """Return the line below (visits, seconds) of steps, through the least of all but the first, and with their sum."""
    if not steps:
        return _Line(0.0, 0.0, 0.0)
    first, *others = steps
    start = max(0.0, min(seconds for _, seconds in others or steps))
    visits = sum(count for count, _ in others)
    rest = sum(seconds for _, seconds in others) - start * len(others)
    slope = max(0.0, rest / visits) if visits else 0.0
    return _Line(start, slope, max(0.0, first[1] - start - slope * first[0]))


def _size(manifests: Sequence[Manifest], table: str, total: int, asked: Mapping[int, int]) -> Size:
    """Return the size of a table: its smallest round has the bytes of each round, and the rest is by visits."""
    sizes = dict.fromkeys(asked, 0)
    for m in manifests:
        if m.round in sizes:
            files = m.index_files if table == "index" else (file for file in m.files if file.table == table)
            sizes[m.round] += sum(file.bytes for file in files)
    least = min(sizes.values(), default=0)
    return Size(least, max(0.0, (total - least * len(sizes)) / max(1, sum(asked.values()))))
