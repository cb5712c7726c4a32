"""Pages by cursor: together they are the whole order of hits, however the index changes meanwhile."""

import base64
import doctest
import json
import random
from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from beamtrawl.search.answers import cursor
from beamtrawl.search.answers.cursor import Cursor, CursorError, decode, encode
from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.indexing.merge_policy import ALL
from tests.support.corpus import commit, indexed
from tests.support.crawls import InProcess
from tests.support.merging import merge

QUERIES = ("a", "a b", "a b c", "site:h1.test", "", '"a b" c', "a -b", "a c after:2025", "a b c " * 5, "nothing")
ORDERS = ("score", "date")


def rows(seed, count=60):
    """Pages of few words, so that many have the same score and date."""
    pick = random.Random(seed)
    return [
        {
            "url": f"http://h{pick.randrange(3)}.test/{seed}-{number}",
            "text": " ".join(pick.choices("abcd", k=pick.choice((3, 3, 3, 9)))),
            "fetched_at": datetime(2026, 1, pick.randrange(1, 4), tzinfo=UTC),
        }
        for number in range(count)
    ]


def walk(open_index, query, order, limit):
    """The hits of all pages; `open_index` gives the index for a cursor, or for None."""
    found, after = [], None
    while True:
        results = open_index(after and decode(after, query, order)).search(query, limit, order=order, after=after)
        found += results.hits
        after = results.next
        if after is None:
            return found
        assert len(results.hits) == limit
        assert len(found) < 1000  # it ends


def test_pages_by_cursor_are_the_whole_order(tmp_path):
    index = Index.open(indexed(tmp_path, rows(1), rows(2)))
    for query in QUERIES:
        for order in ORDERS:
            for limit in (1, 7, 1000):
                whole = index.search(query, 1000, order=order)
                assert whole.next is None
                assert walk(lambda _: index, query, order, limit) == whole.hits


@pytest.mark.parametrize("change", ["a merge", "new documents and a merge"])
def test_a_change_between_two_pages_neither_repeats_nor_drops_a_hit(tmp_path, change):
    crawl = indexed(tmp_path, rows(1), rows(2))
    before = Index.open(crawl)
    whole = {(q, o): before.search(q, 1000, order=o) for q in QUERIES for o in ORDERS}
    second = {(q, o): before.search(q, 9, order=o).next for q in QUERIES for o in ORDERS}
    if change != "a merge":
        commit(crawl, 2, [*rows(3), *(row | {"text": "a a a"} for row in rows(1)[:20])], gone=[rows(2)[0]["url"]])
    merge(crawl, InProcess(), ALL)
    latest = Index.open(crawl)
    assert (latest.segments, latest.as_of) == (1, 1 if change == "a merge" else 2)
    for (query, order), after in second.items():
        if after:
            index = Index.open(crawl, decode(after, query, order).round)
            rest = index.search(query, 1000, order=order, after=after)
            assert [hit.url for hit in rest.hits] == [hit.url for hit in whole[query, order].hits[9:]]
            assert (rest.total, rest.weaker) == (whole[query, order].total, whole[query, order].weaker)
            if change != "a merge":
                with pytest.raises(CursorError, match="as of round 1, not of round 2"):
                    latest.search(query, order=order, after=after)


def test_a_cursor_follows_a_page_by_offset_and_counts_its_hits(tmp_path):
    index = Index.open(indexed(tmp_path, rows(1)))
    page = index.search("a", 5, 10)
    assert decode(page.next, "a", "score").hits == 15
    assert index.search("a", 5, after=page.next).hits == index.search("a", 5, 15).hits
    assert decode(index.search("a", 5, after=page.next).next, "a", "score").hits == 20


def test_there_is_no_cursor_of_a_page_that_is_not_part_of_one_order(tmp_path):
    times = iter(range(1000))
    index = Index.open(indexed(tmp_path, rows(1)), timer=lambda: next(times))
    assert index.search("a", 5).next
    assert index.search("a", 5, per_host=2).next is None
    assert index.search("a", 5, timeout_s=0.5).next is None
    for also in ({"offset": 1}, {"per_host": 2}):
        with pytest.raises(ValueError, match="neither offset nor per_host"):
            index.search("a", 5, after=index.search("a", 5).next, **also)


def packed(*parts):
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


GOOD = Cursor(1.5, "http://a.test/", 3, 10)
DIGEST = json.loads(base64.urlsafe_b64decode(encode(GOOD, "a", "score") + "==="))[1]
BAD = {
    "nothing": "",
    "words": "not a cursor",
    "letters beyond ASCII": "é",
    "no JSON": "abcd",
    "no list": packed(),
    "too few parts": packed(1, DIGEST, 1.5, "http://a.test/", 3),
    "another format": packed(2, DIGEST, *GOOD),
    "a key that is no number": packed(1, DIGEST, None, *GOOD[1:]),
    "a key beyond numbers": packed(1, DIGEST, float("nan"), *GOOD[1:]),
    "a huge key": packed(1, DIGEST, 10**400, *GOOD[1:]),
    "a URL that is no text": packed(1, DIGEST, 1.5, 7, 3, 10),
    "a round before the first": packed(1, DIGEST, 1.5, "u", -1, 10),
    "a round that is no number": packed(1, DIGEST, 1.5, "u", "3", 10),
    "deep nesting": base64.urlsafe_b64encode(b"[" * 9_000).decode(),
    "longer than any": "A" * 20_000,
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_what_is_no_cursor_is_refused(text):
    with pytest.raises(CursorError, match="is not a cursor: give the value of next of the page before"):
        decode(text, "a", "score")


@pytest.mark.parametrize(("query", "order"), [("b", "score"), ("a", "date"), ("a ", "score"), ("\ud800", "score")])
def test_a_cursor_of_another_query_or_order_is_refused(query, order):
    with pytest.raises(CursorError, match="another query or order"):
        decode(encode(GOOD, "a", "score"), query, order)


@given(st.floats(allow_nan=False, allow_infinity=False), st.text(), st.integers(0), st.integers(0), st.text())
def test_a_cursor_is_read_as_it_was_written(key, url, round_, hits, query):
    place = Cursor(key, url, round_, hits)
    if len(text := encode(place, query, "date")) <= cursor.MAX_CURSOR:
        assert decode(text, query, "date") == place


def test_examples():
    assert doctest.testmod(cursor).failed == 0
