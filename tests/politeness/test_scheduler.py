"""Many hosts at once, one request at a time on each; and every URL comes to exactly one visit."""

import itertools
import json
import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from beamtrawl.transforms.http.reply import Reply
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.politeness.host_queue import HostTurn
from beamtrawl.transforms.politeness.url_queue import UrlQueue
from beamtrawl.transforms.robots.lookup import Robots
from beamtrawl.transforms.robots.rules import Verdict, parse
from beamtrawl.transforms.tables.sitemap_terms import PROBE
from beamtrawl.transforms.urls.canonical import url_key
from tests.support import access_log
from tests.support.scheduled_rounds import Round, due, outcomes, pages, shared_round, turns
from tests.support.servers import PAGE, Servers, Wait


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
    everybody = threading.Barrier(8, timeout=60)

    def together(url: str, headers: Mapping[str, str]) -> Reply:
        everybody.wait()  # none goes on before all are there
        return PAGE

    ends = outcomes(Round(Servers({"*": together}), *(pages(f"h{n}.test", 3) for n in range(8)), threads=True).run())
    assert Counter(ends.values()) == {"fetched": 24}


def test_a_slow_host_holds_up_nobody() -> None:
    others_done = threading.Event()

    def slow(url: str, headers: Mapping[str, str]) -> Reply:
        assert others_done.wait(60)
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


def test_a_request_that_takes_too_long_is_cut() -> None:
    servers = Servers({"http://a.test/0": Wait(60)})
    ends = outcomes(Round(servers, pages("a.test", 2), threads=True, fetch__total_timeout=2.0).run())
    assert ends == {"http://a.test/0": "timeout", "http://a.test/1": "fetched"}


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
        assert answer.wait(60)
        return PAGE

    robots = {"http://a.test": Robots(Verdict.ALLOW_ALL)}
    round_ = Round(Servers({"*": held}), pages("a.test", 1), robots=robots, threads=True)
    assert list(round_.scheduler.pump(wait=False)) == []
    answer.set()
    assert list(outcomes(round_.run()).values()) == ["fetched"]


def test_further_hosts_are_taken_when_a_request_to_them_could_begin() -> None:
    """So that those which no connection is free for are not in memory; hosts that rest hold up no other."""

    servers = Servers({"*": Wait(0.01)})
    round_ = Round(servers, fetch__connections=2, politeness__delay=0.5, seconds=300.0)
    assert round_.time
    for number in range(40):
        turn = HostTurn(f"h{number}.test", UrlQueue(map(due, pages(f"h{number}.test", 3))))
        turn.robots = {f"http://{turn.host}": Robots(Verdict.ALLOW_ALL)}
        turn.ready_at = 100.0 if number == 10 else 0.0
        round_.scheduler.add(turn.host, [turn])
        list(round_.scheduler.pump(wait=False))
        begun = {request.host for request in servers.requests}
        assert {f"h{n}.test" for n in range(number + 1)} - begun == ({"h10.test"} if number >= 10 else set())
    assert 0.05 < round_.time.monotonic() < 1.0


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
    queue = UrlQueue([due(url, etag='"v1"', referrer="http://b.test/", failures=1)])
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


@pytest.mark.parametrize(("kind", "expected"), [(None, "http://a.test/"), (PROBE, None)])
def test_a_path_that_cannot_exist_has_no_referrer(kind: str | None, expected: str | None) -> None:
    """Owners of sites look for a broken link on the page that a 404 in their logs names."""
    sent: list[str | None] = []

    def page(url: str, headers: Mapping[str, str]) -> Reply:
        sent.append(headers.get("Referer"))
        return Reply(404)

    url = "http://a.test/x"
    round_ = Round(Servers({url: page}))
    round_.scheduler.add("a.test", [HostTurn("a.test", UrlQueue([due(url, referrer="http://a.test/", kind=kind)]))])
    round_.run()
    assert sent == [expected]


