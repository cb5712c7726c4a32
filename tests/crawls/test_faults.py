"""Faults of the disk at every operation of every step: the crawl is as before or as after, and a rerun completes it.

Four kinds: an operation fails; the disk is full from then on; the process is killed; the power fails, and what was not
synced is lost. The tests take a sample of the operations, spread over the step; `--faults 0` takes each of them.
"""

import contextlib
import shutil
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from beamtrawl.pipeline.compaction.drop_bodies import drop_bodies
from beamtrawl.pipeline.compaction.garbage import fold_history
from beamtrawl.pipeline.rank import rank
from beamtrawl.pipeline.seeds import Seed, add_seeds
from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.directory.table_runs import all_runs
from beamtrawl.transforms.directory.verify import file_faults, promised_files
from beamtrawl.transforms.files import filesystem
from beamtrawl.transforms.indexing.live_segments import live_index
from beamtrawl.transforms.indexing.merge_policy import ALL
from beamtrawl.transforms.outcomes import BeamtrawlError, Outcome
from tests.support.changing_site import crawl_changing_site
from tests.support.crawls import InProcess, crawl, fetch, frontier, rows, states, without_times
from tests.support.disks import Fault, SimulatedDisk, spread
from tests.support.index_faults import index_faults
from tests.support.merging import compact_frontier, merge, merge_tables
from tests.support.row_faults import row_faults
from tests.support.web import Web, html, plain, redirect, status

NOW = datetime(2026, 11, 22, tzinfo=UTC)
SITES = {
    "a.test": {
        "/robots.txt": plain("User-agent: *\nDisallow: /private\nCrawl-delay: 0.01\n"),
        "/": html("Home", "Fish and boats in the harbour.", ["/1", "/2", "/3", "http://b.test/"]),
        "/1": html("One", "Herring is a fish of the first page.", ["/4", "/5"]),
        "/2": html("Two", "The same words twice, about boats."),
        "/3": html("Two", "The same words twice, about boats."),
        "/4": redirect("/6", 301),
        "/5": status(404),
        "/6": html("Six", "Where the fish went, at last.", ["/7"]),
        "/7": html("Seven", "A page that waits."),
    },
    "b.test": {"/": html("Other", "Another host with a fish.", ["/x"]), "/x": html("X", "Deep in it.")},
}


class Visit(NamedTuple):
    """What a fetch step has stored of a URL."""

    outcome: str
    status: int | None
    body: bytes | None


class Operation(NamedTuple):
    """A step, the state of the crawl that it starts from, and how it is run again if it was not committed."""

    state: str
    step: str  # the name of its manifest; empty: it commits no step
    run: Callable[[Path], object]
    complete: Callable[[Path], object]  # what follows, with or without a fault
    contents: Callable[[Path], object]  # what is the same afterwards, with or without a fault


def update(path: Path) -> None:
    crawl(path, rounds=0)


def nothing(path: Path) -> None:
    """What follows most steps."""


def compact(path: Path) -> None:
    merge(CrawlDir(str(path)), InProcess(), ALL)


def compact_waiting(path: Path) -> None:
    compact_frontier(CrawlDir(str(path)), InProcess(), width=2)


def compact_tables(path: Path) -> None:
    merge_tables(CrawlDir(str(path)), InProcess(), all_runs)


def bodies(path: Path) -> None:
    drop_bodies(CrawlDir(str(path)), InProcess(), 0)


def fold(path: Path) -> None:
    """Removes the files of consumed frontiers too, as if an hour had passed."""
    fold_history(CrawlDir(str(path)), datetime.now(UTC) + timedelta(hours=2), most=0)


def ranked(path: Path) -> None:
    rank(CrawlDir(str(path)), InProcess(), NOW)


def seeds(path: Path) -> None:
    add_seeds(CrawlDir(str(path)), [Seed("http://c.test/"), Seed("http://a.test/")], "", NOW)


def finish(path: Path) -> None:
    crawl(path)


def found(path: Path) -> list[str]:
    return sorted(hit.url for hit in Index.open(CrawlDir(str(path))).search("fish").hits)


def everything(path: Path) -> object:
    return committed(path), without_times(path), found(path)


def waiting(path: Path) -> object:
    """The waiting URLs; not only the rows of the files that hold them."""
    return sorted((row["url"], row["reason"], row["depth"]) for row in frontier(path)), everything(path)


def results(path: Path) -> object:
    """What a crawl has found at its end. A round may defer URLs of a host whose delay a killed attempt has begun."""
    documents = sorted((row["url"], row["title"], row["text"], row["depth"]) for row in rows(path, "documents"))
    return documents, {url: row["state"] for url, row in states(path).items()}, found(path)


def visits(path: Path) -> dict[str, Visit]:
    """The visits of round 3; fails if a URL has two."""
    of_round = [row for row in rows(path, "visits") if row["round"] == 3]
    found = {row["url"]: Visit(row["outcome"], row["status"], row["body"]) for row in of_round}
    assert len(found) == len(of_round)
    return found


OPERATIONS = {
    "fetch": Operation("updated", "000003-fetch", fetch, finish, results),
    "update": Operation("fetched", "000003-update", update, nothing, everything),
    "compact": Operation("updated", "000002-compact", compact, nothing, everything),
    "compact frontier": Operation("waiting", "000002-compact", compact_waiting, nothing, waiting),
    "compact tables": Operation("updated", "000002-compact", compact_tables, nothing, everything),
    "old bodies": Operation("revisited", "000004-compact", bodies, nothing, everything),
    "fold": Operation("updated", "", fold, fold, everything),
    "rank": Operation("updated", "000002-rank", ranked, nothing, everything),
    "seeds": Operation("updated", "000000-seeds", seeds, nothing, everything),
}


