"""Which waiting URLs the settings of now exclude, and which manifests say that the settings were changed."""

import pickle
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from beamtrawl.pipeline.excluded_urls import excluded_urls
from beamtrawl.transforms.blocks.rules import Block, Blocks
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest
from beamtrawl.transforms.frontier.excluded import Excluded, NotRequested, has_changed
from beamtrawl.transforms.frontier.files import write_frontier
from beamtrawl.transforms.frontier.read_due import Bounds, candidates
from beamtrawl.transforms.parsing.crawl_scope import CrawlScope
from beamtrawl.transforms.settings import Scope, Settings, override, settings_digest
from beamtrawl.transforms.tables.schemas import FRONTIER
from beamtrawl.transforms.tables.table_files import TableWriter, open_parquet
from beamtrawl.transforms.urls.canonical import host, url_key

SEEDS = ["http://a.test/", "http://a.test/calendar/seed"]


def row(url: str, **fields: Any) -> dict[str, Any]:
    """A row of the frontier of a page that a link leads to."""
    names: dict[str, Any] = {"url_key": url_key(url), "url": url, "host": host(url), "depth": 1, "redirects": 0}
    return dict.fromkeys(FRONTIER.names) | names | {"reason": "new", "priority": 1.0} | fields


def seed_files(root: Path) -> list[str]:
    writer = TableWriter(str(root), "seeds", 0)
    writer.write_rows([{"url_key": url_key(url), "url": url, "host": host(url)} for url in SEEDS])
    file = writer.close()
    assert file
    return [file.path]


def excluded_by(root: Path, scope: Scope, *kinds: str) -> Excluded:
    return Excluded(CrawlScope(str(root), scope, kinds or ("html",), seed_files(root)))


# settings of the scope, a row of the frontier, whether it is excluded
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "nothing is excluded": ({}, row("http://a.test/calendar/1"), False),
    "by a pattern": ({"exclude": ["/calendar/"]}, row("http://a.test/calendar/1"), True),
    "another page": ({"exclude": ["/calendar/"]}, row("http://a.test/page"), False),
    "one of two patterns": ({"exclude": ["/calendar/", "[?]sort="]}, row("http://a.test/list?sort=up"), True),
    "a lookahead, which RE2 lacks": ({"exclude": ["/c/(?!keep)"]}, row("http://a.test/c/drop"), True),
    "not by a lookahead": ({"exclude": ["/c/(?!keep)"]}, row("http://a.test/c/keep"), False),
    "included": ({"include": ["/docs/"]}, row("http://a.test/docs/1"), False),
    "not included": ({"include": ["/docs/"]}, row("http://a.test/page"), True),
    "a denied host": ({"mode": "any", "deny_hosts": ["b.test"]}, row("http://www.b.test/"), True),
    "beside a denied host": ({"mode": "any", "deny_hosts": ["b.test"]}, row("http://bb.test/"), False),
    "a host of no seed": ({}, row("http://c.test/"), True),
    "any host": ({"mode": "any"}, row("http://c.test/"), False),
    "too deep": ({"depth": 2}, row("http://a.test/page", depth=3), True),
    "deep enough": ({"depth": 2}, row("http://a.test/page", depth=2), False),
    "too long": ({"max_url_length": 20}, row("http://a.test/" + "x" * 20), True),
    "a retry": ({"exclude": ["/calendar/"]}, row("http://a.test/calendar/1", reason="retry", failures=1), True),
    "a revisit": ({"exclude": ["/calendar/"]}, row("http://a.test/calendar/1", reason="recrawl"), True),
    "a seed": ({"exclude": ["/calendar/"]}, row(SEEDS[1], depth=0, reason="seed"), False),
    "a seed that is tried again": ({"exclude": ["/calendar/"]}, row(SEEDS[1], depth=0, reason="retry"), False),
    "the revisit of a seed": ({"include": ["/docs/"]}, row(SEEDS[0], depth=0, reason="recrawl"), False),
    "where a seed redirects to": ({"include": ["/docs/"]}, row("http://a.test/home", depth=0, redirects=1), True),
    "a sitemap need not be included": ({"include": ["/docs/"]}, row("http://a.test/map.xml", kind="sitemap"), False),
    "a sitemap": ({"exclude": ["/maps/"]}, row("http://a.test/maps/1.xml", kind="sitemap"), True),
    "a page with the name of a sitemap": ({}, row("http://a.test/map.xml"), True),
    "rules of TDMRep": ({"include": ["/docs/"]}, row("http://a.test/.well-known/tdmrep.json", kind="tdmrep"), False),
    "an external target": ({"check_external": True, "depth": 0}, row("http://c.test/a.zip", kind="external"), False),
    "an external target, excluded": (
        {"check_external": True, "exclude": ["/c/"]},
        row("http://c.test/c/", kind="external"),
        True,
    ),
    "an external target without the setting": ({}, row("http://c.test/", kind="external"), True),
    "an external target on a host of the crawl": (
        {"check_external": True},
        row("http://a.test/x", kind="external"),
        True,
    ),
    "an external target where all are of the crawl": (
        {"check_external": True, "mode": "any"},
        row("http://c.test/", kind="external"),
        True,
    ),
    "a file of an earlier version": ({}, row("http://a.test/page", redirects=None), False),
}


