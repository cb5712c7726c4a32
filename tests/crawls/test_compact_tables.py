"""Merging tables between rounds: what is known stays the same, and the crawl goes on as without it."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.pipeline.compaction.compact_tables import LOGS
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, files_of
from beamtrawl.transforms.directory.table_runs import FAN_IN, SMALL_BYTES, all_runs, full_tier
from beamtrawl.transforms.sql.queries import open_tables
from beamtrawl.transforms.tables.layouts import LAYOUTS
from beamtrawl.transforms.tables.table_files import TableFile
from tests.support.crawls import InProcess, crawl, fetch
from tests.support.merging import merge_tables
from tests.support.row_faults import row_faults
from tests.support.web import Page, Web, html, redirect

TEXT = " ".join(f"word{n}" for n in range(60))
MEANWHILE = ("fetched_at", "elapsed_ms", "robots_at", "headers", "address", "last_fetched_at", "not_before")


def shown(path: Path, tables: list[str]) -> dict[str, list[Any]]:
    """The rows of tables that count, without columns that depend on time."""
    directory = CrawlDir(str(path))
    with open_tables(directory, directory.manifests(), tables) as connection:
        found = {table: connection.sql(f"SELECT * FROM {table}") for table in tables}
        return {table: _lasting(rows.columns, rows.fetchall()) for table, rows in found.items()}


def _lasting(names: list[str], rows: list[tuple[Any, ...]]) -> list[Any]:
    columns = [n for n, name in enumerate(names) if name not in MEANWHILE and not name.endswith(("_ms", "_at"))]
    return sorted([repr(row[n]) for n in columns if names[n] != "latency"] for row in rows)


def merge(path: Path, choose: Any) -> Any:
    return merge_tables(CrawlDir(str(path)), InProcess(), choose)


@pytest.fixture(scope="module")
def web() -> Any:
    site: dict[str, Page] = {
        "/": html("Home", TEXT, links=["/1", "/copy", "/moved", "//b.test/"]),
        "/copy": html("Home", TEXT, links=["/1"]),
        "/moved": redirect("/1"),
        "/robots.txt": html("", "User-agent: *"),
        **{f"/{n}": html(f"Page {n}", f"{TEXT} {n} {TEXT[:-n]}", links=[f"/{n + 1}", "/gone"]) for n in range(1, 4)},
    }
    with Web({"a.test": site, "b.test": {"/": html("Other", f"other {TEXT}", links=["//a.test/3"])}}) as web:
        yield web


def test_the_oldest_runs_of_the_lowest_full_tier_are_merged():
    def run(number: int, size: int) -> tuple[TableFile, ...]:
        return tuple(TableFile("urls", f"urls/{number}-{half}", 1, size // 2, {}) for half in "ab")

    small, large = [run(n, 1000) for n in range(FAN_IN + 2)], [run(n, 3 * SMALL_BYTES) for n in range(90, 90 + FAN_IN)]
    assert full_tier([*large, *small]) == small[:FAN_IN]
    assert full_tier([*large, *small[3:]]) == large
    assert full_tier([*large, *small[3:]], most_bytes=2 * SMALL_BYTES) == full_tier(small[3:]) == []
    assert all_runs([*large, small[0]], most_bytes=2 * SMALL_BYTES) == all_runs([]) == []


def test_a_crawl_goes_on_from_merged_tables_as_from_others(tmp_path, web):
    one, other = tmp_path / "one", tmp_path / "other"
    crawl(one, [web.url("a.test")], rounds=2, scope__mode="any")
    shutil.copytree(one, other)
    tables = [table for table in (*LAYOUTS, *LOGS) if table != "trap_samples"]
    known = shown(one, tables)
    assert merge(other, full_tier) is None  # two rounds are too few
    merged = merge(other, all_runs)
    assert {file.table for file in merged.files} >= {"urls", "hosts", "digests", "near", "traps", "visits", "links"}
    assert merge(other, all_runs) is None
    manifests = CrawlDir(str(other)).manifests()
    assert all(len(files_of(manifests, table)) <= 1 for table in ("urls", "hosts", "digests", "near", "visits"))
    assert shown(other, tables) == known
    assert list(row_faults(CrawlDir(str(other)), manifests)) == []
    for path in (one, other):
        assert crawl(path, scope__mode="any").reason == "frontier_empty"
    ended = shown(one, tables)
    assert shown(other, tables) == ended
    assert len(ended["documents"]) == 6


def test_a_fetched_round_that_waits_for_its_update_is_left_as_it_is(tmp_path, web):
    one, other = tmp_path / "one", tmp_path / "other"
    crawl(one, [web.url("a.test")], rounds=1, scope__mode="any")
    fetch(one, scope__mode="any")
    shutil.copytree(one, other)
    assert merge(other, all_runs)
    for path in (one, other):
        crawl(path, rounds=0, scope__mode="any")
    assert shown(other, ["documents", "urls"]) == shown(one, ["documents", "urls"])
