"""Queries that are URLs: the page at a URL comes first, also as browsers show and people type its address."""

import pytest

from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.query import lexemes
from tests.support.corpus import indexed

PAGE = "http://a.test/docs/page.html"
ROWS = [
    {"url": PAGE, "title": "Short", "text": "words", "spam_score": 0.9},
    {"url": "http://a.test/docs/", "title": "Docs", "text": "a test docs page html " * 9, "link_rank": 9.0},
    {"url": "http://a.test/docs/page.html?x=1", "title": PAGE, "text": f"see {PAGE} http a test", "link_rank": 9.0},
    {"url": "http://c.test/%E5%85%A8%E6%96%87", "title": "Text"},
    {"url": "http://c.test/about", "title": "全文", "text": "全文 test about"},
    {"url": "https://www.d.test/", "title": "Home"},
    {"url": "http://e.test:8080/way", "title": "Way"},
    {"url": "http://e.test:8080/way/", "title": "Way", "text": "e test 8080 way " * 9},
    {"url": "http://f.test/", "title": "A start", "text": "http https www a test docs page c d e way 8080"},
]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return Index.open(indexed(tmp_path_factory.mktemp("crawl"), ROWS[:4], ROWS[4:]))


ADDRESSES = {
    PAGE: PAGE,
    "a.test/docs/page.html": PAGE,
    "https://a.test/docs/page.html": PAGE,
    "https://www.a.test/docs/page.html/": PAGE,
    "HTTP://A.test:80/docs/./page.html#top": PAGE,
    f"{PAGE}?utm_source=mail": PAGE,
    f"{PAGE} lang:en": PAGE,
    f"url:{PAGE}": PAGE,
    "http://a.test/docs/page.html?x=1": "http://a.test/docs/page.html?x=1",
    "http://a.test/docs": "http://a.test/docs/",
    "http://c.test/全文": "http://c.test/%E5%85%A8%E6%96%87",
    "http://c.test/%e5%85%a8%e6%96%87": "http://c.test/%E5%85%A8%E6%96%87",
    "http://d.test": "https://www.d.test/",
    "d.test/": "https://www.d.test/",
    "e.test:8080/way": "http://e.test:8080/way",
    "http://e.test:8080/way/": "http://e.test:8080/way/",
}


@pytest.mark.parametrize(("query", "url"), ADDRESSES.items())
def test_the_page_at_a_url_comes_first(index, query, url):
    results = index.search(query, per_host=1)
    assert results.hits[0].url == url
    assert results.notes == ()
    assert index.search(query, limit=1).hits[0].url == url
    assert not query.startswith("http") or index.search(query, typing=True).hits[0].url == url


def test_a_url_is_explained_and_pages_of_hits_go_on_behind_it(index):
    first = index.search(PAGE, limit=1, explain=True)
    parts = {part.text: part for part in first.hits[0].explanation.parts}
    assert (parts[PAGE].documents, parts[PAGE].frequencies) == (1, {"url": 1})
    rest = index.search(PAGE, after=first.next)
    assert PAGE not in {hit.url for hit in rest.hits}
    assert len(rest.hits) == first.total - 1


@pytest.mark.parametrize(
    "query", [f'"{PAGE}"', f"see {PAGE}", f"{PAGE} words -lang:ko title:docs", "and/or", "/etc/", "http://"]
)
def test_what_is_no_address_is_words(index, query):
    assert index.search(query).hits[:1] != [] or query in ("and/or", "/etc/")
    assert all(part.text != PAGE for hit in index.search(query, explain=True).hits for part in hit.explanation.parts)


@pytest.mark.parametrize(
    "query", ["url:a.test/docs/page.html", "url:page.html", 'url:"docs/page.html"', "url:http://www.a.test/docs/page"]
)
def test_the_words_of_a_url_are_those_that_the_index_has_of_it(index, query):
    assert {hit.url for hit in index.search(query).hits} == {PAGE, f"{PAGE}?x=1"}


def test_a_field_of_lucene_is_no_address():
    assert [part.kind for part in lexemes.lexemes("url:(a.test/b OR c)").parts] == ["(", "url", "OR", "url", ")"]
