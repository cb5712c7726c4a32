"""Compaction of the frontier: which files are merged, and into what."""

import doctest
from collections import Counter
from datetime import UTC, datetime
from functools import partial

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from beamtrawl.pipeline.compaction.damage import Damage
from beamtrawl.pipeline.seeds import Seed, add_seeds
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, CrawlDirError, files_of, frontier_files
from beamtrawl.transforms.directory.waiting import Waiting, count_waiting, left_files
from beamtrawl.transforms.frontier import merge
from beamtrawl.transforms.frontier.files import ORDER, is_sorted
from beamtrawl.transforms.frontier.merge import Sized, choose_files, count_up_to, merge_frontier, merge_sorted
from beamtrawl.transforms.sql.queries import query
from beamtrawl.transforms.tables.schemas import FRONTIER
from beamtrawl.transforms.tables.table_files import open_parquet, read_table
from tests.frontier.test_read_due import row, sorted_file, unsorted_file
from tests.storage.test_waiting import commit, leave, write
from tests.support.crawls import InProcess
from tests.support.merging import compact_frontier
from tests.support.tables import each_row


def sizes(*counts):
    """Files named by their numbers, of (rows, live)."""
    return [Sized(str(number), *count) for number, count in enumerate(counts)]


# files as (rows, live): the groups that are merged
CHOICES = {
    "no file": ([], []),
    "seven small files": ([(5, 5)] * 7, []),
    "eight small files": ([(5, 5)] * 8, [list("01234567")]),
    "eight of two tiers": ([(5, 5)] * 7 + [(20_000, 20_000)], []),
    "two full tiers": ([(5, 1)] * 8 + [(20_000, 20_000)] * 8, [list("01234567"), [str(n) for n in range(8, 16)]]),
    "most rows have left": ([(50_000, 20_000), (40_000, 30_000)], [["0"]]),
    "most rows have left, but they are few": ([(9_000, 1)], []),
    "it is merged anyway": ([(50_000, 20)] + [(5, 5)] * 7, [list("01234567")]),
}


@each_row(CHOICES)
def test_full_tiers_are_merged(counts, groups):
    assert choose_files(sizes(*counts)) == groups


def test_examples_in_docstrings():
    assert doctest.testmod(merge).failed == 0


def test_a_million_rounds_rewrite_each_row_a_few_times():
    files, rewritten = [], 0
    for number in range(5_000):
        files.append(Sized(str(number), 4_000, 4_000))
        while groups := choose_files(files):
            merged = {path for group in groups for path in group}
            rows = sum(file.rows for file in files if file.path in merged)
            files = [file for file in files if file.path not in merged] + [Sized(f"m{number}-{rewritten}", rows, rows)]
            rewritten += rows
    assert len(files) < 50
    assert rewritten / (5_000 * 4_000) < 6


ROWS = st.builds(
    row,
    st.sampled_from([f"/{n}" for n in range(30)]),
    st.none(),
    st.sampled_from(["a.test", "b.test", "c.test"]),
    st.integers(0, 2),
    st.sampled_from([0.5, 1.0, 2.0]),
)
RUNS = st.lists(st.lists(ROWS, min_size=1, max_size=20), min_size=1, max_size=4)


def table(rows):
    return pa.Table.from_pylist(rows, schema=FRONTIER).sort_by(list(ORDER))


def place(row):
    return row["host"], row["depth"], -row["priority"], row["url"]


@given(RUNS, st.integers(1, 6))
def test_sorted_runs_are_merged_in_order(runs, size):
    tables = [table(rows) for rows in runs]
    parts = [iter([one.slice(start, size) for start in range(0, one.num_rows, size)]) for one in tables]
    merged = [each for part in merge_sorted(parts) for each in part.to_pylist()]
    assert list(map(place, merged)) == sorted(place(each) for rows in runs for each in rows)


@given(st.lists(ROWS, min_size=1, max_size=20), ROWS)
def test_rows_up_to_a_key_are_counted(rows, key):
    assert count_up_to(table(rows), place(key)) == sum(place(each) <= place(key) for each in rows)


def test_files_are_merged_without_the_rows_that_left(tmp_path):
    """One of them was written by a version before; reasons are those of now."""
    root = str(tmp_path)
    sorted_, older = [row(f"/{n}", depth=n % 3) for n in range(9)], [row(f"/o{n}", reason="retry") for n in (2, 1)]
    paths = [sorted_file(root, sorted_), unsorted_file(root, older)]
    before = read_table(root, paths, FRONTIER).to_pylist()
    left = leave(root, 1, [(paths[0], 4, "new"), (paths[1], 0, "retry")])
    (file,) = merge_frontier(paths, root, 3, Waiting(tuple(paths), (left.path,), 2))
    kept = [each for number, each in enumerate(before) if number not in (4, 9)]
    expected = [each | ({"reason": "deferred"} if each["reason"] == "new" else {}) for each in kept]
    assert read_table(root, [file.path], FRONTIER).to_pylist() == sorted(expected, key=place)
    assert file.counts == {"deferred": 8, "retry": 1}
    assert file.path.startswith("frontier/round=000003/")
    with open_parquet(root, file.path) as opened:
        assert is_sorted(opened)


@pytest.mark.parametrize(("table", "number", "left_over"), [("frontier", 2, 2), ("frontier_left", 0, 10)])
def test_compaction_leaves_damaged_files_as_they_are(tmp_path, table, number, left_over):
    crawl, told = CrawlDir(str(tmp_path)), []
    for round_ in range(1, 11):
        new = write(crawl.root, round_ + 1, [(f"http://a.test/{round_}-{n}", "new") for n in range(3)])
        commit(crawl, "update", round_, [new, leave(crawl.root, round_, [(new.path, 0, "new")])])
    file = files_of(crawl.manifests(), table)[number]
    data = bytearray((tmp_path / file.path).read_bytes())
    data[2] ^= 1  # what is read does not depend on it
    (tmp_path / file.path).write_bytes(data)
    with pytest.raises(CrawlDirError, match=rf"{file.path}: its checksum is .*; it is not merged; see what else"):
        compact_frontier(crawl, InProcess())
    compact_frontier(crawl, InProcess(), damage=Damage(crawl, told.append))
    (line,) = told
    assert line.startswith(file.path)
    assert len(frontier_files(crawl.manifests())) == left_over
    assert (tmp_path / file.path).read_bytes() == data


def test_compaction_changes_files_and_no_waiting_url(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    assert compact_frontier(crawl, InProcess()) is None
    add_seeds(crawl, [Seed("http://s.test/")], "", datetime(2026, 1, 1, tzinfo=UTC))
    assert compact_frontier(crawl, InProcess()) is None
    for round_ in range(1, 10):
        new = write(crawl.root, round_ + 1, [(f"http://a.test/{round_}-{n}", "new") for n in range(3)])
        visited = [(file.path, round_ % file.rows, "new") for file in frontier_files(crawl.manifests())]
        commit(crawl, "update", round_, [new, leave(crawl.root, round_, visited[-1:])])
    listed = partial(query, crawl, "SELECT url, reason, depth FROM frontier ORDER BY url")
    before, count = listed(), count_waiting(crawl)
    assert len(before[1]) == count
    manifest = compact_frontier(crawl, InProcess())
    assert (listed(), count_waiting(crawl)) == (before, count)
    manifests = crawl.manifests()
    assert len(frontier_files(manifests)) == 1
    assert left_files(manifests) == []
    assert Counter(file.table for file in manifest.files) == {"frontier": 1}
    assert compact_frontier(crawl, InProcess()) is None
