"""Whole crawls over a scripted web: what each round does and writes."""

import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
import pytest

from beamtrawl.pipeline.attempt import Engine
from beamtrawl.pipeline.compaction.drop_bodies import drop_bodies
from beamtrawl.pipeline.compaction.rebuild_index import rebuild_index
from beamtrawl.pipeline.control import End, StopSignal
from beamtrawl.pipeline.rank import rank
from beamtrawl.runners.engines.direct import DirectEngine
from beamtrawl.runners.engines.stock import StockEngine
from beamtrawl.runners.state.crawl_status import summarize
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from tests.support import access_log
from tests.support.crawls import InProcess, Silent, crawl, frontier, rows, states, without_times
from tests.support.merging import merge_kinds
from tests.support.web import Answer, Page, Web, html, plain, redirect, slow, status

TEXT = "Herring gather where the tide turns, and the boats know it: long before light they put out."
META_ROBOTS = '<meta name="robots" content="{}">'


TIRED = [status(503), html("At last", "It was only tired.")]
SITES: dict[str, dict[str, Page]] = {
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
    "meta.test": {
        "/": html("Home of meta", "", ["/noindex", "/nofollow", "/header", "http://c.test/1", "/x.png"]),
        "/noindex": html("Not for it", f"{TEXT} Or not.", ["/from-noindex"], head=META_ROBOTS.format("NOINDEX")),
        "/nofollow": html("No way on", "Not followed.", ["/from-nofollow"], head=META_ROBOTS.format("nofollow")),
        "/header": Answer(
            body=b"<title>Header</title><a href=/from-header>on</a>", headers=(("X-Robots-Tag", "none"),)
        ),
        "/from-noindex": html("Found through a noindex page", "It is read all the same."),
    },
}
SEEDS = ("a.test", "meta.test", "tired.test")


