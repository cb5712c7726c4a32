"""An index segment: the files that hold an inverted index, and how to write them.

A segment is a folder of five Parquet files about the same documents. A document's number is its row, from 0
on, in `docs` and `docstore`; documents are sorted by reversed host and then URL, for neighbours share words,
and short gaps compress well.

- postings: a row a term, sorted: `term`; `df`, its documents; `cf`, its occurrences; `docs`, the gaps between
  the numbers of its documents (the first as it is); parallel to them `tf_FIELD` for each of FIELDS.
- forms: which terms are forms of one word, sorted (see `index_forms`).
- positions: the same rows in the same row groups: `term`; `positions`, gaps again, begun anew with each
  document, which has as many as its `tf` in PHRASE_FIELDS sum up to (see `index_invert.Inverted`).
- docs: facts about each document, and `length_FIELD` in tokens.
- docstore: title, description and text, for showing.

Small row groups are what makes lookups quick: their statistics tell which one holds a term, and only that one
is decoded. BYTE_STREAM_SPLIT puts the zero bytes of small numbers side by side, where zstd squeezes them out.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from apache_beam.io.filesystems import FileSystems

from transforms.index_forms import Forms, forms_of, stemmed_as
from transforms.index_invert import PHRASE_FIELDS, Inverted, Longs, invert
from transforms.morphemes import ANALYSED, morphemes

POSTINGS, POSITIONS, FORMS = "postings.parquet", "positions.parquet", "forms.parquet"
DOCS, DOCSTORE = "docs.parquet", "docstore.parquet"

INDEX_VERSION = 1
"""The version of this format. Programs read the versions that they know, and no other."""

VERSION_KEY = "beamtrawl.index_version"
"""The key in each file's metadata that has it, in digits."""

ROW_GROUP_POSTINGS = 16_384
"""Postings of a row group, at most, unless a single term has more: what a lookup decodes."""

DOCS_GROUP = 65_536
"""Documents of a row group of `docs`, which is read as a whole."""

FORMS_GROUP = 512
"""Rows of a row group of `forms`: what looking a word up decodes."""

DOCSTORE_GROUP = 16
"""Documents of a row group of the docstore: what showing a hit decodes."""

FACTS = (
    *("url_key", "url", "host", "language", "media_type", "round", "fetched_at", "published_at", "spam_score"),
    "noarchive",
)
"""The columns of `tables.DOCUMENTS` that go to `docs`."""


def write_segment(root: str, folder: str, documents: pa.Table, korean_morphemes: bool = False) -> None:
    """Index documents as a new segment in a folder below the crawl directory.

    `documents` has the columns of `tables.DOCUMENTS` and only rows that may be found: leaving out duplicates
    and NOINDEX is the caller's part. The text of a NOARCHIVE document is indexed, but not stored for showing.
    Needs about 50 bytes of memory a token: bound a segment to some ten thousand pages. With `korean_morphemes`,
    documents in Korean have those among their terms, too, which needs the extra `korean`.
    """
    documents = documents.take(in_order(documents))
    texts = _texts(documents)
    further = _morphemes(texts, documents["language"].to_pylist()) if korean_morphemes else None
    write_index(root, folder, invert(texts, further), documents.select(FACTS), _docstore(documents))


def write_index(root: str, folder: str, index: Inverted, facts: pa.Table, docstore: pa.Table) -> None:
    """Write the files of a segment: an index, and of each of its documents the FACTS and what is shown."""
    write_terms(root, folder, index, facts["language"].to_pylist())
    write_parquet(root, f"{folder}/{POSITIONS}", _positions(index), _row_groups(index.starts))
    write_docs(root, folder, facts, index)
    write_parquet(root, f"{folder}/{DOCSTORE}", docstore, _slices(docstore.num_rows, DOCSTORE_GROUP))


def write_terms(root: str, folder: str, index: Inverted, languages: Sequence[str | None]) -> None:
    """Write `postings` and `forms`; `languages` are those of the documents."""
    write_parquet(root, f"{folder}/{POSTINGS}", _postings(index), _row_groups(index.starts))
    forms = _forms(forms_of(index, [stemmed_as(language) for language in languages]))
    write_parquet(root, f"{folder}/{FORMS}", forms, _slices(forms.num_rows, FORMS_GROUP))


def write_docs(root: str, folder: str, facts: pa.Table, index: Inverted) -> None:
    """Write `docs`: facts, a row a document, and the lengths of the fields."""
    for field, lengths in index.lengths.items():
        facts = facts.append_column(f"length_{field}", pa.array(lengths))
    write_parquet(root, f"{folder}/{DOCS}", facts, _slices(facts.num_rows, DOCS_GROUP))


def gaps(values: npt.NDArray[np.int32], starts: Longs) -> npt.NDArray[np.int32]:
    """Rising runs of numbers as differences; runs begin at `starts`, and the first of each stays as it is."""
    result = np.diff(values, prepend=np.int32(0))
    firsts = starts[starts < len(values)]  # an empty run at the end starts behind it
    result[firsts] = values[firsts]
    return result


