"""Many hosts at once, one request at a time on each; and every URL comes to exactly one visit."""

import itertools
import json
import threading
from collections import Counter, deque
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.transforms.frontier.selection import Due
from beamtrawl.transforms.http.reply import Reply
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.politeness.context import Event
from beamtrawl.transforms.politeness.host_queue import HostTurn
from beamtrawl.transforms.politeness.scheduler import HostScheduler
from beamtrawl.transforms.robots.lookup import Robots, known_robots
from beamtrawl.transforms.robots.rules import Verdict, parse
from beamtrawl.transforms.urls.canonical import host, url_key
from tests.support import access_log
from tests.support.contexts import visit_context
from tests.support.servers import NO_ROBOTS, PAGE, Page, Servers, Wait
from tests.support.simulation import START, SimulatedTime


def due(url: str, **fields: Any) -> Due:
    return Due(url_key(url), url, host(url), 0, 1.0, None, None, None, 0, 0, 0)._replace(**fields)


def pages(name: str, count: int) -> list[str]:
    return [f"http://{name}/{n}" for n in range(count)]


class Round:
    """A scheduler with the URLs of some hosts, and what it emits; in simulated time, unless it is to have threads."""

    def __init__(
        self,
        servers: Servers,
        *queues: list[str],
        seconds: float = 30.0,
        robots: Mapping[str, Robots] | None = None,
        last_good: Mapping[str, Robots] | None = None,
        ready_at: float = 0.0,
        held: Mapping[str, datetime] | None = None,
        progress: Path | None = None,
        stop_file: Path | None = None,
        threads: bool = False,
        **changes: Any,
    ) -> None:
        self.time = servers.simulated = None if threads else SimulatedTime()
        now = self.time.utc() if self.time else datetime.now(UTC)
        context = visit_context(
            servers.open_client,
            changes,
            round_=3,
            deadline=now + timedelta(seconds=seconds),
            progress=str(progress) if progress else None,
            stop_file=str(stop_file) if stop_file else None,
        )
        if self.time:
            self.scheduler = HostScheduler(context, held or {}, clock=self.time, calls=self.time)
        else:
            self.scheduler = HostScheduler(context, held or {})
        for queue in queues:
            turn = HostTurn(host(queue[0]), deque(map(due, queue)), dict(robots or {}), dict(last_good or {}))
            turn.ready_at = ready_at
            self.scheduler.add(turn.host, [turn])

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
    assert (
        access_log.violations(
            servers.requests, access_log.Manners(delays.__getitem__, robots_of={"h3.test": robots}, required=())
        )
        == []
    )
    assert ends == {url: "denied_robots" if url == "http://h3.test/2" else "fetched" for q in queues for url in q}


def test_all_hosts_are_asked_at_once() -> None:
    everybody = threading.Barrier(8, timeout=10)

    def together(url: str, headers: Mapping[str, str]) -> Reply:
        everybody.wait()  # none goes on before all are there
        return PAGE

    ends = outcomes(Round(Servers({"*": together}), *(pages(f"h{n}.test", 3) for n in range(8)), threads=True).run())
    assert Counter(ends.values()) == {"fetched": 24}


def test_a_slow_host_holds_up_nobody() -> None:
    others_done = threading.Event()

    def slow(url: str, headers: Mapping[str, str]) -> Reply:
        assert others_done.wait(10)
        return PAGE

    round_ = Round(Servers({"http://slow.test/0": slow}), pages("slow.test", 1), pages("quick.test", 20), threads=True)
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
    "no answer": (Reply(failure=Outcome.TIMEOUT), "unreachable_robots"),
    "no such name": (Reply(failure=Outcome.DNS_ERROR, error="a.test: unknown"), "dns_error"),
    "an address we must not ask": (Reply(failure=Outcome.BLOCKED_ADDRESS), "blocked_address"),
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
    assert {row["error"] for table, row in events if table == "visits"} == {reply.error}  # why, in words
    assert len([url for url in servers.urls if not url.endswith("robots.txt")]) == (3 if end == "fetched" else 0)
    assert [row["origin"] for _, row in events if row.get("origin") == "http://a.test"] == ["http://a.test"]


def test_a_host_that_rests_from_an_earlier_round_is_not_asked_before() -> None:
    servers = Servers()
    Round(servers, pages("a.test", 1), ready_at=0.2).run()
    assert servers.requests[0].started == pytest.approx(0.2)


