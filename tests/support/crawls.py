"""Run whole crawls in tests, and read what they wrote."""

import contextlib
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from beamtrawl.pipeline.attempt import Engine
from beamtrawl.pipeline.control import End, StopSignal
from beamtrawl.pipeline.crawl import run_crawl
from beamtrawl.pipeline.seeds import Seed, add_seeds
from beamtrawl.runners.engines.direct import DirectEngine
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest, Step, files_of
from beamtrawl.transforms.directory.waiting import Waiting, read_waiting
from beamtrawl.transforms.memory.limits import Memory
from beamtrawl.transforms.settings import Settings, override, settings_digest
from beamtrawl.transforms.tables.schemas import TABLES
from beamtrawl.transforms.tables.table_files import read_table

LOOPBACK = {
    "fetch.allow_addresses": ["127.0.0.0/8"],
    "politeness.delay": 0.0,
    "politeness.response_factor": 0.0,
    "politeness.backoff": 0.05,
}


class InProcess(DirectEngine):
    """Runs steps in this process, as small steps of users run, and bounds no memory.

    Linux takes a fifth of a small round to sum up the memory of a process with the modules of all tests.
    """

    def __init__(self) -> None:
        super().__init__(1)

    def memory(self) -> Memory:
        return Memory(None, None)


class Silent:
    """An observer that only remembers."""

    def __init__(self) -> None:
        self.committed: list[Manifest] = []
        self.warnings: list[str] = []
        self.waited = 0

    def step_started(self, step: Step, progress: str, rows: int, at_most: int | None = None) -> None:
        pass

    def busy(self, what: str) -> None:
        pass

    def warn(self, line: str) -> None:
        self.warnings.append(line)

    def step_committed(self, manifest: Manifest) -> None:
        self.committed.append(manifest)

    def waiting(self, until: datetime, urls: int) -> None:
        self.waited += 1


def settings(**changes: Any) -> Settings:
    """Loopback allowed and no delay, with changes such as `scope__depth=2`."""
    return override(Settings(), LOOPBACK | {name.replace("__", "."): value for name, value in changes.items()})


def crawl(
    path: Path | str,
    seeds: Iterable[str | Seed] = (),
    rounds: int | None = None,
    observer: Silent | None = None,
    stop: StopSignal | None = None,
    engine: Engine | None = None,
    **changes: Any,
) -> End:
    """Add the seeds and run rounds; without an engine, in this process."""
    directory, chosen = CrawlDir(str(path)), settings(**changes)
    if found := [seed if isinstance(seed, Seed) else Seed(seed) for seed in seeds]:
        add_seeds(directory, found, settings_digest(chosen), datetime.now(UTC))
    return run_crawl(directory, chosen, engine or InProcess(), observer or Silent(), stop or StopSignal(), rounds)


class _Fetched(Exception):
    """Raised after a fetch step was committed."""


class _StopAfterFetch(Silent):
    def step_committed(self, manifest: Manifest) -> None:
        if manifest.step == "fetch":
            raise _Fetched


def fetch(path: Path | str, **changes: Any) -> None:
    """Run a fetch step without the update step that follows it, as if the crawl was killed in between."""
    with contextlib.suppress(_Fetched):
        crawl(path, rounds=1, observer=_StopAfterFetch(), **changes)


def rows(path: Path | str, table: str) -> list[dict[str, Any]]:
    """All committed rows of a table, oldest round first."""
    directory = CrawlDir(str(path))
    paths = [file.path for file in files_of(directory.manifests(), table)]
    return list(read_table(directory.root, paths, TABLES[table]).to_pylist())


def frontier(path: Path) -> list[dict[str, Any]]:
    """The rows that wait for the next round."""
    directory = CrawlDir(str(path))
    waiting = read_waiting(directory.root, Waiting.of(directory.manifests()))
    return [row for rows in waiting for row in rows.to_pylist()]


def states(path: Path) -> dict[str, dict[str, Any]]:
    """The newest row of table urls for each URL."""
    return {row["url"]: row for row in sorted(rows(path, "urls"), key=lambda row: row["round"])}


def without_times(path: Path) -> dict[str, list[str]]:
    """All committed tables, each as sorted texts of its rows, without what differs between two runs: times, paths."""
    schemas = {name: [field.name for field in TABLES[name] if not pa.types.is_timestamp(field.type)] for name in TABLES}
    measured = {"elapsed_ms", "last_elapsed_ms", "latency", "latency_p50_ms", "latency_p95_ms", "held_by", "path"}
    return {
        name: sorted(repr({key: row[key] for key in columns if key not in measured}) for row in rows(path, name))
        for name, columns in schemas.items()
    }
