"""How many hosts wait for what, and how long their queues last."""

import math
from typing import Any

import pytest

from beamtrawl.transforms.politeness.backoff import HostState
from beamtrawl.transforms.politeness.census import Census, take_census
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
    "two hosts": ([turn("a", 3), turn("b", 5)], math.inf, Census(2, 0, 8, 8.0)),
    "a host in its delay": ([turn("a", 3, 101.5, held_by="delay")], 160.0, Census(1, 0, 3, 5.5, 60.0)),
    "a host in backoff": ([turn("a", 1, 130.0, held_by="backoff"), turn("b", 1)], math.inf, Census(2, 1, 2, 30.0)),
    "a backoff that is over": ([turn("a", 1, 99.0, held_by="retry_after")], math.inf, Census(1, 0, 1, 0.0)),
    "a Crawl-delay": ([turn("a", 3, state=HostState(crawl_delay=30.0))], math.inf, Census(1, 0, 3, 60.0)),
    "a host with little time": ([turn("a", 90, ends_at=107.0)], math.inf, Census(1, 0, 90, 7.0)),
    "hosts that share a queue": (
        [("q", turn("a", 3)[1]), ("q", turn("b", 5)[1]), turn("c", 6)],
        math.inf,
        Census(3, 0, 14, 12.0),
    ),
    "a round that is over": ([turn("a", 3)], 90.0, Census(1, 0, 3, 4.0, 0.0)),
}


@pytest.mark.parametrize(("turns", "deadline", "expected"), CENSUSES.values(), ids=CENSUSES)
def test_a_census(turns: list[tuple[str, HostTurn]], deadline: float, expected: Census) -> None:
    assert take_census(turns, 100.0, deadline, POLITENESS) == expected
