"""An import that was interrupted goes on where it was, and gives the same tables."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import apache_beam as beam
import pytest

from beamtrawl.pipeline.attempt import Engine
from beamtrawl.pipeline.control import StopSignal
from beamtrawl.pipeline.imports.import_archives import Imported, Job, import_archives
from beamtrawl.pipeline.release_held import release, with_released
from beamtrawl.transforms.archives.sources import sources_of
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Step
from beamtrawl.transforms.directory.pieces import PromiseLog
from beamtrawl.transforms.outcomes import CrawlDirError
from beamtrawl.transforms.settings import settings_digest
from beamtrawl.transforms.tables.schemas import HostRow
from tests.imports.test_bad_input import record
from tests.support.command_line import LOOPBACK, beamtrawl
from tests.support.crawls import InProcess, Silent, crawl, fetch, rows, settings, without_times
from tests.support.web import Web, html

NAMES = [f"{letter}{number}" for letter in "abc" for number in range(5)]


class Killed(Exception):
    pass


class Dying(InProcess):
    """An engine whose program is killed after so many pipelines, before what they have written is committed."""

    def __init__(self, pipelines: int) -> None:
        super().__init__()
        self._left = pipelines

    def run(self, build: Callable[[beam.Pipeline], None], seconds: float) -> None:
        super().run(build, seconds)
        self._left -= 1
        if not self._left:
            raise Killed


class Stopping(Silent):
    """Presses Ctrl-C when a step starts."""

    def __init__(self, stop: StopSignal) -> None:
        super().__init__()
        self._stop = stop

    def step_started(self, step: Step, progress: str, rows: int, at_most: int | None = None) -> None:
        self._stop.stop()


def job(folder: Path, part: int | None = None) -> Job:
    sources = []
    for letter in "abc":
        path = folder / f"{letter}.warc.gz"
        path.write_bytes(b"".join(record(name, f"<title>{name}</title>") for name in NAMES if name[0] == letter))
        sources += sources_of(str(path))[0]
    return Job(sources, [], part)


def run(folder: Path, given: Job, engine: Engine | None = None, observer: Silent | None = None) -> Imported:
    stop = observer._stop if isinstance(observer, Stopping) else StopSignal()
    chosen = engine or InProcess()
    return import_archives(
        CrawlDir(str(folder)), settings(scope__mode="any"), chosen, observer or Silent(), stop, given
    )


def scans(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (folder / "attempts").glob("*-scan-*.parquet")}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Job, dict[str, list[str]]]:
    """Archives, and the tables of an import of them that nothing interrupts."""
    folder = tmp_path_factory.mktemp("whole")
    given = job(folder, part=9)
    run(folder / "c", given)
    return given, without_times(folder / "c")


@pytest.mark.slow("kills")
@pytest.mark.parametrize("pipelines", range(1, 6))
def test_a_kill_at_the_end_of_each_pipeline_changes_nothing(
    pipelines: int, tmp_path: Path, whole: tuple[Job, dict[str, list[str]]]
) -> None:
    given, tables = whole
    with pytest.raises(Killed):
        run(tmp_path / "killed", given, Dying(pipelines))
    before = scans(tmp_path / "killed")
    assert len(before) == 3
    pieces = list((tmp_path / "killed" / "attempts").glob("*-piece-*"))
    assert bool(pieces) == (pipelines in (2, 4))

    class Seen(Silent):
        def busy(self, what: str) -> None:
            assert "scanning" not in what

    run(tmp_path / "killed", given, observer=Seen())
    assert without_times(tmp_path / "killed") == tables
    assert list((tmp_path / "killed" / "attempts").glob("*-scan-*")) == []


def test_an_interrupted_import_commits_nothing_and_goes_on(tmp_path: Path) -> None:
    given = job(tmp_path)
    found = run(tmp_path / "c", given, observer=Stopping(StopSignal()))
    assert found.is_stopped and found.visits == 0
    assert rows(tmp_path / "c", "visits") == []
    before = scans(tmp_path / "c")
    assert (found := run(tmp_path / "c", given)).visits == len(NAMES) and not found.is_stopped
    assert len(before) == 3 and scans(tmp_path / "c") == {}
    assert sorted(row["url"][14:] for row in rows(tmp_path / "c", "visits")) == NAMES


def test_pages_that_a_crawl_has_fetched_are_not_lost(tmp_path: Path) -> None:
    with Web({"a.test": {"/": html("Home", "Text.")}}) as web:
        assert beamtrawl("crawl", tmp_path / "c", "--seed", web.url("a.test"), "--rounds", 0, *LOOPBACK).code == 0
        with pytest.raises(Killed):
            crawl(tmp_path / "c", engine=Dying(1))
        with pytest.raises(CrawlDirError, match=r"finish that round first: beamtrawl crawl .* --rounds 1"):
            run(tmp_path / "c", job(tmp_path))
        fetch(tmp_path / "c")
    run(tmp_path / "c", job(tmp_path))  # updates the round of the crawl first
    assert {row["round"] for row in rows(tmp_path / "c", "visits")} == {1, 2}
    assert len(rows(tmp_path / "c", "documents")) == 1 + len(NAMES)


def test_a_promise_of_a_killed_fetch_step_outlives_an_import(tmp_path: Path) -> None:
    """The import takes the round of the step, and the next crawl looks for promises to the round after it."""
    given, until = job(tmp_path, part=9), datetime(2099, 1, 2, tzinfo=UTC)
    directory = CrawlDir(str(tmp_path / "c"))
    log = PromiseLog(directory, "000001-fetch-0a1b2c3d")
    row = HostRow(host="busy.test", round=1, last_fetched_at=datetime(2026, 1, 1, tzinfo=UTC), last_elapsed_ms=5.0)
    log.write(row | HostRow(failures_in_row=1, crawl_delay=0.0, not_before=until, held_by="retry_after"))
    run(tmp_path / "c", given)
    assert [(row["host"], row["not_before"]) for row in rows(tmp_path / "c", "hosts")] == [("busy.test", until)]
    assert directory.exists("attempts/000001-fetch-0a1b2c3d.stop"), "a job on a cluster may outlive its driver"
    log.remove()


def test_an_import_holds_no_url_that_was_released_for_good(tmp_path: Path) -> None:
    directory, chosen = CrawlDir(str(tmp_path / "c")), settings(scope__mode="any")
    release(directory, ["a.test/calendar/*"], datetime.now(UTC))
    run(tmp_path / "c", job(tmp_path))
    (update,) = [m for m in directory.manifests() if m.step == "update"]
    assert update.settings_digest == settings_digest(with_released(directory, chosen)) != settings_digest(chosen)