class Prepared:
    """Crawls in the states from which operations start, and what each operation leads to, made when first needed."""

    def __init__(self, folder: Path, web: Web) -> None:
        self._folder, self._seed = folder, web.url("a.test")
        self._after: dict[str, object] = {}
        self._operations: dict[tuple[str, bool], list[str]] = {}
        self.completed: dict[str, object] = {}  # `Operation.contents` after `complete`, by the rows before

    def state(self, name: str) -> Path:
        path = self._folder / name
        if path.exists():
            return path
        match name:
            case "revisited":
                crawl_changing_site(path)
            case "updated":
                crawl(path, [self._seed], rounds=2)
            case "fetched":
                shutil.copytree(self.state("updated"), path)
                fetch(path)
            case "waiting":
                crawl(path, [self._seed], rounds=2, limits__max_pages_per_round=2)
                seeds(path)
        return path

    def after(self, name: str) -> object:
        """`Operation.contents` without a fault."""
        if name not in self._after:
            operation = OPERATIONS[name]
            path = Path(shutil.copytree(self.state(operation.state), self._folder / f"after-{name}"))
            operation.run(path)
            operation.complete(path)
            self._after[name] = operation.contents(path)
        return self._after[name]

    def operations(self, name: str, reads: bool) -> list[str]:
        """The operations of the disk without a fault."""
        if (name, reads) not in self._operations:
            folder = self._folder / f"counted-{name}-{reads}"
            path = Path(shutil.copytree(self.state(OPERATIONS[name].state), folder / "crawl"))
            disk = SimulatedDisk(folder / "kept", Fault("none"), reads=reads)
            attempt(OPERATIONS[name], path, disk)
            self._operations[name, reads] = disk.operations
        return self._operations[name, reads]

    def visits(self) -> Mapping[str, Visit]:
        """The visits of the fetch step, without a fault."""
        return visits(self.state("fetched"))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    with Web(SITES) as web:
        yield Prepared(tmp_path_factory.mktemp("prepared"), web)


def committed(path: Path) -> list[str]:
    return sorted(manifest.name for manifest in CrawlDir(str(path)).manifests())


def lies(path: Path) -> list[str]:
    directory = CrawlDir(str(path))
    manifests = directory.manifests()
    files = [str(fault) for fault in file_faults(directory, promised_files(manifests))]
    return files or [*map(str, row_faults(directory, manifests)), *index_faults(str(path), live_index(manifests))]


def attempt(operation: Operation, path: Path, disk: SimulatedDisk) -> None:
    """Run an operation on a disk; it may fail with a message for the user, or because the process has ended."""
    with filesystem.mounted(str(path), disk), contextlib.suppress(BeamtrawlError, OSError, RuntimeError):
        operation.run(path)


def places(prepared: Prepared, name: str, kind: str) -> list[int]:
    """The numbers of the operations at which a fault of this kind makes a difference."""
    reading = set() if kind == "error" else {"exists", "open", "walk", "guard"}
    operations = prepared.operations(name, reads=kind == "error")
    return [number for number, operation in enumerate(operations, 1) if operation not in reading]


def completed(prepared: Prepared, name: str, path: Path) -> object:
    """`Operation.contents` after `Operation.complete`.

    Crawls with equal rows after a fetch step are completed once: their other rounds take most of the time.
    """
    operation = OPERATIONS[name]
    state = repr((name, committed(path), without_times(path)))
    if operation.complete is not finish or state not in prepared.completed:
        operation.complete(path)
        assert lies(path) == [], name
        prepared.completed[state] = operation.contents(path)
    return prepared.completed[state]


def survives(prepared: Prepared, name: str, fault: Fault, folder: Path, seed: int | None = None) -> None:
    """Checks the crawl after a fault, and after the operation was run again."""
    operation = OPERATIONS[name]
    path = Path(shutil.copytree(prepared.state(operation.state), folder / "crawl"))
    before = committed(path)
    disk = SimulatedDisk(folder / "kept", fault, seed, reads=fault.kind == "error")
    attempt(operation, path, disk)
    if fault.kind == "power":
        disk.restore()
    context = f"{name}, {fault}: {disk.operations[-1]}"
    steps = committed(path)
    assert steps in (before, sorted(filter(None, [*before, operation.step]))), context
    assert lies(path) == [], context
    if steps == before:
        operation.run(path)
    if name == "fetch":
        found = visits(path)
        expected = prepared.visits()
        assert found.keys() == expected.keys(), context
        asked = {url: visit for url, visit in found.items() if visit.outcome != Outcome.DEFERRED}
        assert asked == {url: expected[url] for url in asked}, context
    assert completed(prepared, name, path) == prepared.after(name), context
    shutil.rmtree(folder)


KINDS = ("error", "full", "kill", "power")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "samples"), [("seeds", 4), ("compact", 1)])
def test_a_sample_of_faults(prepared: Prepared, tmp_path: Path, name: str, samples: int, kind: str) -> None:
    for at in spread(places(prepared, name, kind), samples, f"{name} {kind}"):
        survives(prepared, name, Fault(kind, at), tmp_path / str(at))  # type: ignore[arg-type]


@pytest.mark.slow("faults")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_faults_of_each_kind(
    prepared: Prepared, tmp_path: Path, name: str, kind: str, pytestconfig: pytest.Config
) -> None:
    every = places(prepared, name, kind)
    for at in spread(every, pytestconfig.getoption("--faults"), f"{kind} {name}"):
        survives(prepared, name, Fault(kind, at), tmp_path / str(at))  # type: ignore[arg-type]
        if kind == "power":
            survives(prepared, name, Fault("power", at), tmp_path / f"{at} random", seed=at)
