"""How often a search asks an object store, where each request takes long and many at once take no longer."""

from collections import Counter

import pytest

from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.index.segment import Segment
from beamtrawl.transforms.indexing.write_segment import DOCS, DOCSTORE, FORMS, POSTINGS
from tests.support.corpus import indexed
from tests.support.stores import REQUESTS, url

SEGMENTS = 3


def row(number):
    return {
        "url": f"http://a.test/{number}",
        "title": "Lighthouses",
        "text": f"an old lighthouse has a fog signal {number}",
        "anchors": ["the old lighthouses"],
        "link_rank": 1.0,
    }


@pytest.fixture
def index(tmp_path):
    """An index of three segments, with anchors, in a store."""
    crawl = indexed(tmp_path, *([row(n) for n in range(number, 60, SEGMENTS)] for number in range(SEGMENTS)))
    (manifest,) = crawl.manifests()
    REQUESTS.expect()
    return Index([Segment(url(tmp_path), folder, manifest.index_links[folder]) for folder in manifest.index])


def test_opening_a_folder_is_one_request(index):
    assert Counter(REQUESTS.names) == {DOCS: 2 * SEGMENTS}  # and links have a folder of their own


@pytest.mark.parametrize(
    ("query", "waves"),
    [
        ("lighthouse", [{FORMS: 6}, {POSTINGS: 6}, {DOCSTORE: 3}]),
        ("old lighthouse title:lighthouses -missing", [{FORMS: 6}, {POSTINGS: 6}, {DOCSTORE: 3}]),
        ('"fog signal" lighthouse', [{FORMS: 6, POSTINGS: 3}, {POSTINGS: 6}, {DOCSTORE: 3}]),
        ('"fog signal" "lighthouse"', [{FORMS: 6, POSTINGS: 3}, {POSTINGS: 6}, {DOCSTORE: 3}]),
    ],
)
def test_ranking_takes_two_round_trips_and_what_is_shown_one_more(index, query, waves):
    REQUESTS.expect(*(sum(wave.values()) for wave in waves))
    assert index.search(query, limit=5).total == 60
    start = 0
    for wave in waves:
        end = start + sum(wave.values())
        assert Counter(REQUESTS.names[start:end]) == wave
        start = end
    assert len(REQUESTS.names) == start


def test_what_was_asked_before_is_not_read_again(index):
    REQUESTS.expect()
    first = index.search('"fog signal" lighthouse')
    asked = len(REQUESTS.names)
    assert index.search('"Fog signal" LIGHTHOUSE').hits == first.hits
    assert len(REQUESTS.names) == asked


def test_only_what_is_wanted_is_read(index, tmp_path):
    REQUESTS.bytes = 0
    index.search("fog")
    size = sum(file.stat().st_size for file in tmp_path.rglob("*.parquet"))
    assert REQUESTS.bytes < size / 20  # and not what would fill a buffer


def test_words_that_misspellings_are_compared_with_are_read_ahead(index):
    index.search("lighthouse")
    REQUESTS.expect()
    index.warm()
    ahead = Counter(REQUESTS.names)
    REQUESTS.expect()
    assert index.search("lighthouze").suggestion == "lighthouse"
    assert (ahead[POSTINGS], REQUESTS.names.count(POSTINGS)) == (SEGMENTS, 2 * SEGMENTS), "of all words, and of these"
