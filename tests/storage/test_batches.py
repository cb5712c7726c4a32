"""Parts of a sequence by size."""

import itertools

from hypothesis import given, strategies as st

from beamtrawl.transforms.tables.batches import cuts


@given(st.lists(st.integers(0, 10)), st.integers(0, 20))
def test_cuts_are_as_long_as_they_may_be(sizes, most):
    parts = [sizes[start : start + length] for start, length in cuts(sizes, most)]
    assert [size for part in parts for size in part] == sizes
    assert all(len(part) == 1 or sum(part) <= most for part in parts)
    assert all(sum(part) + following[0] > most for part, following in itertools.pairwise(parts))
