"""Facets: counts of sites, languages, types and years among the documents that match."""

from datetime import UTC, datetime

import pytest

from beamtrawl.search.answers.results.facets import Value
from beamtrawl.search.answers.results.hits import as_json
from beamtrawl.search.answers.results.render import Narrower, narrowing
from beamtrawl.search.answers.searcher import Index
from tests.support.corpus import commit, indexed

DATES = {"published_at": datetime(2024, 12, 31, 23, tzinfo=UTC)}
HTML, PDF = {"media_type": "text/html"}, {"media_type": "application/pdf"}
FISH = [
    {"url": "http://a.test/1", "text": "fish one"} | HTML | DATES,
    {"url": "http://a.test/2", "text": "fish two"} | HTML,
    {"url": "http://b.test/3", "text": "fish three", "language": "ko"} | PDF,
    {"url": "http://b.test:8080/4", "text": "fish four", "language": None} | PDF | DATES,
    {"url": "http://c.test/5", "text": "bird"} | HTML,
]
ALL = {
    "site": [("a.test", 2), ("b.test", 1), ("b.test:8080", 1)],
    "lang": [("en", 2), ("ko", 1)],
    "type": [("application/pdf", 2), ("text/html", 2)],
    "year": [("2024", 2), ("2026", 2)],
}


def counted(index: Index, query: str, most: int = 10) -> dict[str, list[tuple[str, int]]]:
    found = index.search(query, 1, facet_values=most).facets
    return {name: [(value.value, value.documents) for value in values] for name, values in found.items()}


@pytest.mark.parametrize("cuts", [[FISH], [FISH[:2], FISH[2:]], [[row] for row in FISH]])
def test_the_documents_that_match_are_counted_across_segments(tmp_path, cuts):
    index = Index.open(indexed(tmp_path, *cuts))
    assert counted(index, "fish") == ALL
    assert counted(index, "fish", 1) == {name: values[:1] for name, values in ALL.items()}
    assert counted(index, "nothing") == {"site": [], "lang": [], "type": [], "year": []}
    assert index.search("fish").facets == {}


def test_only_documents_that_are_found_count(tmp_path):
    crawl = indexed(tmp_path, FISH)
    commit(crawl, 2, [{"url": "http://a.test/1", "text": "bird"}], gone=["http://a.test/2"])
    copy = [{"url": "http://d.test/6", "text": "fish three", "language": "ko", "duplicate_of": None} | PDF]
    commit(crawl, 3, copy)
    assert counted(Index.open(crawl), "fish")["site"] == [("b.test", 1), ("b.test:8080", 1), ("d.test", 1)]


def test_the_filter_of_a_value_finds_the_documents_counted(tmp_path):
    index = Index.open(indexed(tmp_path, FISH))
    for name, values in index.search("fish", facet_values=10).facets.items():
        for value in values:
            # A site without a port has all ports.
            more = 1 if value == Value("b.test", 1, "site:b.test") else 0
            assert index.search(f"fish {value.filter}").total == value.documents + more, (name, value)


def test_json(tmp_path):
    results = Index.open(indexed(tmp_path, FISH)).search("fish", facet_values=1)
    assert as_json(results)["facets"] == {
        "site": [{"value": "a.test", "documents": 2, "filter": "site:a.test"}],
        "lang": [{"value": "en", "documents": 2, "filter": "lang:en"}],
        "type": [{"value": "application/pdf", "documents": 2, "filter": "type:application/pdf"}],
        "year": [{"value": "2024", "documents": 2, "filter": "after:2024 before:2025"}],
    }


def test_what_narrows_a_query():
    types = [Value("text/html", 2, "type:text/html"), Value("application/pdf", 1, "type:application/pdf")]
    found = {"lang": [Value("en", 3, "lang:en")], "type": types, "year": []}
    assert narrowing(found, "fish", 24) == {"Type": [Narrower("HTML", 2, "fish type:text/html")]}
    assert list(narrowing(found, "fish", 100)) == ["Type"]
    assert narrowing(found, "fish", 10) == {}
