"""Whole crawls over a scripted web: what each round does and writes."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apache_beam as beam
import pytest

from beamtrawl.pipeline.crawl import StopSignal
from beamtrawl.runners.crawl_status import summarize
from beamtrawl.runners.engines.direct import DirectEngine
from beamtrawl.transforms.storage.crawl_dir import CrawlDir
from tests.support import access_log
from tests.support.crawls import Silent, crawl, frontier, rows, states
from tests.support.web import Answer, Web, html, plain, redirect, slow, status

TEXT = "Herring gather where the tide turns, and the boats know it: long before light they put out."


def by_path(web: Web, host: str, table: list[dict], column: str = "url") -> dict[str, dict]:
    origin = web.url(host, "")
    return {row[column].removeprefix(origin): row for row in table if row[column].startswith(origin)}


def test_a_crawl_visits_each_url_once_by_depth_and_says_what_came_of_it(tmp_path: Path) -> None:
    sites = {
        "a.test": {
            "/robots.txt": plain("User-agent: *\nDisallow: /private/\n"),
            "/": html("Home", "Start here.", ["/one", "/two#part", "/old", "/private/x", "/gone", "/two", "//b.test/"]),
            "/one": html("One", "The first page.", ["/", "/deep", "/copy"]),
            "/two": f"<title>Two</title><p>{TEXT}</p><a href=/broken>More</a>",
            "/copy": f"<title>Two</title><p>{TEXT}</p><a href=/only-from-the-copy>More</a>",
            "/old": redirect("/new", 301),
            "/new": html("New", "Where the old page went."),
            "/deep": html("Deep", "Two links from home.", ["/deeper"]),
            "/deeper": html("Deeper", "Three links from home."),
            "/broken": status(500),
        },
        "b.test": {"/": html("Elsewhere", "Another host.")},
    }
    with Web(sites) as web:
        end = crawl(tmp_path, [web.url("a.test")], scope__depth=2, limits__max_tries=1)
        asked = [request.path for request in web.requests]

        assert end.reason == "frontier_empty"
        visits = by_path(web, "a.test", rows(tmp_path, "visits"))
        assert {path: (v["round"], v["depth"], v["outcome"]) for path, v in visits.items()} == {
            "/": (1, 0, "fetched"),
            "/one": (2, 1, "fetched"),
            "/two": (2, 1, "fetched"),
            "/old": (2, 1, "redirected"),
            "/gone": (2, 1, "gone"),
            "/private/x": (2, 1, "denied_robots"),
            "/new": (3, 1, "fetched"),  # a redirect costs a round and no depth
            "/deep": (3, 2, "fetched"),
            "/copy": (3, 2, "fetched"),
            "/broken": (3, 2, "server_error"),
        }
        assert asked[0] == "/robots.txt"
        assert sorted(asked[1:]) == sorted(path for path in visits if path != "/private/x")
        assert visits["/private/x"]["robots_rule"] == "Disallow: /private/"
        assert visits["/old"]["redirect_to"] == web.url("a.test", "/new")
        assert visits["/one"]["referrer"] == web.url("a.test")

        documents = by_path(web, "a.test", rows(tmp_path, "documents"))
        assert set(documents) == {"/", "/one", "/two", "/new", "/deep", "/copy"}
        assert documents["/copy"]["duplicate_of"] == documents["/two"]["url_key"]
        assert documents["/copy"]["text"] is None
        assert [path for path, d in documents.items() if d["duplicate_of"]] == ["/copy"]

        assert {
            path: (u["state"], u["reason"])
            for path, u in by_path(web, "a.test", list(states(tmp_path).values())).items()
        } == {
            "/": ("fetched", "fetched"),
            "/one": ("fetched", "fetched"),
            "/two": ("fetched", "fetched"),
            "/copy": ("fetched", "fetched"),
            "/new": ("fetched", "fetched"),
            "/deep": ("fetched", "fetched"),
            "/old": ("redirected", "redirected"),
            "/gone": ("gone", "gone"),
            "/private/x": ("denied", "denied_robots"),
            "/broken": ("failed", "server_error"),
        }
        rejected = {
            (row["reason"], row["host"], row["count"], tuple(row["samples"])) for row in rows(tmp_path, "rejections")
        }
        assert rejected == {
            ("scope", web.authority("b.test"), 1, (web.url("b.test"),)),
            ("depth", web.authority("a.test"), 1, (web.url("a.test", "/deeper"),)),
        }
        assert access_log.violations(web.requests, access_log.Manners(lambda host: 0.0, required=())) == []


def test_every_document_is_a_seed_or_was_linked_from_an_earlier_round(tmp_path: Path) -> None:
    pages = {f"/{n}": html(f"Page {n}", f"Text {n}.", [f"/{2 * n}", f"/{2 * n + 1}"]) for n in range(1, 16)}
    with Web({"a.test": pages}) as web:
        crawl(tmp_path, [web.url("a.test", "/1")], workers=2)
        links = rows(tmp_path, "links")
        documents = {row["url_key"]: row for row in rows(tmp_path, "documents")}
        assert len(documents) == len(rows(tmp_path, "documents")) == 15
        found_in = {}
        for link in links:
            found_in.setdefault(link["target_key"], []).append(link["round"])
        for key, document in documents.items():
            assert document["depth"] == 0 or min(found_in[key]) < document["round"]


@pytest.mark.parametrize(
    ("mode", "titles"),
    [("host", ["A", "C"]), ("domain", ["A", "C", "X", "Y"]), ("any", ["A", "C", "X", "Y", "Z"])],
)
def test_the_scope_of_a_crawl(tmp_path: Path, mode: str, titles: list[str]) -> None:
    """Two ports of one address are two hosts of one domain; localhost is another."""
    sites = {
        "a.test": {"/": html("A", "a", ["//b.test/x", "/c"]), "/c": html("C", "c")},
        "b.test": {
            "/x": lambda headers: html("X", "x", ["/y", "http://localhost:" + headers["host"].split(":")[1] + "/z"])
        },
    }
    sites["b.test"] |= {"/y": html("Y", "y"), "/z": html("Z", "z")}
    with Web(sites, one_address=True) as web:
        crawl(tmp_path, [web.url("a.test")], scope__mode=mode)
        assert sorted(row["title"] for row in rows(tmp_path, "documents")) == titles


def test_pages_say_what_robots_may_do_with_them(tmp_path: Path) -> None:
    head = '<meta name="robots" content="{}">'
    site = {
        "/": html("Home", "", ["/noindex", "/nofollow", "/header"]),
        "/noindex": html("Not for the index", TEXT, ["/from-noindex"], head=head.format("NOINDEX")),
        "/nofollow": html("No way on", "Its links are not followed.", ["/from-nofollow"], head=head.format("nofollow")),
        "/header": Answer(
            body=b"<title>Header</title><a href=/from-header>on</a>", headers=(("X-Robots-Tag", "none"),)
        ),
        "/from-noindex": html("Found through a noindex page", "It is read all the same."),
    }
    with Web({"a.test": site}) as web:
        crawl(tmp_path, [web.url("a.test")])
        documents = by_path(web, "a.test", rows(tmp_path, "documents"))
        assert {path for path, d in documents.items() if d["noindex"]} == {"/noindex", "/header"}
        assert set(documents) == {"/", "/noindex", "/nofollow", "/header", "/from-noindex"}
        assert states(tmp_path)[web.url("a.test", "/noindex")]["reason"] == "denied_meta"


@pytest.mark.parametrize(
    ("robots", "outcome", "asked"),
    [
        pytest.param(plain("User-agent: *\nDisallow: /"), "denied_robots", ["/robots.txt"], id="all-forbidden"),
        pytest.param(status(404), "fetched", ["/robots.txt", "/"], id="none-allows-all"),
        pytest.param(status(403), "denied_robots", ["/robots.txt"], id="forbidden-forbids-all"),
        pytest.param(status(503), "unreachable_robots", ["/robots.txt"], id="server-error-waits"),
        pytest.param(status(429), "unreachable_robots", ["/robots.txt"], id="too-many-requests-waits"),
        pytest.param(redirect("/elsewhere.txt"), "fetched", ["/robots.txt", "/elsewhere.txt", "/"], id="redirect"),
    ],
)
def test_the_status_of_robots_txt(tmp_path: Path, robots: Answer, outcome: str, asked: list[str]) -> None:
    site = {"/robots.txt": robots, "/": html("Home"), "/elsewhere.txt": plain("User-agent: *\nAllow: /")}
    with Web({"a.test": site}) as web:
        crawl(tmp_path, [web.url("a.test")], rounds=1)
        assert [row["outcome"] for row in rows(tmp_path, "visits")] == [outcome]
        assert [request.path for request in web.requests] == asked
        assert bool(frontier(tmp_path)) == (outcome == "unreachable_robots")


def test_what_a_round_has_no_room_for_stays_in_the_frontier(tmp_path: Path) -> None:
    pages = [f"/{n}" for n in range(10)]
    site = {"/": html("Home", "", pages)} | {path: html(path, f"Text of {path}.") for path in pages}
    with Web({"a.test": site}) as web:
        crawl(tmp_path, [web.url("a.test")], rounds=2, limits__max_pages_per_host=4)
        assert len(rows(tmp_path, "visits")) == 1 + 4
        left = frontier(tmp_path)
        assert len(left) == 6
        assert {row["reason"] for row in left} == {"deferred"}
        crawl(tmp_path, limits__max_pages_per_host=4)
        assert len({row["url"] for row in rows(tmp_path, "documents")}) == 11
        assert frontier(tmp_path) == []


def test_a_round_ends_at_its_time_and_loses_nothing(tmp_path: Path) -> None:
    pages = [f"/{n}" for n in range(6)]
    site = {"/": html("Home", "", pages)} | {path: slow(1.5, html(path, f"Text of {path}.")) for path in pages}
    with Web({"a.test": site}) as web:
        crawl(tmp_path, [web.url("a.test")], rounds=2, limits__round_time=5.0)
        outcomes = [row["outcome"] for row in rows(tmp_path, "visits")]
        assert set(outcomes) == {"fetched", "deferred"}
        assert len(outcomes) == 7
        assert len(frontier(tmp_path)) == outcomes.count("deferred") > 0
        crawl(tmp_path)
        assert len({row["url_key"] for row in rows(tmp_path, "documents")}) == 7
        assert len(web.requests) == 1 + 7  # nothing was asked twice


def test_rounds_that_are_too_short_to_start_in_end_the_crawl_for_now(tmp_path: Path) -> None:
    with Web({"a.test": {"/": html("Home")}}) as web:
        end = crawl(tmp_path, [web.url("a.test")], limits__round_time=1e-6)
        assert (end.reason, end.rounds, web.requests) == ("not_due", 1, [])
        assert [row["reason"] for row in frontier(tmp_path)] == ["deferred"]


def test_the_limit_of_pages_holds_over_rounds(tmp_path: Path) -> None:
    pages = [f"/{n}" for n in range(10)]
    site = {"/": html("Home", "", pages)} | {path: html(path, f"Text of {path}.") for path in pages}
    with Web({"a.test": site}) as web:
        end = crawl(tmp_path, [web.url("a.test")], limits__max_pages=5)
        assert end.reason == "max_pages"
        assert len([r for r in web.requests if r.path != "/robots.txt"]) == 5
        assert len(frontier(tmp_path)) == 6


def test_trouble_that_passes_is_tried_again(tmp_path: Path) -> None:
    answers = iter([status(503), html("At last", "It was only tired.")])
    observer = Silent()
    with Web({"a.test": {"/": lambda headers: next(answers)}}) as web:
        end = crawl(tmp_path, [web.url("a.test")], observer=observer)
        visits = rows(tmp_path, "visits")
        assert [(v["outcome"], v["attempt"]) for v in visits] == [("server_error", 1), ("fetched", 2)]
        assert visits[1]["fetched_at"] - visits[0]["fetched_at"] >= timedelta(seconds=2)
    assert end.reason == "frontier_empty"
    assert observer.waited <= 1  # none, if the update step took that long


def test_a_url_that_keeps_failing_is_given_up(tmp_path: Path) -> None:
    with Web({"a.test": {"/": status(500)}}) as web:
        crawl(tmp_path, [web.url("a.test")], limits__max_tries=2)
        assert [v["attempt"] for v in rows(tmp_path, "visits")] == [1, 2]
        assert states(tmp_path)[web.url("a.test")]["state"] == "failed"


def test_loopback_is_refused_unless_allowed(tmp_path: Path) -> None:
    with Web({"a.test": {"/": html("Home")}}) as web:
        crawl(tmp_path, [web.url("a.test")], fetch__allow_addresses=[])
        (visit,) = rows(tmp_path, "visits")
        assert (visit["outcome"], web.requests) == ("blocked_address", [])


def test_the_delay_holds_also_between_rounds(tmp_path: Path) -> None:
    site = {
        "/": html("Home", "", ["/a", "/b"]),
        "/a": html("A", "a", ["/c"]),
        "/b": html("B", "b"),
        "/c": html("C", "c"),
    }
    crawl_delay = {
        "/robots.txt": plain("User-agent: *\nCrawl-delay: 1.5\n"),
        "/": html("Slow", "", ["/x"]),
        "/x": html("X"),
    }
    with Web({"a.test": site, "b.test": crawl_delay}) as web:
        crawl(tmp_path, [web.url("a.test"), web.url("b.test")], politeness__delay=0.3)
        delays = {"a.test": 0.3, "b.test": 1.5}
        assert access_log.violations(web.requests, access_log.Manners(lambda host: delays[host], required=())) == []
        assert len(web.requests) == 2 + 4 + 2


def test_a_pause_that_is_longer_than_a_round_ends_the_crawl_for_now(tmp_path: Path) -> None:
    site = {"/robots.txt": plain("User-agent: *\nCrawl-delay: 3600\n"), "/": html("Home")}
    with Web({"a.test": site}) as web:
        end = crawl(tmp_path, [web.url("a.test")], limits__round_time=600.0)
        assert (end.reason, end.rounds) == ("not_due", 1)
        (host,) = rows(tmp_path, "hosts")
        assert (end.due_at, host["held_by"]) == (host["not_before"], "crawl_delay")
        assert 3599 < (host["not_before"] - host["last_fetched_at"]).total_seconds() < 3601
        assert [request.path for request in web.requests] == ["/robots.txt"]
    assert [row["reason"] for row in frontier(tmp_path)] == ["deferred"]


def test_the_delay_holds_between_the_redirects_of_robots_txt(tmp_path: Path) -> None:
    site = {"/robots.txt": redirect("/rules.txt"), "/rules.txt": plain("User-agent: *\nDisallow:\n"), "/": html("Home")}
    with Web({"a.test": site}) as web:
        crawl(tmp_path, [web.url("a.test")], politeness__delay=0.3)
        assert [request.path for request in web.requests] == ["/robots.txt", "/rules.txt", "/"]
        assert access_log.violations(web.requests, access_log.Manners(lambda host: 0.3, required=())) == []


def test_rejected_links_are_counted_one_by_one(tmp_path: Path) -> None:
    site = {"/": html("Home", "", ["http://b.test/1", "http://b.test/2", "/x.png"])}
    with Web({"a.test": site}) as web:
        crawl(tmp_path, [web.url("a.test")])
    assert summarize(CrawlDir(str(tmp_path)), datetime.now(UTC)).rejections == {"scope": 2, "extension": 1}


def test_a_stopped_crawl_commits_what_it_has_and_goes_on(tmp_path: Path) -> None:
    pages = [f"/{n}" for n in range(6)]
    stop = StopSignal()

    def stopping(headers: object) -> Answer:
        stop.stop()
        return html("The last one for now", "The operator has pressed Ctrl-C.")

    site = {"/": html("Home", "", pages)} | {path: html(path, f"Text of {path}.") for path in pages}
    site["/0"] = stopping
    with Web({"a.test": site}) as web:
        end = crawl(tmp_path, [web.url("a.test")], stop=stop, politeness__delay=0.6)
        assert end.reason == "stopped"
        assert {v["outcome"] for v in rows(tmp_path, "visits")} == {"fetched", "deferred"}
        asked = len(web.requests)
        assert asked < 8
        crawl(tmp_path)
        assert len({row["url_key"] for row in rows(tmp_path, "documents")}) == 7
        assert len(web.requests) == 8


def test_workers_that_outlive_their_driver_stop_when_the_crawl_goes_on(tmp_path: Path) -> None:
    """As on a cluster, where a job goes on when the program that submitted it was killed."""
    under_way = threading.Event()

    class Killed(DirectEngine):
        def run(self, build: Callable[[beam.Pipeline], None], seconds: float) -> None:
            self.job = threading.Thread(target=super().run, args=(build, seconds))
            self.job.start()
            assert under_way.wait(30)
            raise InterruptedError

    def third(headers: object) -> Answer:
        under_way.set()
        return html("The third")

    paths = [f"/{n}" for n in range(24)]
    site = {path: html(path, f"Text of {path}.") for path in paths} | {"/3": third}
    with Web({"a.test": site}) as web:
        killed = Killed(1, [])
        with pytest.raises(InterruptedError):
            crawl(tmp_path, [web.url("a.test", path) for path in paths], engine=killed, politeness__delay=0.1)
        crawl(tmp_path, rounds=1, politeness__delay=0.1)
        killed.job.join()
        pace = [
            p
            for p in access_log.violations(web.requests, access_log.Manners(lambda host: 0.1, required=()))
            if "robots" not in p
        ]
        assert pace == []
        assert len(web.requests) < 2 + 2 * len(paths)  # the first job did not go through with it
    assert sorted(row["url"] for row in rows(tmp_path, "visits")) == sorted(web.url("a.test", path) for path in paths)


def test_the_frontier_of_a_crawl_takes_new_seeds(tmp_path: Path) -> None:
    with Web(
        {"a.test": {"/": html("A", "a")}, "b.test": {"/": html("B", "b", ["/more"]), "/more": html("M", "m")}}
    ) as web:
        crawl(tmp_path, [web.url("a.test")])
        crawl(tmp_path, [web.url("b.test"), web.url("a.test")])
        assert sorted(d["title"] for d in rows(tmp_path, "documents")) == ["A", "B", "M"]
        assert len([r for r in web.requests if r.path == "/robots.txt"]) == 2


def test_times_are_utc(tmp_path: Path) -> None:
    before = datetime.now(UTC)
    with Web({"a.test": {"/": html("A")}}) as web:
        crawl(tmp_path, [web.url("a.test")])
    (visit,) = rows(tmp_path, "visits")
    assert before <= visit["fetched_at"] <= datetime.now(UTC)
