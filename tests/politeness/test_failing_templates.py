"""Failing URLs do not hold up the good pages of their host, and a host that is down is backed off as ever."""

import itertools
from typing import Any

import pytest

from beamtrawl.transforms.http.reply import Reply
from beamtrawl.transforms.outcomes import Outcome
from tests.support.access_log import Manners, violations
from tests.support.scheduled_rounds import Round, outcomes, pages, turns
from tests.support.servers import Servers
from tests.support.simulation import SimulatedTime, SimulatedWeb, run_round
from tests.support.web import Page, Request, html, status

BACKOFF = 2.0  # seconds
DEFAULTS: dict[str, Any] = {
    "politeness__delay": 1.0,
    "politeness__backoff": BACKOFF,
    "politeness__response_factor": 1.0,
}
GOOD = [f"/good/{n}" for n in range(48)]
RESET = Reply(failure=Outcome.CONNECT_ERROR)

# the failing paths, requested first; how they fail; how many requests of them a round of an hour sends
FAILING = {
    "errors": ([f"/bad/{n}" for n in range(40)], Reply(500), 3),
    "no answers": ([f"/bad/{n}" for n in range(40)], Reply(failure=Outcome.TIMEOUT, elapsed_s=15.0), 3),
    "a thousand errors": ([f"/bad/{n}" for n in range(1000)], Reply(502), 3),
    "a template each": ([f"/{a}{b}/bad" for a, b in itertools.product("abcdefgh", "vwxyz")], Reply(500), 40),
    "a shape of a parameter each": (
        [f"/bad?{a}{b}=1" for a, b in itertools.product("abcdefgh", "vwxyz")],
        Reply(500),
        40,
    ),
}


@pytest.mark.parametrize(("bad", "reply", "tries"), FAILING.values(), ids=FAILING)
def test_good_pages_are_visited_in_the_round_whatever_fails_before_them(
    bad: list[str], reply: Reply, tries: int
) -> None:
    urls = [f"http://a.test{path}" for path in (*bad, *GOOD)]
    servers = Servers(dict.fromkeys(urls[: len(bad)], reply))
    # Another host is at work all the time, so that the round does not end while this one waits.
    events = Round(servers, urls, pages("b.test", 2000), seconds=3600.0, **DEFAULTS).run()
    ends = outcomes(events)
    assert [ends[url] for url in urls[len(bad) :]] == ["fetched"] * len(GOOD)
    failed = [url for url in urls if ends[url] not in ("fetched", "deferred")]
    assert len(failed) == tries
    log = [request for request in servers.requests if request.host == "a.test"]
    assert violations(log, Manners(lambda host: 1.0, rest_after=lambda troubles: BACKOFF, required=())) == []
    reasons = {event.row["error"] for event in events if event.table == "visits" and event.row["outcome"] == "deferred"}
    assert reasons <= {"3 requests of template /bad/# failed in this round"}


def test_a_round_waits_for_other_templates_after_the_first_failure() -> None:
    """The host is alone, and a backoff longer than a second would end the round."""
    urls = [f"http://a.test{path}" for path in ("/bad/0", "/bad/1", *GOOD)]
    servers = Servers({url: Reply(500) for url in urls[:2]})
    events = Round(servers, urls, seconds=3600.0, **DEFAULTS).run()
    assert list(outcomes(events).values()).count("fetched") == len(GOOD)
    row = turns(events)["a.test"]
    assert (row["failures_in_row"], row["held_by"]) == (1, "backoff")


FOUR_TEMPLATES = ["/", "/news/today", "/people/a", "/index.php?id=1"]


