"""What is kept at hand, and what a search looks through, without an index."""

import numpy as np
from hypothesis import given, strategies as st

from beamtrawl.search.index.cache import Cache
from beamtrawl.search.index.pruning import highest


class Doubles:
    """Reads twice the key, and remembers what was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, keys):
        self.asked.append(keys)
        return {key: 2 * key for key in keys}


def test_what_is_missing_is_read_together_and_once():
    read = Doubles()
    cache = Cache(10)
    assert list(cache.get([3, 1], read).items()) == [(3, 6), (1, 2)]
    assert list(cache.get([2, 3, 4, 4], read).items()) == [(2, 4), (3, 6), (4, 8)]
    assert cache.get([1, 2, 3, 4], read) == {1: 2, 2: 4, 3: 6, 4: 8}
    assert cache.get([], read) == {}
    assert read.asked == [[3, 1], [2, 4]]


def test_what_was_not_used_for_longest_is_forgotten_when_all_weighs_too_much():
    read = Doubles()
    cache = Cache(12, lambda value: value)
    cache.get([1, 2, 3], read)  # 2 + 4 + 6
    cache.get([1], read)
    cache.get([4], read)  # 8 more: 2 and 3 have to go
    cache.get([1, 4], read)
    assert read.asked == [[1, 2, 3], [4]]
    assert cache.get([2, 3], read) == {2: 4, 3: 6}
    assert read.asked[2:] == [[2, 3]]


def test_one_value_that_is_too_heavy_is_kept_until_the_next():
    read = Doubles()
    cache = Cache(1, lambda value: value)
    for key in (5, 5, 6, 5):
        assert cache.get([key], read) == {key: 2 * key}
    assert read.asked == [[5], [6], [5]]


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=30), st.integers(0, 8))
def test_the_highest_are_found_with_all_that_are_equal_to_the_last(documents, most):
    scores = np.array([score for score, _ in documents], np.float64)
    found = np.array([is_found for _, is_found in documents], bool)
    ranked = sorted((score for score, is_found in documents if is_found), reverse=True)[:most]
    expected = [n for n, (score, is_found) in enumerate(documents) if is_found and ranked and score >= ranked[-1]]
    assert highest(scores, found, most).tolist() == expected
