"""Many hosts at once, one request at a time on each; and every URL comes to exactly one visit."""

import json
import threading
import time
from collections import Counter, deque
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests import access_log
from tests.crawls import settings
from tests.servers import NO_ROBOTS, PAGE, Page, Servers, Wait
from transforms.frontier import Due
from transforms.hosts import Robots
from transforms.identity import Identity
from transforms.outcomes import Outcome
from transforms.replies import Reply
from transforms.robots import Verdict, parse
from transforms.robots_asking import Known, known_robots
from transforms.scheduler import Event, HostScheduler, VisitContext
from transforms.urls import host, url_key


def due(url: str, **fields: Any) -> Due:
    return Due(url_key(url), url, host(url), 0, 1.0, None, None, None, 0, 0, 0)._replace(**fields)


def pages(name: str, count: int) -> list[str]:
    return [f"http://{name}/{n}" for n in range(count)]


class Round:
    """A scheduler with the URLs of some hosts, and what it emits."""

    def __init__(
        self,
        servers: Servers,
        *queues: list[str],
        seconds: float = 30.0,
        robots: Mapping[str, Robots] | None = None,
        last_good: Mapping[str, Robots] | None = None,
        asked: datetime | None = None,
        progress: Path | None = None,
        stop_file: Path | None = None,
        **changes: Any,
    ) -> None:
        chosen = settings(**changes)
        context = VisitContext(
            settings=chosen,
            identity=Identity.of(chosen.robot),
            round=3,
            deadline=datetime.now(UTC) + timedelta(seconds=seconds),
            asked_before=None,
            opener=lambda: servers.open_client,
            progress=str(progress) if progress else None,
            stop_file=str(stop_file) if stop_file else None,
        )
        self.scheduler = HostScheduler(context)
        for queue in queues:
            known = Known(dict(robots or {}), dict(last_good or {}))
            self.scheduler.add(host(queue[0]), deque(map(due, queue)), known, asked)

    def run(self) -> list[Event]:
        """All events to the end; URLs of visits are each there once."""
        try:
            events = list(self.scheduler.pump(wait=True))
        finally:
            self.scheduler.close()
        visits = [event.row["url"] for event in events if event.table == "visits"]
        assert len(visits) == len(set(visits))
        return events


def outcomes(events: list[Event]) -> dict[str, str]:
    """How the visit of each URL ended."""
    return {event.row["url"]: event.row["outcome"] for event in events if event.table == "visits"}


def test_good_manners_on_every_host() -> None:
    queues = [pages(f"h{n}.test", 4) for n in range(8)]
    robots = "User-agent: *\nDisallow: /2\nCrawl-delay: 0.1"
    servers = Servers({"http://h3.test/robots.txt": Reply(200, (), robots.encode()), "*": Wait(0.01)})
    ends = outcomes(Round(servers, *queues, politeness__delay=0.04).run())
    delays = {f"h{n}.test": 0.04 for n in range(8)} | {"h3.test": 0.1}
    assert access_log.violations(servers.requests, delays.__getitem__, {"h3.test": robots}) == []
    assert ends == {url: "denied_robots" if url == "http://h3.test/2" else "fetched" for q in queues for url in q}


def test_all_hosts_are_asked_at_once() -> None:
    everybody = threading.Barrier(8, timeout=10)

    def together(url: str, headers: Mapping[str, str]) -> Reply:
        everybody.wait()  # none goes on before all are there
        return PAGE

    ends = outcomes(Round(Servers({"*": together}), *(pages(f"h{n}.test", 3) for n in range(8))).run())
    assert Counter(ends.values()) == {"fetched": 24}


def test_a_slow_host_holds_up_nobody() -> None:
    others_done = threading.Event()

    def slow(url: str, headers: Mapping[str, str]) -> Reply:
        assert others_done.wait(10)
        return PAGE

    round_ = Round(Servers({"http://slow.test/0": slow}), pages("slow.test", 1), pages("quick.test", 20))
    order = []
    for event in round_.scheduler.pump(wait=True):
        if event.table == "visits":
            order.append(event.row["host"])
        if len(order) == 20:  # results come as they happen, not at the end
            others_done.set()
    round_.scheduler.close()
    assert order == ["quick.test"] * 20 + ["slow.test"]


def test_two_origins_of_a_host_are_one_queue_and_two_robots_txt() -> None:
    queue = ["http://a.test/x", "https://a.test/x", "http://a.test/y", "https://a.test/private"]
    asked: list[str] = []

    def note(reply: Reply) -> Page:
        def page(url: str, headers: Mapping[str, str]) -> Reply:
            asked.append(url)
            return reply

        return page

    forbidding = Reply(200, (), b"User-agent: *\nDisallow: /private")
    servers = Servers({"http://a.test/robots.txt": note(NO_ROBOTS), "https://a.test/robots.txt": note(forbidding)})
    events = Round(servers, queue).run()
    assert asked == ["http://a.test/robots.txt", "https://a.test/robots.txt"]
    assert [event.row["origin"] for event in events if event.table == "robots"] == ["http://a.test", "https://a.test"]
    assert list(outcomes(events).values()) == ["fetched", "fetched", "fetched", "denied_robots"]
    assert all(a.ended <= b.started for a, b in zip(servers.requests, servers.requests[1:], strict=False))