def test_at_the_deadline_the_rest_is_deferred() -> None:
    servers = Servers({"*": Wait(0.1)})
    queues = [pages(f"h{n}.test", 30) for n in range(3)]
    ends = outcomes(Round(servers, *queues, seconds=0.5).run())
    assert len(ends) == 90
    assert set(ends.values()) == {"fetched", "deferred"}
    asked = [url for url in servers.urls if not url.endswith("robots.txt")]
    assert sorted(asked) == sorted(url for url, end in ends.items() if end == "fetched")
    assert max(request.started for request in servers.requests) < 0.5  # all of it would take three seconds


def test_who_could_only_be_asked_after_the_deadline_is_deferred() -> None:
    servers = Servers()
    ends = outcomes(Round(servers, pages("a.test", 5), seconds=0.5, politeness__delay=60.0).run())
    assert ends == {"http://a.test/0": "deferred"}  # and no visit for the others, which stay in the frontier
    assert servers.urls == ["http://a.test/robots.txt"]


def test_a_stop_file_ends_the_round(tmp_path: Path) -> None:
    stop = tmp_path / "stop"

    def stopping(url: str, headers: Mapping[str, str]) -> Reply:
        stop.touch()
        return PAGE

    servers = Servers({"http://a.test/2": stopping, "*": Wait(0.05)})
    ends = outcomes(Round(servers, pages("a.test", 100), stop_file=stop, threads=True).run())
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
    robots = Reply(200, (), b"User-agent: *\nCrawl-delay: 0.3")
    servers = Servers({"http://a.test/robots.txt": robots})
    queues = [pages("a.test", 10), pages("b.test", 10)]
    ends = outcomes(Round(servers, *queues, seconds=0.8).run())
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
    assert list(known.current) == ["http://a.test"]
    assert list(known.expired) == ["http://b.test"]
    assert known.current["http://a.test"].rules.allows("http://a.test/x")[0]


def test_a_request_that_takes_too_long_is_cut() -> None:
    servers = Servers({"http://a.test/0": Wait(60)})
    ends = outcomes(Round(servers, pages("a.test", 2), threads=True, fetch__total_timeout=0.1).run())
    assert ends == {"http://a.test/0": "timeout", "http://a.test/1": "fetched"}


def test_a_robots_txt_on_another_host_that_takes_too_long_is_cut() -> None:
    moved = Reply(301, [("Location", "http://b.test/robots.txt")])
    servers = Servers({"http://a.test/robots.txt": moved, "http://b.test/robots.txt": Wait(60)})
    ends = outcomes(Round(servers, pages("a.test", 1), threads=True, fetch__total_timeout=0.05).run())
    assert ends == {"http://a.test/0": "unreachable_robots"}


def test_a_host_that_waits_for_a_thread_is_not_cut_for_it() -> None:
    servers = Servers({"*": Wait(0.6)})
    queues = [pages(f"h{n}.test", 1) for n in range(3)]
    ends = outcomes(Round(servers, *queues, fetch__connections=1, fetch__total_timeout=1.0).run())
    assert set(ends.values()) == {"fetched"}
    assert sum(client.aborts for client in servers.clients) == 0


def test_a_host_waits_for_a_thread_no_longer_than_slow_servers_count_in_full() -> None:
    """Two hosts that take long have all threads: they count a quarter after 50 ms."""
    servers = Servers({"http://h0.test/0": Wait(20), "http://h1.test/0": Wait(20)})
    robots = {f"http://h{n}.test": Robots(Verdict.ALLOW_ALL) for n in range(4)}
    Round(servers, *(pages(f"h{n}.test", 1) for n in range(4)), robots=robots, fetch__connections=2).run()
    starts = {request.host: request.started for request in servers.requests}
    assert starts == pytest.approx({"h0.test": 0.0, "h1.test": 0.0, "h2.test": 0.05, "h3.test": 0.05}, abs=0.01)


def test_a_look_without_waiting_gives_what_has_happened() -> None:
    answer = threading.Event()

    def held(url: str, headers: Mapping[str, str]) -> Reply:
        assert answer.wait(10)
        return PAGE

    robots = {"http://a.test": Robots(Verdict.ALLOW_ALL)}
    round_ = Round(Servers({"*": held}), pages("a.test", 1), robots=robots, threads=True)
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
        return Reply(304 if known else 200, [("ETag", '"v2"')], address="192.0.2.1", elapsed_s=0.25)

    url = "http://a.test/x"
    round_ = Round(Servers({url: page}))
    queue = deque([due(url, etag='"v1"', referrer="http://b.test/", failures=1)])
    round_.scheduler.add("a.test", [HostTurn("a.test", queue)])
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


