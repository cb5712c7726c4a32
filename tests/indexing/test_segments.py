"""What an index segment holds, against the plainest way to count words."""

import base64
import doctest
import itertools
from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.indexing import packing, write_segment
from beamtrawl.transforms.indexing.analysis import is_further, separate_words, terms_of_piece, tokens, word_class
from beamtrawl.transforms.indexing.invert import OWN_FIELDS, PHRASE_FIELDS, invert
from beamtrawl.transforms.indexing.packing import gaps, pack, undo_gaps, unpack
from beamtrawl.transforms.indexing.row_groups import RowGroups
from beamtrawl.transforms.indexing.term_forms import Forms, forms_of, languages_of, terms_by_language
from beamtrawl.transforms.indexing.write_segment import DOCS, DOCSTORE, FORMS, POSTINGS, ROW_GROUP_POSTINGS
from beamtrawl.transforms.tables import list_offsets
from tests.support.corpus import documents
from tests.support.index_faults import embedded

WORDS = [
    *("a", "b", "runs", "running", "dé", "日本語", "C++x", ".NET", "don’t", "_", "\u00a0", "“é—", "Ｃ＋＋", "x" * 70),
    *("a_b", "__a__", "é—a_b—b_", "日本語_a", "a_" * 40, "x" * 70 + "_a"),
]
TEXTS = st.lists(st.sampled_from([f"{word}{end}" for word in WORDS for end in (" ", "")]), max_size=6).map("".join)
DOCUMENTS = st.lists(st.fixed_dictionaries(dict.fromkeys(OWN_FIELDS, TEXTS)), max_size=6)


def counted(rows):
    """The index of the documents as {term: {document: ({field: frequency}, positions)}}."""
    result = {}
    for doc, row in enumerate(rows):
        place = 0
        for field in OWN_FIELDS:
            for piece in separate_words(row[field].encode()).decode().split():
                terms, identifiers = terms_of_piece(piece)
                for offset, term in [*enumerate(terms), *identifiers]:
                    frequencies, positions = result.setdefault(term, {}).setdefault(doc, (Counter(), []))
                    frequencies[field] += 1
                    if field in PHRASE_FIELDS:
                        positions.append(place + offset)
                place += len(terms)
            place += 1
    return result


@given(DOCUMENTS)
def test_inverting_finds_every_word_where_it_stands(rows):
    found = invert({field: [row[field] for row in rows] for field in OWN_FIELDS})
    result, used = {}, 0
    for number, term in enumerate(found.terms):
        result[term] = {}
        assert used == found.position_starts[number]
        for posting in range(found.starts[number], found.starts[number + 1]):
            frequencies = {field: int(found.frequencies[field][posting]) for field in OWN_FIELDS}
            count = sum(frequencies[field] for field in PHRASE_FIELDS)
            positions = found.positions[used : used + count].tolist()
            used += count
            result[term][int(found.docs[posting])] = (+Counter(frequencies), positions)
    assert result == counted(rows)
    assert found.terms == sorted(result)
    assert (used, len(found.docs)) == (len(found.positions), found.starts[-1])
    assert {f: found.lengths[f].tolist() for f in OWN_FIELDS} == {
        f: [len(tokens(row[f])) for row in rows] for f in OWN_FIELDS
    }


EXTRA = st.lists(st.sampled_from(["a", "ko:x", "runs", "zz"]), max_size=4)
FURTHER = st.lists(st.sampled_from(["a _ b", "b _ c", "zz _ a"]), max_size=4)


@given(st.lists(st.tuples(TEXTS, TEXTS, EXTRA, FURTHER), max_size=6))
def test_terms_that_are_added_count_beside_those_of_the_text(rows):
    """Extra terms follow the title and lengthen it; further terms stand where they are said to."""
    titles, bodies, extra, further = ([row[number] for row in rows] for number in range(4))
    further = [beside[: len(tokens(title))] for beside, title in zip(further, titles, strict=True)]
    found = invert(
        {"title": titles, "body": bodies}, {"title": extra}, {"title": [list(enumerate(f)) for f in further]}
    )
    lengths = [len(tokens(title)) + len(terms) for title, _, terms, _ in rows]
    assert found.lengths["title"].tolist() == lengths
    expected = {}
    for doc, (title, body, terms, beside) in enumerate(zip(titles, bodies, extra, further, strict=True)):
        places = [*enumerate([*tokens(title), *terms]), *enumerate(beside), *enumerate(tokens(body), lengths[doc] + 1)]
        identified = invert({"title": [title], "body": [body]})
        for term in filter(is_further, identified.terms):
            number = identified.terms.index(term)
            at = identified.positions[identified.position_starts[number] : identified.position_starts[number + 1]]
            begins = len(tokens(title)) + 1  # of the body, which the extra terms move
            places += [(place + (len(terms) if place >= begins else 0), term) for place in at.tolist()]
        for place, term in places:
            expected.setdefault(term, {}).setdefault(doc, []).append(place)
    assert found.terms == sorted(expected)
    for number, term in enumerate(found.terms):
        docs = found.docs[found.starts[number] : found.starts[number + 1]].tolist()
        positions = found.positions[found.position_starts[number] : found.position_starts[number + 1]].tolist()
        assert (docs, sorted(positions)) == (list(expected[term]), sorted(itertools.chain(*expected[term].values())))


