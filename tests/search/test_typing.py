"""Search while somebody types: the last word is the beginning of one, and titles come first."""

import doctest

import pytest

from beamtrawl.search.answers import typing as typing_module
from beamtrawl.search.answers.searcher import Index
from tests.support.corpus import indexed

PAGES = {
    "vacuum": ("VACUUM — Docs", "To vacuum is to rebuild a table."),
    "into": ("VACUUM INTO a file", "vacuum into vacuum into vacuum"),
    "auto": ("Auto vacuum", "vacuum vacuum vacuum vacuum vacuum vacuum"),
    "table": ("CREATE TABLE", "how to make one"),
    "tabs": ("Tabs", "create tabs in a window, a tab, create a tab"),
    "json": ("json — JSON encoder", "dump and dumps write json"),
    "prix": ("Prix du json", "du json, du fichier json, du du du"),
    "push": ("Lists", "v.push_back(3) appends"),
    "日本": ("全文検索の設定", "検索"),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    rows = [{"url": f"http://a.test/{name}", "title": title, "text": text} for name, (title, text) in PAGES.items()]
    return Index.open(indexed(tmp_path_factory.mktemp("typing"), rows))


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("vacu", "vacuum into auto"),
        ("vacuum", "vacuum into auto"),
        ("vacuum in", "into"),
        ("vacuum into", "into"),
        ("create tab", "table tabs"),
        ("json dum", "json"),
        ("push_ba", "push"),
        ("title:tab", "tabs table"),
        ("lang:en -prix json", "json"),
        ("全文検", "日本"),
    ],
)
def test_the_page_that_is_meant_comes_first(index, typed, first):
    found = [hit.url.rpartition("/")[2] for hit in index.search(typed, typing=True).hits]
    assert found[: len(first.split())] == first.split()


def test_a_space_ends_a_word(index):
    assert not index.search("vacu ", typing=True).total
    assert index.search("vacu", typing=True).total == 3


def test_pages_of_hits_are_parts_of_one_order(index):
    whole = index.search("vacu", typing=True).hits
    assert [index.search("vacu", 1, offset, typing=True).hits for offset in range(3)] == [[hit] for hit in whole]
    assert index.search("vacu", 1, typing=True).next is None


@pytest.mark.parametrize("typed", ["", " ", "v", '"', "-", "site:", "lang:en", "(vac", "vac)", "*", "a_", "NOT vac"])
def test_every_text_may_be_typed(index, typed):
    index.search(typed, typing=True)


def test_examples():
    assert doctest.testmod(typing_module).failed == 0
