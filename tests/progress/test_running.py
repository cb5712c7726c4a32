"""The state of a step under way, and the lines on it."""

import dataclasses

import pytest

from beamtrawl.pipeline.update_step import STAGES
from beamtrawl.runners.progress.running import Reported, Running, Stage
from beamtrawl.runners.progress.words import line, screen
from beamtrawl.transforms.directory.crawl_dir import Step
from beamtrawl.transforms.politeness.workers.reports import Queue

FETCH = Running(Step("fetch", 3), 100, started=1000.0)
BUSY = Reported(2, {"gone": 5, "fetched": 20}, 123_456, 4, 2, 1, 50, 12.0, 3000.0, rate=2.25)
HELD = BUSY._replace(
    queues=(
        Queue("a.test", 12, "crawl_delay", 2.0, 22.0, True),
        Queue("b.test", 1, "response_time", 3.5, 3.4, True),
        Queue("c.test", 9, "retry_after", 65.0, 65.0, False),
        Queue("d.test", 9, "delay", 1.0, 1.0, False),
    )
)
QUEUES = (
    "longest queues: a.test 12 URLs, Crawl-delay 2 s, 22 s left; b.test 1 URL, slow answers, delay 3.5 s, 3 s left;"
    " c.test 9 URLs, asked to wait (Retry-After), not waited for"
)


def fetch(seconds: float, reported: Reported, **changes: object) -> Running:
    return dataclasses.replace(FETCH, **changes).at(1000.0 + seconds, reported)


# state, its line
LINES = {
    "no worker has reported": (
        fetch(12, Reported()),
        "round 3 fetch: 0 of 100 URLs, waiting for the first report of a worker, 12 s",
    ),
    "handed to a cluster": (
        FETCH.at(1065.0, Reported(), "handed to the cluster, waiting for workers"),
        "round 3 fetch: 0 of 100 URLs, handed to the cluster, waiting for workers, 1 min 5 s",
    ),
    "under way": (
        fetch(10, BUSY),
        "round 3 fetch: 25 of 100 URLs, 2.2/s now, 2.5/s mean, 123.5 kB, about 20 s left,"
        " hosts 4 active, 2 waiting, 1 backing off, visits fetched 20, gone 5",
    ),
    "with a limit of pages": (
        fetch(10, BUSY, at_most=30),
        "round 3 fetch: 25 of 30 URLs (limit of pages), 2.2/s now, 2.5/s mean, 123.5 kB, about 20 s left,"
        " hosts 4 active, 2 waiting, 1 backing off, visits fetched 20, gone 5",
    ),
    "held by a few hosts": (
        fetch(10, HELD),
        "round 3 fetch: 25 of 100 URLs, 2.2/s now, 2.5/s mean, 123.5 kB, about 20 s left,"
        f" hosts 4 active, 2 waiting, 1 backing off, visits fetched 20, gone 5, {QUEUES}",
    ),
    "at its end": (
        fetch(10, Reported(1, {"fetched": 100}, 999)),
        "round 3 fetch: 100 of 100 URLs, 0.0/s now, 10.0/s mean, 999 B,"
        " hosts 0 active, 0 waiting, 0 backing off, visits fetched 100",
    ),
    "an update before its first report": (
        Running(Step("update", 3), 25, 1000.0).at(1004.0, Reported()),
        "round 3 update: 25 visits, waiting for the first report of a worker, 4 s",
    ),
    "an update that parses": (
        Running(Step("update", 3), 25, 1000.0).at(1004.0, Reported(2, stage=Stage(1, 10, "parsing pages", 12))),
        "round 3 update: 12 of 25 visits, stage 1 of 10: parsing pages, 4 s",
    ),
    "a later stage": (
        Running(Step("update", 3), 25, 1000.0).at(1090.0, Reported(2, stage=Stage(3, 10, "finding duplicates", 25))),
        "round 3 update: 25 visits, stage 3 of 10: finding duplicates, 1 min 30 s",
    ),
}


@pytest.mark.parametrize(("running", "text"), LINES.values(), ids=LINES)
def test_a_line_on_a_step(running: Running, text: str) -> None:
    assert line(running) == text


def test_the_screen_of_a_fetch_step() -> None:
    assert screen(fetch(10, BUSY, at_most=30, round=1, rounds=2)) == (
        "round 3 fetch (1 of 2), 10 s, 25 of 30 URLs (limit of pages), 75 left in the frontier",
        [
            "2.2/s now, 2.5/s mean, 123.5 kB, about 20 s left",
            "hosts: 4 active, 2 waiting, 1 backing off; 50 URLs queued",
            "visits: fetched 20, gone 5",
        ],
    )


def test_the_screen_names_the_three_longest_queues() -> None:
    assert screen(fetch(10, HELD))[1][-1] == QUEUES


def test_the_screens_before_the_first_report_invent_no_numbers() -> None:
    assert screen(fetch(3, Reported())) == (
        "round 3 fetch, 3 s, waiting for the first report of a worker",
        ["100 URLs in the frontier"],
    )
    assert screen(Running(Step("update", 3), 25, 1000.0).at(1004.0, Reported())) == (
        "round 3 update, 4 s, waiting for the first report of a worker",
        ["25 visits"],
    )
    assert fetch(3, Reported()).fraction is None


# queued URLs, seconds of the longest queue, seconds until the round ends; expected, at 2.5 visits per second
LEFT = {
    "by the rate": (50, 12.0, None, 20.0),
    "by the delay of one host": (50, 500.0, None, 500.0),
    "by the time of the round": (50, 500.0, 90.0, 90.0),
    "nothing is queued": (0, 0.0, 90.0, None),
}


def test_what_a_worker_has_not_taken_yet_is_to_come_too() -> None:
    taking = Reported(1, {"fetched": 25}, queued=10, is_taking=True)
    assert (fetch(10, taking).seconds_left, fetch(10, taking).fraction) == (30.0, 0.25)
    assert (fetch(10, taking._replace(is_taking=False)).seconds_left, fetch(10, taking).total) == (4.0, 100)


@pytest.mark.parametrize(("queued", "longest", "ends", "expected"), LEFT.values(), ids=LEFT)
def test_the_time_left(queued: int, longest: float, ends: float | None, expected: float | None) -> None:
    reported = Reported(1, {"fetched": 25}, queued=queued, longest_queue_s=longest, ends_in_s=ends)
    assert fetch(10, reported).seconds_left == expected


def test_the_part_that_is_done_only_grows_over_the_stages_of_an_update() -> None:
    update = Running(Step("update", 3), 25, 1000.0)
    reports = [Stage(1, 10, "", 0), Stage(1, 10, "", 25), *(Stage(number, 10, "", 25) for number in range(2, 11))]
    parts = [update.at(1001.0, Reported(1, stage=stage)).fraction for stage in reports]
    assert parts == sorted(parts)
    assert parts[0] == 0.0
    assert parts[-1] < 1.0


def test_every_stage_of_an_update_has_words() -> None:
    assert all(words[0].islower() and not words.endswith(".") for words in STAGES.values())
