"""Merging files of a table: what is chosen, that no row is lost, and that the newest row of a key counts."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from beamtrawl.transforms.directory.crawl_dir import Manifest
from beamtrawl.transforms.directory.table_runs import FAN_IN, MOST_FILES, SMALL_BYTES, all_runs, full_tier, runs_of
from beamtrawl.transforms.tables.key_scan import Wanted, groups_with, matching_rows
from beamtrawl.transforms.tables.layouts import LAYOUTS, arrange
from beamtrawl.transforms.tables.merge_tables import load_of, merge, parts_of
from beamtrawl.transforms.tables.schemas import TABLES
from beamtrawl.transforms.tables.table_files import TableFile, TableWriter, open_parquet, read_table
from beamtrawl.transforms.urls.canonical import url_key
from tests.support.tables import each_row

URLS = TABLES["urls"]


def run(size: int, name: str = "") -> tuple[TableFile, ...]:
    return (TableFile("urls", name, 1, size, {}),)


SMALL, MIDDLE = run(SMALL_BYTES - 1), run(SMALL_BYTES)
SCATTERED = run(SMALL_BYTES - 1) * MOST_FILES
CHOSEN: dict[str, tuple[list[Any], list[Any]]] = {
    # runs -> those that are merged
    "nothing": ([], []),
    "too few": ([SMALL] * (FAN_IN - 1), []),
    "a full tier": ([SMALL] * FAN_IN, [SMALL] * FAN_IN),
    "the oldest of a tier": ([run(1, str(n)) for n in range(FAN_IN + 3)], [run(1, str(n)) for n in range(FAN_IN)]),
    "two tiers, neither full": ([SMALL] * (FAN_IN - 1) + [MIDDLE] * (FAN_IN - 1), []),
    "the lower of two full tiers": ([MIDDLE] * FAN_IN + [SMALL] * FAN_IN, [SMALL] * FAN_IN),
    "many small files": ([MIDDLE, SCATTERED, SMALL], [SCATTERED]),
    "many files that are not small": ([tuple(SMALL[0]._replace(bytes=SMALL_BYTES) for _ in range(MOST_FILES))], []),
    "sizes of one tier": ([run(SMALL_BYTES * n) for n in (*range(1, 10), 1)],) * 2,
}


@each_row(CHOSEN)
def test_a_tier_is_merged_once_it_is_full(runs, chosen):
    assert full_tier(runs) == chosen


def test_large_runs_stay_as_they_are():
    assert full_tier([MIDDLE] * FAN_IN, SMALL_BYTES - 1) == []
    assert all_runs([SMALL, MIDDLE, SMALL], SMALL_BYTES - 1) == [SMALL, SMALL]
    assert all_runs([SMALL]) == []


def test_a_run_is_what_one_step_wrote():
    one, other, foreign = (TableFile(table, table, 1, 1, {}) for table in ("urls", "urls", "hosts"))
    manifests = [
        Manifest("update", n, "", files, {}, (), "", "") for n, files in enumerate([(one, foreign, other), ()])
    ]
    assert runs_of(manifests, "urls") == [(one, other)]


def rows(*found: tuple[str, int, int]) -> list[dict[str, Any]]:
    """Rows of urls for (host, number of its page, round)."""
    return [
        {"url_key": url_key(f"http://{host}/{page}"), "url": f"http://{host}/{page}", "host": host, "round": round_}
        | {"state": "fetched" if round_ % 2 else "due"}
        for host, page, round_ in found
    ]


def write(root: str, table: str, *groups: list[dict[str, Any]]) -> TableFile:
    writer = TableWriter(root, table, 1)
    for group in groups:
        writer.write_rows(group, {"rows": len(group)})
    file = writer.close()
    assert file
    return file


found = st.tuples(st.sampled_from(["a.test", "b.test", "c.test"]), st.integers(0, 9), st.integers(1, 5))


@settings(max_examples=10)  # each writes and merges several files
@given(files=st.lists(st.lists(found, min_size=1, max_size=12), min_size=1, max_size=5), size=st.integers(1, 20))
def test_the_newest_row_of_each_key_is_kept_in_files_without_overlap(tmp_path_factory, files, size):
    root = str(tmp_path_factory.mktemp("urls"))
    written = [write(root, "urls", *(rows(each) for each in file)) for file in files]
    # A row group of one row each: the bounds of parts can be anywhere.
    merged = [file for part in parts_of(root, "urls", written, size) for file in merge(part, root, 7)]
    newest: dict[tuple[str, int], int] = {}
    for host, page, round_ in (each for file in files for each in file):
        newest[host, page] = max(round_, newest.get((host, page), 0))
    wanted = rows(*((host, page, round_) for (host, page), round_ in newest.items()))
    together = read_table(root, [file.path for file in merged], URLS).to_pylist()
    kept = [{name: row[name] for name in wanted[0]} for row in together]
    assert kept == sorted(wanted, key=lambda row: (row["host"], row["url_key"]))
    assert sum(file.rows for file in merged) == len(wanted)
    states = {name: sum(file.counts.get(name, 0) for file in merged) for name in ("fetched", "due")}
    assert states == {name: sum(row["state"] == name for row in wanted) for name in states}


def test_a_merge_of_many_rows_has_several_parts(tmp_path):
    root = str(tmp_path)
    many = rows(*((host, page, 1) for host in ("a.test", "b.test") for page in range(50)))
    in_order = sorted(many, key=lambda row: (row["host"], row["url_key"]))
    files = [write(root, "urls", many), write(root, "urls", *([row] for row in in_order))]
    assert len(parts_of(root, "urls", files, 10_000)) == 1
    assert 4 <= len(parts_of(root, "urls", files, 20)) <= 11


def test_files_of_one_row_group_each_are_divided_too(tmp_path):
    """Those of an update step are by key: each is from the first host to the last."""
    root = str(tmp_path)
    files = [
        write(
            root, "urls", sorted(rows(*((f"h{n:04d}.test", page, 1) for n in range(700))), key=lambda row: row["host"])
        )
        for page in range(6)
    ]
    sizes = [sum(file.rows for file in merge(part, root, 7)) for part in parts_of(root, "urls", files, 2_000)]
    assert sum(sizes) == 4_200
    assert len(sizes) >= 2
    assert max(sizes) < 4_000


def test_rows_without_a_value_are_in_the_first_part(tmp_path):
    root = str(tmp_path)
    times = [None, *(datetime(2026, 11, day, tzinfo=UTC) for day in range(1, 6))]
    groups = [[[{"due_at": at, "round": 1}] for at in some] for some in (times[::2], times[1::2])]
    files = [write(root, "revisits", *each) for each in groups]
    merged = [file for part in parts_of(root, "revisits", files, 1) for file in merge(part, root, 7)]
    assert len(merged) > 2
    found = [read_table(root, [file.path], TABLES["revisits"])["due_at"].to_pylist() for file in merged]
    assert None in found[0]
    assert [at for some in found for at in some if at] == times[1:]
    assert sum(map(len, found)) == len(times)


def test_rows_of_a_log_keep_their_order_and_their_counts(tmp_path):
    root = str(tmp_path)
    links = [{"source_url": f"http://a.test/{n}", "round": n} for n in range(6)]
    files = [write(root, "links", links[:1], links[1:3]), write(root, "links", links[3:])]
    (part,) = parts_of(root, "links", files, 1)
    (merged,) = merge(part, root, 9)
    assert read_table(root, [merged.path], TABLES["links"])["round"].to_pylist() == [0, 1, 2, 3, 4, 5]
    assert (merged.rows, merged.counts) == (6, {"rows": 6})
    with open_parquet(root, merged.path) as file:
        assert file.num_row_groups == 1


@pytest.mark.parametrize("table", LAYOUTS)
def test_the_columns_of_a_layout_are_columns_of_its_table(table):
    layout = LAYOUTS[table]
    assert {*layout.order, *layout.key, *layout.others, "round"} <= set(TABLES[table].names)
    empty = TABLES[table].empty_table()
    assert arrange(empty, layout).equals(empty)


def test_of_rows_of_one_round_the_last_counts():
    twice = pa.Table.from_pylist([row | {"depth": n} for n in (1, 2) for row in rows(("a.test", 1, 3))], schema=URLS)
    assert arrange(twice, LAYOUTS["urls"])["depth"].to_pylist() == [2]


def test_a_row_without_a_host_gets_that_of_its_url(tmp_path):
    url = "https://a.test:8080/x/y"
    old = [{"url_key": b"k" * 16, "url": url, "round": 1}, {"url_key": b"m" * 16, "url": url, "round": 1, "host": "b"}]
    assert arrange(pa.Table.from_pylist(old, schema=TABLES["near"]), LAYOUTS["near"])["host"].to_pylist() == [
        "a.test:8080",
        "b",
    ]


def test_only_row_groups_with_a_wanted_value_are_read(tmp_path):
    root = str(tmp_path)
    groups = [rows(*((host, page, 1) for page in range(3))) for host in ("a.test", "c.test", "e.test")]
    file = write(root, "urls", *groups)
    with open_parquet(root, file.path) as parquet:
        for hosts, found in (["c.test"], [1]), (["b.test", "d.test"], []), (["a.test", "f.test"], [0]):
            assert list(groups_with(parquet, "host", hosts)) == found
        assert list(groups_with(parquet, "no such column", ["a.test"])) == [0, 1, 2]
    wanted = Wanted("host", ["b.test", "e.test"])
    (read,) = matching_rows(root, file.path, URLS, wanted, ["url", "round"])
    assert read.column_names == ["url", "round"]
    assert read["url"].to_pylist() == [row["url"] for row in groups[2]]
    keys = pa.Table.from_pylist([groups[0][1], groups[2][0]], schema=URLS)
    (read,) = matching_rows(root, file.path, URLS, Wanted.of(keys, "url_key", "host"))
    assert read["url"].to_pylist() == [groups[0][1]["url"], groups[2][0]["url"]]
    assert list(matching_rows(root, file.path, URLS, Wanted("host", []))) == []


def test_a_file_without_the_column_yields_all_rows(tmp_path):
    file = write(str(tmp_path), "digests", [{"digest": b"d" * 16, "site": "a.test"}])
    (read,) = matching_rows(str(tmp_path), file.path, TABLES["near"], Wanted("host", ["b.test"]), ["round"])
    assert read.num_rows == 1


# (rows, bytes) of the files of each table; pieces and MB held
LOADS = {
    "nothing": ({}, (0, 0)),
    "a sorted table": ({"urls": [(200_000, 20_000_000), (50_000, 1_000_000)]}, (1, 420)),
    "rows that compress well": ({"urls": [(200_000, 2_000_000), (50_000, 1_000_000)]}, (1, 200)),
    "ranges": ({"urls": [(400_000, 20_000_000), (600_000, 30_000_000)]}, (4, 250)),
    "a log": ({"links": [(9_000_000, 90_000_000)]}, (1, 100)),
    "a small log": ({"links": [(9, 1_000_000)]}, (1, 20)),
    "several": ({"urls": [(9, 1_000_000)], "links": [(9_000_000, 90_000_000)]}, (2, 100)),
}


@each_row(LOADS)
def test_what_merging_takes(tables, expected):
    files = {table: [TableFile(table, "x", *each, {}) for each in some] for table, some in tables.items()}
    load = load_of(files)
    assert (load.pieces, load.held // 1_000_000) == expected
