"""What a round may fetch, and what it chooses of it."""

from datetime import UTC, datetime, timedelta

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing.util import assert_that
from hypothesis import given
from hypothesis import strategies as st

from beamtrawl.transforms.frontier.selection import Due, ReadDue, choose, due_rows, first_due, group_by_host, order
from beamtrawl.transforms.storage.schemas import FRONTIER
from beamtrawl.transforms.storage.table_files import TableWriter
from beamtrawl.transforms.urls.canonical import url_key

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def due(url, depth=0, priority=1.0, host="a.test"):
    return Due(url_key(url), url, host, depth, priority, None, None, None, 0, 0, 0)


def row(url, due_at=None, **fields):
    """A row of table frontier."""
    return dict.fromkeys(FRONTIER.names) | due(url)._asdict() | {"reason": "new", "due_at": due_at} | fields


def urls(queue):
    return [one.url for one in queue]


def test_the_order_is_depth_then_priority_then_alphabet():
    queue = [due("/a", 2, 9.0), due("/c", 1), due("/b", 1), due("/z", 1, 2.0), due("/y", 0, 0.1)]
    assert urls(sorted(queue, key=order)) == ["/y", "/z", "/b", "/c", "/a"]


AFTER = NOW + timedelta(hours=1)
LATE = NOW + timedelta(hours=2)

# rows as (host, due at): when the first of them may be asked for, while b.test is held for an hour
FIRSTS = {
    "no time set": ([("a.test", None)], NOW),
    "a time that has come": ([("a.test", LATE), ("a.test", NOW - timedelta(hours=1))], NOW - timedelta(hours=1)),
    "a time to come": ([("a.test", LATE)], LATE),
    "one with and one without": ([("a.test", LATE), ("a.test", None)], NOW),
    "of a host that is held": ([("b.test", None)], AFTER),
    "held, and then not due": ([("b.test", LATE)], LATE),
    "held, and another is not": ([("b.test", None), ("a.test", LATE), ("a.test", None)], NOW),
}


@pytest.mark.parametrize(("rows", "first"), FIRSTS.values(), ids=FIRSTS)
def test_when_the_first_url_may_be_asked_for(rows, first):
    schema = pa.schema([FRONTIER.field("host"), FRONTIER.field("due_at")])
    batch = pa.Table.from_pylist([{"host": host, "due_at": due_at} for host, due_at in rows], schema=schema)
    assert first_due(batch, {"b.test": AFTER, "c.test": LATE}, NOW) == first


QUEUE = st.lists(st.builds(due, st.text("abc", max_size=2), st.integers(0, 3), st.sampled_from([0.5, 1.0])))


@given(QUEUE, st.integers(0, 10), st.data())
def test_the_first_are_chosen_each_once_whatever_order_they_came_in(queue, count, data):
    chosen = choose(queue, count)
    assert chosen == sorted(chosen, key=order)
    assert len(chosen) == min(count, len({one.url for one in queue})) == len(set(urls(chosen)))
    assert choose(data.draw(st.permutations(queue)), count) == chosen
    rest = [one for one in queue if one.url not in urls(chosen)]
    assert not chosen or all(order(chosen[-1]) <= order(one) for one in rest)


def test_of_a_url_that_is_due_twice_the_first_in_order_is_chosen():
    assert choose([due("/a", 3), due("/a", 1), due("/a", 2)], 5) == [due("/a", 1)]


TIMES = {
    "no time set": (None, True),
    "past": (NOW - timedelta(days=1), True),
    "now": (NOW, True),
    "in a moment": (NOW + timedelta(microseconds=1), False),
    "tomorrow": (NOW + timedelta(days=1), False),
}


@pytest.mark.parametrize(("due_at", "is_due"), TIMES.values(), ids=TIMES)
def test_a_url_is_due_when_its_time_has_come(due_at, is_due):
    batch = pa.Table.from_pylist([row("/a", due_at)], schema=FRONTIER)
    assert list(due_rows(batch, NOW)) == ([due("/a")] if is_due else [])


def test_rows_of_an_older_file_lack_a_time_and_are_due():
    batch = pa.Table.from_pylist([row("/a"), row("/b")], schema=FRONTIER).drop_columns(["due_at"])
    assert list(due_rows(batch, NOW)) == [due("/a"), due("/b")]


def test_rows_are_grouped_by_host_as_plain_tuples():
    grouped = group_by_host([due("/a"), due("/b", host="b.test"), due("/c")])
    assert {host: [one[1] for one in rows] for host, rows in grouped.items()} == {
        "a.test": ["/a", "/c"],
        "b.test": ["/b"],
    }
    assert all(type(one) is tuple for rows in grouped.values() for one in rows)


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
    paths = []
    for rows in files:
        writer = TableWriter(str(tmp_path), "frontier", 1)
        writer.write_rows(rows)
        paths.append(writer.close().path)

    def check(host_to_due):
        found = {}
        for host, rows in host_to_due:
            found.setdefault(host, []).extend(Due._make(one).url for one in rows)
        assert {host: sorted(names) for host, names in found.items()} == {h: sorted(n) for h, n in expected.items()}

    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        assert_that(pipeline | beam.Create(paths) | ReadDue(str(tmp_path), NOW, at_most), check)
