"""Verifies that the files of an index are consistent (`write_segment` has the format)."""

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from beamtrawl.transforms.directory.crawl_dir import CrawlDirError
from beamtrawl.transforms.indexing.analysis import is_further
from beamtrawl.transforms.indexing.invert import PHRASE_FIELDS, Ints, Inverted, Longs
from beamtrawl.transforms.indexing.light_stems import STEMS
from beamtrawl.transforms.indexing.live_segments import LiveIndex, LiveSegment
from beamtrawl.transforms.indexing.packing import max_frequency, undo_gaps
from beamtrawl.transforms.indexing.read_segment import decode, lists, read_footer, read_parts, whole_terms
from beamtrawl.transforms.indexing.row_groups import RowGroups
from beamtrawl.transforms.indexing.segment_files import packed_groups, read_file, row_groups
from beamtrawl.transforms.indexing.term_forms import Forms, forms_of, languages_of, stemmed_as, terms_by_language
from beamtrawl.transforms.indexing.tombstones import alive, read_tombstones
from beamtrawl.transforms.indexing.write_segment import DOCS, DOCSTORE, FORMS, POSTINGS, in_order
from beamtrawl.transforms.tables.list_offsets import offsets
from beamtrawl.transforms.tables.schemas import KEY


def index_faults(root: str, index: LiveIndex) -> Iterator[str]:
    """The faults of a live index, a line each, with the file. Holds one block of terms in memory at a time."""
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
    if duplicates := sum(map(len, found)) - pc.count_distinct(pa.chunked_array(found, KEY)).as_py():
        yield f"index: {duplicates} pages are found twice"


def _segment_faults(root: str, segment: LiveSegment, docs: pa.Table) -> Iterator[str]:
    languages = docs["language"].to_pylist()
    yield from _folder_faults(root, segment.folder, [POSTINGS, FORMS, DOCSTORE], docs, languages)
    rows = sum(part.num_rows for part in read_parts(root, f"{segment.folder}/{DOCSTORE}"))
    if rows != docs.num_rows:
        yield f"{segment.folder}/{DOCSTORE}: it has {rows} rows, there are {docs.num_rows} documents"
    if not np.array_equal(in_order(docs), np.arange(docs.num_rows)):
        yield f"{segment.folder}/{DOCS}: documents are not sorted by host and URL"
    if segment.links:
        of_links = read_file(root, f"{segment.links}/{DOCS}")
        yield from _folder_faults(root, segment.links, [POSTINGS, FORMS], of_links, languages)


def embedded(root: str, folder: str) -> dict[str, RowGroups]:
    """The row groups that `write_opening` embedded, by file name."""
    packed = packed_groups(read_footer(root, f"{folder}/{DOCS}"))
    return {name: row_groups(packed, name) for name in (key.split(".", 2)[2] for key in packed)}


def _stemmed_in(languages: Sequence[str | None], written: Collection[str]) -> list[str]:
    """`stemmed_as` of documents in a folder, by the languages that its forms have.

    Segments of earlier versions have no stems of the languages of `light_stems`.
    """
    return [stem if stem not in STEMS or stem in written else "" for stem in map(stemmed_as, languages)]


def _folder_faults(
    root: str, folder: str, names: Sequence[str], docs: pa.Table, languages: Sequence[str | None]
) -> Iterator[str]:
    known = embedded(root, folder)
    for name in names:
        if name not in known or known[name].render() != RowGroups.of(read_footer(root, f"{folder}/{name}")).render():
            yield f"{folder}/{DOCS}: the row groups of {name} that it has are missing or differ"  # lookups use these
    forms = read_file(root, f"{folder}/{FORMS}")
    postings = read_parts(root, f"{folder}/{POSTINGS}")
    yield from (f"{folder}/{fault}" for fault in folder_faults(postings, forms, docs, languages))


def folder_faults(
    postings: Iterable[pa.Table], forms: pa.Table, docs: pa.Table, languages: Sequence[str | None]
) -> Iterator[str]:
    """The faults of the files of a folder, about documents of these languages; each line begins with the file.

    The postings come in blocks of terms. Other files are compared with the postings only if these have no faults.
    """
    if docs.num_rows != len(languages):
        yield f"{DOCS}: it has {docs.num_rows} rows, there are {len(languages)} documents"
        return
    totals = _PostingsTotals(docs, _stemmed_in(languages, set(forms["language"].to_pylist())))
    is_sound, last = True, ""
    for table in whole_terms(postings):
        faults = list(_block_faults(table, totals))
        terms = table["term"].to_pylist()
        pairs = zip([last, *terms], terms, _continues(table["docs"]), strict=False)
        unsorted = np.array([one > other or (one == other and not rises) for one, other, rises in pairs], bool)
        faults += _report("terms are not sorted, each once", unsorted, terms)
        last = terms[-1] if terms else last
        is_sound = is_sound and not faults
        yield from (f"{POSTINGS}: {fault}" for fault in faults)
    if is_sound:
        yield from totals.faults(forms)


