"""A term's postings in several rows are the same postings: for searches, merges, exports and checks."""

import base64
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.indexing.live_segments import live_index
from beamtrawl.transforms.indexing.merge import Part, merge_segments
from beamtrawl.transforms.indexing.read_segment import whole_terms
from beamtrawl.transforms.indexing.segment_files import VERSION_KEY
from beamtrawl.transforms.indexing.write_segment import DOCS, POSTINGS, ROW_GROUP_POSTINGS, ROW_POSTINGS
from benchmarks.asking import best
from tests.support.command_line import beamtrawl
from tests.support.corpus import indexed
from tests.support.index_faults import index_faults

MOST = 7
DOCUMENTS = ROW_GROUP_POSTINGS + 100
SEGMENTS = [f"index/round=000001/shard-{number:04d}-{number:016x}" for number in range(2)]
WORDS = ["of", "crawl", "crawls", "crawler", "index", "indexes", "row", *(f"w{number}" for number in range(20))]


def row(number: int) -> dict:
    pick = random.Random(number)
    text = " ".join(pick.choices(WORDS, weights=[1 / (n + 1) for n in range(len(WORDS))], k=30))
    return {
        "url": f"http://{'ab'[number % 2]}.test/{number:05d}",
        "text": f"every {text}",
        "title": pick.choice(["", "row of"]),
        "language": pick.choice(["en", "de"]),
        "anchors": pick.choice([[], ["every link"]]),
    }


@pytest.fixture(scope="module")
def crawls(tmp_path_factory):
    """Two segments, of which one has more postings of a term than a row group; in rows of MOST, and of ROW_POSTINGS."""
    rows = [row(number) for number in range(DOCUMENTS + 50)]
    root = tmp_path_factory.mktemp("crawls")
    return {
        most: indexed(root / str(most), rows[:DOCUMENTS], rows[DOCUMENTS:], row_postings=most)
        for most in (MOST, ROW_POSTINGS)
    }


def postings(crawl, segment):
    return pq.read_table(f"{crawl.root}/{segment}/{POSTINGS}").to_pylist()


def test_rows_are_complete_in_themselves(crawls):
    rows, (whole,) = (
        [row for row in postings(crawls[most], SEGMENTS[0]) if row["term"] == "every"] for most in (MOST, ROW_POSTINGS)
    )
    assert [row["df"] for row in rows] == [MOST] * (DOCUMENTS // MOST) + [DOCUMENTS % MOST]
    assert [len(row["docs"]) for row in rows] == [row["df"] for row in rows]
    assert sum(row["cf"] for row in rows) == whole["cf"]
    assert [doc for row in rows for doc in np.cumsum(row["docs"]).tolist()] == np.cumsum(whole["docs"]).tolist()
    for column in ("tf", "positions"):
        assert [number for row in rows for number in row[column]] == whole[column]


@pytest.mark.parametrize(
    "query",
    [
        "every",
        "of crawls -index",
        '"every of"',
        '"every row of" crawler',
        "title:row w1* lang:de",
        "every of the row",
        "w3",
    ],
)
def test_searches_find_the_same(crawls, query):
    found = [best(Index.open(crawls[most]), query, 300) for most in (MOST, ROW_POSTINGS)]
    assert found[0] == found[1]
    assert found[0]


def test_words_are_listed_once_with_all_their_documents(crawls):
    found = [Index.open(crawls[most]).words_like("w*") for most in (MOST, ROW_POSTINGS)]
    assert found[0] == found[1]
    assert len(set(found[0])) == len(found[0]) == 20
    nearest = [Index.open(crawls[most]).search("crowler").suggestion for most in (MOST, ROW_POSTINGS)]
    assert nearest == ["crawler"] * 2


def test_the_export_is_the_same(crawls, tmp_path):
    for most, crawl in crawls.items():
        assert beamtrawl("export", "ciff", crawl.root, tmp_path / str(most)).code == 0
    assert (tmp_path / str(MOST)).read_bytes() == (tmp_path / str(ROW_POSTINGS)).read_bytes()


def test_a_check_finds_no_fault(crawls):
    assert list(index_faults(crawls[MOST].root, live_index(crawls[MOST].manifests()))) == []


@pytest.mark.parametrize("most", [MOST, ROW_POSTINGS])
def test_merges_have_the_same_rows(crawls, most):
    tables = []
    for crawl in crawls.values():
        parts = [Part(SEGMENTS[0], None, np.arange(DOCUMENTS) % 5 > 0), Part(SEGMENTS[1], None, np.ones(50, bool))]
        written = merge_segments(crawl.root, parts, f"index/merged-{most}", "none", most)
        tables.append([pq.read_table(f"{crawl.root}/{file.path}") for file in written])
    assert tables[0] == tables[1]
    assert max(tables[0][0]["df"].to_pylist()) == min(most, DOCUMENTS - DOCUMENTS // 5 - 1 + 50)


@pytest.mark.parametrize("version", ["2", "3"])
def test_an_index_of_an_earlier_version_is_read(tmp_path, version):
    """In 3, `docs` has the footers of the other files as Parquet has them; in 2, each term has one row, too."""
    crawl = indexed(tmp_path, [row(number) for number in range(20)])
    expected = best(Index.open(crawl), "every row of", 20)
    (docs,) = tmp_path.glob(f"index/*/*/{DOCS}")
    metadata = {VERSION_KEY: version}
    for path in docs.parent.glob("*.parquet"):
        footer = pa.BufferOutputStream()
        pq.read_metadata(path).write_metadata_file(footer)
        data = footer.getvalue()
        packed = len(data).to_bytes(4) + pa.Codec("zstd").compress(data, asbytes=True)
        metadata |= {f"beamtrawl.footer.{path.name}": base64.b64encode(packed)} if path != docs else {}
    pq.write_table(pq.read_table(docs).replace_schema_metadata(metadata), docs)
    assert best(Index.open(crawl), "every row of", 20) == expected


@given(st.lists(st.integers(0, 5), max_size=30).map(sorted), st.lists(st.integers(0, 30), max_size=6))
def test_no_term_is_in_two_tables(terms, cuts):
    rows = pa.table({"term": pa.array(list(map(str, terms)), pa.string()), "number": range(len(terms))})
    ends = sorted({min(cut, len(terms)) for cut in cuts} | {len(terms)})
    tables = [rows.slice(start, end - start) for start, end in zip([0, *ends], ends, strict=False) if end > start]
    found = list(whole_terms(tables or [rows]))
    assert pa.concat_tables(found).to_pylist() == rows.to_pylist()
    of_tables = [set(table["term"].to_pylist()) for table in found]
    assert sum(map(len, of_tables)) == len(set(terms))
    assert len(found) == 1 or all(of_tables)
