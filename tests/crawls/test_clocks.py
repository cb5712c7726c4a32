"""A clock that was ahead while a crawl ran holds no host for longer than was promised (docs/politeness.md, Clocks)."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from beamtrawl.pipeline.held_hosts import held_hosts
from beamtrawl.transforms.directory.clock_ahead import note_ahead, seen_since, step_ahead
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest
from beamtrawl.transforms.frontier.files import frontier_writer
from beamtrawl.transforms.frontier.read_due import Bounds, candidates
from beamtrawl.transforms.frontier.selection import next_round, settled as settled_rows
from beamtrawl.transforms.politeness.backoff import settled
from beamtrawl.transforms.robots.lookup import known_robots
from beamtrawl.transforms.settings import Politeness, Settings, render
from beamtrawl.transforms.tables.schemas import FRONTIER
from beamtrawl.transforms.tables.table_files import open_parquet
from tests.support.command_line import beamtrawl


def commit(directory: CrawlDir, step: str, round_: int, ended_at: str) -> None:
    directory.write_text("crawl.toml", render(Settings()))
    directory.commit(Manifest(step, round_, "d" * 32, (), {}, (), ended_at, ended_at))


NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def row(start: datetime | None, end: datetime | None) -> dict[str, object]:
    state = {"host": "a.org", "round": 1, "last_elapsed_ms": 0.0, "failures_in_row": 0, "crawl_delay": 0.0}
    return {**state, "last_fetched_at": start, "not_before": end, "held_by": "delay"}


# (start of the delay, its end): when it ends, if the clock was first seen to be right ten minutes ago
SEEN = NOW - HOUR / 6
DELAYS = [
    (NOW - HOUR, NOW + HOUR, NOW + HOUR),
    (NOW + 8 * HOUR, NOW + 8 * HOUR + HOUR / 12, SEEN + HOUR / 12),  # over
    (NOW + 960 * HOUR, NOW + 962 * HOUR, SEEN + 2 * HOUR),
    (NOW + HOUR, None, None),
    (None, NOW + 960 * HOUR, NOW + 24 * HOUR),
    (None, NOW + 2 * HOUR, NOW + 2 * HOUR),
]


@pytest.mark.parametrize(("start", "end", "expected"), DELAYS)
def test_a_pause_that_starts_in_the_future_lasts_as_long_as_was_promised(
    start: datetime | None, end: datetime | None, expected: datetime | None
) -> None:
    found = settled(row(start, end), NOW, SEEN)["not_before"]  # type: ignore[arg-type]
    assert found is None if expected is None else found is not None and found <= expected


# (when a retry is due, its failures): when it is, if the clock was first seen to be right ten minutes ago
RETRIES = [
    (NOW + HOUR / 12, 1, NOW + HOUR / 12),  # no longer than a first retry may wait
    (NOW + 8 * HOUR, 1, SEEN + HOUR / 12),
    (NOW + 8 * HOUR, None, SEEN + HOUR / 12),
    (NOW + 960 * HOUR, 3, SEEN + HOUR / 3),
    (NOW + 20 * HOUR, 12, NOW + 20 * HOUR),
    (NOW + 960 * HOUR, 12, SEEN + 24 * HOUR),
    (None, 1, None),
    (NOW - HOUR, 1, NOW - HOUR),
]


@pytest.mark.parametrize(("due", "failures", "expected"), RETRIES)
def test_a_retry_that_was_planned_in_the_future_waits_no_longer_than_its_failures_allow(
    due: datetime | None, failures: int | None, expected: datetime | None
) -> None:
    rows = pa.Table.from_pylist(
        [{"due_at": due, "failures": failures}], pa.schema(map(FRONTIER.field, ("due_at", "failures")))
    )
    assert settled_rows(rows, NOW, SEEN)["due_at"].to_pylist() == [expected]


def test_such_a_retry_is_read_and_awaited(tmp_path: Path) -> None:
    waiting = {"url_key": bytes(16), "url": "http://a.test/", "host": "a.test", "depth": 1, "priority": 1.0}
    waiting |= {"redirects": 0, "discovered_round": 1, "reason": "retry", "failures": 1, "due_at": NOW + 960 * HOUR}
    rows = pa.Table.from_pylist([dict.fromkeys(FRONTIER.names) | waiting], FRONTIER)
    writer = frontier_writer(str(tmp_path), 1)
    writer.write(rows)
    file = writer.close()
    assert file
    with open_parquet(str(tmp_path), file.path) as opened:
        found = [
            sum(each.num_rows for each in candidates(opened, np.empty(0, np.int64), Bounds(NOW, 9, seen_since=at)))
            for at in (None, SEEN)
        ]
    assert found == [0, 1]
    coming = next_round([settled_rows(rows, NOW, NOW)], {}, (), NOW, HOUR)
    assert coming
    assert coming.first == NOW + HOUR / 12


def test_it_ends_though_the_clock_stays_as_it_is() -> None:
    """Counted from each look anew, it would never end."""
    rows = [row(NOW + 8 * HOUR, NOW + 8 * HOUR + HOUR / 12)]
    assert held_hosts("", [], rows, Politeness(), NOW, (), NOW).until  # type: ignore[arg-type]
    assert not held_hosts("", [], rows, Politeness(), NOW + HOUR / 6, (), NOW).until  # type: ignore[arg-type]


def test_a_robots_txt_from_the_future_is_not_current_and_never_the_newest() -> None:
    def robots(round_: int, fetched: datetime) -> dict[str, object]:
        return {
            "origin": "http://a.org",
            "round": round_,
            "verdict": "allow_all",
            "body": None,
            "fetched_at": fetched,
            "expires_at": fetched + HOUR,
        }

    ahead, later = robots(1, NOW + 960 * HOUR), robots(2, NOW - HOUR / 2)
    assert not known_robots([ahead], "x", NOW).current  # type: ignore[list-item]
    assert known_robots([ahead, later], "x", NOW).current["http://a.org"].fetched_at == later["fetched_at"]  # type: ignore[list-item]
    assert known_robots([robots(1, NOW + timedelta(seconds=3))], "x", NOW).current  # type: ignore[list-item]


def test_the_step_is_named_once_and_the_moment_is_kept(tmp_path: Path) -> None:
    directory = CrawlDir(str(tmp_path))
    commit(directory, "fetch", 1, ended_at=(NOW + 8 * HOUR).isoformat())
    step = step_ahead(directory.manifests(), NOW)
    assert step
    assert step.name == "000001-fetch"
    line = note_ahead(directory, directory.manifests(), NOW)
    assert line
    assert line.startswith(
        "step 000001-fetch ended at 2026-06-01 20:00:00 UTC, and it is 2026-06-01 12:00:00: the clock"
    )
    assert note_ahead(directory, directory.manifests(), NOW + HOUR) is None
    assert seen_since(directory, NOW + HOUR) == NOW
    assert seen_since(directory, NOW - HOUR) == NOW - HOUR  # set back once more
    assert step_ahead(directory.manifests(), NOW + 9 * HOUR) is None


def test_status_has_it(tmp_path: Path) -> None:
    directory = CrawlDir(str(tmp_path))
    later = datetime.now(UTC) + 8 * HOUR
    commit(directory, "fetch", 1, ended_at=later.isoformat())
    ran = beamtrawl("status", tmp_path, "--check")
    assert "step 000001-fetch ended at" in ran.out + ran.err
    assert ran.code != 0
    assert "the clock was ahead" in json.dumps(json.loads(beamtrawl("status", tmp_path, "--json").out)["alarms"])
