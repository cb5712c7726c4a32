"""What bounds a query and its answer: where each limit lies shows in a result."""

import pyarrow as pa
import pytest

from beamtrawl.search.answers.results.form_matches import prepared
from beamtrawl.search.answers.results.host_grouping import by_host
from beamtrawl.search.answers.results.snippets import passage, searchable
from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.query.parse import parse
from beamtrawl.search.query.spelling import Dictionary
from beamtrawl.transforms.indexing.write_segment import suggestible
from tests.support.corpus import indexed
from tests.support.tables import each_row


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


@each_row(SUGGESTIONS)
def test_a_long_word_may_have_two_errors_and_a_short_one_none(word, suggestion):
    words = Dictionary([pa.table({"term": ["signal", "lanterns", "fog"], "df": [1, 1, 1]})])
    assert words.near(word) == suggestion


def test_of_words_as_near_the_more_frequent_comes_first():
    words = Dictionary([pa.table({"term": ["search", "starch"], "df": [1, 9]})])
    assert words.near("sarch") == ["starch", "search"]


def test_words_of_up_to_24_letters_are_suggested():
    words = Dictionary([suggestible(pa.table({"term": ["f" * 24, "w" * 25, "fog7"], "df": [1, 1, 1]}))])
    assert (words.near("f" * 23), words.near("w" * 24), words.near("fog8")) == (["f" * 24], [], [])


def test_hosts_take_turns_among_a_hundred_hits():
    hosts = ["a.test"] * 99 + ["b.test", "c.test"]
    order = by_host(hosts, [1.0] * len(hosts), 1)
    assert order[:2] == [0, 99]
    assert order[100] == 100  # beyond the hundred, none is brought up


TURNS = {  # hosts and scores from the best on, the order with two of a host in a turn
    "far hits of others wait": ("aaaab", [30, 29, 27, 26, 14], "aaaab"),
    "near ones come first": ("aaaab", [30, 29, 27, 26, 25], "aabaa"),
    "as near as they are to what waits": ("aaaabc", [30, 29, 20, 19, 18.5, 9], "aabaac"),
    "near ones of two hosts": ("aaabbbc", [10, 10, 10, 9.9, 9.9, 9.9, 9.8], "aabbcab"),
    "no scores": ("aaab", [0, 0, 0, 0], "aaba"),
}


@each_row(TURNS)
def test_a_host_gives_way_to_hits_of_others_that_are_near_in_score(hosts, scores, order):
    assert "".join(hosts[place] for place in by_host(hosts, scores, 2)) == order


LONG = "It goes on and on. " * 20
BEGINS = {  # a text, the beginning of its snippet for "tide"
    "a sentence": (f"{LONG}The tide is high. {LONG}", "The tide is high. It goes"),
    "a line": (f"{LONG}\nTide\n{LONG}", "Tide It goes"),
    "a sentence in quotation marks": (f"{LONG}“Gulls cry.” A tide is high. {LONG}", "“Gulls cry.” A tide"),
    "no sentence near": (f"{LONG}{'and so on ' * 30} tide {LONG}", "… "),
    "after a table of contents": (f"1. Reefs\n2. Gulls\n3. Tides\nA tide is high water. {LONG}", "A tide is high"),
    "in a table of contents alone": (f"1. Reefs\n2. Gulls\n3. Tides\n{LONG}", "3. Tides"),
    "after one that leads to pages": (f"{LONG}\nTide . . . . 1\nTides ..... 2\n{LONG}A tide is high. {LONG}", "A tide"),
    "in one that leads to pages alone": (f"Gulls . . . . 1\nTides . . . . 2\n{LONG}", "Tides . . ."),
    "dots that lead nowhere": (f"{LONG}\nNow ..... the tide\n{LONG}", "the tide"),
    "a text of short lines": ("Reefs\nGulls\nTides\nBoats", "Reefs Gulls Tides"),
}


