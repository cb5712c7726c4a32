"""What the workers of a step have reported."""

import pickle
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.runners.progress.running import History, Reported, Stage, add_up, read_reports
from beamtrawl.transforms.batches.stage_progress import StageProgress
from beamtrawl.transforms.http.reply import Reply
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.politeness.workers.progress import Report
from beamtrawl.transforms.politeness.workers.reports import Census, Failure, Queue, Requests


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
    "over time, with queues and failures": (
        [
            report(1, 30, 4.5, None)
            | {
                "requests": {"rate": 2.0, "began": 100.0, "width_s": 2.0, "buckets": [4, 3]},
                "queues": [{"name": "a", "urls": 3, "why": "delay", "delay_s": 1.0, "seconds": 2.0, "holds": True}],
                "failures": [{"at": 101.0, "url": "http://a.test/", "outcome": "gone", "error": "status 404"}],
            },
            report(1, 30, 4.5, None)
            | {
                "requests": {"rate": 1.5, "began": 102.0, "width_s": 4.0, "buckets": [5, 6]},
                "queues": [
                    {"name": "b", "urls": 9, "why": "dead", "delay_s": 9.0, "seconds": 9.0, "holds": False},
                    {"name": "c", "urls": 3, "why": "delay", "delay_s": 1.0, "seconds": 7.0, "holds": True},
                ],
                "failures": [{"at": 103.0, "url": "http://b.test/", "outcome": "timeout", "error": "no answer"}],
            },
            {**report(0, 0, 0.0, None), "requests": {"rate": 9.0, "began": None, "width_s": 2.0, "buckets": []}},
        ],
        Reported(
            3,
            {},
            60,
            2,
            4,
            3,
            20,
            4.5,
            rate=3.5,  # without that of a bundle that has ended
            history=History(100.0, 4.0, (7, 5, 6)),
            queues=(
                Queue("c", 3, "delay", 1.0, 7.0, True),
                Queue("a", 3, "delay", 1.0, 2.0, True),
                Queue("b", 9, "dead", 9.0, 9.0, False),
            ),
            failures=(
                Failure(103.0, "http://b.test/", "timeout", "no answer"),
                Failure(101.0, "http://a.test/", "gone", "status 404"),
            ),
        ),
    ),
    "stages": (
        [stage(1, "parsing", 20), stage(1, "parsing", 22), stage(3, "judging", 0), stage(2, "reading", 0)],
        Reported(4, stage=Stage(3, 9, "judging", 42)),
    ),
}


@pytest.mark.parametrize(("reports", "total"), SUMS.values(), ids=SUMS)
def test_reports_add_up(reports: list[dict[str, Any]], total: Reported) -> None:
    assert add_up(reports) == total


def test_some_worker_takes_further_hosts() -> None:
    taking: list[dict[str, Any]] = [{"outcomes": {}, "is_taking": each} for each in (False, True)]
    assert [add_up(some).is_taking for some in (taking, taking[:1], [])] == [True, False, False]


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


def test_the_rate_now_is_that_of_the_last_ten_seconds() -> None:
    requests = Requests()
    for half in range(121):  # 10 requests a second for 40 seconds, then 1 a second
        requests.note(1000.0 + half / 2, 5 * min(half, 80) + max(0, half - 80) // 2)
    assert requests.to_dict()["rate"] == 1.0


def test_requests_over_time_take_thirty_buckets_at_most() -> None:
    requests = Requests()
    for second in range(2001):
        requests.note(1000.0 + second, 3 * second)
    found = requests.to_dict()
    assert (found["began"], found["width_s"], len(found["buckets"])) == (1000.0, 128.0, 16)
    assert sum(found["buckets"]) == 6000
    assert found["buckets"][1:-1] == [384] * 14


def test_a_report_has_the_last_ten_failures_and_no_more_of_them_than_a_bound() -> None:
    report = Report(lambda: 1000.0)
    for number in range(20):
        report.count(Outcome.SERVER_ERROR, Reply(status=503), f"http://a.test/{number}")
        report.count(Outcome.GONE, Reply(status=404), "http://a.test/gone")
        report.count(Outcome.FETCHED, Reply(status=200), "http://a.test/good")
    report.count(Outcome.TIMEOUT, Reply(error="e" * 1000), "http://b.test/" + "x" * 1000)
    found = report.snapshot(0, Census())["failures"]
    assert [row["url"] for row in found[:-1]] == [f"http://a.test/{number}" for number in range(11, 20)]
    assert found[0] == {"at": 1000.0, "url": "http://a.test/11", "outcome": "server_error", "error": "status 503"}
    assert (len(found[-1]["url"]), len(found[-1]["error"])) == (300, 200)
