"""Alarms, the exit code of `status --check`, and the metrics file."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from beamtrawl.runners.commands.status import ALARMED
from beamtrawl.runners.state import alarms
from beamtrawl.runners.state.alarms import Alarm
from beamtrawl.runners.state.crawl_traps import Trap
from beamtrawl.runners.state.failures import has_failed
from beamtrawl.runners.state.outcome_words import MEANINGS
from beamtrawl.transforms.directory.manifests import Manifest, iso
from tests.support.command_line import LOOPBACK, beamtrawl, failure
from tests.support.tables import each_row
from tests.support.web import Answer, Page, Web, html, plain, status

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def fetched(visits: int, seconds: float, **counters: int) -> Manifest:
    ended = iso(NOW + timedelta(seconds=seconds))
    return Manifest("fetch", 1, "", (), {"visits_rows": visits} | counters, (), iso(NOW), ended)


SLOW = [Alarm("rate", "the last round had 4.0 visits a second, the rounds before 10.0")]

# name: (fetch steps, alarms)
RATES = {
    "no round": ([], []),
    "one round": ([fetched(1000, 1000)], []),
    "as before": ([fetched(1000, 100), fetched(1000, 110)], []),
    "half as fast": ([fetched(1000, 100), fetched(1000, 200)], []),
    "a sudden drop": ([fetched(1000, 100), fetched(1000, 250)], SLOW),
    "faster": ([fetched(1000, 100), fetched(1000, 10)], []),
    "the median of those before": ([*(fetched(1000, s) for s in (100, 100, 2000)), fetched(1000, 250)], SLOW),
    "a short round": ([fetched(1000, 100), fetched(10, 250)], []),
    "the shortest that is compared": ([fetched(1000, 100), fetched(500, 125)], SLOW),
    "after a short round": ([fetched(1000, 100), fetched(10, 1), fetched(1000, 250)], SLOW),
    "deferred ones are no visits": ([fetched(1000, 100), fetched(2000, 250, deferred=1000)], SLOW),
}


@each_row(RATES)
def test_a_sudden_drop_of_the_rate(steps: list[Manifest], found: list[Alarm]) -> None:
    assert alarms.rate_alarms(steps) == found


def test_hosts_with_many_errors_the_worst_first() -> None:
    rows = [{"host": f"h{n}.test", "requests": 100, "failures": 48 + n} for n in range(1, 9)]
    found = alarms.erring_hosts([*rows, {"host": "new.test", "requests": 19, "failures": 19}])
    assert found[0] == Alarm("host_errors", "h8.test: 56 of 100 requests failed")
    assert [alarm.text for alarm in found[4:]] == [
        "h4.test: 52 of 100 requests failed",
        "1 more hosts have as many errors",
    ]


def host(name: str, **counts: int | None) -> dict[str, Any]:
    return {"host": name, "fetched": 0, "answers": 0, "refusals": 0} | counts


# rows of hosts, newest robots.txt files of hosts without an answer; lines
REFUSING: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]]] = {
    "one page": (
        [host("a.test", answers=1, refusals=1)],
        [],
        ["a.test refuses the robot: its only answer was 402, 403 or 429"],
    ),
    "the most first": (
        [host("a.test", answers=2, refusals=2), host("b.test", answers=9, refusals=9)],
        [],
        [
            f"{name}.test refuses the robot: all of its {n} answers were 402, 403 or 429"
            for name, n in (("b", 9), ("a", 2))
        ],
    ),
    "not always": ([host("a.test", answers=9, refusals=8)], [], []),
    "it gave pages to an earlier version": ([host("a.test", fetched=4, answers=1, refusals=1)], [], []),
    "nobody counted": ([host("a.test", answers=None, refusals=None)], [], []),
    "robots.txt": (
        [host("a.test"), host("b.test")],
        [{"host": "a.test", "status": 403}, {"host": "b.test", "status": 404}, {"host": "c.test", "status": None}],
        ["a.test refuses the robot: its robots.txt answers 403"],
    ),
}


@each_row(REFUSING)
def test_hosts_that_refuse_every_request(
    hosts: list[dict[str, Any]], robots: list[dict[str, Any]], lines: list[str]
) -> None:
    assert alarms.refusing_hosts(hosts, robots) == [Alarm("refusals", line) for line in lines]


# columns of table urls, why it failed
SEEDS: dict[str, tuple[dict[str, Any], str | None]] = {
    "fetched": ({"state": "fetched", "reason": "fetched", "last_status": 200}, None),
    "waits": ({"state": "due", "reason": "deferred", "last_status": None}, None),
    "not visited": ({"state": "due", "reason": None, "last_status": None}, None),
    "a redirect": ({"state": "redirected", "reason": "redirected", "last_status": 301}, None),
    "404": ({"state": "gone", "reason": "gone", "last_status": 404}, "status 404"),
    "403": ({"state": "failed", "reason": "client_error", "last_status": 403}, "status 403 (forbidden)"),
    "forbidden": ({"state": "failed", "reason": "forbidden", "last_status": 403}, MEANINGS["forbidden"]),
    "no name": (
        {"state": "due", "reason": "dns_error", "last_status": None},
        "the name has no address; it is tried again",
    ),
    "robots.txt": (
        {"state": "denied", "reason": "denied_robots", "last_status": None},
        "forbidden by robots.txt; not requested",
    ),
    "dead": ({"state": "failed", "reason": "dead_host", "last_status": None}, "its host failed too often"),
}


@each_row(SEEDS)
def test_seeds_that_failed(row: dict[str, Any], why: str | None) -> None:
    found = alarms.seed_alarms([row | {"url": "http://a.test/"}] if has_failed(row) else [])
    assert found == ([Alarm("seeds", f"seed http://a.test/ failed: {why}")] if why else [])


def test_a_sitemap_that_is_not_there() -> None:
    row = {"url": "http://a.test/sitemap.xml", "outcome": "gone", "status": 404}
    text = "sitemap http://a.test/sitemap.xml failed: status 404"
    assert alarms.sitemap_alarms([row]) == [Alarm("sitemaps", text)]


def test_seeds_sitemaps_and_hosts_that_fail_have_a_line_each_and_an_exit_code(tmp_path: Path) -> None:
    def named(headers: object) -> Answer:
        return plain(f"Sitemap: {web.url('maps.test', '/lost.xml')}\n")

    sites: dict[str, dict[str, Page]] = {
        "good.test": {"/": html("Home", links=["/a", "/b", "/c", "/d"])} | {f"/{n}": html(n) for n in "abcd"},
        "maps.test": {"/": html("Maps"), "/robots.txt": named},
        "shut.test": {"/": status(403), "/robots.txt": status(404)},
        "closed.test": {"/": html("Closed"), "/robots.txt": status(403)},
    }
    with Web(sites) as web:
        url = {name: web.url(name) for name in sites}
        seeds = [word for name in sites for word in ("--seed", url[name])]
        assert beamtrawl("crawl", tmp_path, *seeds, *LOOPBACK).code == 0
        authority = {name: web.authority(name) for name in sites}
    ran = beamtrawl("status", tmp_path, "--check")
    assert (ran.code, set(ran.out.splitlines())) == (
        ALARMED,
        {
            f"alarm: {authority['closed.test']} refuses the robot: its robots.txt answers 403",
            f"alarm: {authority['shut.test']} refuses the robot: its only answer was 402, 403 or 429",
            f"alarm: seed {url['closed.test']} failed: forbidden by robots.txt; not requested",
            f"alarm: seed {url['shut.test']} failed: {MEANINGS['forbidden']}",
            f"alarm: sitemap {url['maps.test']}lost.xml failed: status 404",
        },
    )


@pytest.mark.parametrize(("bad", "found"), [(0, 0), (1, 0), (2, 1)])
def test_robots_txt_out_of_reach(bad: int, found: int) -> None:
    rows = [{"failures_in_row": 1 if n < bad else 0, "held_by": "robots"} for n in range(10)]
    assert len(alarms.robots_alarms(rows, len(rows))) == found


@pytest.mark.parametrize(
    ("free", "found"), [(5, []), (4, [Alarm("disk", "the disk is nearly full: 4.0 of 100.0 GB are free")])]
)
def test_a_disk_that_is_nearly_full(free: int, found: list[Alarm]) -> None:
    assert alarms.disk_alarms(free * 10**9, 100 * 10**9) == found


def test_links_to_over_long_urls() -> None:
    rows = [{"host": "a.test", "reason": "too_long", "count": n, "samples": ["http://a.test/x"]} for n in (1, 2)]
    rows.append({"host": "a.test", "reason": "scope", "count": 9, "samples": []})
    text = "a.test: 3 links to over-long URLs, such as http://a.test/x…"
    assert alarms.too_long_alarms(rows) == [Alarm("too_long", text)]


def test_the_traps_with_the_most_urls_are_named_and_the_others_counted() -> None:
    rows = {"template": "/x", "kind": "own", "round": 1, "state": "trapped", "since": 1, "fresh": 0, "failed": 0}
    rows |= {"redirected": 0, "samples": [], "name": "/x", "patterns": ["x"], "pages": 9}
    traps = [Trap(**rows, host=f"h{n}.test", waiting=n, held=10 * n) for n in range(8)]
    found = alarms.trap_alarms(traps, "c")
    assert [alarm.text.split()[0] for alarm in found[:-1]] == [f"h{n}.test/x" for n in (7, 6, 5, 4, 3)]
    assert found[-1].text == "3 more traps: 3 URLs wait and 30 are held; status --json names them"
    assert {alarm.kind for alarm in found} == {"traps"}


BAD_HOST = {
    "host": "a.test",
    "failures_in_row": 3,
    "not_before": NOW,
    "held_by": "robots",
    "requests": 20,
    "failures": 11,
}

# what raises one alarm, and what is just below
THRESHOLDS: dict[str, tuple[list[Alarm], list[Alarm]]] = {
    "outcomes": (
        alarms.outcome_alarms({"gone": 6, "fetched": 4}),
        alarms.outcome_alarms({"gone": 5, "fetched": 5}),
    ),
    "failures in a row": (
        alarms.failing_hosts([BAD_HOST]),
        alarms.failing_hosts([BAD_HOST | {"failures_in_row": 2}]),
    ),
    "share of errors": (alarms.erring_hosts([BAD_HOST]), alarms.erring_hosts([BAD_HOST | {"failures": 10}])),
    "requests": (alarms.erring_hosts([BAD_HOST]), alarms.erring_hosts([BAD_HOST | {"requests": 19}])),
    "visits of a round": (
        alarms.rate_alarms([fetched(500, 50), fetched(500, 101)]),
        alarms.rate_alarms([fetched(499, 50), fetched(500, 101)]),
    ),
    "rate": (
        alarms.rate_alarms([fetched(500, 50), fetched(500, 101)]),
        alarms.rate_alarms([fetched(500, 50), fetched(500, 100)]),
    ),
}


@each_row(THRESHOLDS)
def test_thresholds(above: list[Alarm], below: list[Alarm]) -> None:
    assert (len(above), below) == (1, [])


def test_a_check_for_cron_and_its_metrics(tmp_path: Path) -> None:
    crawl, metrics = tmp_path / "crawl", tmp_path / "beamtrawl.prom"
    with Web({"a.test": {"/": html("Home", links=["/gone", "/lost"])}}) as web:
        assert beamtrawl("crawl", crawl, "--seed", web.url("a.test"), *LOOPBACK).code == 0
    ran = beamtrawl("status", crawl, "--check", "--metrics", metrics)
    assert ran == (ALARMED, "alarm: 2 of 3 visits ended as gone\n", "")
    assert beamtrawl("status", crawl).code == 0

    samples = {
        (sample.name, sample.labels.get("outcome") or sample.labels.get("kind")): sample.value
        for family in text_string_to_metric_families(metrics.read_text())
        for sample in family.samples
        if sample.labels["crawl"] == str(crawl)
    }
    assert samples["beamtrawl_crawl_visits_total", "gone"] == 2
    assert samples["beamtrawl_crawl_alarms", "outcomes"] == 1
    assert {samples["beamtrawl_crawl_alarms", kind] for kind in alarms.KINDS if kind != "outcomes"} == {0}
    assert samples["beamtrawl_crawl_rounds", None] == 2
    assert samples["beamtrawl_crawl_disk_free_bytes", None] > 0
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    code, line = failure("status", crawl, "--metrics", tmp_path / "none" / "x")
    assert code == 2
    assert line.startswith(f"cannot write {tmp_path}/none/x: there is no folder {tmp_path}/none; make it")