def turns(events: list[Event]) -> dict[str, dict[str, Any]]:
    """The turn of each host."""
    return {event.row["host"]: event.row for event in events if event.table == "host_turns"}


def test_a_turn_says_how_it_went_and_when_the_host_may_be_asked_again() -> None:
    servers = Servers({"http://a.test/1": Reply(503, [("Retry-After", "3600")], b"busy", elapsed_s=0.5)})
    events = Round(servers, pages("a.test", 4)).run()
    row = turns(events)["a.test"]
    assert (row["visits"], row["requests"], row["fetched"], row["failures"]) == (4, 3, 1, 1)
    assert (row["failures_in_row"], row["last_elapsed_ms"], row["held_by"]) == (1, 500.0, "retry_after")
    wait = (row["not_before"] - row["last_fetched_at"]).total_seconds()
    assert wait == pytest.approx(3600.0)
    ends = outcomes(events)
    assert [ends[url] for url in pages("a.test", 4)] == ["fetched", "server_error", "deferred", "deferred"]
    assert servers.urls[-1] == "http://a.test/1"


def test_a_host_that_asks_for_a_short_rest_gets_it_in_the_same_round() -> None:
    answers = iter([Reply(429, [("Retry-After", "1")]), PAGE])
    servers = Servers({"http://a.test/0": lambda url, headers: next(answers)})
    ends = outcomes(Round(servers, pages("a.test", 2)).run())
    assert list(ends.values()) == ["server_error", "fetched"]
    busy, after = servers.requests[1:]
    assert after.started - busy.ended == pytest.approx(1.0)


def test_a_host_that_never_answers_is_dead_after_some_tries() -> None:
    servers = Servers({"*": Reply(failure=Outcome.CONNECT_ERROR)})
    events = Round(servers, pages("a.test", 9), politeness__dead_after=2, politeness__backoff=0.01).run()
    assert list(outcomes(events).values()) == ["connect_error"] * 2 + ["deferred"] * 7
    assert turns(events)["a.test"]["held_by"] == "dead"
    visits = [event.row for event in events if event.table == "visits"]
    assert [row["host_failures"] for row in visits] == [1] + [2] * 8


def test_one_good_answer_forgives() -> None:
    error = Reply(500)
    servers = Servers({f"http://a.test/{n}": error for n in (0, 1, 3, 4)})
    events = Round(servers, pages("a.test", 6), politeness__backoff=0.01).run()
    assert [row["host_failures"] for _, row in events if "host_failures" in row] == [1, 2, 0, 1, 2, 0]
    assert turns(events)["a.test"]["failures_in_row"] == 0


def test_an_unreachable_robots_txt_holds_the_host() -> None:
    servers = Servers({"http://a.test/robots.txt": Reply(503, [("Retry-After", "7200")])})
    row = turns(Round(servers, pages("a.test", 2)).run())["a.test"]
    assert (row["held_by"], row["failures_in_row"], row["requests"]) == ("retry_after", 1, 1)
    assert (row["not_before"] - row["last_fetched_at"]).total_seconds() == pytest.approx(7200.0)


def test_a_host_rests_for_as_long_as_its_last_answer_took() -> None:
    servers = Servers({"*": Reply(200, elapsed_s=0.2)})
    Round(servers, pages("a.test", 3), politeness__response_factor=1.0).run()
    starts = [request.started for request in servers.requests[1:]]
    assert all(b - a >= 0.2 for a, b in itertools.pairwise(starts))


def test_a_host_has_its_share_of_a_round() -> None:
    servers = Servers()
    robots = {"http://a.test": Robots(Verdict.ALLOW_ALL)}
    changes = {"limits__max_seconds_per_host": 0.3, "politeness__delay": 0.1}
    ends = outcomes(Round(servers, pages("a.test", 30), robots=robots, **changes).run())
    assert len(ends) == 30
    assert 2 <= Counter(ends.values())["fetched"] <= 4
    assert set(ends.values()) == {"fetched", "deferred"}


def shared_round(servers: Servers, **changes: Any) -> list[Event]:
    """Three hosts in one queue, and one alone."""
    round_ = Round(servers, pages("alone.test", 3), **changes)
    three = [HostTurn(f"h{n}.test", deque(map(due, pages(f"h{n}.test", 3)))) for n in range(3)]
    round_.scheduler.add("shared", three)
    return round_.run()


