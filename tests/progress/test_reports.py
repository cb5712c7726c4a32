"""What the workers of a step have reported."""

import pickle
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.runners.progress.running import Reported, Stage, add_up, read_reports
from beamtrawl.transforms.exchange.stage_progress import StageProgress


def report(active: int, count: int, longest: float, ends: float | None, **outcomes: int) -> dict[str, Any]:
    hosts = {"active": active, "waiting": 2 * active, "backing_off": 1, "queued": 10 * active}
    return {"outcomes": outcomes, "bytes": count, **hosts, "longest_queue_s": longest, "ends_in_s": ends}


def stage(number: int, name: str, rows: int) -> dict[str, Any]:
    return {"stage": number, "stages": 9, "name": name, "rows": rows}


# workers' reports, their sum
SUMS: dict[str, tuple[list[dict[str, Any]], Reported]] = {
    "no worker has reported": ([], Reported()),
    "one": ([report(1, 30, 4.5, None, fetched=4)], Reported(1, {"fetched": 4}, 30, 1, 2, 1, 10, 4.5)),
    "two": (
        [report(1, 30, 4.5, 60.0, fetched=4, gone=1), report(5, 70, 9.0, 50.0, fetched=8)],
        Reported(2, {"fetched": 12, "gone": 1}, 100, 6, 12, 2, 60, 9.0, 60.0),
    ),
    "of an older version": (
        [{"outcomes": {"gone": 2}, "bytes": 7, "active": 1, "waiting": 3}],
        Reported(1, {"gone": 2}, 7, 1, 3),
    ),
    "stages": (
        [stage(1, "parsing", 20), stage(1, "parsing", 22), stage(3, "judging", 0), stage(2, "reading", 0)],
        Reported(4, stage=Stage(3, 9, "judging", 42)),
    ),
}


@pytest.mark.parametrize(("reports", "total"), SUMS.values(), ids=SUMS)
def test_reports_add_up(reports: list[dict[str, Any]], total: Reported) -> None:
    assert add_up(reports) == total


def test_each_worker_reports_on_a_stage_in_its_own_file_and_counts_its_own_rows(tmp_path: Path) -> None:
    prefix = str(tmp_path / "000001-update-ab-progress")
    first = StageProgress(prefix, "parsing", 1, 9)
    first.report(5)
    second = pickle.loads(pickle.dumps(first))
    second.report(7)
    first.report(100)  # within the interval: in the next report
    (tmp_path / "000001-update-ab-progress-3.json").write_text('{"stage": 1, "sta')
    assert add_up(read_reports(prefix)) == Reported(2, stage=Stage(1, 9, "parsing", 12))


def test_a_disk_that_is_full_does_not_fail_a_report(tmp_path: Path) -> None:
    StageProgress(str(tmp_path / "missing" / "progress"), "parsing", 1, 9).report()