@pytest.mark.parametrize("reply", [Reply(503), Reply(429), RESET, Reply(failure=Outcome.TIMEOUT)], ids=str)
@pytest.mark.parametrize("paths", [["/"], [f"/item/{n}" for n in range(9)], FOUR_TEMPLATES], ids=len)
def test_a_host_that_is_down_is_backed_off_at_every_failure(reply: Reply, paths: list[str]) -> None:
    """2, 4, 8, 16 seconds and up to half as much again, or ten minutes once it counts as dead."""
    urls = [f"http://a.test{path}" for path in paths]
    servers = Servers(dict.fromkeys(urls, reply))
    waits = [2.0**n for n in range(1, 9)] if reply.status else [2.0, 4.0, 600.0, 1200.0]
    others = pages("b.test", 10 + int(1.5 * sum(waits[: len(paths) - 1])))  # as many seconds as the host may wait
    events = Round(servers, urls, others, seconds=3000.0, **DEFAULTS).run()
    log = [request for request in servers.requests if request.host == "a.test"][1:]
    gaps = [b.started - a.ended for a, b in itertools.pairwise(log)]
    assert all(wait <= gap <= 1.5 * wait + 0.001 for wait, gap in zip(waits, gaps, strict=False)), gaps
    assert len(log) >= min(len(paths), 4)
    assert len(log) == len(paths) or sum(gaps) + 1.5 * 2 * gaps[-1] > 3000.0
    row = turns(events)["a.test"]
    assert row["failures_in_row"] == len(log)


def test_retry_after_of_one_url_holds_the_whole_host() -> None:
    busy = Reply(503, [("Retry-After", "100")])
    urls = [f"http://a.test{path}" for path in ("/bad/0", *GOOD)]
    servers = Servers({urls[0]: busy})
    Round(servers, urls, pages("b.test", 400), seconds=3600.0, **DEFAULTS).run()
    _, refused, after = [request for request in servers.requests if request.host == "a.test"][:3]
    assert refused.status == 503
    assert after.started - refused.ended >= 100.0


class Overloaded:
    """A server that answers 503 from some second on, until another one."""

    def __init__(self, time: SimulatedTime, since: float, until: float) -> None:
        self._time, self._since, self._until = time, since, until

    def __call__(self, headers: Any) -> Page:
        return status(503) if self._since <= self._time.monotonic() < self._until else html("Good")


def test_an_overloaded_host_is_left_alone_and_found_again() -> None:
    """The pauses double with each failure, whichever templates the URLs have, until the host answers again."""
    time = SimulatedTime()
    page = Overloaded(time, 20.0, 120.0)
    paths = [f"/{folder}/{n}" for n in range(12) for folder in ("news", "people", "places", "things")]
    sites: dict[str, dict[str, Page]] = {
        "a.test": dict.fromkeys(paths, page),
        "b.test": {f"/{n}": html("b") for n in range(300)},
    }
    web = SimulatedWeb(sites, time)
    urls = [web.url("a.test", path) for path in paths] + [web.url("b.test", f"/{n}") for n in range(300)]
    run_round(web, urls, seconds=3600.0, **DEFAULTS)
    log = [request for request in web.requests if request.host == "a.test"]
    manners = Manners(
        lambda host: 1.0, rest_after=lambda troubles: BACKOFF * 2.0 ** (troubles - 1), required=(), tolerance=1e-6
    )
    assert violations(log, manners) == []
    refused = [request for request in log if request.status == 503]
    assert len(refused) <= 6  # 2 + 4 + 8 + 16 + 32 + 64 seconds
    fetched = {request.path for request in log if request.status == 200}
    assert len(fetched) + len(refused) == len(paths)


def test_a_site_whose_pages_fail_in_turn_is_not_asked_faster() -> None:
    """Every second page of one template fails: each failure costs its pause, and three in a row end the template."""
    urls = pages("a.test", 30)
    servers = Servers({url: Reply(500) for url in urls[::2]})
    Round(servers, urls, pages("b.test", 400), seconds=3600.0, **DEFAULTS).run()
    log: list[Request] = [request for request in servers.requests if request.host == "a.test"]
    assert violations(log, Manners(lambda host: 1.0, rest_after=lambda n: BACKOFF * 2.0 ** (n - 1), required=())) == []
    assert sum(request.status == 500 for request in log) <= 15
