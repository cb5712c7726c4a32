"""robots.txt in a round: when it is requested, on which host, and what its answer means for the pages."""

import gc
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise, takewhile
from typing import Any

import pytest

from beamtrawl.transforms.http.reply import Reply
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.politeness.host_queue import HostTurn
from beamtrawl.transforms.politeness.shared_queues import SharedQueue
from beamtrawl.transforms.politeness.turns import Turns
from beamtrawl.transforms.politeness.url_queue import UrlQueue
from beamtrawl.transforms.robots.lookup import Robots, known_robots
from beamtrawl.transforms.robots.rules import Verdict, parse
from tests.support import access_log
from tests.support.contexts import visit_context
from tests.support.scheduled_rounds import Round, due, outcomes, pages, turns
from tests.support.servers import NO_ROBOTS, Page, Servers, Wait
from tests.support.simulation import START, SimulatedTime


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
        times = {"fetched_at": fetched_at, "expires_at": expires_at}
        return {"origin": origin, "round": 1, "verdict": "rules", "body": body} | times

    no, yes = b"User-agent: *\nDisallow: /", b""
    known = known_robots(
        [row("http://a.test", 2, 24, no), row("http://a.test", 1, 24, yes), row("http://b.test", 5, 1, no)],
        "Beamtrawl",
        now,
    )
    assert list(known.current) == ["http://a.test"]
    assert list(known.expired) == ["http://b.test"]
    assert known.current["http://a.test"].rules.allows("http://a.test/x")[0]


HOUR = 3600.0
STOP = Reply(200, (), b"User-agent: *\nDisallow: /")


class Changing:
    """A robots.txt that is one answer until some second of a round, and then another."""

    def __init__(self, before: Reply, after: Reply, at: float) -> None:
        self._before, self._after, self._at = before, after, at
        self.servers = Servers({"http://a.test/robots.txt": self})

    def __call__(self, url: str, headers: Mapping[str, str]) -> Reply:
        return self._before if self.servers.monotonic() < self._at else self._after

    def run(self, hours: float, **changes: Any) -> tuple[list[float], list[float]]:
        """The hours at which robots.txt and pages are requested, in a round of some hours; a page every 10 minutes."""
        changes = {"politeness__delay": 600.0, "limits__max_pages_per_host_per_round": 1000} | changes
        Round(self.servers, pages("a.test", 1000), seconds=hours * HOUR, **changes).run()
        times = {path: [r.started / HOUR for r in self.servers.requests if r.path == path] for path in ["/robots.txt"]}
        others = [r.started / HOUR for r in self.servers.requests if r.path != "/robots.txt"]
        return times["/robots.txt"], others


def fresh(seconds: int, status: int = 200) -> Reply:
    return Reply(status, [("Cache-Control", f"max-age={seconds}")], b"User-agent: *\nDisallow: /private")


OPEN = Reply(200, (), b"User-agent: *\nDisallow: /private")

# the first robots.txt, and what it becomes after 90 minutes; hours of its requests, and of the last page, of 5 hours
CHANGES = {
    "a stop, without headers": (OPEN, STOP, [0, 1, 2], 1.84),
    "a stop, where there was none": (NO_ROBOTS, STOP, [0, 1, 2], 1.84),
    "a stop, announced for three hours": (fresh(3 * 3600), STOP, [0, 3], 2.84),
    "a stop, announced for a week": (fresh(7 * 86_400), STOP, [0], 5.0),
    "none": (OPEN, OPEN, [0, 1, 2, 3, 4], 5.0),
}


@pytest.mark.parametrize(("before", "after", "robots_at", "last_page"), CHANGES.values(), ids=CHANGES)
def test_robots_txt_is_asked_for_again_in_a_round_of_hours(
    before: Reply, after: Reply, robots_at: list[float], last_page: float
) -> None:
    asked, visited = Changing(before, after, 1.5 * HOUR).run(5.0)
    assert asked == pytest.approx(robots_at, abs=0.2)
    assert max(visited) == pytest.approx(last_page, abs=0.2)


def test_the_last_good_robots_txt_counts_for_a_day_of_a_round() -> None:
    _, visited = Changing(OPEN, Reply(503), 1.5 * HOUR).run(30.0)
    assert 24.5 <= max(visited) <= 25.2  # the last good copy is of 1:00
    assert len(visited) > 60  # every second request is for robots.txt


def test_a_crawl_delay_of_an_hour_still_lets_pages_be_asked_for() -> None:
    slow = Reply(200, [], b"User-agent: *\nCrawl-delay: 3600")
    asked, visited = Changing(slow, slow, HOUR).run(9.0, politeness__delay=1800.0)
    assert visited == pytest.approx([1, 3, 5, 7], abs=0.1)
    assert asked == pytest.approx([0, 2, 4, 6, 8], abs=0.1)


def test_a_robots_txt_on_another_host_that_takes_too_long_is_cut() -> None:
    moved = Reply(301, [("Location", "http://b.test/robots.txt")])
    servers = Servers({"http://a.test/robots.txt": moved, "http://b.test/robots.txt": Wait(60)})
    ends = outcomes(Round(servers, pages("a.test", 1), threads=True, fetch__total_timeout=0.05).run())
    assert ends == {"http://a.test/0": "unreachable_robots"}


def test_an_unreachable_robots_txt_holds_the_host() -> None:
    servers = Servers({"http://a.test/robots.txt": Reply(503, [("Retry-After", "7200")])})
    row = turns(Round(servers, pages("a.test", 2)).run())["a.test"]
    assert (row["held_by"], row["failures_in_row"], row["requests"]) == ("retry_after", 1, 1)
    assert (row["not_before"] - row["last_fetched_at"]).total_seconds() == pytest.approx(7200.0)


