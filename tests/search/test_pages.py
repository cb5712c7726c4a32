"""Long lists of numbers, and strings, are decoded as Arrow decodes them, or left to it."""

import io
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.index.pages import FEWEST, are_strings, long_lists, split_numbers, strings, together
from beamtrawl.search.index.segment import Segment
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, CrawlDirError
from beamtrawl.transforms.indexing.read_segment import read_footer
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
STRINGS = {
    "all": [f"text {n}" * n for n in range(8)],
    "none": [None] * 8,
    "a null here and there": ["a", None, "", "né 文", None, "b" * 300, "", None],
    "one": ["a"],
    "a long run of nulls": ["a", *[None] * 300, "b"],
    "in turns": ["a", None] * 150,
}


def a_column(values, **options):
    """The column of strings in a row group, as written, and its bytes."""
    file = io.BytesIO()
    pq.write_table(pa.table({"text": pa.array(values, pa.string())}), file, **LIKE_THE_DOCSTORE | options)
    metadata = pq.ParquetFile(file).metadata
    chunk = metadata.row_group(0).column(0)
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    assert are_strings(metadata.schema.column(0))
    return chunk.compression, file.getvalue()[start:][: chunk.total_compressed_size]


@pytest.mark.parametrize("options", [{}, {"compression": "snappy"}, {"data_page_size": 20, "write_batch_size": 1}])
@pytest.mark.parametrize("name", STRINGS)
def test_strings_of_some_rows_are_those_that_were_written(name, options):
    values = STRINGS[name]
    column = a_column(values, **options)
    assert strings(*column, range(len(values))) == values
    for row, value in enumerate(values):
        assert strings(*column, [row]) == [value]
    assert strings(*column, range(0, len(values), 3)) == values[::3]
    assert strings(*column, []) == []


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "none"},
        {"compression": "brotli"},
        {"use_dictionary": True},
        {"write_statistics": True},
        {"column_encoding": {"text": "DELTA_BYTE_ARRAY"}},
        {"data_page_version": "2.0"},
    ],
    ids=lambda options: "{} {}".format(*next(iter(options.items()))),
)
def test_other_strings_are_left_to_arrow(options):
    assert strings(*a_column(STRINGS["all"], **options), [1]) is None


def test_damaged_strings_are_left_to_arrow():
    compression, data = a_column(["a" * 999, "b"])
    assert strings(compression, data, [1]) == ["b"]
    for other in (data[:-1], data[:40], data[:10], b"", b"\0" * len(data)):
        assert strings(compression, other, [1]) is None
    page = b"\2\0\0\0" + b"\4\1" + b"\1\0\0\0a" + b"\x09\0\0\0"  # levels of two rows, "a", and of "b" only the length
    packed = pa.Codec("snappy").compress(page, asbytes=True)
    numbers = (b"\x15" + bytes([2 * number]) for number in (0, len(page), len(packed)))
    cut = b"".join(numbers) + b"\x2c\x15\x04\x15\x00\x15\x06\x15\x06\x00\x00" + packed
    assert [strings("SNAPPY", cut, [row]) for row in range(3)] == [["a"], None, None]


@pytest.mark.parametrize("compression", ["zstd", "snappy"])
@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4))
def test_any_damage_is_left_to_arrow_or_is_not_seen(compression, changes):
    name, data = a_column(["né 文" * 9, None, "b" * 300, "c"], compression=compression)
    damaged = bytearray(data)
    for place, byte in changes:
        damaged[place % len(data)] = byte
    found = strings(name, bytes(damaged), [0, 3])
    assert found is None or len(found) == 2


def test_a_damaged_text_is_told_in_one_line(tmp_path):
    root = str(tmp_path)
    write_segment(root, "index", documents({"url": "http://a.test/", "title": "Lighthouse", "text": "x"}))
    path = tmp_path / "index" / DOCSTORE
    path.write_bytes(path.read_bytes().replace(b"Light", b"\xffight"))  # no UTF-8
    with pytest.raises(CrawlDirError, match=f"index/{DOCSTORE} cannot be read"):
        Segment(root, "index").stored([0])


@pytest.mark.parametrize("type_", [pa.int32(), pa.list_(pa.string())], ids=str)
def test_other_columns_are_not_strings(type_):
    file = io.BytesIO()
    pq.write_table(pa.table({"x": pa.array([], type_)}), file)
    assert not are_strings(pq.ParquetFile(file).metadata.schema.column(0))


def test_strings_that_are_never_null_are_left_to_arrow():
    file = io.BytesIO()
    pq.write_table(pa.table([pa.array(["a"])], pa.schema([pa.field("x", pa.string(), False)])), file)
    assert not are_strings(pq.ParquetFile(file).metadata.schema.column(0))


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
        written = {name: Written(None, read_footer(root, f"index/{name}")) for name in (POSTINGS, FORMS, DOCSTORE)}
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
