"""A round ends when all that is left would only wait, and nothing of what waits is lost or asked too early."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.pipeline.held_hosts import held_hosts
from beamtrawl.transforms.http.reply import Reply
from beamtrawl.transforms.politeness.backoff import patience
from beamtrawl.transforms.politeness.host_queue import HostTurn
from beamtrawl.transforms.politeness.url_queue import UrlQueue
from beamtrawl.transforms.robots.lookup import RobotsSearch
from beamtrawl.transforms.settings import Politeness
from beamtrawl.transforms.tables.schemas import HOSTS
from tests.support.access_log import ROBOTS, Manners, violations
from tests.support.crawls import Silent, crawl, frontier, rows, states
from tests.support.scheduled_rounds import Round, due, outcomes, pages, turns
from tests.support.servers import PAGE, Servers
from tests.support.web import CLOSED, Page, Web, html, plain, status
from tests.support.web_process import WebProcess

# what holds the host, our delay, the delay of a shared queue: seconds for which a round waits for it
PATIENCE = {
    ("delay", 1.0, None): 5.0,
    ("crawl_delay", 0.0, None): 5.0,
    ("response_time", 1.0, None): 5.0,
    (None, 1.0, None): 5.0,
    ("delay", 10.0, None): 20.0,
    ("crawl_delay", 1.0, 8.0): 16.0,
    ("backoff", 10.0, None): 1.0,
    ("template", 10.0, None): 20.0,
    ("dead", 1.0, None): 1.0,
    ("robots", 1.0, None): 1.0,
    ("retry_after", 1.0, None): 1.0,
}


def test_for_how_long_a_round_waits_for_a_host() -> None:
    found = {
        (held_by, delay, shared): patience(held_by, Politeness(delay=delay, shared_delay=shared))
        for held_by, delay, shared in PATIENCE
    }
    assert found == PATIENCE


def test_a_round_waits_for_hosts_within_their_patience() -> None:
    now, politeness = datetime(2026, 3, 1, tzinfo=UTC), Politeness(delay=1.0)
    seconds = {"ready.test": 0.0, "soon.test": 5.0, "late.test": 5.1}
    row = dict.fromkeys(HOSTS.names) | {"round": 1, "held_by": "delay"}
    promised: Any = [row | {"host": host, "not_before": now + timedelta(0, wait)} for host, wait in seconds.items()]
    held = held_hosts("", [], promised, politeness, now)
    assert held.until.keys() == {"soon.test", "late.test"}
    assert held.not_due == {"late.test"}


# answers by URL: how the two pages of the host end, and what it is held by
LEFT = {
    "Retry-After": ({"http://a.test/0": Reply(429, [("Retry-After", "300")])}, ["too_many_requests", "deferred"]),
    "backoff": ({"http://a.test/0": Reply(500)}, ["server_error", "deferred"]),
    "Crawl-delay": (
        {"http://a.test/robots.txt": Reply(200, (), b"User-agent: *\nCrawl-delay: 600")},
        ["deferred", "deferred"],
    ),
    "slow answer": ({"http://a.test/0": Reply(200, elapsed_s=60.0)}, ["fetched", "deferred"]),
}


def test_a_round_does_not_wait_for_what_takes_long() -> None:
    for answers, ends in LEFT.values():
        servers = Servers(answers)
        changes = {"politeness__backoff": 200.0, "politeness__response_factor": 1.0, "seconds": 3600.0}
        round_ = Round(servers, pages("a.test", 2), pages("b.test", 5), **changes)
        events = round_.run()
        assert round_.time
        assert round_.time.monotonic() < 4
        found = outcomes(events)
        assert [end for url, end in found.items() if "a.test" in url] == ends
        assert [end for url, end in found.items() if "b.test" in url] == ["fetched"] * 5
        assert turns(events)["a.test"]["not_before"] is not None


REFUSED = {"http://a.test/0": Reply(429, [("Retry-After", "300")])}
DOWN = {"http://a.test/robots.txt": Reply(503)}
TIME = datetime(2026, 11, 24, tzinfo=UTC)
# answers, columns of the frontier, limits: how the three pages of the host end; others stay in the frontier as they are
AGAIN: dict[str, tuple[Mapping[str, Reply], dict[str, Any], dict[str, Any], list[str]]] = {
    "first": (REFUSED, {"reason": "seed"}, {}, ["too_many_requests", "deferred", "deferred"]),
    "again": (REFUSED, {"reason": "deferred"}, {}, ["too_many_requests"]),
    "for another reason": (DOWN, {"reason": "deferred"}, {}, ["unreachable_robots"] * 3),
    "robots.txt is out of reach again": (DOWN, {"reason": "retry"}, {}, []),
    "after a page that failed": (DOWN, {"reason": "retry", "due_at": TIME}, {}, ["unreachable_robots"] * 3),
    "for the last time": (DOWN, {"reason": "retry"}, {"limits__max_host_tries": 1}, ["unreachable_robots"] * 3),
}


@pytest.mark.parametrize(("answers", "waiting", "limits", "ends"), AGAIN.values(), ids=AGAIN)
def test_a_url_that_goes_on_waiting_has_no_further_visit(
    answers: Mapping[str, Reply], waiting: dict[str, Any], limits: dict[str, Any], ends: list[str]
) -> None:
    events = Round(Servers(answers), pages("a.test", 3), waiting=waiting, **limits).run()
    assert list(outcomes(events).values()) == ends
    row = turns(events)["a.test"]
    assert (row["failures_in_row"], row["visits"]) == (1, len(ends))


def test_a_host_that_fails_through_another_one_keeps_its_backoff_without_a_visit() -> None:
    """Its robots.txt was moved, and another worker has sent the request to the host itself."""
    round_ = Round(Servers({"http://b.test/robots.txt": Reply(503)}))
    turn = HostTurn("a.test", UrlQueue([due("http://a.test/0", reason="retry")]))
    turn.search = RobotsSearch("http://a.test", "http://b.test/robots.txt", 0, 1)
    round_.scheduler.add("a.test", [turn])
    events = round_.run()
    assert outcomes(events) == {}
    row = turns(events)["a.test"]
    assert (row["requests"], row["failures_in_row"], row["held_by"]) == (0, 1, "robots")


def test_urls_of_a_sick_host_fill_no_table(tmp_path: Path) -> None:
    paths = [f"/{n}" for n in range(20)]
    with Web({"sick.test": {ROBOTS: status(503)} | {path: html(path) for path in paths}}) as web:
        seeds, observer = [web.url("sick.test", path) for path in paths], Silent()
        crawl(tmp_path, seeds, rounds=2, observer=observer, politeness__robots_backoff=1.1)
        assert [request.path for request in web.requests] == [ROBOTS, ROBOTS]
    assert Counter(row["round"] for row in rows(tmp_path, "visits")) == {1: 20}
    assert {row["url"]: row["reason"] for row in frontier(tmp_path)} == dict.fromkeys(seeds, "retry")
    newest = max(rows(tmp_path, "hosts"), key=lambda row: row["round"])
    assert (newest["round"], newest["failures_in_row"], newest["held_by"]) == (2, 2, "robots")


def test_who_waits_is_asked_while_others_are_at_work() -> None:
    """A backoff that no round would wait for ends while another host is asked."""
    asked: list[str] = []

    def busy(url: str, headers: Mapping[str, str]) -> Reply:
        asked.append(url)
        return Reply(500) if len(asked) == 1 else PAGE

    servers = Servers({f"http://a.test/{n}": busy for n in range(2)})
    changes: dict[str, Any] = {"politeness__backoff": 1.5, "politeness__delay": 0.3}
    ends = outcomes(Round(servers, pages("a.test", 2), pages("b.test", 12), **changes).run())
    assert [ends[url] for url in pages("a.test", 2)] == ["server_error", "fetched"]


def healthy(name: str, count: int) -> dict[str, Page]:
    """A front page with links to so many others."""
    paths = [f"/{n}" for n in range(count)]
    others = {path: html(f"{path} of {name}", f"{path} {name}") for path in paths}
    return {"/": html(f"Home of {name}", links=paths)} | others


@pytest.mark.slow("real clock")
def test_hosts_that_wait_do_not_hold_a_round_up(tmp_path: Path) -> None:
    """Four hosts that wait, four that do not, with default settings: two rounds, then nothing before it is due."""
    sites: dict[str, Mapping[str, Page]] = {f"h{n}.test": healthy(f"h{n}.test", 30) for n in range(4)}
    sites |= {
        "robots.test": healthy("robots.test", 2) | {ROBOTS: status(503)},
        "delay.test": healthy("delay.test", 2) | {ROBOTS: plain("User-agent: *\nCrawl-delay: 600")},
        "dead.test": CLOSED,
        "busy.test": {path: status(429, Retry_After="300") for path in ("/", "/a")} | {ROBOTS: status(404)},
    }
    defaults = {"politeness__delay": 0.0, "politeness__backoff": 2.0, "politeness__response_factor": 1.0}
    with WebProcess(sites) as web:
        seeds = [web.url(name) for name in sites] + [web.url("busy.test", "/a")]
        seeds += [web.url("robots.test", "/0"), web.url("delay.test", "/0")]
        fetching = Silent()
        crawl(tmp_path, seeds, rounds=2, observer=fetching, **defaults)
        found = {url: row["state"] for url, row in states(tmp_path).items()}
        waiting = {row["url"] for row in frontier(tmp_path)}
        log = web.requests
        observer = Silent()
        end = crawl(tmp_path, observer=observer, **defaults)
        again = len(web.requests) - len(log)
    steps = [manifest for manifest in fetching.committed if manifest.step == "fetch"]
    times = [(datetime.fromisoformat(step.started_at), datetime.fromisoformat(step.ended_at)) for step in steps]
    assert sum((ended - started).total_seconds() for started, ended in times) < 60  # the waits are of minutes
    assert all(found[web.url(name, f"/{n}")] == "fetched" for name in sites if name[0] == "h" for n in range(30))
    held = {"robots.test": 2, "delay.test": 2, "dead.test": 1, "busy.test": 2}
    assert Counter(url.split("/")[2] for url in waiting) == {web.authority(name): n for name, n in held.items()}
    # Not due: nothing is asked, no round is run, and the crawl says when.
    assert (again, observer.committed, end.reason) == (0, [], "not_due")
    assert end.due_at is not None
    # Waiting is no failed try.
    failures = {row["url"]: row["failures"] for row in frontier(tmp_path)}
    assert failures[web.url("robots.test")] == failures[web.url("delay.test", "/0")] == 0


@pytest.mark.slow("real clock")
def test_hosts_that_wait_are_asked_when_they_are_due(tmp_path: Path) -> None:
    """The same with waits of some seconds: the crawl sleeps, and asks each host once its time has come."""
    sites: dict[str, Mapping[str, Page]] = {
        "h.test": healthy("h.test", 10),
        "delay.test": healthy("delay.test", 2) | {ROBOTS: plain("User-agent: *\nCrawl-delay: 7")},
        "busy.test": {"/": Busy(), ROBOTS: status(404)},
    }
    with WebProcess(sites) as web:
        end = crawl(tmp_path, [web.url(name) for name in sites], politeness__backoff=2.0)
        log = web.requests
    assert end.reason == "frontier_empty"
    assert {row["state"] for row in states(tmp_path).values()} == {"fetched"}
    delays = {"delay.test": 7.0}
    assert violations(log, Manners(lambda host: delays.get(host, 0.0), required=())) == []
    assert len({row["round"] for row in rows(tmp_path, "visits")}) >= 3


class Busy:
    """Turns the first request away for eight seconds."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, headers: Mapping[str, str]) -> Any:
        self.asked += 1
        return status(429, Retry_After="8") if self.asked == 1 else html("Busy")