def test_who_watches_is_told(tmp_path: Path) -> None:
    servers = Servers({"http://a.test/1": Reply(404, (), b"no")})
    Round(servers, pages("a.test", 3), progress=tmp_path / "progress").run()
    (file,) = tmp_path.iterdir()
    assert file.name.startswith("progress-")
    report = json.loads(file.read_text())
    assert (report.pop("queues"), report.pop("failures")) == ([], [])
    assert report.pop("requests")["began"] == report.pop("at")
    assert report == {
        "outcomes": {"fetched": 2, "gone": 1},
        "is_taking": False,
        "bytes": 2 * len(PAGE.body) + 2,
        "active": 0,
        "waiting": 0,
        "backing_off": 0,
        "queued": 0,
        "longest_queue_s": 0.0,
        "ends_in_s": None,
    }


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
    assert list(ends.values()) == ["too_many_requests", "fetched"]
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
    answers = iter([Reply(500), Reply(500), PAGE, Reply(500), Reply(500), PAGE])
    servers = Servers({"*": lambda url, headers: next(answers)})
    events = Round(servers, pages("a.test", 6), politeness__backoff=0.01).run()
    assert [row["host_failures"] for _, row in events if "host_failures" in row] == [1, 2, 0, 1, 2, 0]
    assert turns(events)["a.test"]["failures_in_row"] == 0


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


def test_two_urls_that_redirect_to_each_other_are_a_loop() -> None:
    there, back = "http://a.test/there", "http://a.test/back"
    servers = Servers({there: Reply(302, [("Location", "/back")]), back: Reply(302, [("Location", "/there")])})
    round_ = Round(servers)
    queue = UrlQueue([due(there), due(back, referrer=there, redirects=1)])
    round_.scheduler.add("a.test", [HostTurn("a.test", queue)])
    assert outcomes(round_.run()) == {there: "redirected", back: "redirect_loop"}


def test_what_can_be_said_without_asking_does_not_wait() -> None:
    robots = {"http://a.test": Robots(Verdict.RULES, parse(b"User-agent: *\nDisallow: /1\nDisallow: /2", "Beamtrawl"))}
    servers = Servers({"http://b.test/robots.txt": Reply(503)})
    changes = {"seconds": 3600.0, "politeness__delay": 300.0}
    round_ = Round(servers, pages("a.test", 3), pages("b.test", 2), robots=robots, **changes)
    assert list(outcomes(round_.run()).values()).count("denied_robots") == 2
    assert round_.time
    assert round_.time.monotonic() < 1.0  # the next request to either could start after 300 seconds


def test_servers_that_take_long_do_not_hold_up_the_others() -> None:
    held = threading.Event()

    def slow(url: str, headers: Mapping[str, str]) -> Reply:
        assert held.wait(60)
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


def test_a_host_that_has_begun_is_next_for_some_requests_and_then_behind_the_others() -> None:
    """So few hosts have begun at a time, and no host waits for all of another."""
    servers = Servers({"*": Wait(0.01)})
    Round(servers, pages("a.test", 40), pages("b.test", 3), pages("c.test", 20), fetch__connections=1).run()
    runs = [(name, len(list(some))) for name, some in itertools.groupby(request.host for request in servers.requests)]
    assert runs == [("a.test", 16), ("b.test", 4), ("c.test", 16), ("a.test", 16), ("c.test", 5), ("a.test", 9)]


def test_while_hosts_that_have_begun_rest_others_begin() -> None:
    servers, hosts = Servers({"*": Wait(0.04)}), [pages(f"h{n}.test", 3) for n in range(100)]
    robots = {f"http://h{n}.test": Robots(Verdict.ALLOW_ALL) for n in range(100)}
    Round(servers, *hosts, robots=robots, fetch__connections=1, politeness__delay=1.0, seconds=100.0).run()
    started = [request.started for request in servers.requests[:250]]
    assert max(later - earlier for earlier, later in itertools.pairwise(started)) < 0.2
    assert 20 <= len({request.host for request in servers.requests[:75]}) <= 40
