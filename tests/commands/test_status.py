"""How a crawl stands, read from its manifests."""

import json
import os
import socket
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from beamtrawl.runners.commands.status import render
from beamtrawl.runners.process.lock import Lock
from beamtrawl.runners.state.crawl_status import NextStep, summarize
from beamtrawl.runners.state.crawl_traps import closed_traps
from beamtrawl.runners.state.host_waits import robots_failures, why
from beamtrawl.transforms.blocks.files import add_block
from beamtrawl.transforms.blocks.rules import Block
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, CrawlDirError, Manifest
from beamtrawl.transforms.frontier.due_pages import write_due_pages
from beamtrawl.transforms.frontier.files import write_frontier
from beamtrawl.transforms.settings import Settings, override
from beamtrawl.transforms.tables.schemas import TABLES
from beamtrawl.transforms.tables.table_files import TableFile, TableWriter
from beamtrawl.transforms.urls import url_key
from tests.support.command_line import beamtrawl

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def commit(crawl, step, round_, files=(), counters=None, **fields):
    fields = {"consumed": (), "started_at": "", "ended_at": ""} | fields
    crawl.commit(Manifest(step, round_, "", tuple(files), counters or {}, **fields))


def listed(table, name, rows, **counts):
    """A file that only the manifest knows: the status reads no more of it."""
    return TableFile(table, f"{table}/{name}", rows, 1000, counts)


def hosts(crawl, round_, *names, **columns):
    writer = TableWriter(crawl.root, "hosts", round_)
    writer.write_rows([{"host": name, "round": round_} | columns for name in names])
    return writer.close()


def waiting(crawl, round_, *rows):
    """A file of the frontier: (host, reason, due_at) of each row."""
    urls = [f"http://{host}/{number}" for number, (host, *_) in enumerate(rows)]
    names = ("host", "reason", "due_at")
    return write_frontier(
        crawl.root,
        round_,
        [
            {"url_key": url_key(url), "url": url, "depth": 0} | dict(zip(names, row, strict=True))
            for url, row in zip(urls, rows, strict=True)
        ],
    )


@pytest.fixture
def crawl(tmp_path):
    """Two rounds, the second fetched and not yet updated."""
    crawl = CrawlDir(str(tmp_path))
    seeds = waiting(crawl, 1, ("a.test", "seed", None), ("b.test", "seed", None))
    commit(crawl, "seeds", 0, [seeds, listed("urls", "a", 2)])
    commit(crawl, "fetch", 1, [listed("visits", "a", 2)], {"fetched": 1, "gone": 1, "visits_rows": 2})
    commit(
        crawl,
        "update",
        1,
        [
            listed("documents", "a", 1, denied_meta=1),
            listed("urls", "b", 5),
            waiting(crawl, 2, ("a.test", "new", None), ("b.test", "new", None), ("a.test", "retry", NOW + HOUR)),
            listed("rejections", "b", 2, depth=1, scope=1),
            hosts(crawl, 1, "a.test", "b.test"),
        ],
        {"denied_meta": 1, "gone": 7},
        consumed=(seeds.path,),
        index=("index/round=000001/s1", "index/round=000001/s2"),
    )
    commit(crawl, "fetch", 2, [listed("visits", "b", 3), hosts(crawl, 2, "a.test")], {"fetched": 2, "timeout": 1})
    return crawl


def test_rounds_rows_outcomes_frontier_hosts(crawl):
    found = summarize(crawl, NOW).to_dict()
    assert found.pop("bytes") > 0
    assert found == {
        "directory": crawl.root,
        "rounds": 2,
        "next_step": {"step": "update", "round": 2},
        "running": None,
        "tables": dict.fromkeys(TABLES, 0)
        | {"frontier": 5, "visits": 5, "documents": 1, "urls": 7, "rejections": 2, "hosts": 3},
        "index_segments": 2,
        "outcomes": {"fetched": 3, "gone": 1, "timeout": 1},
        "frontier": {"new": 2, "retry": 1},
        "due": 2,
        "later": 1,
        "next_due_at": (NOW + HOUR).timestamp(),
        "planned": 0,
        "next_planned_at": None,
        "revisits_due": 0,
        "revisits_since": None,
        "next_revisit_at": None,
        "rejections": {"depth": 1, "scope": 1},
        "alerts": {},
        "hosts": 2,
        "held": {},
        "waits": [],
        "waiting_hosts": 0,
        "aliases": [],
        "copies": [],
        "traps": [],
        "alarms": [],
        "alarm_kinds": {},
        "disk_free": None,
        "first_step_at": 0.0,
        "last_step_at": 0.0,
        "fetch_seconds": 0.0,
        "imported": 0,
        "limits": {"max_pages_per_host": 10_000},
        "blocks": [],
        "blocked": 0,
        "excluded": 0,
        "unindexed": {},
    }
    assert json.loads(json.dumps(found)) == found