def test_texts_of_many_megabytes_are_inverted_as_one():
    found = invert({"title": [f"one{n}" for n in range(5)], "body": ["same " * 300_000 + f"end{n}" for n in range(5)]})
    assert found.terms == sorted([*(f"end{n}" for n in range(5)), *(f"one{n}" for n in range(5)), "same"])
    assert found.docs.tolist() == [*range(5), *range(5), *range(5)]
    assert found.lengths["body"].tolist() == [300_001] * 5
    assert found.frequencies["body"].tolist() == [1] * 5 + [0] * 5 + [300_000] * 5
    assert found.positions[:10].tolist() == [300_002] * 5 + [0] * 5
    assert found.positions[10:].tolist() == list(range(2, 300_002)) * 5


def test_forms_are_those_in_documents_of_their_language():
    found = invert({"title": ["gift gifts", "gifts Gifte", "gifts", "one"], "body": ["café", "", "naïve", ""]})
    assert forms_of(terms_by_language(found, languages_of(["en", "de", "", "en"]))) == [
        Forms("cafe", "en", ["café"]),
        Forms("gift", "de", ["gifte", "gifts"]),
        Forms("gift", "en", ["gift", "gifts"]),
        Forms("naive", "", ["naïve"]),
    ]


@given(DOCUMENTS, st.lists(st.sampled_from(["en", "de", ""]), min_size=6, max_size=6))
def test_every_term_of_a_document_is_a_form_of_its_class(rows, languages):
    found = invert({field: [row[field] for row in rows] for field in OWN_FIELDS})
    table = {
        (row.word_class, row.language): row.forms
        for row in forms_of(terms_by_language(found, languages_of(languages[: len(rows)])))
    }
    for row, language in zip(rows, languages, strict=False):
        for term in tokens(" ".join(row.values())):
            name = word_class(term, language)
            assert term in table.get((name, language), [name])


@given(st.lists(st.lists(st.integers(0, 2**31 - 1), unique=True).map(sorted)))
def test_gaps_are_undone(runs):
    lengths = np.array([len(run) for run in runs], np.int32)
    values = np.array([value for run in runs for value in run], np.int32)
    encoded = gaps(values, np.cumsum(lengths, dtype=np.int64) - lengths)
    assert undo_gaps(encoded, lengths).tolist() == values.tolist()
    assert (encoded >= 0).all()


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("https://www.a.org/", "a.org/"),
        ("http://a.html/b_c/index.html", "a.html/b_c/"),
        ("http://a.org/d.php?q=%ED%95%9C", "a.org/d q=한"),
        ("http://a.org/v1.5/", "a.org/v1.5/"),
    ],
)
def test_a_url_in_words(url, text):
    assert write_segment.url_text(url) == text


