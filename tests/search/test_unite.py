"""The union of postings has the documents of all parts, ascending, and the sums of their frequencies."""

from collections import Counter

import numpy as np
from hypothesis import given, strategies as st

from beamtrawl.search.index.postings import Postings, smallest, unite

FREQUENCIES = st.fixed_dictionaries({"body": st.integers(1, 300), "title": st.integers(0, 255)})
PARTS = st.lists(
    st.dictionaries(st.integers(0, 40), FREQUENCIES) | st.dictionaries(st.integers(0, 5000), FREQUENCIES, max_size=4),
    max_size=4,
)
FREQUENT = {doc: {"body": 200, "title": 0} for doc in range(0, 300, 2)}
FEW = st.lists(st.dictionaries(st.integers(0, 310), FREQUENCIES, max_size=3), min_size=1, max_size=3)


def postings(part: dict[int, dict[str, int]]) -> Postings:
    docs = sorted(part)
    fields = {field: smallest(np.array([part[doc][field] for doc in docs], np.int32)) for field in ("body", "title")}
    return Postings(np.array(docs, np.int32), {field: tf for field, tf in fields.items() if tf.any()})


@given(PARTS)
def test_frequencies_are_added_up(parts):
    assert_added_up(parts)


@given(FEW, st.integers(0, 3))
def test_few_are_added_to_many(few, place):
    assert_added_up([*few[:place], FREQUENT, *few[place:]])


def assert_added_up(parts):
    found = unite([postings(part) for part in parts])
    for field in ("body", "title"):
        expected = Counter[int]()
        for part in parts:
            expected.update({doc: tf[field] for doc, tf in part.items()})
        assert found.docs.tolist() == sorted(expected)
        frequencies = found.frequencies.get(field, np.zeros(len(found.docs), np.uint8))
        assert dict(zip(found.docs.tolist(), frequencies.tolist(), strict=True)) == expected