def test_the_same_for_people(crawl):
    assert render(summarize(crawl, NOW)).splitlines() == [
        f"{crawl.root}: 2 rounds; next: update of round 2",
        "limits of pages: max_pages_per_host 10000",
        "tables: frontier 5, visits 5, documents 1, urls 7, hosts 3, rejections 2",
        "outcomes: fetched 3, gone 1, timeout 1",
        "frontier: new 2, retry 1",
        "of the frontier: 2 due now, 1 later, the first at 2026-11-20 13:00:00 UTC",
        "rejected links: depth 1, scope 1",
        "hosts: 2; index segments: 2",
        f"to go on: beamtrawl crawl {crawl.root}",
    ]


def test_a_crawl_that_has_only_seeds_stands_before_its_first_round(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    commit(crawl, "seeds", 0, [waiting(crawl, 1, ("a.test", "seed", None))])
    found = summarize(crawl, NOW)
    assert (found.rounds, found.next_step) == (0, NextStep("fetch", 1))
    assert "outcomes: none" in render(found).splitlines()


# outcomes, alarms
ALARMS = {
    "no visits": ({}, []),
    "all is well": ({"fetched": 9, "gone": 1}, []),
    "nothing has changed": ({"not_modified": 9}, []),
    "half of them": ({"fetched": 2, "timeout": 2}, []),
    "the round was stopped": ({"fetched": 1, "deferred": 9}, []),
    "most of those that were made": (
        {"fetched": 1, "timeout": 3, "deferred": 9},
        ["3 of 4 visits ended as timeout"],
    ),
    "most of them": ({"fetched": 1, "timeout": 3}, ["3 of 4 visits ended as timeout"]),
}


@pytest.mark.parametrize(("outcomes", "alarms"), ALARMS.values(), ids=ALARMS)
def test_a_person_is_told_when_most_visits_end_badly(tmp_path, outcomes, alarms):
    crawl = CrawlDir(str(tmp_path))
    commit(crawl, "fetch", 1, counters=outcomes)
    found = summarize(crawl, NOW)
    assert found.alarms == alarms
    assert [line for line in render(found).splitlines() if "alarm" in line] == [f"alarm: {alarm}" for alarm in alarms]


def test_hosts_that_fail_are_named_the_worst_first(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    later = {"round": 2, "not_before": NOW + timedelta(hours=1), "held_by": "dead"}
    rows = [{"host": f"h{n}.test", "failures_in_row": n, **later} for n in range(1, 9)]
    for round_, some in ((1, [row | {"round": 1, "failures_in_row": 99} for row in rows]), (2, rows)):
        writer = TableWriter(crawl.root, "hosts", round_)
        writer.write_rows(some)
        commit(crawl, "update", round_, [writer.close()])
    found = summarize(crawl, NOW)
    assert found.held == {"dead": 8}
    assert [alarm.split()[0] for alarm in found.alarms] == [
        "h8.test",
        "h7.test",
        "h6.test",
        "h5.test",
        "h4.test",
        "1",
    ]
    lines = render(found).splitlines()
    assert "hosts not to be asked now, by reason: dead 8" in lines
    assert "alarm: h8.test has failed 8 times in a row, and is not asked before 2026-11-20 13:00:00 UTC (dead)" in lines
    assert summarize(crawl, NOW + timedelta(hours=2)).held == {}


def test_without_a_crawl_there_is_no_status(tmp_path):
    with pytest.raises(CrawlDirError, match="holds no crawl"):
        summarize(CrawlDir(str(tmp_path)), NOW)


def after_an_update(crawl, rows, *files):
    """The first update is committed; the next step is the fetch of round 2."""
    commit(crawl, "update", 1, [file for file in (waiting(crawl, 2, *rows), *files) if file])
    return crawl


# rows of the frontier; what is due: now, later, hours until the next; what to do
SOON, LATE = NOW + HOUR, NOW + 3 * HOUR
DUE = {
    "without a time": ([("a.test", "new", None)], (1, 0, None), "crawl DIR"),
    "its time has come": ([("a.test", "retry", NOW)], (1, 0, None), "crawl DIR"),
    "later": (
        [("a.test", "retry", LATE), ("a.test", "retry", SOON)],
        (0, 2, 1),
        "crawl DIR, from 2026-11-20 13:00:00 UTC on; nothing is due before",
    ),
    "its host waits": (
        [("held.test", "new", None)],
        (0, 1, 2),
        "crawl DIR, from 2026-11-20 14:00:00 UTC on; nothing is due before",
    ),
    "its host waits, and it longer": ([("held.test", "retry", LATE), ("a.test", "new", None)], (1, 1, 3), "crawl DIR"),
    "blocked": (
        [("blocked.test", "new", None)],
        (0, 0, None),
        "unblock DIR HOST, because all of the frontier is blocked",
    ),
    "none": ([], (0, 0, None), "seeds add DIR URL, because the frontier is empty"),
}


@pytest.mark.parametrize(("rows", "due", "next_"), DUE.values(), ids=DUE)
def test_due_urls_and_waiting_ones_are_told_apart(tmp_path, rows, due, next_):
    crawl = CrawlDir(str(tmp_path))
    add_block(crawl, Block("blocked.test", "2026-01-01"))
    held = hosts(crawl, 1, "held.test", not_before=NOW + 2 * HOUR, held_by="retry_after")
    found = summarize(after_an_update(crawl, rows, held), NOW)
    at = found.next_due_at and (found.next_due_at - NOW.timestamp()) / 3600
    assert (found.due, found.later, at) == due
    assert found.blocked == (rows[:1] == DUE["blocked"][0])
    assert render(found).splitlines()[-1] == f"to go on: beamtrawl {next_.replace('DIR', crawl.root)}"


def test_planned_revisits_have_a_line_and_are_waited_for(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    rows = [{"url_key": bytes(16), "host": "a.test", "due_at": moment, "round": 1} for moment in (LATE, SOON)]
    plan = write_due_pages(crawl.root, 1, [pa.Table.from_pylist(rows, schema=TABLES["revisits"])])
    found = summarize(after_an_update(crawl, [], plan), NOW)
    assert (found.planned, found.next_planned_at) == (2, SOON.timestamp())
    lines = render(found).splitlines()
    assert "planned revisits: 2, the first at 2026-11-20 13:00:00 UTC" in lines
    assert (
        lines[-1] == f"to go on: beamtrawl crawl {crawl.root}, from 2026-11-20 13:00:00 UTC on; nothing is due before"
    )


def trapped(crawl, round_, template):
    writer = TableWriter(crawl.root, "traps", round_)
    row = {"host": "a.test", "template": template, "kind": "own", "round": round_, "state": "trapped", "since": round_}
    writer.write_rows([row | {"pages": 90, "fresh": 0, "failed": 0, "redirected": 0, "samples": []}])
    return writer.close()


@pytest.mark.parametrize(
    ("released", "alarms"), [("", 1), ("a.test/other*\n", 1), ("a.test/calendar*\n", 0), ("a.test/*\n", 0)]
)
def test_a_trap_that_was_released_is_no_alarm(tmp_path, released, alarms):
    crawl = CrawlDir(str(tmp_path))
    commit(crawl, "update", 1, [trapped(crawl, 1, "/calendar/*")])
    (pattern,) = closed_traps(crawl, crawl.manifests(), ())[0]["patterns"]
    assert pattern.startswith("a.test/calendar")
    if released:
        crawl.write_text("released.txt", released)
    assert len(summarize(crawl, NOW).alarms) == alarms


def test_a_trap_without_urls_can_be_released(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    commit(crawl, "update", 1, [trapped(crawl, 1, "/calendar/*")])
    crawl.write_text("crawl.toml", "")
    (pattern,) = closed_traps(crawl, crawl.manifests(), ())[0]["patterns"]
    assert beamtrawl("status", tmp_path, "--check").code == 3
    ran = beamtrawl("release", tmp_path, pattern)
    assert (ran.code, ran.out) == (
        0,
        "0 URLs released, and 0 that wait are no longer limited; nothing is left to visit of them, and status has no"
        " alarm about them any more\n",
    )
    assert beamtrawl("status", tmp_path, "--check") == (0, "no alarms\n", "")


def test_release_says_what_is_blocked(tmp_path):
    crawl = after_an_update(CrawlDir(str(tmp_path)), [("a.test", "new", None), ("b.test", "new", None)])
    add_block(crawl, Block("b.test", "2026-01-01"))
    crawl.write_text("crawl.toml", "")
    begins = "0 URLs released, and {} that wait are no longer limited; "
    ends = "and no request is sent until `beamtrawl unblock`\n"
    assert beamtrawl("release", tmp_path, "b.test/*").out == f"{begins.format(1)}they are blocked, {ends}"
    both = beamtrawl("release", tmp_path, "?.test/*").out
    assert both == f"{begins.format(2)}the next round visits the others; 1 of them are blocked, {ends}"
    assert beamtrawl("release", tmp_path, "a.test/*").out == f"{begins.format(1)}the next round visits them\n"


def test_block_says_what_a_running_crawl_does(tmp_path):
    crawl = after_an_update(CrawlDir(str(tmp_path)), [("a.test", "new", None)])
    crawl.write_text("crawl.toml", "")
    assert "process" not in beamtrawl("block", tmp_path, "a.test").out
    with Lock(crawl):
        out = beamtrawl("block", tmp_path, "a.test/x").out
    assert f"; process {os.getpid()} on {socket.gethostname()} stops its requests within seconds" in out


def test_hosts_that_wait_have_a_line_each_and_the_others_a_command(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    asked = hosts(crawl, 1, "busy.test", "b.test", "c.test", "d.test", "e.test", not_before=LATE, held_by="retry_after")
    shut = hosts(crawl, 1, "shut.test", "idle.test", not_before=SOON, held_by="robots", failures_in_row=2)
    robots = TableWriter(crawl.root, "robots", 1)
    columns = {"origin": "http://shut.test", "host": "shut.test", "round": 1, "status": 503, "verdict": "unreachable"}
    robots.write_rows([columns | {"fetched_at": NOW - n * HOUR} for n in (1, 2)])
    urls = [
        (name, "new", None) for name in ("busy.test", "busy.test", "b.test", "c.test", "d.test", "e.test", "shut.test")
    ]
    found = summarize(after_an_update(crawl, urls, asked, shut, robots.close()), NOW)
    assert (found.waiting_hosts, json.loads(json.dumps(found.to_dict()))["waits"][0]) == (
        6,
        {
            "host": "busy.test",
            "until": LATE.timestamp(),
            "held_by": "retry_after",
            "why": "it asked to wait (Retry-After)",
            "urls": 2,
        },
    )
    lines = [line for line in render(found).splitlines() if " waits until " in line or line.startswith("and ")]
    assert lines[0] == "busy.test waits until 2026-11-20 15:00:00 UTC: it asked to wait (Retry-After) (2 URLs)"
    query = "SELECT host, not_before, held_by, failures_in_row FROM hosts WHERE not_before > now() ORDER BY 2"
    assert lines[-1] == f"and 1 more host; to list them: beamtrawl sql {crawl.root} '{query}'"
    assert len(lines) == 6
    assert beamtrawl("sql", tmp_path, query).code == 0
    later = summarize(crawl, SOON - timedelta(minutes=1))
    assert [wait.host for wait in later.waits] == ["busy.test", "b.test", "c.test", "d.test", "e.test"]


def answered(hour, verdict="unreachable", status=503, origin="http://a.test", error=None):
    times = {"fetched_at": NOW + hour * HOUR, "origin": origin, "host": "a.test"}
    return times | {"verdict": verdict, "status": status, "error": error}


# the row of a host, rows of its robots.txt: why it waits
WHY = {
    "Crawl-delay": ({"held_by": "crawl_delay", "crawl_delay": 600.0}, [], "Crawl-delay: 600"),
    "no answer": ({"held_by": "dead", "failures_in_row": 4}, [], "no answer, 4 failures in a row"),
    "robots.txt": (
        {"held_by": "robots", "failures_in_row": 2},
        [answered(2), answered(0, "rules", 200), answered(1)],
        "its robots.txt: 503 since 2026-11-20 13:00:00 UTC",
    ),
    "robots.txt, without an answer": (
        {"held_by": "robots"},
        [answered(1, status=None, error="timed out")],
        "its robots.txt: timed out since 2026-11-20 13:00:00 UTC",
    ),
    "Retry-After of robots.txt": (
        {"held_by": "retry_after"},
        [answered(1, status=429)],
        "it asked to wait (Retry-After); its robots.txt: 429 since 2026-11-20 13:00:00 UTC",
    ),
    "robots.txt is back": (
        {"held_by": "retry_after"},
        [answered(1), answered(2, "rules", 200)],
        "it asked to wait (Retry-After)",
    ),
    "unknown": ({"held_by": "magic"}, [], "magic"),
}


@pytest.mark.parametrize(("row", "robots", "said"), WHY.values(), ids=WHY)
def test_why_a_host_waits(row, robots, said):
    row = {"failures_in_row": None, "crawl_delay": None} | row
    assert why(row, robots_failures(robots).get("a.test")) == said


def visited(crawl, *pages):
    """A file of urls: (hours since its visit, columns) of each page."""
    writer, shared = TableWriter(crawl.root, "urls", 1), {"host": "a.test", "round": 1, "state": "fetched"}
    names = [f"http://a.test/{number}" for number in range(len(pages))]
    writer.write_rows(
        [
            shared | {"url_key": url_key(url), "url": url, "last_fetched_at": NOW - hours * HOUR} | columns
            for url, (hours, columns) in zip(names, pages, strict=True)
        ]
    )
    return writer.close()


# visits in hours before now, columns of urls; revisits that are due, hours since when, hours until the next
AGED = {
    "nothing is old enough": ([(23, {}), (2, {})], (0, None, 1)),
    "one is": ([(30, {}), (23, {})], (1, -6, 1)),
    "all are": ([(30, {}), (24, {})], (2, -6, None)),
    "a failure is not visited again": ([(30, {"state": "gone"})], (0, None, None)),
    "a missing file that may come": ([(13, {"state": "gone", "kind": "tdmrep"})], (1, -1, None)),
    "an external target that was gone": ([(25, {"state": "gone", "kind": "external"})], (1, -1, None)),
    "a requisite": ([(30, {"kind": "requisite"})], (0, None, None)),
    "a sitemap, which has another age": ([(13, {"kind": "sitemap"}), (13, {})], (1, -1, 11)),
    "a change of which a sitemap tells": ([(10, {"sitemap_lastmod": NOW - 3 * HOUR})], (1, -3, None)),
    "a change before the visit": ([(10, {"sitemap_lastmod": NOW - 11 * HOUR})], (0, None, 14)),
}


@pytest.mark.parametrize(("pages", "expected"), AGED.values(), ids=AGED)
def test_revisits_by_age_are_counted_and_named(tmp_path, pages, expected):
    crawl = after_an_update(CrawlDir(str(tmp_path)), [], visited(CrawlDir(str(tmp_path)), *pages))
    found = summarize(crawl, NOW, override(Settings(), {"recrawl.after": 1.0, "sitemaps.after": 0.5}))
    times = [at and round((at - NOW.timestamp()) / 3600) for at in (found.revisits_since, found.next_revisit_at)]
    assert (found.revisits_due, *times) == expected
    last = render(found).splitlines()[-1]
    if found.revisits_due:
        assert f"to go on: beamtrawl crawl {crawl.root}, which visits {found.revisits_due} page" in last
        assert any(line.startswith(f"revisits: {found.revisits_due} page") for line in render(found).splitlines())
    else:
        assert ("from 2026-11-2" in last) == (found.next_revisit_at is not None)
    assert summarize(crawl, NOW).revisits_due == 0


def test_a_page_that_waits_already_is_no_further_revisit(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    after_an_update(crawl, [("a.test", "recrawl", LATE)], visited(crawl, (30, {}), (30, {})))
    assert summarize(crawl, NOW, override(Settings(), {"recrawl.after": 1.0})).revisits_due == 1


def test_planned_revisits_whose_time_has_come_are_due(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    rows = [{"url_key": bytes(16), "host": "a.test", "due_at": moment, "round": 1} for moment in (LATE, NOW - HOUR)]
    plan = write_due_pages(crawl.root, 1, [pa.Table.from_pylist(rows, schema=TABLES["revisits"])])
    found = summarize(after_an_update(crawl, [], plan), NOW, override(Settings(), {"recrawl.per_day": 9.0}))
    assert (found.revisits_due, found.revisits_since) == (1, (NOW - HOUR).timestamp())
    assert render(found).splitlines()[-1].endswith(", which visits 1 page again")
