"""Synonyms: which files are read, and what they change."""

import doctest
from pathlib import Path

import pytest

from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.query import synonyms
from beamtrawl.search.query.synonyms import parse_synonyms
from beamtrawl.transforms.directory.crawl_dir import CrawlDirError
from tests.support.corpus import indexed

ROWS = [
    {"url": "http://a.test/1", "text": "a car of old"},
    {"url": "http://a.test/2", "text": "automobiles", "title": "other"},
    {"url": "http://a.test/3", "text": "a train"},
]


@pytest.fixture
def index(tmp_path):
    crawl = indexed(tmp_path, ROWS)
    Path(crawl.path("synonyms.txt")).write_text("# vehicles\n\nCar, automobile, auto\ntrain, railway # on rails\n")
    return Index.open(crawl)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("car", "12"),
        ("AUTOMOBILE", "12"),
        ("auto", "12"),
        ("railway", "3"),
        ("car AND other", "2"),
        ("old -auto", ""),  # the synonym is excluded, and the note says so
        ('"car"', "1"),  # exactly this form
        ("title:auto", ""),
        ("bicycle", ""),
    ],
)
def test_a_word_finds_its_synonyms(index, query, found):
    results = index.search(query)
    hits = [] if results.notes else results.hits
    assert sorted(hit.url[-1] for hit in hits) == list(found)
    assert results.suggestion is None


def test_synonyms_count_as_one_word_and_are_marked(index):
    hits = {hit.url[-1]: hit for hit in index.search("auto", explain=True).hits}
    assert [(part.text, part.documents) for part in hits["2"].explanation.parts] == [("auto", 2)]
    assert [[piece for piece, is_match in hits[n].snippet if is_match] for n in "12"] == [["car"], ["automobiles"]]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a1, b1\nc1", "x, line 2: 'c1' stands alone; add its synonyms, after commas"),
        ("power supply, psu", "x, line 1: 'power supply' is not one word; a synonym is one"),
        ("node.js, node", "x, line 1: 'node.js' is not one word; a synonym is one"),
        ("—, dash", "x, line 1: '—' is not one word; a synonym is one"),
    ],
)
def test_a_line_that_is_none_is_named(text, error):
    with pytest.raises(CrawlDirError) as raised:
        parse_synonyms(text, "x")
    assert str(raised.value) == error


def test_a_word_may_be_in_several_groups():
    assert parse_synonyms("a1, b1, b1\nb1, c1\n,\n", "x") == {"a1": ["b1"], "b1": ["a1", "c1"], "c1": ["b1"]}


def test_examples():
    assert doctest.testmod(synonyms).failed == 0


def test_an_identifier_has_synonyms(tmp_path):
    crawl = indexed(
        tmp_path, [{"url": "http://a.test/1", "text": "max_size"}, {"url": "http://a.test/2", "text": "limit"}]
    )
    Path(crawl.path("synonyms.txt")).write_text("max_size, limit\n")
    index = Index.open(crawl)
    assert {hit.url[-1] for hit in index.search("limit").hits} == {"1", "2"}
    assert [hit.url[-1] for hit in index.search("max_size").hits] == ["1"]
