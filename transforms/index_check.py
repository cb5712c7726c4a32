"""Whether the files of an index hold together (`index` says what must hold)."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from transforms.crawl_dir import CrawlDirError
from transforms.index import DOCS, DOCSTORE, FORMS, POSTINGS, greatest, in_order, undo_gaps
from transforms.index_files import footers
from transforms.index_forms import Forms, forms_of, stemmed_as
from transforms.index_invert import OWN_FIELDS, PHRASE_FIELDS, Ints, Inverted, Longs
from transforms.index_read import decode, lists, read_file, read_footer
from transforms.segments import LiveIndex, LiveSegment
from transforms.tables import KEY
from transforms.tombstones import alive, read_tombstones


def index_faults(root: str, index: LiveIndex) -> Iterator[str]:
    """What is wrong with an index that is searched: a line each, with the file. One segment at a time is in memory."""
    try:
        tombstones = read_tombstones(root, [file.path for _, file in index.tombstones])
    except CrawlDirError as error:
        yield str(error)
        return
    found = []
    for segment in index.segments:
        try:
            docs = read_file(root, f"{segment.folder}/{DOCS}")
            yield from _segment_faults(root, segment, docs)
            found += docs["url_key"].filter(pa.array(alive(docs["url_key"], segment.round, tombstones))).chunks
        except CrawlDirError as error:
            yield str(error)
    if twice := sum(map(len, found)) - pc.count_distinct(pa.chunked_array(found, KEY)).as_py():
        yield f"index: {twice} pages are found twice"


def _segment_faults(root: str, segment: LiveSegment, docs: pa.Table) -> Iterator[str]:
    languages = docs["language"].to_pylist()
    files = {name: read_file(root, f"{segment.folder}/{name}") for name in (POSTINGS, FORMS, DOCSTORE)}
    yield from _footer_faults(root, segment.folder, list(files))
    yield from (f"{segment.folder}/{fault}" for fault in folder_faults(files | {DOCS: docs}, languages, OWN_FIELDS))
    if not np.array_equal(in_order(docs), np.arange(docs.num_rows)):
        yield f"{segment.folder}/{DOCS}: documents are not sorted by host and URL"
    if segment.links:
        files = {name: read_file(root, f"{segment.links}/{name}") for name in (POSTINGS, FORMS, DOCS)}
        yield from _footer_faults(root, segment.links, [POSTINGS, FORMS])
        yield from (f"{segment.links}/{fault}" for fault in folder_faults(files, languages, ["anchors"]))


def _footer_faults(root: str, folder: str, names: Sequence[str]) -> Iterator[str]:
    """Lookups trust the footers that `docs` has of the other files."""
    known = footers(read_footer(root, f"{folder}/{DOCS}"))
    for name in names:
        if name not in known or not known[name].equals(read_footer(root, f"{folder}/{name}")):
            yield f"{folder}/{DOCS}: it does not have the footer of {name}"


def folder_faults(
    files: Mapping[str, pa.Table], languages: Sequence[str | None], fields: Sequence[str]
) -> Iterator[str]:
    """What is wrong with the files of a folder, by name, for documents of these languages and an index of these fields.

    Where rows or lists do not match, the rest cannot be compared, and is not looked at.
    """
    faults = list(_ragged(files, len(languages)))
    if not faults:
        index = decode(files[POSTINGS], files[DOCS], fields)
        faults += _postings_faults(index, files[POSTINGS]["cf"].to_numpy())
        if index.docs.min(initial=0) >= 0 and index.docs.max(initial=-1) < len(languages):
            faults += _lengths_faults(index)
            faults += _forms_faults(index, files[FORMS], languages)
            if "positions" in files[POSTINGS].column_names:
                faults += _positions_faults(index, files[POSTINGS]["positions"])
    yield from faults


def _ragged(files: Mapping[str, pa.Table], documents: int) -> Iterator[str]:
    for name in (DOCS, DOCSTORE):
        if name in files and files[name].num_rows != documents:
            yield f"{name}: it has {files[name].num_rows} rows, there are {documents} documents"
    postings = files[POSTINGS]
    terms, df = postings["term"].to_pylist(), postings["df"].to_numpy()
    for name in ("docs", "tf"):
        wrong = pc.list_value_length(postings[name]).to_numpy() != df
        yield from _told(f"{POSTINGS}: df is not the length of {name}", wrong, terms)


def _postings_faults(index: Inverted, cf: Longs) -> Iterator[str]:
    unsorted = [one >= other for one, other in itertools.pairwise(index.terms)]
    yield from _told(f"{POSTINGS}: terms are not sorted, each once", np.array([False, *unsorted]), index.terms)
    documents = len(next(iter(index.lengths.values())))
    occurrences = np.add.reduce([tf.astype(np.int64) for tf in index.frequencies.values()])
    wrong = {
        "document numbers do not rise": ~_rising(index.docs, index.starts),
        "document numbers are out of range": (index.docs < 0) | (index.docs >= documents),
        "a document does not have the term": (occurrences <= 0) | (np.min([*index.frequencies.values()], axis=0) < 0),
    }
    for what, postings in wrong.items():
        yield from _told(f"{POSTINGS}: {what}", _sums(postings, index.starts) > 0, index.terms)
    yield from _told(f"{POSTINGS}: cf is not the sum of tf", _sums(occurrences, index.starts) != cf, index.terms)


def _lengths_faults(index: Inverted) -> Iterator[str]:
    # A frequency that is as large as it can be may stand for more (`index.pack`); what titles have beyond is in body.
    full = {field: index.docs[tf == greatest(field)] for field, tf in index.frequencies.items()}
    for field, lengths in index.lengths.items():
        wrong = np.bincount(index.docs, index.frequencies[field], minlength=len(lengths)) != lengths
        wrong[full["title" if field == "body" else field]] = False
        if wrong.any():
            yield f"{DOCS}: length_{field} is not the sum of the frequencies, in {int(wrong.sum())} documents"


def _forms_faults(index: Inverted, forms: pa.Table, languages: Sequence[str | None]) -> Iterator[str]:
    expected = forms_of(index, [stemmed_as(language) for language in languages])
    found = [Forms(row["class"], row["language"], row["forms"]) for row in forms.to_pylist()]
    if wrong := [one or other for one, other in itertools.zip_longest(found, expected) if one != other]:
        yield f"{FORMS}: {len(wrong)} rows are not what the postings say, the first is of {wrong[0]}"


def _positions_faults(index: Inverted, column: pa.ChunkedArray) -> Iterator[str]:
    counts = np.add.reduce([index.frequencies[field] for field in PHRASE_FIELDS])
    starts, gaps = lists(column)
    ragged = np.diff(starts) != _sums(counts, index.starts)
    yield from _told(f"{POSTINGS}: there are not as many positions as occurrences", ragged, index.terms)
    if ragged.any():
        return
    positions, docs = undo_gaps(gaps, counts), np.repeat(index.docs, counts)
    title, body = (index.lengths[field] for field in PHRASE_FIELDS)
    spans = title.astype(np.int64) + 1 + body
    wrong = ~_rising(positions, _starts(counts)) | (positions < 0) | (positions >= spans[docs])
    yield from _told(f"{POSTINGS}: positions do not rise within the document", _sums(wrong, starts) > 0, index.terms)
    if not wrong.any():
        begins = _starts(spans)
        taken = np.bincount(begins[docs] + positions, minlength=begins[-1])
        taken[begins[:-1] + title] += 1  # the place that is left free between the fields
        if (taken != 1).any():
            yield f"{POSTINGS}: of {int((_sums(taken != 1, begins) > 0).sum())} documents, not each place has one term"


def _rising(values: Ints, starts: Longs) -> npt.NDArray[np.bool_]:
    """Whether each value is more than the one before it in its run."""
    rising = np.diff(values, prepend=0) > 0
    rising[starts[starts < len(values)]] = True
    return rising


def _sums(values: npt.NDArray[Any], starts: Longs) -> Longs:
    """The sum of each run; runs may be empty."""
    return np.diff(_starts(values)[starts])


def _starts(counts: npt.NDArray[Any]) -> Longs:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def _told(what: str, wrong: npt.NDArray[np.bool_], terms: Sequence[str]) -> Iterator[str]:
    if wrong.any():
        yield f"{what}, in {int(wrong.sum())} terms, the first is {terms[int(wrong.argmax())]!r}"
