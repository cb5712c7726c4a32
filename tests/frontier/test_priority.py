"""Priority classes and their shares of a round."""

import doctest

import pyarrow as pa
from hypothesis import given, strategies as st

from beamtrawl.transforms.frontier import priority
from beamtrawl.transforms.frontier.priority import SHARES as WEIGHTS, Quota, UrlClass, allocate, classes, pick
from beamtrawl.transforms.settings import Priority
from beamtrawl.transforms.tables.schemas import FRONTIER
from tests.support.tables import each_row

HIGH, NORMAL, REVISIT, LOW, FOREIGN = UrlClass
SCORED = Priority(high_depth=1, high_score=0.5)

# changes to a new URL of depth 2: its class by default, and with limits of depth and score
CLASSES = {
    "a link": ({}, NORMAL, NORMAL),
    "a seed": ({"depth": 0, "reason": "seed"}, HIGH, HIGH),
    "a sitemap": ({"kind": "sitemap"}, HIGH, HIGH),
    "a requisite": ({"kind": "requisite", "depth": 0, "priority": 0.5}, LOW, LOW),
    "near a seed": ({"depth": 1}, NORMAL, HIGH),
    "of a high score": ({"priority": 0.5}, NORMAL, HIGH),
    "deep, of a high score": ({"depth": 6, "priority": 1.0}, NORMAL, HIGH),
    "no time so far": ({"reason": "deferred"}, NORMAL, NORMAL),
    "to be tried again": ({"reason": "retry", "depth": 0}, LOW, LOW),
    "of a failing host": ({"host": "b.test", "depth": 0}, LOW, LOW),
    "to be visited again": ({"reason": "recrawl", "depth": 0}, REVISIT, REVISIT),
    "to be visited again, of a failing host": ({"reason": "recrawl", "host": "b.test"}, REVISIT, REVISIT),
    "of other sites": ({"foreign": True}, FOREIGN, FOREIGN),
    "a sitemap that other sites name": ({"foreign": True, "kind": "sitemap"}, FOREIGN, FOREIGN),
    "of other sites, tried again": ({"foreign": True, "reason": "retry"}, FOREIGN, FOREIGN),
    "of other sites, visited again": ({"foreign": True, "reason": "recrawl"}, REVISIT, REVISIT),
    "also of its own site": ({"foreign": False}, NORMAL, NORMAL),
    "a sitemap to be read again": ({"reason": "recrawl", "kind": "sitemap"}, REVISIT, REVISIT),
}


@each_row(CLASSES)
def test_the_class_of_a_url(changes, default, scored):
    row = {"host": "a.test", "depth": 2, "priority": 0.1, "reason": "new", "kind": None, "foreign": None} | changes
    rows = pa.Table.from_pylist([row], schema=pa.schema([FRONTIER.field(name) for name in row]))
    found = [classes(rows, settings, frozenset({"b.test"}))[0] for settings in (Priority(), SCORED)]
    assert found == [default, scored]
    assert classes(rows.slice(0, 0), Priority()).tolist() == []


def test_no_class_is_left_out():
    assert len(WEIGHTS) == len(UrlClass) and all(WEIGHTS)


SHARES = st.lists(st.floats(0.02, 1.0), min_size=5, max_size=5).map(lambda some: tuple(one / sum(some) for one in some))


@given(SHARES, st.integers(1, 10_000), st.integers(0, 1_000))
def test_shares_are_within_two_percent_of_what_is_set(shares, round_, extra):
    count = 300 + extra
    taken = allocate([count] * 5, count, Quota(shares, round_))
    assert sum(taken) == count
    assert all(abs(n / count - share) <= 0.02 for n, share in zip(taken, shares, strict=True))


@given(SHARES, st.integers(1, 60), st.integers(0, 10_000))
def test_over_fifty_rounds_each_class_has_its_share_however_small_the_rounds_are(shares, count, first):
    rounds = [allocate([count] * 5, count, Quota(shares, first + n)) for n in range(50)]
    totals = [sum(taken) for taken in zip(*rounds, strict=True)]
    slack = max(0.02 * 50 * count, 3)
    assert all(abs(n - share * 50 * count) <= slack for n, share in zip(totals, shares, strict=True))
    assert all(n for n, share in zip(totals, shares, strict=True) if share * 50 * count > 3)


@given(SHARES, st.lists(st.integers(0, 50), min_size=5, max_size=5), st.integers(0, 250), st.integers(0, 99))
def test_no_room_stays_empty_while_a_url_waits(shares, waiting, count, round_):
    taken = allocate(waiting, count, Quota(shares, round_))
    assert sum(taken) == min(count, sum(waiting))
    assert all(0 <= n <= known for n, known in zip(taken, waiting, strict=True))


@given(st.lists(st.sampled_from(UrlClass), max_size=60), st.integers(0, 70), SHARES)
def test_the_first_of_each_class_are_picked(kinds, count, shares):
    positions = pick(kinds, count, Quota(shares, 3))
    assert len(positions) == min(count, len(kinds))
    assert positions == sorted(set(positions))
    for kind in UrlClass:
        own = [position for position, one in enumerate(kinds) if one is kind]
        taken = [position for position in positions if kinds[position] is kind]
        assert taken == own[: len(taken)]


def test_examples_in_docstrings():
    assert doctest.testmod(priority).failed == 0
