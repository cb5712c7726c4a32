"""Facts of documents as filters of searches."""

import doctest

import numpy as np
import pytest

from beamtrawl.search.answers.results.hits import as_json
from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.index import page_facts
from beamtrawl.transforms.indexing.merge import Part, merge_segments
from beamtrawl.transforms.indexing.segment_files import read_file
from tests.support.corpus import commit, indexed

FISH = [
    {"url": "http://a.test/1", "text": "fish one", "facts": [("price", "10 EUR\n12 EUR"), ("author", "Ada Byron")]},
    {"url": "http://a.test/2", "text": "fish two", "facts": [("price", "100 EUR")]},
    {"url": "http://a.test/3", "text": "fish three"},
    {"url": "http://a.test/4", "text": "price 10 EUR", "facts": [("parse_error", "x")]},
    {"url": "http://a.test/5", "text": "fish five", "facts": [("price", "7")], "max_snippet": 0},
]

# Query: the last parts of the URLs that it finds
QUERIES = {
    'fish price:"10 EUR"': "1",
    'price:"10  eur"': "1",
    'price:"12 EUR"': "1",
    "price:10*": "1 2",
    "price:*0*": "1 2",
    "price:*": "1 2 5",
    "PRICE:7": "5",
    "price:8": "",
    "price:0*": "",
    "fish -price:10*": "3 5",
    "price:7 OR author:ada*": "1 5",
    "author:*byron price:1*": "1",
    "parse_error:x": "",  # a word that no page has
    "colour:red fish": "1 2 3 5",  # no fact of any page
}


@pytest.mark.parametrize("cuts", [[FISH], [FISH[:1], FISH[1:3], FISH[3:]]], ids=["one segment", "three"])
def test_a_fact_is_a_filter(tmp_path, cuts):
    index = Index.open(indexed(tmp_path, *cuts))
    found = {query: sorted(hit.url[-1] for hit in index.search(query).hits) for query in QUERIES}
    assert found == {query: sorted(urls.split()) for query, urls in QUERIES.items()}


def test_hits_show_facts_unless_the_page_forbids_snippets(tmp_path):
    index = Index.open(indexed(tmp_path, FISH))
    hits = {hit["url"][-1]: hit.get("facts") for hit in as_json(index.search("fish"))["hits"]}
    assert hits == {
        "1": {"price": ["10 EUR", "12 EUR"], "author": ["Ada Byron"]},
        "2": {"price": ["100 EUR"]},
        "3": None,
        "5": None,
    }


def test_segments_with_and_without_facts_are_searched_and_merged(tmp_path):
    crawl = indexed(tmp_path, FISH[2:3])
    commit(crawl, 2, FISH[:2])
    assert [hit.url[-1] for hit in Index.open(crawl).search("price:10*").hits] == ["1", "2"]
    folders = ["index/round=000001/shard-0000-0000000000000000", "index/round=000002/shard-0000-0000000000000000"]
    tables = [read_file(crawl.root, f"{folder}/docs.parquet") for folder in folders]
    assert [page_facts.COLUMN in table.column_names for table in tables] == [False, True]
    parts = [Part(f, None, np.ones(t.num_rows, bool)) for f, t in zip(folders, tables, strict=True)]
    merge_segments(crawl.root, parts, "index/merged", "index/merged-links")
    merged = read_file(crawl.root, "index/merged/docs.parquet")
    assert merged["facts"].to_pylist() == [*(row["facts"] for row in FISH[:2]), None]


def test_examples_in_docstrings():
    assert doctest.testmod(page_facts) == (0, 1)
