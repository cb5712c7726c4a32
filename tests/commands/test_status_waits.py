"""What status says of URLs that are due, of those that wait, and of hosts that are not asked now."""

import json
from datetime import timedelta

import pyarrow as pa
import pytest

from beamtrawl.runners.commands.status import render
from beamtrawl.runners.state.crawl_status import summarize
from beamtrawl.runners.state.host_waits import robots_failures, why
from beamtrawl.transforms.blocks.files import add_block
from beamtrawl.transforms.blocks.rules import Block
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.frontier.due_pages import write_due_pages
from beamtrawl.transforms.settings import Settings, override
from beamtrawl.transforms.tables.schemas import TABLES
from beamtrawl.transforms.tables.table_files import TableWriter
from beamtrawl.transforms.urls.canonical import url_key
from tests.support.command_line import beamtrawl
from tests.support.committed_steps import HOUR, NOW, after_an_update, hosts
from tests.support.tables import each_row

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
    assert render(found).splitlines()[2] == f"to go on: beamtrawl {next_.replace('DIR', crawl.root)}"


def test_planned_revisits_have_a_line_and_are_waited_for(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    rows = [{"url_key": bytes(16), "host": "a.test", "due_at": moment, "round": 1} for moment in (LATE, SOON)]
    plan = write_due_pages(crawl.root, 1, [pa.Table.from_pylist(rows, schema=TABLES["revisits"])])
    found = summarize(after_an_update(crawl, [], plan), NOW)
    assert (found.planned, found.next_planned_at) == (2, SOON.timestamp())
    lines = render(found).splitlines()
    assert "planned revisits: 2, the first at 2026-11-20 13:00:00 UTC" in lines
    assert lines[2] == f"to go on: beamtrawl crawl {crawl.root}, from 2026-11-20 13:00:00 UTC on; nothing is due before"


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


@each_row(WHY)
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
    next_ = render(found).splitlines()[2]
    if found.revisits_due:
        assert f"to go on: beamtrawl crawl {crawl.root}, which visits {found.revisits_due} page" in next_
        assert any(line.startswith(f"revisits: {found.revisits_due} page") for line in render(found).splitlines())
    else:
        assert ("from 2026-11-2" in next_) == (found.next_revisit_at is not None)
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
    assert render(found).splitlines()[2].endswith(", which visits 1 page again")