def undo_gaps(differences: npt.NDArray[np.int32], lengths: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """The numbers that `gaps` was given, from the lengths of the runs."""
    sums = np.cumsum(differences, dtype=np.int64)
    ends = np.cumsum(lengths)
    before = np.concatenate([[0], sums])[ends - lengths]
    return (sums - np.repeat(before, lengths)).astype(np.int32)


def url_text(url: str) -> str:
    """What a URL says in words: without the parts that most URLs share.

    >>> url_text("https://www.example.org/wiki/Full_text%20search.html?lang=en")
    'example.org/wiki/Full text search lang=en'
    """
    address, _, query = url.partition("://")[2].partition("?")
    address = re.sub(r"(?<=/)index\.\w+$|(?<=[^/])\.(?:html?|php|aspx?)$", "", address.removeprefix("www."))
    return unquote(f"{address} {query}").replace("_", " ").strip()


def in_order(documents: pa.Table) -> Longs:
    """The order of documents in a segment: by reversed host and URL."""
    hosts = [".".join(reversed(host.split("."))) for host in documents["host"].to_pylist()]
    keys = list(zip(hosts, documents["url"].to_pylist(), strict=True))
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)


def _texts(documents: pa.Table) -> Mapping[str, list[str]]:
    """The documents' texts by field, as `invert` takes them."""
    return {
        "title": [title or "" for title in documents["title"].to_pylist()],
        "body": [text or "" for text in documents["text"].to_pylist()],
        "headings": ["\n".join(headings or ()) for headings in documents["headings"].to_pylist()],
        "url": [url_text(url) for url in documents["url"].to_pylist()],
    }


def _morphemes(texts: Mapping[str, Sequence[str]], languages: Sequence[str | None]) -> dict[str, list[list[str]]]:
    """By field, the morphemes of the documents in Korean; one term more in the body says that they are there."""
    is_korean = [language == "ko" for language in languages]
    found = {
        field: [morphemes(text) if korean else [] for text, korean in zip(texts[field], is_korean, strict=True)]
        for field in ("title", "body", "headings")
    }
    found["body"] = [
        [*terms, ANALYSED] if korean else [] for terms, korean in zip(found["body"], is_korean, strict=True)
    ]
    return found


def _postings(index: Inverted) -> pa.Table:
    occurrences = sum(index.frequencies.values())
    columns = {
        "term": pa.array(index.terms, pa.string()),
        "df": pa.array(np.diff(index.starts), pa.int64()),
        "cf": pa.array(np.diff(np.concatenate([[0], np.cumsum(occurrences)])[index.starts]), pa.int64()),
        "docs": _lists(index.starts, gaps(index.docs, index.starts)),
    }
    return pa.table(columns | {f"tf_{name}": _lists(index.starts, tf) for name, tf in index.frequencies.items()})


def _positions(index: Inverted) -> pa.Table:
    counts = np.add.reduce([index.frequencies[field] for field in PHRASE_FIELDS])
    positions = gaps(index.positions, np.cumsum(counts) - counts)
    return pa.table({"term": pa.array(index.terms, pa.string()), "positions": _lists(index.position_starts, positions)})


def _forms(forms: Sequence[Forms]) -> pa.Table:
    columns = {
        "class": pa.array([row.word_class for row in forms], pa.string()),
        "language": pa.array([row.language for row in forms], pa.string()),
        "forms": pa.array([row.forms for row in forms], pa.list_(pa.string())),
    }
    return pa.table(columns)


def _docstore(documents: pa.Table) -> pa.Table:
    hidden = pc.fill_null(documents["noarchive"], False)
    shown = pc.if_else(hidden, pa.scalar(None, pa.string()), documents["text"])
    return documents.select(["title", "description"]).append_column("text", shown)


def _lists(starts: Longs, values: npt.NDArray[np.int32]) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(starts, pa.int32()), pa.array(values))


def _row_groups(starts: Longs) -> Iterator[int]:
    """The rows of each row group, so that no group has more postings than it may."""
    term = 0
    while term < len(starts) - 1:
        end = int(np.searchsorted(starts, starts[term] + ROW_GROUP_POSTINGS, "right")) - 1
        yield max(end, term + 1) - term
        term = max(end, term + 1)


def _slices(rows: int, most: int) -> Iterator[int]:
    for start in range(0, rows, most):
        yield min(most, rows - start)


def write_parquet(root: str, path: str, table: pa.Table, row_groups: Iterable[int]) -> None:
    """Write a table in row groups of so many rows each; sorted words and lists of numbers get encodings that fit."""
    table = table.replace_schema_metadata({VERSION_KEY: str(INDEX_VERSION)})
    key = table.schema.names[0]
    is_sorted = key in ("term", "class")
    encodings = {key: "DELTA_BYTE_ARRAY"} | {
        f"{field.name}.list.element": "DELTA_BYTE_ARRAY"
        if field.type.value_type == pa.string()
        else "BYTE_STREAM_SPLIT"
        for field in table.schema
        if pa.types.is_list(field.type)
    }
    with (
        FileSystems.create(FileSystems.join(root, *path.split("/"))) as sink,
        pq.ParquetWriter(
            sink,
            table.schema,
            compression="zstd",
            use_dictionary=["language"] if is_sorted else True,
            column_encoding=encodings if is_sorted else None,
            sorting_columns=[pq.SortingColumn(0)] if is_sorted else None,
            write_page_index=True,  # for engines that look for it; pyarrow does not
        ) as writer,
    ):
        start = 0
        for rows in row_groups:
            writer.write_table(table.slice(start, rows), row_group_size=rows)
            start += rows
