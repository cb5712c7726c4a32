"""Writes index segments: the files that hold an inverted index.

A segment is a folder of four Parquet files, or five, about the same documents. A document's number is its row, from 0
on, in `docs` and `docstore`; documents are sorted by reversed host and then URL: neighbours share words, so gaps
are short and compress well.

- postings: a row for each term, sorted: `term`; `df`, its documents; `cf`, its occurrences; `docs`, the gaps between
  the numbers of its documents (the first as it is); parallel to them `tf`, the frequencies of all fields in one
  number (see `packing.pack`); `positions`, gaps that restart with each document, which has as many as the sum of its
  frequencies in PHRASE_FIELDS (see `invert.Inverted`). A term of more than ROW_POSTINGS documents has several rows,
  each of consecutive ones, in their order; a row's numbers are about its own documents.
- forms: the terms that are forms of one word, sorted (see `term_forms`).
- words: of a segment of more than FEW_GROUPS, the `suggestible` terms and their `df`, for spelling help.
- docstore: title, description, text and its sections (`section.to_text`), for results.
- docs: facts about each document, and `length_FIELD` in tokens (see also `segment_files`).
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..sections import section
from ..tables.list_offsets import offsets, ranges
from ..tables.table_files import TableFile
from .analysis import pairs, tokens, word_classes
from .invert import PHRASE_FIELDS, Inverted, Longs, invert
from .korean import ANALYSED, morphemes
from .packing import gaps, pack
from .segment_files import Written, groups, numbers, slices, write_opening, write_sorted, write_stored
from .term_forms import Forms, forms_of, languages_of, stemmed_as, terms_by_language

POSTINGS, FORMS, WORDS = "postings.parquet", "forms.parquet", "words.parquet"
DOCS, DOCSTORE = "docs.parquet", "docstore.parquet"

ROW_GROUP_POSTINGS = 4_096
"""The most postings of a row group, unless a single row has more: the unit that a lookup decodes."""

ROW_POSTINGS = 65_536
"""The most postings of a row: what is decoded at once fits into the cache of a core."""

FEW_GROUPS = 64
"""Row groups of `postings` of which all terms are read in some milliseconds."""

FORMS_GROUP = 256
"""Rows of a row group of `forms`: the unit that a lookup of a word decodes."""

DOCSTORE_GROUP, DOCSTORE_BYTES = 8, 1 << 17
"""Documents of a row group of the docstore, the unit that a hit decodes; each has its own if they have more bytes."""


FACTS = (
    *("url_key", "url", "host", "language", "media_type", "round", "fetched_at", "published_at", "spam_score"),
    *("noarchive", "max_snippet", "unavailable_after", "same_content_as"),
)
"""The columns of DOCUMENTS that `docs` has."""

ERRORS = frozenset({"parse_error", "extract_error"})
"""Facts that are about the crawler and no filter of queries."""

_STORED = pa.schema([(name, pa.string()) for name in ("title", "description", "text", "sections")])


def write_segment(
    root: str, folder: str, documents: pa.Table, korean_morphemes: bool = False, row_postings: int = ROW_POSTINGS
) -> list[TableFile]:
    """Index documents as a new segment in a folder below the crawl directory, and return its files.

    `documents` has the columns of DOCUMENTS and only rows that searches may find: the caller leaves out duplicates
    and NOINDEX pages. Text that no result may show (NOARCHIVE, NOSNIPPET, `data-nosnippet`) is indexed, but not stored.
    Takes about 50 bytes of memory a token: bound a segment to some ten thousand pages. With `korean_morphemes`,
    documents in Korean get morphemes as further terms, which needs the extra `korean`.
    """
    documents = documents.take(in_order(documents))
    texts = _texts(documents)
    languages = documents["language"].to_pylist()
    extra_terms = _morphemes(texts, languages) if korean_morphemes else None
    in_titles = with_classes([pairs(tokens(title)) for title in texts["title"]], languages)
    index = invert(texts, extra_terms, {"title": in_titles})
    del texts, extra_terms  # as large as the documents
    docs = _with_page_facts(with_lengths(documents.select(FACTS), index), documents["facts"])
    return write_index(root, folder, [index], docs, [_docstore(documents)], row_postings)


def write_index(
    root: str,
    folder: str,
    blocks: Iterable[Inverted],
    docs: pa.Table,
    docstore: Iterable[pa.Table],
    row_postings: int = ROW_POSTINGS,
) -> list[TableFile]:
    """Write the files of a segment, and return them.

    They are its terms as in `write_terms`, `docs` with lengths, and the docstore, whose rows come in parts: each
    but the last has a multiple of DOCSTORE_GROUP rows.
    """
    words = list[pa.Table]()
    groups_of_rows = itertools.chain.from_iterable(map(_docstore_groups, docstore))
    with ThreadPoolExecutor(1) as beside:
        store = beside.submit(write_stored, root, f"{folder}/{DOCSTORE}", _STORED, groups_of_rows, ["text", "sections"])
        written = write_terms(root, folder, _noting_words(blocks, words), docs["language"].to_pylist(), row_postings)
    if written[POSTINGS].footer.num_row_groups > FEW_GROUPS:
        parts = (part for table in words for part in groups(table, slices(table.num_rows, ROW_POSTINGS)))
        written[WORDS] = write_sorted(root, f"{folder}/{WORDS}", words[0].schema, parts)
    written[DOCSTORE] = store.result()
    return write_opening(root, f"{folder}/{DOCS}", docs, written)


def suggestible(terms: pa.Table) -> pa.Table:
    """The rows whose `term` can be suggested for a misspelled one: a word of usual length, or an identifier."""
    lengths = pc.utf8_length(terms["term"])
    is_word = pc.and_(
        pc.utf8_is_alpha(terms["term"]), pc.and_(pc.greater_equal(lengths, 3), pc.less_equal(lengths, 24))
    )
    rest = terms.filter(pc.match_substring(terms["term"], "_"))  # a regular expression takes .8 µs a term
    names = rest.filter(pc.match_substring_regex(rest["term"], r"^_*[^\W_]+(?:_+[^\W_]+)+_*$"))
    return pa.concat_tables([terms.filter(is_word), names]).sort_by("term")


def _noting_words(blocks: Iterable[Inverted], words: list[pa.Table]) -> Iterator[Inverted]:
    """The blocks; the `suggestible` terms of each are appended to `words`."""
    for block in blocks:
        rows = {"term": pa.array(block.terms, pa.string()), "df": pa.array(np.diff(block.starts), pa.int32())}
        words.append(suggestible(_required(rows)))
        yield block


def write_terms(
    root: str,
    folder: str,
    blocks: Iterable[Inverted],
    languages: Sequence[str | None],
    row_postings: int = ROW_POSTINGS,
) -> dict[str, Written]:
    """Write `postings` and `forms`, and return them by name. `languages` are those of the documents.

    The index comes in blocks of consecutive terms, at least one, so that it need not fit into memory.
    """
    of_documents = languages_of(languages)
    terms: defaultdict[str, list[str]] = defaultdict(list)

    def tables() -> Iterator[tuple[pa.Table, Iterator[int]]]:
        for block in blocks:
            for language, used in terms_by_language(block, of_documents).items():
                terms[language] += used
            terms_of_rows, starts = _rows(block.starts, row_postings)
            yield _postings(block, terms_of_rows, starts), _row_groups(starts)

    found = tables()
    first = next(found)
    row_groups = (part for table, rows in itertools.chain([first], found) for part in groups(table, rows))
    postings = write_sorted(root, f"{folder}/{POSTINGS}", first[0].schema, row_groups)
    forms = _forms(forms_of(terms))
    parts = groups(forms, slices(forms.num_rows, FORMS_GROUP))
    return {POSTINGS: postings, FORMS: write_sorted(root, f"{folder}/{FORMS}", forms.schema, parts)}


def with_lengths(facts: pa.Table, index: Inverted) -> pa.Table:
    """The facts, a row for each document, with columns of the field lengths."""
    for field, lengths in index.lengths.items():
        facts = facts.append_column(f"length_{field}", pa.array(lengths))
    return facts


def _with_page_facts(docs: pa.Table, facts: pa.ChunkedArray) -> pa.Table:
    """`docs` with the facts of documents by which queries filter, if there are any."""
    if facts.null_count == len(facts):
        return docs
    found = [[fact for fact in each or () if fact[0] not in ERRORS] or None for each in facts.to_pylist()]
    return docs.append_column("facts", pa.array(found, facts.type)) if any(found) else docs


def url_text(url: str) -> str:
    """The words of a URL, also of one as people type it, without the parts that most URLs share.

    >>> url_text("https://www.example.org/wiki/Full_text%20search.html?lang=en"), url_text("page.html#top")
    ('example.org/wiki/Full_text search lang=en', 'page')
    """
    address, _, query = re.sub(r"(?i)^https?://|#.*", "", url).partition("?")
    address = re.sub(r"(?<=/)index\.\w+$|(?<=[^/])\.(?:html?|php|aspx?)$", "", address.removeprefix("www."))
    return unquote(f"{address} {query}").strip()


def in_order(documents: pa.Table) -> Longs:
    """The row numbers of documents in the order of a segment: by reversed host and URL."""
    hosts = [".".join(reversed(host.split("."))) for host in documents["host"].to_pylist()]
    keys = list(zip(hosts, documents["url"].to_pylist(), strict=True))
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)


def _texts(documents: pa.Table) -> Mapping[str, list[str]]:
    """The texts of the documents by field, as `invert` takes them."""
    return {
        "title": [title or "" for title in documents["title"].to_pylist()],
        "body": [text or "" for text in documents["text"].to_pylist()],
        "headings": ["\n".join(headings or ()) for headings in documents["headings"].to_pylist()],
        "url": [url_text(url) for url in documents["url"].to_pylist()],
    }


def with_classes(
    found: Sequence[Sequence[tuple[int, str]]], languages: Sequence[str | None]
) -> list[list[tuple[int, str]]]:
    """Further terms of documents with their places, as word classes of each document's language."""
    stemmed = list(map(stemmed_as, languages))
    used: defaultdict[str, set[str]] = defaultdict(set)
    for of_document, language in zip(found, stemmed, strict=True):
        used[language].update(term for _, term in of_document)
    classes = {
        language: dict(zip(some, word_classes(list(some), language), strict=True)) for language, some in used.items()
    }
    return [
        [(place, classes[language][term]) for place, term in of_document]
        for of_document, language in zip(found, stemmed, strict=True)
    ]