def test_robots_known_from_an_earlier_round_are_not_asked_for() -> None:
    known = {
        "http://a.test": Robots(Verdict.RULES, parse(b"User-agent: *\nDisallow: /1", "Beamtrawl")),
        "http://b.test": Robots(Verdict.DENY_ALL),
    }
    servers = Servers()
    ends = outcomes(Round(servers, pages("a.test", 2), pages("b.test", 2), robots=known).run())
    assert servers.urls == ["http://a.test/0"]
    assert list(ends.values()).count("denied_robots") == 3


# the answer to robots.txt: how the pages' visits end
ROBOTS = {
    "a server error": (Reply(503), "unreachable_robots"),
    "no answer": (Reply(trouble=Outcome.TIMEOUT), "unreachable_robots"),
    "no such name": (Reply(trouble=Outcome.DNS_ERROR), "dns_error"),
    "an address we must not ask": (Reply(trouble=Outcome.BLOCKED_ADDRESS), "blocked_address"),
    "forbidden": (Reply(403), "denied_robots"),
    "none": (Reply(410), "fetched"),
    "a redirect to another host": (Reply(301, [("Location", "http://b.test/robots.txt")]), "denied_robots"),
    "a redirect in a circle": (Reply(301, [("Location", "http://a.test/robots.txt")]), "fetched"),
}


@pytest.mark.parametrize(("reply", "end"), ROBOTS.values(), ids=ROBOTS)
def test_what_robots_txt_means_for_a_host(reply: Reply, end: str) -> None:
    elsewhere = Reply(200, (), b"User-agent: *\nDisallow: /")
    servers = Servers({"http://a.test/robots.txt": reply, "http://b.test/robots.txt": elsewhere})
    events = Round(servers, pages("a.test", 3)).run()
    assert set(outcomes(events).values()) == {end}
    assert len([url for url in servers.urls if not url.endswith("robots.txt")]) == (3 if end == "fetched" else 0)
    assert [event.row["origin"] for event in events if event.table == "robots"] == ["http://a.test"]


def test_the_delay_counts_from_the_answer_of_an_earlier_round() -> None:
    servers = Servers()
    before = time.monotonic()
    Round(servers, pages("a.test", 1), asked=datetime.now(UTC), politeness__delay=0.2).run()
    assert servers.requests[0].started - before >= 0.19


def test_at_the_deadline_the_rest_is_deferred() -> None:
    servers = Servers({"*": Wait(0.1)})
    queues = [pages(f"h{n}.test", 30) for n in range(3)]
    started = time.monotonic()
    ends = outcomes(Round(servers, *queues, seconds=0.5).run())
    assert len(ends) == 90
    assert set(ends.values()) == {"fetched", "deferred"}
    asked = [url for url in servers.urls if not url.endswith("robots.txt")]
    assert sorted(asked) == sorted(url for url, end in ends.items() if end == "fetched")
    assert max(request.started for request in servers.requests) < started + 1.0  # all of it would take three seconds


def test_who_could_only_be_asked_after_the_deadline_is_deferred() -> None:
    servers = Servers()
    ends = outcomes(Round(servers, pages("a.test", 5), seconds=0.5, politeness__delay=60.0).run())
    assert list(ends.values()) == ["deferred"] * 5
    assert servers.urls == ["http://a.test/robots.txt"]


def test_a_stop_file_ends_the_round(tmp_path: Path) -> None:
    stop = tmp_path / "stop"

    def stopping(url: str, headers: Mapping[str, str]) -> Reply:
        stop.touch()
        return PAGE

    servers = Servers({"http://a.test/2": stopping, "*": Wait(0.05)})
    ends = outcomes(Round(servers, pages("a.test", 100), stop_file=stop).run())
    assert len(ends) == 100
    assert Counter(ends.values())["deferred"] > 50
    assert set(ends.values()) == {"fetched", "deferred"}


def test_an_exception_in_a_thread_fails_the_round() -> None:
    def broken(url: str, headers: Mapping[str, str]) -> Reply:
        raise RuntimeError("a bug of ours")

    servers = Servers({"http://a.test/1": broken})
    with pytest.raises(RuntimeError, match="a bug of ours"):
        Round(servers, pages("a.test", 3), pages("b.test", 3)).run()
    assert all(client.closed for client in servers.clients)


def test_a_crawl_delay_leaves_in_the_frontier_what_the_round_has_no_time_for() -> None:
    robots = Reply(200, (), b"User-agent: *\nCrawl-delay: 1800")
    servers = Servers({"http://a.test/robots.txt": robots})
    queues = [pages("a.test", 10), pages("b.test", 10)]
    ends = outcomes(Round(servers, *queues, seconds=0.5, limits__round_time=3600.0).run())
    assert [url for url in ends if "a.test" in url] == pages("a.test", 3)  # and no visit for the others
    assert [url for url in ends if "b.test" in url] == pages("b.test", 10)


