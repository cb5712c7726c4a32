"""Searches by patterns (dja*), and for words that no document contains."""

import re

import pytest
from hypothesis import example, given, settings, strategies as st

from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.index import patterns
from beamtrawl.transforms.indexing.analysis import tokens
from tests.support.corpus import indexed

ROWS = [
    {"url": "http://a.test/1", "title": "Django", "text": "the web framework django"},
    {"url": "http://a.test/2", "text": "django's djangos", "anchors": ["djaneiro"]},
    {"url": "http://a.test/3", "text": "python, pylon and pythons"},
    {"url": "http://a.test/4", "text": "djinn pattern*"},
]


def test_one_character_of_cjk_finds_the_pairs_that_begin_with_it(tmp_path):
    rows = [
        {"url": "http://a.test/1", "text": "水道の水を飲む", "language": "ja"},
        {"url": "http://a.test/3", "text": "夏の海", "language": "ja"},
    ]
    index = Index.open(indexed(tmp_path, rows))
    found = {query: [hit.url[-1] for hit in index.search(query).hits] for query in ("水", "夏", "魚")}
    assert found == {"水": ["1"], "夏": ["3"], "魚": []}


def urls(results):
    return sorted(hit.url[-1] for hit in results.hits)


NAMES = [
    {"url": "http://a.test/1", "title": "__slots__", "text": "about __slots__ and __init__"},
    {"url": "http://a.test/2", "text": "pg_stat_activity, pg_stat and pg"},
    {"url": "http://a.test/3", "text": "slots for statistics"},
]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("__sl*", "1"),
        ("__*", ""),
        ("sl*", "13"),
        ("pg_st*", "2"),
        ("pg_*ity", "2"),
        ("pg_sta*x", ""),
        ("stat*", "23"),
        ("title:__sl*", "1"),
    ],
)
def test_a_pattern_with_underscores_is_of_identifiers(tmp_path, query, found):
    index = Index.open(indexed(tmp_path, NAMES))
    assert urls(index.search(query)) == list(found)
    assert index.words_like("pg_s*") == ["pg_stat", "pg_stat_activity"]
    assert index.words_like("pg*") == ["pg"]  # without the identifiers, whose parts are words


def test_a_pattern_is_of_words_and_not_of_the_pairs_of_a_title(tmp_path):
    index = Index.open(indexed(tmp_path, [{"url": "http://a.test/", "title": "Red fish_1 soup", "text": "a page"}]))
    assert [index.words_like(some) for some in ("re*", "fi*", "fish_*")] == [["red"], ["fish"], ["fish_1"]]
    assert index.search("fihs").suggestion == "fish"


@pytest.fixture(scope="module", params=[1, 3])
def index(request, tmp_path_factory):
    parts = [ROWS[number :: request.param] for number in range(request.param)]
    return Index.open(indexed(tmp_path_factory.mktemp("patterns"), *parts))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("dja*", "12"),
        ("Dj*", "124"),
        ("py*on", "3"),
        ("py*ns", "3"),
        ("django*", "12"),
        ("djaneir*", "2"),  # an anchor
        ("title:dj*", "1"),
        ("dj* -django", "4"),
        ("dj* AND framework", "1"),
        ("dj* NOT djan*", "4"),
        ("zebra* python", "3"),
        ("zebra*", ""),
        ("pattern*", "4"),
    ],
)
def test_a_pattern_finds_all_words_that_match(index, query, found):
    assert urls(index.search(query)) == list(found)


def test_a_pattern_counts_as_one_word(index):
    (explanation,) = (hit.explanation for hit in index.search("djan*", explain=True).hits if hit.url.endswith("1"))
    (part,) = explanation.parts
    assert (part.text, part.documents, part.frequencies) == ("djan*", 2, {"title": 1, "body": 1})


def test_words_of_a_pattern_are_marked(index):
    (hit,) = index.search("py*on").hits
    assert [piece for piece, is_match in hit.snippet if is_match] == ["python", "pylon"]


def test_the_most_frequent_words_of_a_pattern_are_taken(tmp_path):
    rows = [{"url": f"http://a.test/{n}", "text": f"word{n:03d} wordy"} for n in range(patterns.MAX_WORDS)]
    rare = [{"url": "http://a.test/last", "text": f"word{patterns.MAX_WORDS}"}]
    assert Index.open(indexed(tmp_path, rows, rare)).search("wor*").total == patterns.MAX_WORDS


@pytest.mark.parametrize(
    ("query", "found", "suggestion"),
    [
        ("djagno", "12", "django"),
        ("framewrok django", "12", "framework django"),
        ("djagno AND framework", "1", "django AND framework"),
        ("framework -djagno", "1", None),  # only words that are searched for
        ('"djagno"', "", '"django"'),  # exactly so
        ("zebra", "", None),
    ],
)
def test_a_word_of_no_document_stands_for_the_nearest_one(index, query, found, suggestion):
    results = index.search(query)
    assert urls(results) == list(found)
    assert results.suggestion == suggestion


@pytest.mark.parametrize(
    ("query", "unknown"),
    [
        ("django", ()),
        ("zebra django Quagga", ("zebra", "quagga")),
        ("djagno zebra", ("zebra",)),  # the nearest word stands for the other
        ("zebra", ()),  # that nothing is found says it
        ("django -zebra", ()),
        ("django zeb*", ()),
        ("django lang:en", ()),
        ("django 斑馬", ()),  # runs have no words
    ],
)
def test_words_that_no_document_has_are_named_beside_hits(index, query, unknown):
    assert index.search(query).unknown_words == unknown


# Texts of a document, pasted as they stand: with quotation marks, brackets, dashes, options, capitals, Korean.
PIECES = [
    *(
        "Old",
        "LIGHT",
        "AND",
        "OR",
        "NOT",
        "and",
        "-",
        "--",
        "-l",
        "--all",
        "+x",
        '"',
        "“fog",
        "bell”",
        "(",
        ")",
        "(a",
        "b)",
    ),
    *(
        "e.g.",
        "node.js",
        "*",
        "foot*",
        '15"',
        "검색",
        "엔진을",
        "全文検索",
        "don't",
        "C++",
        "x:y",
        "http://a.test/x?y=1",
        "\n",
    ),
]


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=30).map(" ".join) | st.text(max_size=60))
@example("AND (")
@example("( AND")
@settings(max_examples=60)
def test_a_text_pasted_from_a_document_finds_something(tmp_path_factory, text):
    rows = [{"url": "http://a.test/1", "text": text}, {"url": "http://a.test/2", "text": "other words"}]
    index = Index.open(indexed(tmp_path_factory.mktemp("pasted"), rows))
    others = [piece for piece in text.split() if not re.search(r"\w\*+\w", piece)]  # 00*0 may match no word
    assert index.search(text).total or not tokens(" ".join(others))