@pytest.mark.parametrize(("scope", "waiting", "expected"), CASES.values(), ids=CASES)
def test_a_row_is_excluded_as_if_it_was_found_now(
    tmp_path: Path, scope: dict[str, Any], waiting: dict[str, Any], expected: bool
) -> None:
    excluded = excluded_by(tmp_path, Scope(**scope))
    others = [row("http://a.test/before"), waiting, row("http://a.test/docs/after")]
    table = pa.Table.from_pylist(others, schema=FRONTIER)
    assert excluded.mask(table)[1].as_py() is expected
    assert pickle.loads(pickle.dumps(excluded)).mask(table) == excluded.mask(table)
    assert excluded.mask(table.slice(0, 0)).to_pylist() == []


def test_the_extensions_of_parsed_kinds_are_accepted(tmp_path: Path) -> None:
    table = pa.Table.from_pylist([row("http://a.test/a.pdf"), row("http://a.test/a.zip")], schema=FRONTIER)
    masks = [excluded_by(tmp_path, Scope(), *kinds).mask(table) for kinds in (["html"], ["html", "pdf"])]
    assert [mask.to_pylist() for mask in masks] == [[True, True], [False, True]]


def test_blocked_and_excluded_urls_are_counted_once(tmp_path: Path) -> None:
    paths = ("/page", "/calendar/1", "/calendar/2", "/private/calendar/3", "/private/4")
    table = pa.Table.from_pylist([row(f"http://a.test{path}") for path in paths], schema=FRONTIER)
    blocks = Blocks([Block("a.test/private/*", "2026-01-01")])
    excluded = excluded_by(tmp_path, Scope(exclude=["/calendar/"]))
    closed = NotRequested(blocks, excluded)
    assert closed.without(table)["url"].to_pylist() == ["http://a.test/page"]
    assert (closed.blocked, closed.excluded) == (2, 2)
    for empty in (NotRequested(Blocks(), None), NotRequested(blocks, None)):
        assert empty.without(table).num_rows == 5 - empty.blocked
        assert empty.excluded == 0


def test_external_targets_alone_may_be_requested() -> None:
    kinds = (None, "external", "sitemap", "external")
    table = pa.Table.from_pylist([row(f"http://c.test/{n}", kind=kind) for n, kind in enumerate(kinds)], FRONTIER)
    blocks = Blocks([Block("c.test/3", "2026-01-01")])
    for closed, paths in ((NotRequested(Blocks(), None, True), "13"), (NotRequested(blocks, None, True), "1")):
        assert set(closed.columns) <= {"url", "kind"}
        assert [url[-1] for url in closed.without(table)["url"].to_pylist()] == list(paths)
        assert closed.blocked == 2 - len(paths)


@pytest.mark.parametrize("per_host", [1, 2, 100])
def test_excluded_rows_take_no_place_among_those_that_are_read(tmp_path: Path, per_host: int) -> None:
    """The best rows of a host are excluded: as many others are read as without them."""
    paths = [*(f"/calendar/{n}" for n in range(50)), "/page/1", "/page/2"]
    file = write_frontier(str(tmp_path), 1, [row(f"http://a.test{path}", depth=1 + ("page" in path)) for path in paths])
    assert file
    excluded = excluded_by(tmp_path, Scope(exclude=["/calendar/"]))
    bounds = Bounds(datetime.now(UTC), per_host, excluded=excluded)
    with open_parquet(str(tmp_path), file.path) as opened:
        found = [n for rows in candidates(opened, np.empty(0, np.int64), bounds) for n in rows["number"].to_pylist()]
        urls = opened.read(["url"])["url"].to_pylist()
    assert sorted(urls[n] for n in found) == [f"http://a.test/page/{n + 1}" for n in range(min(per_host, 2))]


NOW = settings_digest(Settings())
OTHER = settings_digest(override(Settings(), {"scope.exclude": ["/calendar/"]}))
SLOWER = "of another delay"

# steps with the digests of their settings, whether links were judged with others than those of now
STEPS: dict[str, tuple[list[tuple[str, str]], bool]] = {
    "another delay": ([("fetch", SLOWER), ("update", SLOWER)], False),
    "another delay, and another scope once": ([("update", NOW), ("fetch", OTHER), ("update", SLOWER)], True),
    "a new crawl": ([], False),
    "seeds are not judged": ([("seeds", OTHER), ("fetch", OTHER)], False),
    "the same settings": ([("seeds", NOW), ("fetch", NOW), ("update", NOW)], False),
    "others": ([("seeds", NOW), ("fetch", OTHER), ("update", OTHER)], True),
    "others once": ([("update", NOW), ("update", OTHER), ("update", NOW)], True),
    "compacted with others": ([("update", NOW), ("compact", OTHER), ("rank", OTHER)], False),
}


@pytest.mark.parametrize(("steps", "expected"), STEPS.values(), ids=STEPS)
def test_nothing_is_judged_again_while_the_settings_are_the_same(
    tmp_path: Path, steps: list[tuple[str, str]], expected: bool
) -> None:
    written = {NOW: {}, OTHER: {"scope.exclude": ["/calendar/"]}, SLOWER: {"politeness.delay": 5.0}}
    found = [
        Manifest(step, 1, digest, (), {}, (), "", "", settings=written[digest] if step == "fetch" else None)
        for step, digest in steps
    ]
    assert has_changed(Settings(), found) is expected
    excluded = excluded_urls(CrawlDir(str(tmp_path)), found, Settings())
    assert (excluded is not None) is expected
