"""What bounds a query and its answer: where each limit lies shows in a result."""

import pyarrow as pa
import pytest

from beamtrawl.search.query.parse import parse
from beamtrawl.search.query.spelling import Dictionary
from beamtrawl.search.results.form_matches import prepared
from beamtrawl.search.results.host_grouping import by_host
from beamtrawl.search.results.snippets import searchable, snippet


def test_a_query_has_512_parts_and_the_rest_is_left_out():
    assert parse("first " * 511 + "last").words == ("first", "last")
    assert parse("first " * 512 + "last").words == ("first",)


def test_a_query_has_128_words_and_a_phrase_64():
    words = [f"w{number}" for number in range(129)]
    assert parse(" ".join(["the", *words])).words == tuple(words[:128])
    assert parse(f'"{" ".join(words)}"').phrases == (tuple(words[:64]),)


def test_eight_words_in_one_piece_are_a_phrase_and_nine_are_not():
    eight = [f"w{number}" for number in range(8)]
    assert parse(".".join(eight)).phrases == (tuple(eight),)
    assert parse(".".join([*eight, "w8"])).phrases == ()


# a word, what is suggested for it of "signal" and "lanterns"
SUGGESTIONS = {
    "one letter is wrong": ("sugnal", ["signal"]),
    "one is missing": ("signl", ["signal"]),
    "two of a short word": ("sugnql", []),
    "two of a word of eight letters": ("lentarns", ["lanterns"]),
    "three of it": ("lentarnq", []),
    "one of a word of four letters": ("fogs", ["fog"]),
    "one of a word of three letters": ("fug", []),
}


@pytest.mark.parametrize(("word", "suggestion"), SUGGESTIONS.values(), ids=SUGGESTIONS)
def test_a_long_word_may_have_two_errors_and_a_short_one_none(word, suggestion):
    words = Dictionary([pa.table({"term": ["signal", "lanterns", "fog"], "df": [1, 1, 1]})])
    assert words.near(word) == suggestion


def test_of_words_as_near_the_more_frequent_comes_first():
    words = Dictionary([pa.table({"term": ["search", "starch"], "df": [1, 9]})])
    assert words.near("sarch") == ["starch", "search"]


def test_hosts_take_turns_among_a_hundred_hits():
    hosts = ["a.test"] * 99 + ["b.test", "c.test"]
    assert by_host(hosts, 1)[:2] == [0, 99]
    assert by_host(hosts, 1)[100] == 100  # beyond the hundred, none is brought up


def text_of(pieces):
    return "".join(piece for piece, _ in pieces)


@pytest.mark.parametrize(("word", "least", "most"), [("word ", 195, 220), ("全文検索", 100, 110)])
def test_a_snippet_has_about_two_lines(word, least, most):
    """A CJK character is twice as wide."""
    assert least <= len(text_of(snippet(searchable(word * 500), prepared({}))).removesuffix(" …")) <= most


def test_a_snippet_begins_a_little_before_the_first_match():
    before, match, _ = text_of(
        snippet(searchable(f"{'word ' * 500}match{' word' * 500}"), prepared({"match": "match"}))
    ).partition("match")
    assert match
    assert 25 <= len(before) <= 50


def test_matches_in_the_first_fifty_thousand_characters_are_shown():
    for place, is_shown in ((49_000, True), (50_100, False)):
        pieces = snippet(searchable("x" * place + " match " + "x" * 100), prepared({"match": "match"}))
        assert any(is_match for _, is_match in pieces) is is_shown
