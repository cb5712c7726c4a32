"""Reading of the due rows of frontier files: the best of each host, and the first of all hosts."""

import doctest
from collections import Counter
from datetime import UTC, datetime, timedelta

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing.util import assert_that
from hypothesis import given, strategies as st

from beamtrawl.transforms.directory.waiting import Left
from beamtrawl.transforms.frontier import host_shares, read_due
from beamtrawl.transforms.frontier.files import GROUP_ROWS, ORDER, frontier_writer, is_sorted, write_frontier
from beamtrawl.transforms.frontier.priority import Quota
from beamtrawl.transforms.frontier.read_due import Bounds, ReadDue, candidates
from beamtrawl.transforms.frontier.selection import Due, choose, order
from beamtrawl.transforms.settings import Priority
from beamtrawl.transforms.tables.schemas import FRONTIER
from beamtrawl.transforms.tables.table_files import TableWriter, open_parquet
from beamtrawl.transforms.urls.canonical import url_key

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ALL = Bounds(NOW, 100)
NONE = np.empty(0, np.int64)


def row(url, due_at=None, host="a.test", depth=1, priority=1.0, **fields):
    """A row of table frontier."""
    due = Due(url_key(host + url), url, host, depth, priority, None, None, None, 0, 0, 0)
    return dict.fromkeys(FRONTIER.names) | due._asdict() | {"reason": "new", "due_at": due_at} | fields


def sorted_file(root, rows, size=3):
    """The path of a file with row groups of `size` rows."""
    table = pa.Table.from_pylist(rows, schema=FRONTIER).sort_by(list(ORDER))
    writer = frontier_writer(root, 1)
    for start in range(0, len(rows), size):
        writer.write(table.slice(start, size))
    return writer.close().path


def unsorted_file(root, rows, schema=FRONTIER):
    """The path of a file as versions before wrote it."""
    writer = TableWriter(root, "frontier", 1)
    writer.schema = schema
    writer.write(pa.Table.from_pylist(rows, schema=schema))
    return writer.close().path


def read(root, paths, bounds, left=()):
    """The rows read from files."""
    if bounds.at_most is None:
        found = [pair for path in paths for pair in read_due._read_due(path, root, Left(root, left), bounds)]
    else:
        first = read_due._FirstOfAllFn(bounds.at_most, bounds.quota)
        tables = [t for path in paths for t in read_due._rank(path, root, Left(root, left), bounds, bounds.at_most)]
        merged = first.merge_accumulators([first.create_accumulator(), *tables])
        chosen = read_due._by_path(first.extract_output(merged))
        found = [pair for each in chosen for pair in read_due._take_chosen(each, root)]
    return [Due._make(each) for _, rows in found for each in rows]


def test_external_targets_are_read_alone_or_left_out(tmp_path):
    kinds = (None, "external", "sitemap", "external")
    path = sorted_file(str(tmp_path), [row(f"/{n}", kind=kind) for n, kind in enumerate(kinds)])
    for external, found in ((None, "0123"), (True, "13"), (False, "02")):
        for bounds in (ALL._replace(external=external), ALL._replace(external=external, at_most=9)):
            assert sorted(each.url[1:] for each in read(str(tmp_path), [path], bounds)) == list(found)


TIMES = {
    "no time set": (None, True),
    "past": (NOW - timedelta(days=1), True),
    "now": (NOW, True),
    "in a moment": (NOW + timedelta(microseconds=1), False),
    "tomorrow": (NOW + timedelta(days=1), False),
}


@pytest.mark.parametrize(("due_at", "is_due"), TIMES.values(), ids=TIMES)
def test_a_url_is_read_when_its_time_has_come(tmp_path, due_at, is_due):
    for others in ([], [row("/z")]):  # alone in its row group, or not
        path = sorted_file(str(tmp_path), [row("/a", due_at, sitemap={"level": 1, "budget": 2, "hosts": []}), *others])
        found = [due for due in read(str(tmp_path), [path], ALL) if due.url == "/a"]
        assert [(due.url, due.sitemap["budget"]) for due in found] == ([("/a", 2)] if is_due else [])