def test_hosts_that_share_a_queue_are_asked_one_at_a_time() -> None:
    servers = Servers(
        {"http://h1.test/robots.txt": Reply(200, (), b"User-agent: *\nCrawl-delay: 0.2"), "*": Wait(0.01)}
    )
    events = shared_round(servers, politeness__scope="domain", politeness__delay=0.06, politeness__shared_delay=0.03)
    assert Counter(outcomes(events).values()) == {"fetched": 12}
    manners = access_log.Manners(
        delay_of=lambda host: 0.2 if host == "h1.test" else 0.06,
        group_of=lambda host: "shared" if host.startswith("h") else host,
        shared_delay=0.03,
        required=(),
    )
    assert access_log.violations(servers.requests, manners) == []
    order = [request.host for request in servers.requests if request.host.startswith("h")]
    assert order != sorted(order)  # they take turns


def test_a_round_that_ends_defers_all_who_share_a_queue() -> None:
    ends = outcomes(shared_round(Servers({"*": Wait(0.05)}), seconds=0.3, politeness__scope="address"))
    assert len(ends) == 12
    assert set(ends.values()) == {"fetched", "deferred"}


# where a.test's robots.txt was moved to; how many requests b.test got for it
MOVED = {"a host with pages of its own": 3, "a host of which nothing else is asked": 0}


@pytest.mark.parametrize("own_pages", MOVED.values(), ids=MOVED)
def test_a_robots_txt_on_another_host_is_asked_for_in_that_hosts_queue(own_pages: int) -> None:
    moved = Reply(301, [("Location", "http://b.test/robots.txt")])
    rules = Reply(200, (), b"User-agent: *\nDisallow: /1")
    servers = Servers({"http://a.test/robots.txt": moved, "http://b.test/robots.txt": rules, "*": Wait(0.02)})
    queues = [pages("a.test", 3), *([pages("b.test", own_pages)] if own_pages else [])]
    events = Round(servers, *queues, politeness__delay=0.05).run()
    assert outcomes(events) == {
        url: "denied_robots" if url.endswith("/1") else "fetched" for queue in queues for url in queue
    }
    assert access_log.violations(servers.requests, access_log.Manners(lambda host: 0.05, required=())) == []
    assert [row["origin"] for table, row in events if table == "robots"].count("http://a.test") == 1


def test_two_urls_that_redirect_to_each_other_are_a_loop() -> None:
    there, back = "http://a.test/there", "http://a.test/back"
    servers = Servers({there: Reply(302, [("Location", "/back")]), back: Reply(302, [("Location", "/there")])})
    round_ = Round(servers)
    queue = deque([due(there), due(back, referrer=there, redirects=1)])
    round_.scheduler.add("a.test", [HostTurn("a.test", queue)])
    assert outcomes(round_.run()) == {there: "redirected", back: "redirect_loop"}


def test_a_robots_txt_that_redirects_to_itself_is_asked_for_once() -> None:
    servers = Servers({"http://a.test/robots.txt": Reply(301, [("Location", "http://a.test/robots.txt")])})
    assert set(outcomes(Round(servers, pages("a.test", 2)).run()).values()) == {"fetched"}
    assert servers.urls.count("http://a.test/robots.txt") == 1


def test_a_robots_txt_to_which_many_hosts_redirect_is_asked_for_once() -> None:
    """Forty hosts, over one more hop, and the host itself: one request for each hop, at the pace of its host."""
    moved = Reply(301, [("Location", "http://rules.test/hop")])
    rules = Reply(200, (), b"User-agent: *\nDisallow: /1")
    servers = Servers(
        {
            **{f"http://h{n}.test/robots.txt": moved for n in range(40)},
            "http://rules.test/hop": Reply(302, [("Location", "http://rules.test/robots.txt")]),
            "http://rules.test/robots.txt": rules,
            "*": Wait(0.01),
        }
    )
    queues = [*(pages(f"h{n}.test", 2) for n in range(40)), pages("rules.test", 3)]
    events = Round(servers, *queues, politeness__delay=0.05).run()
    assert outcomes(events) == {url: "denied_robots" if url.endswith("/1") else "fetched" for q in queues for url in q}
    asked = [url for url in servers.urls if "rules.test" in url]
    assert sorted(asked) == [f"http://rules.test/{path}" for path in ("0", "2", "hop", "robots.txt")]
    assert access_log.violations(servers.requests, access_log.Manners(lambda host: 0.05, required=())) == []


