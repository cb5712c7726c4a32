"""Which words of an index stand for one that no page has, or hardly any."""

import pyarrow as pa

from beamtrawl.search.query.spelling import Dictionary

WORDS = Dictionary([pa.table({"term": ["harbour", "harbor", "labour", "lighthouse"], "df": [40, 50, 50, 1]})])

# a word: the nearest words
NEAR = {
    "harbur": ["harbor", "harbour"],  # by one letter, the most frequent first
    "labuor": ["labour"],  # two letters changed places
    "lebuor": [],  # two mistakes in a word of less than eight letters
    "lihgthuse": ["lighthouse"],
    "lihgthus": [],
    "har": [],
}


def test_the_nearest_words_differ_by_one_letter_or_in_a_long_word_by_two() -> None:
    assert {word: WORDS.near(word) for word in NEAR} == NEAR


def test_a_word_is_a_misspelling_of_one_that_is_twenty_times_as_frequent() -> None:
    words = Dictionary([pa.table({"term": ["harbour", "labour"], "df": [40, 50]})])
    assert [words.usual("harbur", documents) for documents in (1, 2, 3)] == ["harbour", "harbour", None]
