"""How many hosts wait for what, and how long their queues last."""

import math
from typing import Any

import pytest

from beamtrawl.transforms.politeness.backoff import HostState
from beamtrawl.transforms.politeness.census import Census, Queue, take_census
from beamtrawl.transforms.politeness.host_queue import HostTurn
from beamtrawl.transforms.politeness.url_queue import UrlQueue
from beamtrawl.transforms.settings import Politeness
from tests.support.scheduled_rounds import due, pages

POLITENESS = Politeness(delay=2.0, response_factor=0.0)


def turn(host: str, urls: int, ready_at: float = 0.0, **changes: Any) -> tuple[str, HostTurn]:
    return host, HostTurn(host, UrlQueue(map(due, pages(host, urls))), ready_at=ready_at, **changes)


# turns, deadline; census at time 100
CENSUSES = {
    "nothing": ([], math.inf, Census()),
    "a host that is done": ([turn("a", 0)], math.inf, Census()),
    "two hosts": (
        [turn("a", 3), turn("b", 5)],
        math.inf,
        Census(2, 0, 8, 8.0, longest=(Queue("b", 5, "delay", 2.0, 8.0, True), Queue("a", 3, "delay", 2.0, 4.0, True))),
    ),
    "a host in its delay": (
        [turn("a", 3, 101.5, held_by="delay")],
        160.0,
        Census(1, 0, 3, 5.5, 60.0, (Queue("a", 3, "delay", 2.0, 5.5, True),)),
    ),
    "a host in backoff, for which no round waits": (
        [turn("a", 9, 130.0, held_by="backoff"), turn("b", 2)],
        math.inf,
        Census(
            2,
            1,
            11,
            2.0,
            longest=(Queue("b", 2, "delay", 2.0, 2.0, True), Queue("a", 9, "backoff", 30.0, 30.0, False)),
        ),
    ),
    "a backoff that ends soon": (
        [turn("a", 3, 100.5, held_by="retry_after")],
        math.inf,
        Census(1, 1, 3, 4.5, longest=(Queue("a", 3, "retry_after", 0.5, 4.5, True),)),
    ),
    "a backoff that is over": (
        [turn("a", 1, 99.0, held_by="retry_after")],
        math.inf,
        Census(1, 0, 1, 0.0, longest=(Queue("a", 1, "delay", 2.0, 0.0, True),)),
    ),
    "a Crawl-delay": (
        [turn("a", 3, state=HostState(crawl_delay=4.0))],
        math.inf,
        Census(1, 0, 3, 8.0, longest=(Queue("a", 3, "crawl_delay", 4.0, 8.0, True),)),
    ),
    "a Crawl-delay for which no round waits": (
        [turn("a", 3, 110.0, state=HostState(crawl_delay=30.0), held_by="crawl_delay")],
        math.inf,
        Census(1, 0, 3, 0.0, longest=(Queue("a", 3, "crawl_delay", 30.0, 10.0, False),)),
    ),
    "slow answers": (
        [turn("a", 3, state=HostState(elapsed_s=1.5))],
        math.inf,
        Census(1, 0, 3, 7.0, longest=(Queue("a", 3, "delay", 2.0, 7.0, True),)),
    ),
    "a host with little time": (
        [turn("a", 90, ends_at=107.0)],
        math.inf,
        Census(1, 0, 90, 7.0, longest=(Queue("a", 90, "delay", 2.0, 7.0, True),)),
    ),
    "hosts that share a queue": (
        [("q", turn("a", 3)[1]), ("q", turn("b", 5)[1]), turn("c", 6)],
        math.inf,
        Census(
            3, 0, 14, 12.0, longest=(Queue("q", 8, "delay", 2.0, 12.0, True), Queue("c", 6, "delay", 2.0, 10.0, True))
        ),
    ),
    "a round that is over": (
        [turn("a", 3)],
        90.0,
        Census(1, 0, 3, 0.0, 0.0, (Queue("a", 3, "delay", 2.0, 0.0, True),)),
    ),
}


@pytest.mark.parametrize(("turns", "deadline", "expected"), CENSUSES.values(), ids=CENSUSES)
def test_a_census(turns: list[tuple[str, HostTurn]], deadline: float, expected: Census) -> None:
    assert take_census(turns, 100.0, deadline, POLITENESS) == expected


def test_the_ten_longest_queues_are_named() -> None:
    named = take_census([turn(f"h{n}", n) for n in range(1, 15)], 100.0, math.inf, POLITENESS).longest
    assert [queue.name for queue in named] == [f"h{n}" for n in range(14, 4, -1)]


def test_an_answer_that_is_late_is_the_reason() -> None:
    turns = [turn("a", 1), turn("b", 3), turn("c", 2)]
    found = take_census(turns, 100.0, math.inf, POLITENESS, {"a": 92.0, "b": 99.5}, 20.0)
    assert found.longest == (
        Queue("a", 1, "answer", 8.0, 12.0, True),
        Queue("b", 3, "delay", 2.0, 4.0, True),
        Queue("c", 2, "delay", 2.0, 2.0, True),
    )
    slow = [turn("a", 1, state=HostState(elapsed_s=4.0))]
    assert take_census(slow, 100.0, math.inf, POLITENESS, {"a": 92.0}, 20.0).longest[0].why == "delay"
    assert take_census(turns, 100.0, 105.0, POLITENESS, {"a": 92.0}, 20.0).longest[0].seconds == 5.0