class _PostingsTotals:
    """Totals of postings by document, for comparison with the other files of the folder."""

    def __init__(self, docs: pa.Table, stemmed: Sequence[str]) -> None:
        self.lengths = {
            name.removeprefix("length_"): docs[name].to_numpy()
            for name in docs.column_names
            if name.startswith("length_")
        }
        self.documents, self._languages = len(stemmed), languages_of(stemmed)
        self._sums = {field: np.zeros(self.documents) for field in self.lengths}
        # The largest frequency may stand for a larger one (`packing.pack`); the excess of titles is in body.
        self._full = {field: np.zeros(self.documents, bool) for field in self.lengths}
        self._terms: defaultdict[str, list[str]] = defaultdict(list)
        title, body = (self.lengths.get(field, np.empty(0, np.int32)) for field in PHRASE_FIELDS)
        self.begins = offsets(title.astype(np.int64) + 1 + body)
        """The first place of each document, when those of all are numbered through; one between fields is unused."""
        self._taken = np.zeros(self.begins[-1], bool)
        self._taken[self.begins[:-1] + title] = True

    def add(self, index: Inverted) -> None:
        counted = ~np.repeat(_are_further(index), np.diff(index.starts))
        for field, frequency in index.frequencies.items():
            self._sums[field] += np.bincount(index.docs, frequency * counted, minlength=self.documents)
            self._full[field][index.docs[frequency == max_frequency(field)]] = True
        for language, terms in terms_by_language(index, self._languages).items():
            self._terms[language] += terms

    def take(self, places: Longs) -> None:
        self._taken[places] = True

    def faults(self, forms: pa.Table) -> Iterator[str]:
        for field, lengths in self.lengths.items():
            wrong = (self._sums[field] != lengths) & ~self._full["title" if field == "body" else field]
            if wrong.any():
                yield f"{DOCS}: length_{field} is not the sum of the frequencies, in {int(wrong.sum())} documents"
        # There are as many positions as places, so if one place is taken twice, another is unused.
        if not self._taken.all():
            unused = _sums(~self._taken, self.begins) > 0
            yield f"{POSTINGS}: a position has no term or several, in {int(unused.sum())} documents"
        found = [Forms(row["class"], row["language"], row["forms"]) for row in forms.to_pylist()]
        pairs = itertools.zip_longest(found, forms_of(self._terms))
        if wrong_forms := [one or other for one, other in pairs if one != other]:
            first = wrong_forms[0].word_class
            yield f"{FORMS}: {len(wrong_forms)} rows do not agree with the postings, the first is of {first!r}"


def _block_faults(table: pa.Table, totals: _PostingsTotals) -> Iterator[str]:
    """The faults of a block of postings; adds its totals by document where the numbers are usable."""
    terms, df = table["term"].to_pylist(), table["df"].to_numpy()
    ragged = {name: pc.list_value_length(table[name]).to_numpy() != df for name in ("docs", "tf")}
    for name, wrong in ragged.items():
        yield from _report(f"df is not the length of {name}", wrong, terms)
    if any(wrong.any() for wrong in ragged.values()):
        return
    index = decode(table, list(totals.lengths))
    occurrences = np.add.reduce([tf.astype(np.int64) for tf in index.frequencies.values()])
    outside = (index.docs < 0) | (index.docs >= totals.documents)
    for what, postings in {
        "document numbers do not rise": ~_rising(index.docs, index.starts),
        "document numbers are out of range": outside,
        "a document does not have the term": occurrences <= 0,
    }.items():
        yield from _report(what, _sums(postings, index.starts) > 0, terms)
    yield from _report("cf is not the sum of tf", _sums(occurrences, index.starts) != table["cf"].to_numpy(), terms)
    if not outside.any():
        totals.add(index)
        if "positions" in table.column_names:
            yield from _positions_faults(index, table["positions"], totals)


def _positions_faults(index: Inverted, column: pa.ChunkedArray, totals: _PostingsTotals) -> Iterator[str]:
    counts = np.add.reduce([index.frequencies[field] for field in PHRASE_FIELDS])
    starts, gaps = lists(column)
    ragged = np.diff(starts) != _sums(counts, index.starts)
    yield from _report("there are not as many positions as occurrences", ragged, index.terms)
    if ragged.any():
        return
    positions, docs = undo_gaps(gaps, counts), np.repeat(index.docs, counts)
    places = totals.begins[docs] + positions
    wrong = ~_rising(positions, offsets(counts)) | (positions < 0) | (places >= totals.begins[docs + 1])
    yield from _report("positions do not rise within the document", _sums(wrong, starts) > 0, index.terms)
    if not wrong.any():  # identifiers and pairs are where their first part is
        totals.take(places[~np.repeat(_are_further(index), np.diff(starts))])


def _are_further(index: Inverted) -> npt.NDArray[np.bool_]:
    """Whether each term is an identifier or a pair, which do not count for the length of a text."""
    return np.array([is_further(term) for term in index.terms], bool)


def _continues(docs: pa.ChunkedArray) -> list[bool]:
    """Whether the documents of each row come after those of the row before, as those of a term in several rows do."""
    starts, gaps = lists(docs)
    firsts, lasts = np.append(gaps, 0)[starts[:-1]], _sums(gaps, starts)
    rises: list[bool] = (firsts > np.append(-1, lasts)[:-1]).tolist()
    return rises


def _rising(values: Ints, starts: Longs) -> npt.NDArray[np.bool_]:
    """Whether each value is larger than its predecessor in its run."""
    rising = np.diff(values, prepend=0) > 0
    rising[starts[starts < len(values)]] = True
    return rising


def _sums(values: npt.NDArray[Any], starts: Longs) -> Longs:
    """The sum of each run; a run may be empty."""
    return np.diff(offsets(values)[starts])


def _report(what: str, wrong: npt.NDArray[np.bool_], terms: Sequence[str]) -> Iterator[str]:
    if wrong.any():
        yield f"{what}, in {int(wrong.sum())} terms, the first is {terms[int(wrong.argmax())]!r}"
