"""Long lists of numbers are decoded as Arrow decodes them, or left to it; texts are shown however they were written."""

import io
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.index.pages import FEWEST, long_lists, split_numbers, together
from beamtrawl.search.index.segment import Segment
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, CrawlDirError
from beamtrawl.transforms.indexing.segment_files import Written, numbers, read_file, write_opening
from beamtrawl.transforms.indexing.write_segment import DOCS, DOCSTORE, FORMS, POSTINGS, write_segment
from tests.support.corpus import commit, documents
from tests.support.naive_search import Naive

LIKE_THE_INDEX = {
    "compression": "zstd",
    "use_dictionary": False,
    "column_encoding": {"tf.list.element": "BYTE_STREAM_SPLIT"},
    "write_statistics": ["term"],
}
LISTS = {
    "small numbers": (np.arange(FEWEST) % 7, pa.int32()),
    "a large first number": (np.concatenate([[4_999_999], np.arange(FEWEST) % 200]), pa.int32()),
    "numbers of two bytes": (np.arange(1 << 16), pa.int32()),
    "a field in the fourth byte": (np.arange(FEWEST) + (np.arange(FEWEST) % 3 << 24), pa.int64()),
    "fields in all bytes": (np.arange(FEWEST) << 48 | 7 << 32 | 1 << 24, pa.int64()),
}


def written(lists, type_, **options):
    """A row group with a list in each row, and the bytes of the file."""
    table = pa.table({"term": ["a"] * len(lists), "tf": pa.array(lists, numbers(type_))})
    file = io.BytesIO()
    pq.write_table(table, file, **LIKE_THE_INDEX | options)
    return pq.ParquetFile(file).metadata.row_group(0), file.getvalue()


