"""What is kept at hand, and what a search looks through, without an index."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from beamtrawl.search.index.bm25f import best
from beamtrawl.search.index.cache import Cache


class Doubles:
    """Reads twice the key, and remembers what was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, keys):
        self.asked.append(keys)
        return {key: 2 * key for key in keys}


def test_what_is_missing_is_read_together_and_once():
    read = Doubles()
    cache = Cache(read, 10)
    assert list(cache.get([3, 1]).items()) == [(3, 6), (1, 2)]
    assert list(cache.get([2, 3, 4, 4]).items()) == [(2, 4), (3, 6), (4, 8)]
    assert cache.get([1, 2, 3, 4]) == {1: 2, 2: 4, 3: 6, 4: 8}
    assert cache.get([]) == {}
    assert read.asked == [[3, 1], [2, 4]]


def test_what_was_not_used_for_longest_is_forgotten_when_all_weighs_too_much():
    read = Doubles()
    cache = Cache(read, 12, lambda value: value)
    cache.get([1, 2, 3])  # 2 + 4 + 6
    cache.get([1])
    cache.get([4])  # 8 more: 2 and 3 have to go
    cache.get([1, 4])
    assert read.asked == [[1, 2, 3], [4]]
    assert cache.get([2, 3]) == {2: 4, 3: 6}
    assert read.asked[2:] == [[2, 3]]


def test_one_value_that_is_too_heavy_is_kept_until_the_next():
    read = Doubles()
    cache = Cache(read, 1, lambda value: value)
    for key in (5, 5, 6, 5):
        assert cache.get([key]) == {key: 2 * key}
    assert read.asked == [[5], [6], [5]]


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=30), st.integers(0, 8), st.data())
def test_the_best_are_the_same_whatever_is_thought_likely(documents, most, data):
    scores = np.array([score for score, _ in documents], np.float64)
    found = np.array([is_found for _, is_found in documents], bool)
    numbers = st.lists(st.integers(0, max(0, len(documents) - 1)), unique=True, max_size=len(documents))
    likely = [np.array(data.draw(numbers), np.int32) for _ in range(2)]
    ranked = sorted((score for score, is_found in documents if is_found), reverse=True)[:most]
    expected = [n for n, (score, is_found) in enumerate(documents) if is_found and ranked and score >= ranked[-1]]
    assert best(scores, found, most, likely).tolist() == expected
