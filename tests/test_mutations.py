"""The faults of tests/mutations can be put into the code; `python -m tests.support.mutations` tries them."""

from collections import Counter

from tests.support.mutations import read


def test_each_mutation_is_of_a_text_that_occurs_once():
    mutations = read()
    assert [problem for mutation in mutations if (problem := mutation.problem())] == []
    assert [name for name, count in Counter(each.name for each in mutations).items() if count > 1] == []
    assert all(each.old != each.new and each.tests for each in mutations) and len(mutations) >= 100