def split(group, data):
    """The bytes of the numbers of the list, if they can be split."""
    (chunk,) = long_lists(group, ["tf"]).values()
    return split_numbers(chunk, data[chunk.data_page_offset :][: chunk.total_compressed_size])


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("name", LISTS)
def test_the_bytes_of_the_numbers_are_those_of_the_list(name, version):
    values, type_ = LISTS[name]
    found = split(*written([values], type_, data_page_version=version))
    assert found.shape == (type_.bit_width // 8, len(values))
    assert np.ascontiguousarray(found.T).view(f"<i{len(found)}")[:, 0].tolist() == values.tolist()


@pytest.mark.parametrize(
    ("values", "type_"), [([0, 0], np.uint8), ([255, 1], np.uint8), ([256, 255], np.uint16), ([1 << 17, 3], np.uint32)]
)
def test_numbers_are_put_together_in_the_smallest_type(values, type_):
    found = together(np.array(values, "<u4").view(np.uint8).reshape(-1, 4).T)
    assert (found.tolist(), found.dtype) == (values, type_)


@pytest.mark.parametrize(
    ("lists", "options"),
    [
        ([range(FEWEST - 1)], {}),
        ([range(FEWEST), range(FEWEST)], {}),
        ([range(FEWEST)], {"compression": "snappy"}),
        ([range(FEWEST)], {"column_encoding": {"tf.list.element": "PLAIN"}}),
    ],
    ids=["short", "two rows", "snappy", "plain"],
)
def test_other_lists_are_left_to_arrow(lists, options):
    group, _ = written(lists, pa.int32(), **options)
    assert long_lists(group, ["tf"]) is None


def test_what_is_not_one_page_is_left_to_arrow():
    group, data = written([range(FEWEST)], pa.int32())
    (chunk,) = long_lists(group, ["tf"]).values()
    page = data[chunk.data_page_offset :][: chunk.total_compressed_size]
    assert split_numbers(chunk, page) is not None
    for other in (page + page, page[:-1], page[:40], b"\0" * len(page)):
        assert split_numbers(chunk, other) is None


LIKE_THE_DOCSTORE = {"compression": "zstd", "use_dictionary": False, "write_statistics": False}


def test_a_damaged_text_is_told_in_one_line(tmp_path):
    root = str(tmp_path)
    write_segment(root, "index", documents({"url": "http://a.test/", "title": "Lighthouse", "text": "x"}))
    path = tmp_path / "index" / DOCSTORE
    path.write_bytes(path.read_bytes().replace(b"Light", b"\xffight"))  # no UTF-8
    with pytest.raises(CrawlDirError, match=f"index/{DOCSTORE} cannot be read"):
        Segment(root, "index").stored([0])


TEXTS = [
    {"url": f"http://a.test/{n:02d}", "title": f"Title {n}" if n % 3 else None, "description": f"About {n}"}
    | {"text": f"text {n} " * 5_000 * (n % 4), "noarchive": n % 5 == 0}
    for n in range(30)
]


@pytest.mark.parametrize("options", [None, LIKE_THE_DOCSTORE, {}], ids=["as it is", "as it was", "as Arrow would"])
def test_a_document_is_shown_however_its_texts_were_written(tmp_path, options):
    root = str(tmp_path)
    write_segment(root, "index", documents(*TEXTS))
    if options is not None:
        rows, path = read_file(root, f"index/{DOCSTORE}"), f"{root}/index/{DOCSTORE}"
        pq.write_table(rows, path, row_group_size=7, **options)
        written = {
            name: Written(None, pq.read_metadata(f"{root}/index/{name}")) for name in (POSTINGS, FORMS, DOCSTORE)
        }
        write_opening(root, f"index/{DOCS}", read_file(root, f"index/{DOCS}"), written)
    segment = Segment(root, "index")
    for docs in ([*range(30)], [29, 3, 12], [0], []):
        found = segment.stored(docs)
        assert {doc: (shown.texts["title"], shown.texts["text"] or None) for doc, shown in found.items()} == {
            doc: (TEXTS[doc]["title"], None if doc % 5 == 0 else TEXTS[doc]["text"] or None) for doc in docs
        }
        assert [found[doc].texts["description"] for doc in docs if doc % 5 == 0] == [
            f"About {doc}" for doc in docs if doc % 5 == 0
        ]
        assert [shown.facts["noarchive"] for _, shown in sorted(found.items())] == [
            doc % 5 == 0 for doc in sorted(docs)
        ]


def test_answers_from_long_lists_are_those_of_the_formula(tmp_path):
    crawl, count = CrawlDir(str(tmp_path)), FEWEST + 150
    rows = [
        {
            "url": f"http://a.test/{n:05d}",
            "title": "reef " * (n % 200) if n % 17 == 0 else "",
            "text": "reef " * (1 + n % 5) + "tide " * (n % 100 > 0) + "x " * (n % 11) + "gull " * (300 * (n == 4000)),
            "headings": ["reef"] if n % 1000 == 1 else [],
            "anchors": ["reef"] * (n % 3),
            "link_rank": float(n % 4),
            "fetched_at": datetime(2026, 1, 1, tzinfo=UTC),
            "round": 1,
        }
        for n in range(count)
    ]
    commit(crawl, 1, rows[: FEWEST + 100], rows[FEWEST + 100 :])
    again = [rows[7] | {"text": "tide gull", "round": 2}]
    gone = [rows[n]["url"] for n in (17, 34, 4001)]
    commit(crawl, 2, again, gone=gone)
    naive, index = Naive([*rows, *again], [(2, url) for url in gone]), Index.open(crawl)
    for text in ("reef tide", "reef", "title:reef", "tide -gull", "url:reef OR gull reef"):
        (expected, _), found = naive.search(text), index.search(text, limit=50)
        assert found.total == len(expected), text
        assert [hit.url for hit in found.hits] == [url for _, url in expected[:50]], text
        assert [hit.score for hit in found.hits] == pytest.approx([score for score, _ in expected[:50]], rel=1e-6), text