# the answer to the robots.txt of another origin of a host; what becomes of the host
OTHER_ORIGINS = {
    "a closed port": (Reply(failure=Outcome.CONNECT_ERROR), (3, "delay")),
    "another protocol": (Reply(failure=Outcome.TLS_ERROR), (3, "delay")),
    "a server error": (Reply(503), (3, "delay")),
    "the host asks to wait": (Reply(503, [("Retry-After", "7200")]), (1, "retry_after")),
    "too many requests": (Reply(429), (1, "backoff")),
}


@pytest.mark.parametrize(("reply", "expected"), OTHER_ORIGINS.values(), ids=OTHER_ORIGINS)
def test_an_origin_without_robots_txt_holds_no_page_of_another(reply: Reply, expected: tuple[int, str]) -> None:
    """Otherwise links of a neighbour to closed ports would delay all pages of the host."""
    queue = ["http://a.test/0", "https://a.test/", "http://a.test:81/", "http://a.test/1", "http://a.test/2"]
    others = dict.fromkeys(["https://a.test/robots.txt", "http://a.test:81/robots.txt"], reply)
    events = Round(Servers(others), queue).run()
    good = [url for url, end in outcomes(events).items() if end == "fetched"]
    assert (len(good), turns(events)["a.test"]["held_by"]) == expected


def test_a_url_of_an_origin_without_robots_txt_has_a_visit_each_time() -> None:
    """Its failures are counted by URL, and end it; those of the host would never."""
    others = {"https://a.test/robots.txt": Reply(failure=Outcome.CONNECT_ERROR)}
    queue = ["http://a.test/0", "https://a.test/1"]
    events = Round(Servers(others), queue, waiting={"reason": "retry"}).run()
    assert outcomes(events) == {"http://a.test/0": "fetched", "https://a.test/1": "unreachable_robots"}
    assert [event.row["host_failures"] for event in events if event.table == "visits"] == [0, 0]


def test_a_host_is_held_if_no_origin_of_it_answers() -> None:
    down = dict.fromkeys(["http://a.test/robots.txt", "https://a.test/robots.txt"], Reply(503))
    events = Round(Servers(down), ["http://a.test/", "https://a.test/"]).run()
    assert turns(events)["a.test"]["held_by"] == "robots"


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


def test_robots_txt_files_of_many_hosts_leave_half_of_a_round_to_a_host_s_own_pages() -> None:
    """They may redirect to a URL of it each, so that none is asked for once for all."""
    moved = {f"http://h{n}.test/robots.txt": Reply(301, [("Location", f"http://b.test/r/{n}")]) for n in range(100)}
    queues = [[f"http://h{n}.test/"] for n in range(100)]
    servers = Servers({**moved, "http://b.test/robots.txt": NO_ROBOTS})
    known = {"http://b.test": Robots(Verdict.ALLOW_ALL)}
    events = Round(servers, *queues, pages("b.test", 12), robots=known, seconds=30.0, politeness__delay=1.0).run()
    asked = [request.path for request in servers.requests if request.host == "b.test"]
    assert 25 <= len(asked) <= 31
    assert sum("/r/" not in path for path in asked) == 12
    assert asked.index("/11") <= 25
    ends = outcomes(events)
    assert {ends[url] for url in pages("b.test", 12)} == {"fetched"}
    assert sum(end == "fetched" for url, end in ends.items() if "//h" in url) >= 12  # their files count all the same


def test_a_host_whose_turn_was_complete_keeps_its_delay_for_others_and_is_not_kept_whole() -> None:
    servers = Servers(
        {
            "http://a.test/robots.txt": Reply(200, (), b"User-agent: *\nCrawl-delay: 9"),
            "http://b.test/robots.txt": Reply(301, [("Location", "http://a.test/shared.txt")]),
        }
    )
    round_ = Round(servers, ["http://a.test/0"], pages("c.test", 80), seconds=100.0, politeness__delay=1.0)
    events = round_.scheduler.pump(wait=True)
    before = list(takewhile(lambda event: event.row.get("url") != "http://c.test/15", events))
    written = {row["host"]: row for row in round_.scheduler.turn_rows()}  # as when a piece is closed
    gc.collect()
    kept = [each for each in gc.get_objects() if isinstance(each, HostTurn | SharedQueue)]
    assert {each.name for each in kept} == {"c.test"}  # a million hosts may be in a round
    round_.scheduler.add("b.test", [HostTurn("b.test", UrlQueue([due("http://b.test/0")]))])
    round_.scheduler.add("a.test", [HostTurn("a.test:8000", UrlQueue([due("http://a.test:8000/0")]))])
    after = list(events)
    round_.scheduler.close()
    assert outcomes(before)["http://a.test/0"] == "fetched"
    assert outcomes(after).items() >= {"http://b.test/0": "fetched", "http://a.test:8000/0": "fetched"}.items()
    asked = [request for request in servers.requests if request.host.startswith("a.test")]
    assert min(later.started - earlier.ended for earlier, later in pairwise(asked)) >= 9.0
    assert (written["a.test"]["visits"], turns(after)["a.test"]["requests"]) == (1, 1)
    assert turns(after)["a.test"]["crawl_delay"] == 9.0


def test_a_host_that_was_opened_for_another_s_robots_txt_has_the_rows_that_it_is_added_with() -> None:
    found = Turns(visit_context(Servers().open_client, {}), SimulatedTime(), None)
    assert list(found.add("a.test", [HostTurn("a.test", UrlQueue())])) == []
    own = HostTurn("a.test", UrlQueue([due("http://a.test/0")]), robots_rows=b"rows")
    assert list(found.add("a.test", [own])) == []
    turn = found.find("a.test")
    assert turn is not None
    assert (turn.robots_rows, len(turn.queue)) == (b"rows", 1)