def test_two_hosts_that_send_each_other_for_robots_txt_both_get_an_end() -> None:
    servers = Servers(
        {
            "http://a.test/robots.txt": Reply(301, [("Location", "http://b.test/robots.txt")]),
            "http://b.test/robots.txt": Reply(301, [("Location", "http://a.test/robots.txt")]),
        }
    )
    events = Round(servers, pages("a.test", 2), pages("b.test", 2)).run()
    assert set(outcomes(events).values()) == {"fetched"}  # one redirect too many is no robots.txt (RFC 9309, 2.3.1.2)
    assert len(outcomes(events)) == 4


def test_a_robots_txt_on_a_host_that_rests_cannot_be_had() -> None:
    moved = Reply(301, [("Location", "http://b.test/robots.txt")])
    servers = Servers(
        {"http://a.test/robots.txt": moved, "http://b.test/robots.txt": Reply(503, [("Retry-After", "99")])}
    )
    ends = outcomes(Round(servers, pages("b.test", 1), pages("a.test", 2)).run())
    assert set(ends.values()) == {"unreachable_robots"}
    assert [url for url in servers.urls if "b.test" in url] == ["http://b.test/robots.txt"]


def test_visits_say_which_robots_txt_counted() -> None:
    events = Round(Servers(), pages("a.test", 2)).run()
    (robots,) = [row for table, row in events if table == "robots"]
    assert {row["robots_at"] for table, row in events if table == "visits"} == {robots["fetched_at"]}


def test_what_can_be_said_without_asking_does_not_wait() -> None:
    robots = {"http://a.test": Robots(Verdict.RULES, parse(b"User-agent: *\nDisallow: /1\nDisallow: /2", "Beamtrawl"))}
    servers = Servers({"http://b.test/robots.txt": Reply(503)})
    changes = {"seconds": 3600.0, "politeness__delay": 300.0}
    round_ = Round(servers, pages("a.test", 3), pages("b.test", 2), robots=robots, **changes)
    assert list(outcomes(round_.run()).values()).count("denied_robots") == 2
    assert round_.time
    assert round_.time.monotonic() < 1.0  # the next request to either could start after 300 seconds


def test_a_crawl_delay_that_outlasts_robots_txt_still_lets_a_page_be_asked_for() -> None:
    servers = Servers({"http://a.test/robots.txt": Reply(200, (), b"User-agent: *\nCrawl-delay: 172800")})
    events = Round(servers, pages("a.test", 3)).run()
    assert servers.urls == ["http://a.test/robots.txt", "http://a.test/0"]
    row = turns(events)["a.test"]
    assert row["held_by"] == "crawl_delay"
    assert (row["not_before"] - row["last_fetched_at"]).total_seconds() == pytest.approx(172_800)


def test_a_robots_txt_is_not_asked_for_on_a_host_that_is_held_from_an_earlier_round() -> None:
    servers = Servers({"http://a.test/robots.txt": Reply(301, [("Location", "http://b.test/robots.txt")])})
    round_ = Round(servers, pages("a.test", 1), held={"b.test": START + timedelta(hours=1)})
    events = round_.run()
    assert set(outcomes(events).values()) == {"unreachable_robots"}
    assert servers.urls == ["http://a.test/robots.txt"]
    assert list(turns(events)) == ["a.test"]


def test_servers_that_take_long_do_not_hold_up_the_others() -> None:
    held = threading.Event()

    def slow(url: str, headers: Mapping[str, str]) -> Reply:
        assert held.wait(20)
        return PAGE

    servers = Servers({f"http://s{n}.test/0": slow for n in range(4)})
    queues = [*(pages(f"s{n}.test", 1) for n in range(4)), pages("quick.test", 3)]
    round_ = Round(servers, *queues, threads=True, fetch__connections=4)
    seen = []
    for event in round_.scheduler.pump(wait=True):
        if event.table == "visits":
            seen.append(event.row["host"])
        if seen.count("quick.test") == 3:
            held.set()
    round_.scheduler.close()
    assert seen[:3] == ["quick.test"] * 3


def test_a_host_is_not_asked_when_its_answer_would_come_too_late() -> None:
    servers = Servers({"*": Reply(200, elapsed_s=60.0)})
    ends = outcomes(Round(servers, pages("a.test", 3), seconds=30.0).run())
    assert list(ends.values()) == ["fetched", "deferred", "deferred"]