@pytest.mark.parametrize(("text", "begin"), BEGINS.values(), ids=BEGINS)
def test_a_snippet_begins_with_a_sentence(tmp_path, text, begin):
    index = Index.open(indexed(tmp_path, [{"url": "http://a.test/", "text": text}]))
    (hit,) = index.search("tide").hits
    assert str(hit.snippet).startswith(begin)


def text_of(pieces):
    return "".join(piece for piece, _ in pieces)


@pytest.mark.parametrize(("word", "least", "most"), [("word ", 195, 220), ("全文検索", 100, 110)])
def test_a_snippet_has_about_two_lines(word, least, most):
    """A CJK character is twice as wide."""
    assert least <= len(text_of(passage(searchable(word * 500), prepared({})).snippet).removesuffix(" …")) <= most


def test_a_snippet_begins_a_little_before_the_first_match():
    before, match, _ = text_of(
        passage(searchable(f"{'word ' * 500}match{' word' * 500}"), prepared({"match": "match"})).snippet
    ).partition("match")
    assert match
    assert 25 <= len(before) <= 50


def shows(text, forms, shown):
    return shown in "".join(
        f"[{piece}]" if is_match else piece for piece, is_match in passage(searchable(text), prepared(forms)).snippet
    )


def filled(*words_at):
    """A text with words at some places."""
    text = ""
    for place, words in words_at:
        text += f"{' word' * ((place - len(text)) // 5)} {words}"
    return text + " word" * 200


# the place of a word, how many others there are in the query, whether it is shown
PLACES = {
    "in the first fifty thousand characters": (49_000, 0, True),
    "just beyond": (50_100, 0, True),
    "in the further 740,000": (789_000, 0, True),
    "beyond these": (791_000, 0, False),
    "of five words, in the further 410,000": (459_000, 4, True),
    "of five words, beyond these": (461_000, 4, False),
}


@each_row(PLACES)
def test_a_word_is_shown_from_far_below_in_a_text_that_begins_without_it(place, others, is_shown):
    forms = {"match": "match"} | {form: form for form in ["aa", "bb", "cc", "dd"][:others]}
    assert shows(filled((place, "match")), forms, "[match]") is is_shown


def test_a_text_full_of_a_word_is_not_searched_to_its_end_for_a_passage_with_another():
    forms = {"a": "a", "match": "match"}
    for place, is_shown in ((60_000, True), (200_000, False)):
        assert (
            shows(f"{'word ' * 10_500}{filled((place - 52_500, 'a match')).replace('word', 'a a ')}", forms, "[match]")
            is is_shown
        )


# the words of a text at some places, and what a snippet for "red __fish__ in fog" shows. Only lacking words are sought
FAR_BELOW = {
    "an identifier with a part of it": ([(70_000, "__fish__")], "word [__fish__] word"),
    "a lacking word with others": ([(0, "red"), (90_000, "__fish__ of red")], "[__fish__] of [red]"),
    "a lacking word alone is no better": ([(0, "red"), (90_000, "fog")], "[red] word"),
    "the part with the most words": ([(60_000, "fog"), (200_000, "fog red"), (300_000, "fog")], "[fog] [red]"),
    "no word is lacking": ([(0, "red"), (30_000, "fog __fish__"), (90_000, "red fog __fish__")], "[fog] [__fish__]"),
}


@each_row(FAR_BELOW)
def test_the_rest_of_a_long_text_is_searched_for_words_that_its_beginning_lacks(words_at, shown):
    assert shows(filled(*words_at), {word: word for word in ("red", "__fish__", "fish", "fog")}, shown)


@pytest.mark.parametrize("begin", [49_560, 59_560, 69_560])
def test_the_end_of_a_word_where_a_part_of_a_text_begins_is_no_match(begin):
    """A part that is searched begins two widths of a snippet before 50,000, 60,000 and so on."""
    assert not shows(f"{'x' * begin}fog{' word' * 20_000}", {"fog": "fog"}, "[")
    assert shows(f"{'x' * (begin - 1)} fog{' word' * 20_000}", {"fog": "fog"}, "[fog]")
