"""A crawl directory on a store that takes 300 ms for each call does not slow requests down."""

from collections import Counter
from pathlib import Path

import pytest

from tests.support import slow_store
from tests.support.access_log import ROBOTS, Manners, violations
from tests.support.crawls import crawl, fetch, rows
from tests.support.web import Request, html, status
from tests.support.web_process import WebProcess

DELAY, PAGES, HOSTS = 0.5, 24, 20


def seconds_of(log: list[Request]) -> float:
    """From the first answer to the last request."""
    return max(request.started for request in log) - min(request.ended for request in log)


@pytest.mark.slow("real clock")
def test_a_slow_store_costs_no_request_and_no_time(tmp_path: Path) -> None:
    names = [f"h{n}.test" for n in range(HOSTS)]
    sites = {name: {f"/{n}": html(f"{n}", f"{n} of {name} " * 99) for n in range(PAGES)} for name in names}
    sites["busy.test"] = {"/": status(429, Retry_After="1000")}
    with WebProcess(sites) as web:
        seeds = [web.url(name, path) for name in sites for path in sites[name]]

        def fetched(root: str) -> tuple[list[Request], Counter[str]]:
            """The requests of a round, and how its visits ended."""
            before = len(web.requests)
            # Short pieces and timeouts: a store that held a request up would show.
            limits = {"limits__piece_time": 2.0, "fetch__read_timeout": 1.0, "fetch__total_timeout": 1.5}
            crawl(root, seeds, rounds=0)
            fetch(root, politeness__delay=DELAY, **limits)
            return web.requests[before:], Counter(row["outcome"] for row in rows(root, "visits"))

        local = seconds_of(fetched(str(tmp_path / "local"))[0])
        # A machine that stalls for a second makes a round late, or a request. A store does so in each round.
        for attempt in range(3):
            log, ends = fetched(f"{slow_store.PREFIX}{tmp_path}/remote-{attempt}")
            remote = seconds_of(log)
            print(f"local {local:.2f} s, at 300 ms a call {remote:.2f} s")
            assert violations(log, Manners(lambda host: DELAY, required=())) == []
            if remote <= 1.05 * local and "timeout" not in ends:
                break
    assert remote <= 1.05 * local
    assert ends == {"fetched": HOSTS * PAGES, "too_many_requests": 1}
    assert Counter(request.path == ROBOTS for request in log) == {True: HOSTS + 1, False: HOSTS * PAGES + 1}