def test_the_last_good_robots_txt_counts_while_a_new_one_cannot_be_had() -> None:
    servers = Servers({"http://a.test/robots.txt": Reply(503)})
    rules = Robots(Verdict.RULES, parse(b"User-agent: *\nDisallow: /1", "Beamtrawl"))
    events = Round(servers, pages("a.test", 3), last_good={"http://a.test": rules}).run()
    assert outcomes(events) == {
        "http://a.test/0": "fetched",
        "http://a.test/1": "denied_robots",
        "http://a.test/2": "fetched",
    }
    assert [event.row["verdict"] for event in events if event.table == "robots"] == ["unreachable"]


def test_what_earlier_rounds_know_of_robots_txt() -> None:
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)

    def row(origin: str, hours_ago: int, lasts: int, body: bytes) -> dict[str, Any]:
        fetched_at = now - timedelta(hours=hours_ago)
        expires_at = fetched_at + timedelta(hours=lasts)
        return {"origin": origin, "fetched_at": fetched_at, "expires_at": expires_at, "verdict": "rules", "body": body}

    no, yes = b"User-agent: *\nDisallow: /", b""
    known = known_robots(
        [row("http://a.test", 2, 24, no), row("http://a.test", 1, 24, yes), row("http://b.test", 5, 1, no)],
        "Beamtrawl",
        now,
    )
    assert list(known.fresh) == ["http://a.test"]
    assert list(known.stale) == ["http://b.test"]
    assert known.fresh["http://a.test"].rules.allows("http://a.test/x")[0]


def test_a_request_that_takes_too_long_is_cut() -> None:
    servers = Servers({"http://a.test/0": Wait(60)})
    ends = outcomes(Round(servers, pages("a.test", 2), fetch__total_timeout=0.1).run())
    assert ends == {"http://a.test/0": "timeout", "http://a.test/1": "fetched"}


def test_a_robots_txt_on_another_host_that_takes_too_long_is_cut() -> None:
    moved = Reply(301, [("Location", "http://b.test/robots.txt")])
    servers = Servers({"http://a.test/robots.txt": moved, "http://b.test/robots.txt": Wait(60)})
    ends = outcomes(Round(servers, pages("a.test", 1), fetch__total_timeout=0.05).run())
    assert ends == {"http://a.test/0": "unreachable_robots"}


def test_a_host_that_waits_for_a_thread_is_not_cut_for_it() -> None:
    servers = Servers({"*": Wait(0.6)})
    queues = [pages(f"h{n}.test", 1) for n in range(3)]
    ends = outcomes(Round(servers, *queues, fetch__connections=1, fetch__total_timeout=1.0).run())
    assert set(ends.values()) == {"fetched"}
    assert sum(client.aborts for client in servers.clients) == 0


def test_a_look_without_waiting_gives_what_has_happened() -> None:
    answer = threading.Event()

    def held(url: str, headers: Mapping[str, str]) -> Reply:
        assert answer.wait(10)
        return PAGE

    round_ = Round(Servers({"*": held}), pages("a.test", 1), robots={"http://a.test": Robots(Verdict.ALLOW_ALL)})
    assert list(round_.scheduler.pump(wait=False)) == []
    answer.set()
    assert list(outcomes(round_.run()).values()) == ["fetched"]


def test_a_host_keeps_its_client_and_leaves_none_behind() -> None:
    servers = Servers()
    Round(servers, pages("a.test", 9), pages("b.test", 9)).run()
    assert len(servers.clients) == 2
    assert all(client.closed for client in servers.clients)


def test_a_visit_is_a_row() -> None:
    def page(url: str, headers: Mapping[str, str]) -> Reply:
        known = headers.get("If-None-Match") == '"v1"' and headers.get("Referer") == "http://b.test/"
        return Reply(304 if known else 200, [("ETag", '"v2"')], address="192.0.2.1", elapsed=0.25)

    url = "http://a.test/x"
    round_ = Round(Servers({url: page}))
    round_.scheduler.add(
        "a.test", deque([due(url, etag='"v1"', referrer="http://b.test/", failures=1)]), Known({}, {}), None
    )
    (visit,) = [event.row for event in round_.run() if event.table == "visits"]
    expected = {
        "url_key": url_key(url),
        "host": "a.test",
        "round": 3,
        "outcome": "not_modified",
        "status": 304,
        "address": "192.0.2.1",
        "headers": [{"name": "ETag", "value": '"v2"'}],
        "elapsed_ms": 250.0,
        "attempt": 2,
        "referrer": "http://b.test/",
    }
    assert visit | expected == visit


def test_who_watches_is_told(tmp_path: Path) -> None:
    servers = Servers({"http://a.test/1": Reply(404, (), b"no")})
    Round(servers, pages("a.test", 3), progress=tmp_path / "progress").run()
    (file,) = tmp_path.iterdir()
    assert file.name.startswith("progress-")
    assert json.loads(file.read_text()) == {
        "outcomes": {"fetched": 2, "gone": 1},
        "bytes": 2 * len(PAGE.body) + 2,
        "active": 0,
        "waiting": 0,
    }
