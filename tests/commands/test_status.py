"""How a crawl stands, read from its manifests."""

import json
import os
import socket
from datetime import timedelta

import pytest

from beamtrawl.runners.commands.status import render
from beamtrawl.runners.process.lock import Lock
from beamtrawl.runners.state.crawl_status import NextStep, summarize
from beamtrawl.runners.state.crawl_traps import closed_traps
from beamtrawl.transforms.blocks.files import add_block
from beamtrawl.transforms.blocks.rules import Block
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, CrawlDirError
from beamtrawl.transforms.tables.schemas import TABLES
from beamtrawl.transforms.tables.table_files import TableWriter
from tests.support.command_line import beamtrawl
from tests.support.committed_steps import HOUR, NOW, after_an_update, commit, hosts, listed, waiting


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
        "traps": [],
        "alarms": [],
        "alarm_kinds": {},
        "disk_free": None,
        "first_step_at": 0.0,
        "last_step_at": 0.0,
        "fetch_seconds": 0.0,
        "imported": 0,
        "limits": {"max_pages_per_host_per_round": 10_000},
        "blocks": [],
        "blocked": 0,
        "excluded": 0,
        "unindexed": {},
    }
    assert json.loads(json.dumps(found)) == found


def test_the_same_for_people(crawl):
    assert render(summarize(crawl, NOW)).splitlines() == [
        f"{crawl.root}: 2 rounds; next: update of round 2",
        "1 document, 3 URLs in the frontier, 0 alarms",
        f"to go on: beamtrawl crawl {crawl.root}",
        "limits of pages in crawl.toml: max_pages_per_host_per_round 10000",
        "tables: frontier 5, visits 5, documents 1, urls 7, hosts 3, rejections 2",
        "outcomes: fetched 3, gone 1, timeout 1",
        "frontier: new 2, retry 1",
        "of the frontier: 2 due now, 1 later, the first at 2026-11-20 13:00:00 UTC",
        "rejected links: depth 1, scope 1",
        "hosts: 2; index segments: 2",
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
    assert [line for line in render(found).splitlines() if line.startswith("alarm")] == [
        f"alarm: {alarm}" for alarm in alarms
    ]


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


def trapped(crawl, round_, template, state="trapped"):
    writer = TableWriter(crawl.root, "traps", round_)
    row = {"host": "a.test", "template": template, "kind": "own", "round": round_, "state": state, "since": round_}
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


@pytest.mark.parametrize(("waiting", "held", "alarms"), [(0, 0, 0), (1, 0, 1), (0, 1, 1)])
def test_a_throttled_template_is_an_alarm_while_some_of_its_urls_wait(tmp_path, waiting, held, alarms):
    crawl = CrawlDir(str(tmp_path))
    writer = TableWriter(crawl.root, "trap_queues", 1)
    row = {"host": "a.test", "template": "/*.pdf", "kind": "own", "round": 1, "waiting": waiting, "held": held}
    writer.write_rows([row])
    commit(crawl, "update", 1, [trapped(crawl, 1, "/*.pdf", "throttled"), writer.close()])
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