class Crawled(NamedTuple):
    """A finished crawl of SITES: its end, what was asked for, and what it wrote."""

    path: Path
    web: Web
    end: End
    began: datetime
    waited: int  # times that it waited for a URL to be due

    def by_path(self, host: str, table: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """The rows of a host; of several with one URL, the last."""
        origin = self.web.url(host, "")
        return {row["url"].removeprefix(origin): row for row in table if row["url"].startswith(origin)}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    path, answers, observer = tmp_path_factory.mktemp("rounds"), iter(TIRED), Silent()
    began = datetime.now(UTC)
    with Web(SITES | {"tired.test": {"/": lambda headers: next(answers)}}) as web:
        end = crawl(path, map(web.url, SEEDS), observer=observer, scope__depth=2, limits__max_tries=2)
    return Crawled(path, web, end, began, observer.waited)


def test_a_crawl_visits_each_url_once_by_depth_and_says_what_came_of_it(crawled: Crawled) -> None:
    path, web, *_ = crawled
    asked = [request.path for request in web.requests if request.host == "a.test"]
    assert crawled.end.reason == "frontier_empty"
    visits = crawled.by_path("a.test", rows(path, "visits"))
    again = visits["/broken"]["round"]  # for the second time: once its host may be asked, beside tired.test or after it
    assert again in (4, 5)
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
        "/broken": (again, 2, "server_error"),
    }
    assert asked[0] == "/robots.txt"
    assert sorted(asked[1:]) == sorted([*(visits.keys() - {"/private/x"}), "/broken"])
    assert visits["/private/x"]["robots_rule"] == "Disallow: /private/"
    assert visits["/old"]["redirect_to"] == web.url("a.test", "/new")
    assert visits["/one"]["referrer"] == web.url("a.test")

    documents = crawled.by_path("a.test", rows(path, "documents"))
    assert set(documents) == {"/", "/one", "/two", "/new", "/deep", "/copy"}
    assert documents["/copy"]["duplicate_of"] == documents["/two"]["url_key"]
    assert documents["/copy"]["text"] is None
    assert [path for path, d in documents.items() if d["duplicate_of"]] == ["/copy"]

    last = crawled.by_path("a.test", states(path).values())
    assert {path: (u["state"], u["reason"]) for path, u in last.items()} == {
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
    assert access_log.violations(web.requests, access_log.Manners(lambda host: 0.0, required=())) == []


def test_every_document_is_a_seed_or_was_linked_from_an_earlier_round(crawled: Crawled) -> None:
    documents = {row["url_key"]: row for row in rows(crawled.path, "documents")}
    assert len(documents) == len(rows(crawled.path, "documents")) == 6 + 5 + 1
    found_in: dict[bytes, list[int]] = {}
    for link in rows(crawled.path, "links"):
        found_in.setdefault(link["target_key"], []).append(link["round"])
    redirected = crawled.web.url("a.test", "/new")
    for key, document in documents.items():
        if document["url"] != redirected:
            assert document["depth"] == 0 or min(found_in[key]) < document["round"]


def test_rejected_links_are_counted_one_by_one(crawled: Crawled) -> None:
    a, b, meta = (crawled.web.authority(host) for host in ("a.test", "b.test", "meta.test"))
    rejected = [
        (row["reason"], row["host"], row["count"], tuple(row["samples"])) for row in rows(crawled.path, "rejections")
    ]
    assert sorted(rejected) == sorted(
        [
            ("scope", b, 1, (crawled.web.url("b.test"),)),
            ("scope", "c.test", 1, ("http://c.test/1",)),
            ("extension", meta, 1, (crawled.web.url("meta.test", "/x.png"),)),
            ("depth", a, 2, tuple(crawled.web.url("a.test", path) for path in ("/deeper", "/only-from-the-copy"))),
        ]
    )
    summary = summarize(CrawlDir(str(crawled.path)), datetime.now(UTC))
    assert summary.rejections == {"scope": 2, "extension": 1, "depth": 2}


def test_pages_say_what_robots_may_do_with_them(crawled: Crawled) -> None:
    documents = crawled.by_path("meta.test", rows(crawled.path, "documents"))
    assert {path for path, d in documents.items() if d["noindex"]} == {"/noindex", "/header"}
    assert set(documents) == {"/", "/noindex", "/nofollow", "/header", "/from-noindex"}
    assert states(crawled.path)[crawled.web.url("meta.test", "/noindex")]["reason"] == "denied_meta"


def test_trouble_that_passes_is_tried_again_and_a_url_that_keeps_failing_is_given_up(crawled: Crawled) -> None:
    visits = {"passes": crawled.web.url("tired.test"), "stays": crawled.web.url("a.test", "/broken")}
    passes, stays = ([v for v in rows(crawled.path, "visits") if v["url"] == url] for url in visits.values())
    assert [(v["outcome"], v["attempt"]) for v in passes] == [("server_error", 1), ("fetched", 2)]
    assert passes[1]["fetched_at"] - passes[0]["fetched_at"] >= timedelta(seconds=2)
    assert [(v["outcome"], v["attempt"]) for v in stays] == [("server_error", 1), ("server_error", 2)]
    assert crawled.waited <= 2  # for each of the two, or for none, if the update step took that long


def test_times_are_utc(crawled: Crawled) -> None:
    times = [visit["fetched_at"] for visit in rows(crawled.path, "visits")]
    assert crawled.began <= min(times) <= max(times) <= datetime.now(UTC)


def merge_all(path: Path, engine: Engine) -> list[str]:
    """Run each pipeline that merges, drops, ranks or makes the index anew; the steps that were committed."""
    directory = CrawlDir(str(path))
    steps = [
        merge_kinds(directory, engine, width=2),
        drop_bodies(directory, engine, 0),
        rebuild_index(directory, engine, korean_morphemes=False),
        rank(directory, engine, datetime(2026, 1, 1, tzinfo=UTC)),
    ]
    return [step.step for step in steps if step]


@pytest.mark.slow("whole crawls")
def test_worker_processes_give_the_same_tables(tmp_path: Path) -> None:
    """So does Beam's runner. Each goes on from one first round."""
    engines = {"in memory": InProcess(), "Beam": StockEngine([], []), "workers": DirectEngine(2, is_exact=True)}
    with Web(SITES) as web:
        crawl(tmp_path / "first", [web.url(host) for host in SITES], rounds=1)
        for name, engine in engines.items():
            shutil.copytree(tmp_path / "first", tmp_path / name)
            crawl(tmp_path / name, rounds=1, engine=engine)
    first, *others = (without_times(tmp_path / name) for name in engines)
    assert others == [first] * len(others)
    steps, *others_steps = (merge_all(tmp_path / name, engines[name]) for name in ("in memory", "Beam", "workers"))
    assert others_steps == [steps, steps]
    assert {"compact", "rank"} <= set(steps)
    merged = without_times(tmp_path / "in memory")
    assert [without_times(tmp_path / name) for name in ("Beam", "workers")] == [merged, merged]


def test_the_scope_of_a_crawl_by_domain(tmp_path: Path) -> None:
    """Two ports of one address are two hosts of one domain; localhost is another.

    The crawl of SITES is one by host; those of tests/sitemaps/ have any host in their scope.
    """

    def home(headers: Mapping[str, str]) -> Answer:
        port = headers["host"].split(":")[1]
        return html("A", "a", ["//b.test/x", "/c", f"http://localhost:{port}/z"])

    sites = {"a.test": {"/": home, "/c": html("C", "c"), "/z": html("Z", "z")}, "b.test": {"/x": html("X", "x")}}
    with Web(sites, one_address=True) as web:
        crawl(tmp_path, [web.url("a.test")], scope__mode="domain")
        assert sorted(row["title"] for row in rows(tmp_path, "documents")) == ["A", "C", "X"]


# the answer to robots.txt, the outcome of the page's visit, what is asked for
ROBOTS = {
    "all-forbidden": (plain("User-agent: *\nDisallow: /"), "denied_robots", ["/robots.txt"]),
    "none-allows-all": (status(404), "fetched", ["/robots.txt", "/"]),
    "forbidden-forbids-all": (status(403), "denied_robots", ["/robots.txt"]),
    "server-error-waits": (status(503), "unreachable_robots", ["/robots.txt"]),
    "too-many-requests-waits": (status(429), "unreachable_robots", ["/robots.txt"]),
    "redirect": (redirect("/elsewhere.txt"), "fetched", ["/robots.txt", "/elsewhere.txt", "/"]),
}


def test_the_status_of_robots_txt(tmp_path: Path) -> None:
    pages = {"/": html("Home"), "/elsewhere.txt": plain("User-agent: *\nAllow: /")}
    with Web({f"{name}.test": {"/robots.txt": robots, **pages} for name, (robots, _, _) in ROBOTS.items()}) as web:
        urls = {name: web.url(f"{name}.test") for name in ROBOTS}
        crawl(tmp_path, urls.values(), rounds=1)
        asked = {name: [r.path for r in web.requests if r.host == f"{name}.test"] for name in ROBOTS}
    outcomes = {row["url"]: row["outcome"] for row in rows(tmp_path, "visits")}
    assert {name: (outcomes[urls[name]], asked[name]) for name in ROBOTS} == {
        name: (outcome, paths) for name, (_, outcome, paths) in ROBOTS.items()
    }
    waiting = {urls[name] for name, (_, outcome, _) in ROBOTS.items() if outcome == "unreachable_robots"}
    assert {row["url"] for row in frontier(tmp_path)} == waiting


def test_limits_of_a_round_and_of_a_crawl_leave_the_others_in_the_frontier(tmp_path: Path) -> None:
    site: dict[str, Page] = {f"/{n}": html(f"Page {n}", f"Text of {n}.") for n in range(9)}
    with Web({"a.test": site}) as web:
        limits = {"limits__max_pages_per_host_per_round": 4, "limits__max_pages": 6}
        end = crawl(tmp_path, [web.url("a.test", path) for path in site], **limits)
        assert end.reason == "max_pages"
        assert Counter(visit["round"] for visit in rows(tmp_path, "visits")) == {1: 4, 2: 2}
        assert len([r for r in web.requests if r.path != "/robots.txt"]) == 6
    left = frontier(tmp_path)
    assert len(left) == 3
    assert {row["reason"] for row in left} == {"deferred"}


@pytest.mark.slow("real clock")
def test_a_round_ends_at_its_time_and_loses_nothing(tmp_path: Path) -> None:
    site: dict[str, Page] = {f"/{n}": slow(1.5, html(f"Page {n}", f"Text of {n}.")) for n in range(6)}
    with Web({"a.test": site}) as web:
        crawl(tmp_path, [web.url("a.test", path) for path in site], rounds=1, limits__round_time=5.0)
        outcomes = [row["outcome"] for row in rows(tmp_path, "visits")]
        assert set(outcomes) == {"fetched", "deferred"}
        assert len(outcomes) == 6
        assert len(frontier(tmp_path)) == outcomes.count("deferred") > 0
        crawl(tmp_path)
        assert len({row["url_key"] for row in rows(tmp_path, "documents")}) == 6
        assert len(web.requests) == 1 + 6  # nothing was asked twice


def test_rounds_that_are_too_short_to_start_in_end_the_crawl_for_now(tmp_path: Path) -> None:
    with Web({"a.test": {"/": html("Home")}}) as web:
        end = crawl(tmp_path, [web.url("a.test")], limits__round_time=1e-6)
        assert (end.reason, end.rounds, web.requests) == ("not_due", 1, [])
        assert [row["reason"] for row in frontier(tmp_path)] == ["deferred"]


def test_the_delay_holds_also_between_rounds_and_between_the_redirects_of_robots_txt(tmp_path: Path) -> None:
    site = {"/": html("Home", "", ["/a", "/b", "/c"]), **{f"/{name}": html(name, name) for name in "abc"}}
    crawl_delay = {
        "/robots.txt": plain("User-agent: *\nCrawl-delay: 1.5\n"),
        "/": html("Slow", "", ["/x"]),
        "/x": html("X"),
    }
    moved = {"/robots.txt": redirect("/rules.txt"), "/rules.txt": plain("User-agent: *\nDisallow:\n"), "/": html("M")}
    sites = {"a.test": site, "b.test": crawl_delay, "moved.test": moved}
    with Web(sites) as web:
        crawl(tmp_path, map(web.url, sites), politeness__delay=0.3)
        delays = {"a.test": 0.3, "b.test": 1.5, "moved.test": 0.3}
        assert access_log.violations(web.requests, access_log.Manners(lambda host: delays[host], required=())) == []
        assert Counter(request.host for request in web.requests) == {"a.test": 1 + 4, "b.test": 1 + 2, "moved.test": 3}


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


def test_a_stopped_crawl_commits_what_it_has_and_goes_on(tmp_path: Path) -> None:
    pages = [f"/{n}" for n in range(6)]
    stop = StopSignal()

    def stopping(headers: object) -> Answer:
        stop.stop()
        return html("The last one for now", "The operator has pressed Ctrl-C.")

    site = {path: html(path, f"Text of {path}.") for path in pages} | {"/0": stopping}
    with Web({"a.test": site}) as web:
        end = crawl(tmp_path, [web.url("a.test", path) for path in pages], stop=stop, politeness__delay=0.6)
        assert end.reason == "stopped"
        assert {v["outcome"] for v in rows(tmp_path, "visits")} == {"fetched", "deferred"}
        asked = len(web.requests)
        assert asked < 7
        crawl(tmp_path)
        assert len({row["url_key"] for row in rows(tmp_path, "documents")}) == 6
        assert len(web.requests) == 7


def test_workers_that_outlive_their_driver_stop_when_the_crawl_goes_on(tmp_path: Path) -> None:
    """As on a cluster, where a job goes on when the program that submitted it was killed."""
    under_way = threading.Event()

    class Killed(DirectEngine):
        def run(self, build: Callable[[beam.Pipeline], None], seconds: float) -> None:
            self.job = threading.Thread(target=super().run, args=(build, seconds))
            self.job.start()
            assert under_way.wait(60)
            raise InterruptedError

    def third(headers: object) -> Answer:
        under_way.set()
        return html("The third")

    paths = [f"/{n}" for n in range(24)]
    site = {path: html(path, f"Text of {path}.") for path in paths} | {"/3": third}
    with Web({"a.test": site}) as web:
        killed = Killed(1)
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
    with Web({"a.test": {"/": html("A", "a")}, "b.test": {"/": html("B", "b")}}) as web:
        crawl(tmp_path, [web.url("a.test")])
        crawl(tmp_path, [web.url("b.test"), web.url("a.test")])
        assert sorted(d["title"] for d in rows(tmp_path, "documents")) == ["A", "B"]
        assert len([r for r in web.requests if r.path == "/robots.txt"]) == 2