def test_rows_of_an_older_file_lack_columns_and_order(tmp_path):
    older = pa.schema([field for field in FRONTIER if field.name not in ("due_at", "digest")])
    path = unsorted_file(str(tmp_path), [row("/c"), row("/b", depth=2), row("/a", host="b.test")], older)
    with open_parquet(str(tmp_path), path) as file:
        assert not is_sorted(file)
    assert [due.url for due in read(str(tmp_path), [path], ALL)] == ["/c", "/b", "/a"]
    assert [due.url for due in read(str(tmp_path), [path], Bounds(NOW, 1))] == ["/c", "/a"]
    assert {due.url for due in read(str(tmp_path), [path], Bounds(NOW, 9, 2))} == {"/c", "/a"}


ROWS = st.builds(
    row,
    st.sampled_from([f"/{n}" for n in range(40)]),
    st.sampled_from([None, None, NOW - timedelta(1), NOW + timedelta(1)]),
    st.sampled_from(["a.test", "b.test", "c.test"]),
    st.integers(1, 3),
    st.sampled_from([0.5, 1.0, 2.0]),
)
FILES = st.lists(st.lists(ROWS, min_size=1, max_size=25, unique_by=lambda row: row["url_key"]), max_size=3)


@given(FILES, st.integers(1, 6), st.sets(st.sampled_from(["a.test", "c.test"])), st.none() | st.integers(1, 12))
def test_the_best_rows_of_each_host_and_file_are_read(tmp_path_factory, files, per_host, not_due, at_most):
    root = str(tmp_path_factory.mktemp("frontier"))
    paths = [sorted_file(root, rows) for rows in files]
    expected = []
    for rows in files:
        due = [row for row in rows if row["host"] not in not_due and (row["due_at"] or NOW) <= NOW]
        for host in {row["host"] for row in due}:
            own = [Due(*(row[name] for name in Due._fields[:-1])) for row in due if row["host"] == host]
            expected += sorted(own, key=order)[:per_host]
    expected.sort(key=order)
    found = sorted(read(root, paths, Bounds(NOW, per_host, at_most, frozenset(not_due))), key=order)
    assert [order(due)[:2] for due in found] == [order(due)[:2] for due in expected][:at_most]
    assert not Counter(found) - Counter(expected)


def test_classes_share_the_rows_of_a_round(tmp_path):
    """A limit over all hosts and files; what one class does not need is for the others."""
    kinds = [{"depth": 0}, {}, {"reason": "recrawl"}, {"reason": "retry"}]
    rows = [row(f"/{c}-{n}", host=f"{n % 3}.test", **kind) for c, kind in enumerate(kinds) for n in range(200)]
    paths = [sorted_file(str(tmp_path), rows[part::2], 50) for part in range(2)]
    for count, failing, expected in (
        (100, (), [(40, 1), (40, 1), (10, 1), (10, 1)]),
        (750, (), [(200, 0), (200, 0), (175, 2), (175, 2)]),
        (790, (), [(200, 0), (200, 0), (195, 2), (195, 2)]),
        (100, ("0.test", "1.test", "2.test"), [(0, 0), (0, 0), (50, 1), (50, 1)]),
    ):
        bounds = Bounds(NOW, 999, count, failing=frozenset(failing), quota=Quota((0.4, 0.4, 0.1, 0.1), 5))
        found = read(str(tmp_path), paths, bounds)
        counts = Counter(due.class_ for due in found)
        assert len(found) == len(set(found)) == count
        assert all(abs(counts[kind] - n) <= near for kind, (n, near) in enumerate(expected))
        assert not failing or {due.url[1] for due in found if due.class_ == 3} == {"0"}


