"""`beamtrawl export ciff`, read back by another reader and held against plain counting."""

import io
from collections import Counter

import pytest
from google.protobuf import proto
from hypothesis import given, strategies as st

from beamtrawl.runners.exports.ciff_index import DESCRIPTION
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.indexing import ciff
from beamtrawl.transforms.indexing.analysis import tokens, word_class
from beamtrawl.transforms.indexing.term_forms import stemmed_as
from tests.support.ciff_reader import CLASSES, read_ciff
from tests.support.command_line import beamtrawl, failure
from tests.support.corpus import commit, indexed
from tests.support.naive_search import newest

FIRST = [
    {"url": "http://b.test/", "title": "Connected fish", "text": "a connection, café, fish_net __fish__"},
    {"url": "http://a.test/gone", "text": "fish " * 300, "headings": ["never counted"]},
    {"url": "http://a.test/empty", "title": ""},
    {"url": "http://c.test/de", "text": "Gifte und Gift", "language": "de", "anchors": ["never counted"]},
    {"url": "http://c.test/ko", "text": "검색엔진 fish", "language": "ko"},
]
OTHER = [{"url": "http://d.test/", "text": "Gifts, cafe; fish connecting"}, {"url": "http://d.test/2", "text": "zebra"}]
AGAIN = [{"url": "http://a.test/gone", "title": "fish", "text": "fish back again", "round": 2}]


@pytest.fixture(scope="module")
def crawl(tmp_path_factory):
    """Two rounds and three segments; a page was visited again."""
    directory = CrawlDir(str(tmp_path_factory.mktemp("crawl")))
    commit(directory, 1, FIRST, OTHER)
    commit(directory, 2, AGAIN)
    return directory


def bag(row):
    """The tokens of title and body, by what their forms have in common."""
    words = tokens(row.get("title") or "") + tokens(row.get("text") or "")
    return Counter(word_class(word, stemmed_as(row.get("language", "en"))) for word in words)


@pytest.mark.parametrize("name", ["index.ciff", "index.ciff.gz"])
def test_another_reader_finds_the_words_of_each_document(crawl, tmp_path, name):
    out = tmp_path / name
    ran = beamtrawl("export", "ciff", crawl.root, out)
    header, postings, documents = read_ciff(out)
    expected = {row["url"]: bag(row) for row in newest(FIRST + OTHER + AGAIN, [])}

    assert [number for number, _, _ in documents] == list(range(len(expected)))
    assert {url: length for _, url, length in documents} == {url: words.total() for url, words in expected.items()}
    found = {url: Counter() for url in expected}
    for term, having in postings.items():
        for number, frequency in having.items():
            found[documents[number][1]][term] += frequency
    assert found == expected
    assert list(postings) == sorted(set().union(*expected.values()), key=str.encode)
    assert len(postings["fish"]) == 4

    total = sum(words.total() for words in expected.values())
    assert (header.version, header.description) == (1, DESCRIPTION)
    assert header.num_postings_lists == header.total_postings_lists == len(postings)
    assert header.num_doc_records == header.total_docs == len(expected)
    assert (header.total_terms_in_collection, header.average_doclength) == (total, total / len(expected))
    assert ran.out == f"{len(expected)} documents, {len(postings)} terms, {total} occurrences: {out}\n"
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_what_cannot_be_written_is_said_and_leaves_nothing(crawl, tmp_path):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    code, message = failure("export", "ciff", crawl.root, tmp_path / "taken")
    assert (code, message.partition(":")[0]) == (2, f"cannot write {tmp_path}/taken")
    assert message.endswith("; name one, or - for standard output")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_an_index_without_documents(tmp_path):
    crawl = indexed(tmp_path / "crawl", [])
    assert beamtrawl("export", "ciff", crawl.root, tmp_path / "out").code == 0
    header, postings, documents = read_ciff(tmp_path / "out")
    assert (postings, documents, header.average_doclength) == ({}, [], 0)


def test_korean_is_exported_as_pairs_of_characters_alone(tmp_path):
    for name, is_on in (("plain", False), ("taken_apart", True)):
        crawl = indexed(tmp_path / name, FIRST, korean_morphemes=is_on)
        beamtrawl("export", "ciff", crawl.root, tmp_path / f"{name}.ciff")
    assert (tmp_path / "plain.ciff").read_bytes() == (tmp_path / "taken_apart.ciff").read_bytes()


NUMBERS = st.integers(0, 2**31 - 1)


@pytest.mark.slow("processes")
@given(st.lists(st.tuples(NUMBERS, NUMBERS)), st.text(), NUMBERS, NUMBERS)
def test_protobuf_reads_every_message(postings, text, number, length):
    gaps, frequencies = [gap for gap, _ in postings], [frequency for _, frequency in postings]

    def parsed(name, message):
        source = io.BytesIO(message)
        found = proto.parse_length_prefixed(CLASSES[name], source)
        assert source.read() == b""
        return found

    found = parsed("PostingsList", ciff.postings_list(text, gaps, frequencies))
    assert (found.term, found.df, found.cf) == (text, len(postings), sum(frequencies))
    assert [(posting.docid, posting.tf) for posting in found.postings] == postings
    record = parsed("DocRecord", ciff.doc_record(number, text, length))
    assert (record.docid, record.collection_docid, record.doclength) == (number, text, length)
    header = parsed("Header", ciff.header(ciff.Header(number, length, 2**40 + number, text)))
    assert (header.num_postings_lists, header.num_doc_records, header.description) == (number, length, text)
    assert header.average_doclength == pytest.approx((2**40 + number) / max(1, length))
