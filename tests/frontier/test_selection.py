"""Which URLs of a host a round visits."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.frontier.priority import Quota, UrlClass
from beamtrawl.transforms.frontier.selection import Due, choose, group_by_host, next_round, order
from beamtrawl.transforms.tables.schemas import FRONTIER
from beamtrawl.transforms.urls.canonical import url_key

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def due(url, depth=0, priority=1.0, host="a.test"):
    return Due(url_key(url), url, host, depth, priority, None, None, None, 0, 0, 0)


def urls(queue):
    return [one.url for one in queue]


def test_the_order_is_depth_then_priority_then_alphabet():
    queue = [due("/a", 2, 9.0), due("/c", 1), due("/b", 1), due("/z", 1, 2.0), due("/y", 0, 0.1)]
    assert urls(sorted(queue, key=order)) == ["/y", "/z", "/b", "/c", "/a"]
    linked_elsewhere = due("/0", 0, 9.0)._replace(foreign=True)
    assert sorted([linked_elsewhere, *queue], key=order)[-1] == linked_elsewhere


AFTER = NOW + timedelta(hours=1)
LATE = NOW + timedelta(hours=2)

SOON = NOW + timedelta(seconds=20)
IN_TIME = NOW + timedelta(seconds=60)

# rows as (host, due at): when the first may be requested, and when the round starts, while b.test is held for an
# hour, and silent.test and other.test do not answer
NEXT = {
    "no time set": ([("a.test", None)], NOW, NOW),
    "a time that has come": ([("a.test", LATE), ("a.test", NOW - timedelta(hours=1))], NOW, NOW),
    "a time to come": ([("a.test", LATE)], LATE, LATE),
    "one with and one without": ([("a.test", LATE), ("a.test", None)], NOW, NOW),
    "of a host that is held": ([("b.test", None)], AFTER, AFTER),
    "held, and then not due": ([("b.test", LATE)], LATE, LATE),
    "held, and another is not": ([("b.test", None), ("a.test", LATE), ("a.test", None)], NOW, NOW),
    "two that are due soon": ([("a.test", SOON), ("a.test", IN_TIME)], SOON, SOON),
    "silent alone": ([("silent.test", SOON)], SOON, SOON),
    "silent together": ([("silent.test", None), ("other.test", SOON), ("silent.test", IN_TIME)], NOW, IN_TIME),
    "silent, and later ones": ([("silent.test", None), ("other.test", SOON), ("silent.test", AFTER)], NOW, SOON),
    "silent, all much later": ([("silent.test", LATE), ("other.test", AFTER)], AFTER, AFTER),
    "silent, and one that answers": ([("silent.test", None), ("other.test", IN_TIME), ("a.test", SOON)], NOW, SOON),
    "silent, and one that is due": ([("other.test", IN_TIME), ("a.test", None), ("silent.test", SOON)], NOW, NOW),
}


@pytest.mark.parametrize("split", [False, True], ids=["one batch", "a batch each"])
@pytest.mark.parametrize(("rows", "first", "start"), NEXT.values(), ids=NEXT)
def test_when_the_next_round_starts(rows, first, start, split):
    schema = pa.schema([FRONTIER.field("host"), FRONTIER.field("due_at")])
    batch = pa.Table.from_pylist([{"host": host, "due_at": due_at} for host, due_at in rows], schema=schema)
    batches = [batch.slice(place, 1) for place in range(len(rows))] if split else [batch]
    held, silent = {"b.test": AFTER, "c.test": LATE}, {"silent.test", "other.test"}
    assert next_round(batches, held, silent, NOW, timedelta(minutes=1)) == (first, start)


def test_without_urls_there_is_no_next_round():
    empty = pa.schema([FRONTIER.field("host"), FRONTIER.field("due_at")]).empty_table()
    assert next_round([], {}, (), NOW, timedelta(minutes=1)) is None
    assert next_round([empty], {}, (), NOW, timedelta(minutes=1)) is None


QUEUE = st.lists(st.builds(due, st.text("abc", max_size=2), st.integers(0, 3), st.sampled_from([0.5, 1.0])))


@given(QUEUE, st.integers(0, 10), st.data())
def test_the_first_are_chosen_each_once_whatever_order_they_came_in(queue, count, data):
    chosen = choose(queue, count)
    assert chosen == sorted(chosen, key=order)
    assert len(chosen) == min(count, len({one.url for one in queue})) == len(set(urls(chosen)))
    assert choose(data.draw(st.permutations(queue)), count) == chosen
    rest = [one for one in queue if one.url not in urls(chosen)]
    assert not chosen or all(order(chosen[-1]) <= order(one) for one in rest)


def test_classes_share_the_budget_of_a_host():
    queue = [due(f"/{n:02}", n)._replace(class_=UrlClass.LOW if n > 9 else UrlClass.NORMAL) for n in range(20)]
    quota = Quota((0.4, 0.4, 0.1, 0.1))
    chosen = choose(queue, 10, None, quota)
    assert urls(chosen) == [f"/{n:02}" for n in (*range(8), 10, 11)]
    assert choose(queue, 10, reversed, quota) == [queue[n] for n in (*range(2, 10), 18, 19)]
    assert choose(queue, 20, None, quota) == queue


def test_of_a_url_that_is_due_twice_the_first_in_order_is_chosen():
    assert choose([due("/a", 3), due("/a", 1), due("/a", 2)], 5) == [due("/a", 1)]


def test_of_equal_ways_to_a_url_the_one_with_the_higher_priority_is_chosen():
    queue = [due("/a", priority=1.0), due("/a", priority=2.0)]
    assert choose(queue, 5) == choose(queue[::-1], 5) == [due("/a", priority=2.0)]


def test_of_two_spellings_of_a_url_the_neat_one_is_chosen():
    neat, other = due("http://a.test/b?x=1"), due("http://a.test/B?x=1&utm_source=y", priority=2.0)
    other = other._replace(url_key=neat.url_key)
    assert choose([other, neat], 5) == choose([neat, other], 5) == [neat]


def test_rows_are_grouped_by_host_as_plain_tuples():
    grouped = group_by_host([due("/a"), due("/b", host="b.test"), due("/c")])
    assert {host: [one[1] for one in rows] for host, rows in grouped.items()} == {
        "a.test": ["/a", "/c"],
        "b.test": ["/b"],
    }
    assert all(type(one) is tuple for rows in grouped.values() for one in rows)