def test_no_class_of_a_large_host_starves(tmp_path):
    """A host has more rows in a file than are read for a round, and those of one class come before all others."""
    kinds = [(5000, {"depth": 1}), (2000, {"depth": 2}), (300, {"depth": 3, "reason": "recrawl"})]
    kinds += [(300, {"depth": 4, "reason": "retry"})]
    rows = [row(f"/{c}-{n:04}", **kind) for c, (count, kind) in enumerate(kinds) for n in range(count)]
    rows += [row("/", host="0.test"), row("/", host="z.test")]
    path = sorted_file(str(tmp_path), rows, 500)
    quota = Quota((0.4, 0.4, 0.1, 0.1), 5)
    for at_most in (None, 1000):
        bounds = Bounds(NOW, 400, at_most, priority=Priority(high_depth=1), quota=quota)
        found = read(str(tmp_path), [path], bounds)
        assert {due.host for due in found} == {"0.test", "a.test", "z.test"}
        own = [due for due in found if due.host == "a.test"]
        assert len(own) == 400
        chosen = choose(own, 100, quota=quota)
        for kind, share in enumerate(quota.shares):
            urls = [due.url for due in chosen if due.class_ == kind]
            assert abs(len(urls) - 100 * share) <= 1
            assert urls == [f"/{kind}-{n:04}" for n in range(len(urls))]


def test_row_groups_of_a_host_that_has_enough_are_not_read(tmp_path):
    kinds = [{}, {}, {"reason": "recrawl"}, {"reason": "retry"}, {"foreign": True}]  # by depth
    rows = [
        row(f"/{n:06}", depth=n // 3 % 5, host=host, **kinds[n // 3 % 5])
        for host in ("a.test", "b.test")
        for n in range(15)
    ]
    rows += [row(f"/{n:06}", depth=5, host=host) for host in ("a.test", "b.test") for n in range(18)]
    path = sorted_file(str(tmp_path), rows)
    own = [0, 1, 2, 3, 4, 6, 7, 9, 10, 12, 13]  # 3, 2, 2, 2 and 2 of the classes
    with open_parquet(str(tmp_path), path) as file:
        for hosts, expected, reads in (
            (frozenset(), [*own, *(33 + n for n in own)], 10),
            ({"a.test"}, [33 + n for n in own], 5),
        ):
            parts = list(candidates(file, NONE, Bounds(NOW, 11, hosts_not_due=frozenset(hosts)), rows_at_a_time=1))
            assert [n for part in parts for n in part["number"].to_pylist()] == expected
            assert len(parts) == reads + 1  # row groups, and the rows of the last host


def test_a_file_is_sorted_and_counts_its_rows_by_reason(tmp_path):
    rows = [row(f"/{n % 7}-{n}", depth=n % 3) for n in range(GROUP_ROWS + 5)] + [row("/r", reason="retry")]
    written = write_frontier(str(tmp_path), 3, rows)
    assert (written.rows, written.counts) == (GROUP_ROWS + 6, {"new": GROUP_ROWS + 5, "retry": 1})
    with open_parquet(str(tmp_path), written.path) as file:
        assert is_sorted(file)
        assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [GROUP_ROWS, 6]
        keys = [(r["depth"], r["url"]) for r in file.read(["depth", "url"]).to_pylist()]
    assert keys == sorted(keys)
    assert write_frontier(str(tmp_path), 3, []) is None


LIMITS = {
    "no limit": (None, {"a.test": {"/1", "/2", "/4"}, "b.test": {"/3", "/5"}}),
    "the first of all hosts": (3, {"a.test": {"/2"}, "b.test": {"/3", "/5"}}),
    "more than there are": (9, {"a.test": {"/1", "/2", "/4"}, "b.test": {"/3", "/5"}}),
}


@pytest.mark.parametrize(("at_most", "expected"), LIMITS.values(), ids=LIMITS)
def test_due_urls_are_read_by_host(tmp_path, at_most, expected):
    files = [
        [row("/1", depth=2), row("/2", depth=1), row("/3", depth=1, host="b.test"), row("/9", NOW + timedelta(1))],
        [row("/4", depth=2), row("/5", depth=0, host="b.test")],
    ]
    paths = [sorted_file(str(tmp_path), rows) for rows in files]

    def check(host_to_due):
        found = {}
        for host, rows in host_to_due:
            found.setdefault(host, []).extend(Due._make(one).url for one in rows)
        assert {host: sorted(names) for host, names in found.items()} == {h: sorted(n) for h, n in expected.items()}

    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        assert_that(pipeline | beam.Create(paths) | ReadDue(str(tmp_path), [], Bounds(NOW, 100, at_most)), check)


def test_examples_in_docstrings():
    assert [doctest.testmod(module).failed for module in (host_shares, read_due)] == [0, 0]