def read(root, name):
    return pq.ParquetFile(root / "index" / "round=000001" / "shard-0" / name)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A segment of 500 documents with 100 words each, of which two are in all of them."""
    root = tmp_path_factory.mktemp("crawl")
    rows = [
        {"url": f"http://a.test/{n}", "text": "every page " + " ".join(f"w{n * k % 3001}" for k in range(98))}
        for n in range(500)
    ]
    write_segment.write_segment(str(root), "index/round=000001/shard-0", documents(*rows))
    return root


def test_row_groups_are_small_and_sorted_by_term(large):
    postings = read(large, POSTINGS)
    assert postings.num_row_groups > 2
    before = ""
    for group in range(postings.num_row_groups):
        rows = postings.read_row_group(group).to_pylist()
        assert sum(len(row["docs"]) for row in rows) <= ROW_GROUP_POSTINGS
        assert [before, *(row["term"] for row in rows)] == sorted({before, *(row["term"] for row in rows)})
        assert all(row["df"] == len(row["docs"]) == len(row["tf"]) for row in rows)
        assert postings.metadata.row_group(group).column(0).statistics.max == rows[-1]["term"]
        before = rows[-1]["term"]


def test_numbers_are_split_into_byte_streams(large):
    columns = read(large, POSTINGS).metadata.row_group(0)
    encodings = {columns.column(i).path_in_schema: columns.column(i).encodings for i in range(columns.num_columns)}
    for name in ("docs", "tf", "positions"):
        assert "BYTE_STREAM_SPLIT" in encodings[f"{name}.list.element"]


def test_the_docs_carry_the_row_groups_of_the_other_files_once(large):
    (docs,) = large.rglob(DOCS)
    carried = embedded(str(large), docs.parent.relative_to(large).as_posix())
    assert set(carried) == {POSTINGS, FORMS, DOCSTORE}
    for name, groups in carried.items():
        assert groups.render() == RowGroups.of(read(large, name).metadata).render()
    assert b"beamtrawl.groups" not in base64.b64decode(read(large, DOCS).metadata.metadata[b"ARROW:schema"])


FREQUENCIES = st.integers(0, 2**24 - 1)


@given(st.fixed_dictionaries(dict.fromkeys(OWN_FIELDS, FREQUENCIES)))
def test_frequencies_are_packed_so_that_positions_can_be_counted(frequencies):
    packed = pack({field: np.array([tf], np.int32) for field, tf in frequencies.items()})
    found = {field: int(tf[0]) for field, tf in unpack(packed, OWN_FIELDS).items()}
    assert packed[0] >= 0
    if frequencies["title"] <= 255:
        assert found["title"] == frequencies["title"]
    if sum(frequencies[field] for field in PHRASE_FIELDS) < 2**24:
        assert sum(found[field] for field in PHRASE_FIELDS) == sum(frequencies[field] for field in PHRASE_FIELDS)
    assert found["headings"] == min(frequencies["headings"], 2**16 - 1)
    assert found["url"] == min(frequencies["url"], 2**15 - 1)


def test_the_docstore_is_read_by_small_groups(large):
    metadata = read(large, DOCSTORE).metadata
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [8] * 62 + [4]


def test_long_texts_have_groups_of_their_own_in_the_docstore(tmp_path):
    lengths = [10] * 8 + [10, 100_000, 10, 50_000] + [10] * 4 + [10]
    rows = documents(*({"url": f"http://a.test/{n:02d}", "text": "x" * length} for n, length in enumerate(lengths)))
    write_segment.write_segment(str(tmp_path), "index/round=000001/shard-0", rows)
    file = read(tmp_path, DOCSTORE)
    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [8, *[1] * 8, 1]
    assert [len(text) for text in file.read()["text"].to_pylist()] == lengths


def test_a_term_of_more_postings_than_a_group_may_have_gets_its_own():
    assert list(write_segment._row_groups(np.array([0, 10, 50_010, 50_020, 54_116]))) == [1, 1, 1, 1]


def test_a_segment_of_two_documents(tmp_path):
    rows = documents(
        {"url": "http://b.test/x", "title": "Red fish", "text": "one fish", "headings": ["Fish", "red"]},
        {"url": "http://z.a.test/", "text": "fish two fish", "noarchive": True, "description": "about"},
    )
    write_segment.write_segment(str(tmp_path), "index/round=000001/shard-0", rows)

    assert read(tmp_path, DOCS).read(["url", "noarchive", "length_title", "length_body"]).to_pylist() == [
        {"url": "http://z.a.test/", "noarchive": True, "length_title": 0, "length_body": 3},
        {"url": "http://b.test/x", "noarchive": False, "length_title": 2, "length_body": 2},
    ]
    assert read(tmp_path, DOCSTORE).read().to_pylist() == [
        {"title": None, "description": "about", "text": None, "sections": None},  # NOARCHIVE
        {"title": "Red fish", "description": None, "text": "one fish", "sections": None},
    ]
    postings = {row["term"]: row for row in read(tmp_path, POSTINGS).read().to_pylist()}
    assert list(postings) == ["a", "b", "fish", "one", "red", "red _ fish", "test", "two", "x", "z"]
    assert postings["red _ fish"] == {
        "term": "red _ fish",
        "df": 1,
        "cf": 1,
        "docs": [1],
        "tf": [1 << 24],
        "positions": [0],
    }
    assert postings["fish"] == {"term": "fish", "df": 2, "cf": 5, "docs": [0, 1]} | {
        "tf": [2, 1 | 1 << 24 | 1 << 32],  # in the body; in body, title and headings
        "positions": [1, 2, 1, 3],  # 1 and 3 after an empty title; 1 in the title and 4 in the body
    }
    assert (postings["x"]["tf"], postings["x"]["positions"]) == ([1 << 48], [])


def test_a_segment_without_documents(tmp_path):
    write_segment.write_segment(str(tmp_path), "index/round=000001/shard-0", documents())
    for name in (POSTINGS, FORMS, DOCS, DOCSTORE):
        assert read(tmp_path, name).read().num_rows == 0


def test_examples():
    assert doctest.testmod(write_segment) == (0, 3)
    assert doctest.testmod(packing) == (0, 2)
    assert doctest.testmod(list_offsets).failed == 0