def _morphemes(texts: Mapping[str, Sequence[str]], languages: Sequence[str | None]) -> dict[str, list[list[str]]]:
    """By field, the morphemes of the documents in Korean, with the term ANALYSED in the body."""
    is_korean = [language == "ko" for language in languages]
    found = {
        field: [morphemes(text) if korean else [] for text, korean in zip(texts[field], is_korean, strict=True)]
        for field in ("title", "body", "headings")
    }
    found["body"] = [
        [*terms, ANALYSED] if korean else [] for terms, korean in zip(found["body"], is_korean, strict=True)
    ]
    return found


def _rows(starts: Longs, most: int) -> tuple[Longs, Longs]:
    """For each row the number of its term, and its first posting; then the number of postings.

    >>> [array.tolist() for array in _rows(np.array([0, 2, 7]), 2)]
    [[0, 1, 1, 1], [0, 2, 4, 6, 7]]
    """
    counts = -(-np.diff(starts) // most)
    terms: Longs = np.repeat(np.arange(len(counts)), counts)
    firsts = starts[terms] + most * ranges(np.zeros_like(counts), counts)
    return terms, np.append(firsts, starts[-1])


def _postings(index: Inverted, terms: Longs, starts: Longs) -> pa.Table:
    """The rows of an index, with the terms of these numbers and the postings from `starts` on."""
    occurrences = np.add.reduce(list(index.frequencies.values()))
    columns = {
        "term": pa.array(index.terms, pa.string()).take(pa.array(terms)),
        "df": pa.array(np.diff(starts), pa.int32()),
        "cf": pa.array(np.diff(offsets(occurrences)[starts]), pa.int64()),
        "docs": _lists(starts, gaps(index.docs, starts)),
        "tf": _lists(starts, pack(index.frequencies)),
    }
    if phrase_fields := [tf for field, tf in index.frequencies.items() if field in PHRASE_FIELDS]:
        counts = np.add.reduce(phrase_fields)
        columns["positions"] = _lists(offsets(counts)[starts], gaps(index.positions, np.cumsum(counts) - counts))
    return _required(columns)


def _forms(forms: Sequence[Forms]) -> pa.Table:
    columns = {
        "class": pa.array([row.word_class for row in forms], pa.string()),
        "language": pa.array([row.language for row in forms], pa.string()),
        "forms": pa.array([row.forms for row in forms], pa.list_(pa.string())),
    }
    return _required(columns)


def _docstore(documents: pa.Table) -> pa.Table:
    is_nosnippet = pc.fill_null(pc.equal(documents["max_snippet"], 0), False)
    hidden = pc.or_(pc.fill_null(documents["noarchive"], False), is_nosnippet)
    texts = documents["text"]
    if documents["nosnippet"].null_count < len(documents):
        pairs = zip(texts.to_pylist(), documents["nosnippet"].to_pylist(), strict=True)
        texts = pa.array([text and without_passages(text, bounds or ()) for text, bounds in pairs], pa.string())
    shown = pc.if_else(hidden, pa.scalar(None, pa.string()), texts)
    sections = pc.if_else(hidden, pa.scalar(None, pa.string()), _sections(documents))
    return documents.select(["title", "description"]).append_column("text", shown).append_column("sections", sections)


def _sections(documents: pa.Table) -> pa.Array:
    """The sections of each text without its `nosnippet` passages, as the docstore has them; null: none."""
    pairs = zip(documents["sections"].to_pylist(), documents["nosnippet"].to_pylist(), strict=True)
    kept = (section.without_passages(map(_section, found or ()), bounds or ()) for found, bounds in pairs)
    return pa.array([section.to_text(sections) or None for sections in kept], pa.string())


def _section(row: Mapping[str, Any]) -> section.Section:
    return section.Section(row["offset"], row["length"], row["level"], section.usable_id(row["id"] or ""))


def without_passages(text: str, bounds: Sequence[int]) -> str:
    """The text without the passages that start and end at these characters (start, end, start, end, …).

    >>> without_passages("one two three", [4, 8])
    'one three'
    """
    starts, ends = [0, *bounds[1::2]], [*bounds[::2], len(text)]
    return "".join(text[start:end] for start, end in zip(starts, ends, strict=True))


def _lists(starts: Longs, values: npt.NDArray[np.generic]) -> pa.Array:
    elements = pa.array(values)
    return pa.ListArray.from_arrays(pa.array(starts, pa.int32()), elements, numbers(elements.type))


def _docstore_groups(rows: pa.Table) -> Iterator[pa.Table]:
    for part in groups(rows, slices(rows.num_rows, DOCSTORE_GROUP)):
        yield from groups(part, slices(part.num_rows, 1 if part.nbytes > DOCSTORE_BYTES else DOCSTORE_GROUP))


def _required(columns: Mapping[str, pa.Array]) -> pa.Table:
    """A table of columns that are declared non-nullable."""
    return pa.table(columns, pa.schema([pa.field(name, column.type, False) for name, column in columns.items()]))


def _row_groups(starts: Longs) -> Iterator[int]:
    """The number of rows of each row group, so that none has more than ROW_GROUP_POSTINGS."""
    term = 0
    while term < len(starts) - 1:
        end = int(np.searchsorted(starts, starts[term] + ROW_GROUP_POSTINGS, "right")) - 1
        yield max(end, term + 1) - term
        term = max(end, term + 1)
