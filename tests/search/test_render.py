"""What is said of hits and texts, apart from how it looks."""

import dataclasses
import doctest
from urllib.parse import quote

import pytest
from hypothesis import given, strategies as st

from beamtrawl.search.answers.results import render
from beamtrawl.search.answers.results.render import below_title, bounded, is_web_url, readable
from beamtrawl.search.answers.results.snippets import marked
from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.indexing.analysis import tokens
from tests.support.command_line import beamtrawl
from tests.support.corpus import indexed
from tests.support.tables import each_row


def test_examples():
    assert doctest.testmod(render) == (0, 4)


# URLs, how they are shown
READABLE = {
    "letters of any script": ("https://a.test/caf%C3%A9/%EA%B0%80%EB%82%98", "a.test/café/가나"),
    "in small letters": ("https://a.test/%c3%a9", "a.test/é"),
    "escapes of ASCII": ("https://a.test/a%20b%2Fc%3Cd", "a.test/a%20b%2Fc%3Cd"),
    "broken escapes": ("https://a.test/%C3%28%ZZ%E9", "a.test/%C3%28%ZZ%E9"),
    "a direction that turns": ("https://a.test/%E2%80%AEcod.exe", "a.test/%E2%80%AEcod.exe"),
    "an invisible space": ("https://a.test/%E2%80%8B%C2%A0", "a.test/%E2%80%8B%C2%A0"),
    "a root": ("http://a.test:8080/", "a.test:8080"),
    "no scheme": ("a.test", ""),
}


@each_row(READABLE)
def test_urls_are_readable_and_hide_nothing(url, shown):
    assert readable(url) == shown


@given(st.text())
def test_what_is_shown_of_a_url_is_printable(text):
    assert readable(f"https://a.test/x{quote(text)}x").isprintable()


@given(st.text(alphabet="ab \n검", max_size=400))
def test_a_title_is_bounded_and_begins_as_it_is(title):
    shown, whole = bounded(title), " ".join(title.split())
    assert len(shown) <= 150
    if len(whole) > 150:
        assert shown.endswith("…") and whole.startswith(shown.removesuffix("…").rstrip()) and len(shown) > 100
    else:
        assert shown == whole


def test_long_titles_and_headings_are_cut_where_hits_are_listed(tmp_path):
    long = "reef " * 80
    crawl = indexed(tmp_path, [{"url": "http://a.test/", "title": long, "text": f"{long}\nreef"}])
    (hit,) = Index.open(crawl).search("reef").hits
    assert below_title(dataclasses.replace(hit, path=("Tides", long))) == ("Tides", bounded(long))
    listed = beamtrawl("search", crawl.root, "reef").out.splitlines()
    assert listed[2:4] == [f"1. {bounded(long)}", "   http://a.test/"]


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "JAVASCRIPT:x", "//a.test/", "", "http//a"])
def test_what_is_no_page_of_the_web_becomes_no_link(url):
    assert not is_web_url(url)


# a text, words, what is marked
MARKED = {
    "each time": ("One two, ONE three", ["one"], ["One", "ONE"]),
    "whole words": ("one ones someone", ["one"], ["one"]),
    "pairs of characters as one Korean word": ("검색엔진은", ["검색", "색엔", "엔진"], ["검색엔진은"]),
    "nothing": ("one", [], []),
}


@each_row(MARKED)
def test_words_are_marked_in_a_text(text, forms, found):
    assert [piece for piece, is_match in marked(text, {form: form for form in forms}) if is_match] == found


@given(st.text(), st.integers(0, 5))
def test_a_marked_text_is_the_whole_text(text, number):
    forms = {term: term for term in tokens(text)[:number]}
    assert "".join(piece for piece, _ in marked(text, forms)) == text
