"""Exports the index for other engines: each document as a bag of words, in one CIFF file.

Other engines look terms up as they are. So an exported term is the class of a word in the language of the document
(`analysis.word_class`), and its frequency is that in title and body: headings are part of the body, and URL and anchors
are not text of the document. The length of a document is exactly the sum of its frequencies.
"""

import heapq
import itertools
import operator
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import pyarrow as pa

from ...search.answers.searcher import Index
from ...search.index.postings import Ints
from ...search.index.segment import Segment
from ...search.index.segments import Mask
from ...transforms.indexing import ciff
from ...transforms.indexing.analysis import is_further, word_classes
from ...transforms.indexing.invert import PHRASE_FIELDS, Longs
from ...transforms.indexing.korean import PREFIX

DESCRIPTION = (
    "Beamtrawl: title and body of web pages. Words of letters and digits, NFKC and case-folded; Snowball stems by the"
    " language of the page, without accents; Chinese, Japanese and Korean as bigrams of characters; no stop words"
    " removed. Documents are named by their URLs."
)

_NONE = np.empty(0, np.int32)
_ROWS = 4_096  # terms of a run in memory at a time


class _Bag(NamedTuple):
    """The documents that contain a term, ascending, and its frequency in each."""

    term: str
    docs: Ints
    frequencies: Ints


def write_ciff(index: Index, sink: IO[bytes]) -> ciff.Header:
    """Write the documents that a search can find as a CIFF file.

    Documents are numbered in the order of the segments. Takes the memory of one segment, about 400 bytes a posting, and
    twice the size of the uncompressed file in the folder for temporary files.
    """
    with tempfile.TemporaryDirectory() as name, Path(name, "lists").open("w+b") as spool:
        runs: list[Path] = []
        lengths: list[Ints] = []  # by segment, of the exported documents
        lists = 0
        for number, (segment, mask) in enumerate(index.parts()):
            runs.append(Path(name, str(number)))
            lengths.append(_write_run(runs[-1], segment, mask, sum(map(len, lengths))))
        for bag in _merged(runs):
            spool.write(ciff.postings_list(bag.term, np.diff(bag.docs, prepend=0).tolist(), bag.frequencies.tolist()))
            lists += 1
        tokens = sum(int(of_segment.sum()) for of_segment in lengths)
        header = ciff.Header(lists, sum(map(len, lengths)), tokens, DESCRIPTION)
        sink.write(ciff.header(header))
        spool.seek(0)
        shutil.copyfileobj(spool, sink)
    urls = (segment.facts["url"].filter(pa.array(mask)).to_pylist() for segment, mask in index.parts())
    records = zip(itertools.chain.from_iterable(urls), np.concatenate([_NONE, *lengths]).tolist(), strict=True)
    for number, (url, length) in enumerate(records):
        sink.write(ciff.doc_record(number, url, length))
    return header


def _write_run(path: Path, segment: Segment, mask: Mask, first: int) -> Ints:
    """Write the bags of a segment, sorted by term, and return the lengths of the exported documents.

    Exported documents are numbered from `first` on. Korean morphemes, identifiers and pairs are left out: they
    repeat other terms.
    """
    terms, starts, docs, by_field, *_ = segment.inverted()
    frequencies = np.add.reduce([by_field[field] for field in PHRASE_FIELDS])
    is_word = np.array([not (term.startswith(PREFIX) or is_further(term)) for term in terms], bool)
    counted = mask[docs] & (frequencies > 0) & np.repeat(is_word, np.diff(starts))
    docs, frequencies = docs[counted], frequencies[counted]
    names, classes = _classes(segment, terms, np.repeat(np.arange(len(terms)), np.diff(starts))[counted], docs)
    # A posting each, in one number that sorts as term and document do.
    numbers = first - 1 + np.cumsum(mask)
    keys, places = np.unique(classes << 32 | numbers[docs], return_inverse=True)
    sums = np.bincount(places, frequencies, len(keys)).astype(np.int32)
    ends = np.searchsorted(keys, np.arange(len(names) + 1) << 32)
    lists = (pa.ListArray.from_arrays(ends.astype(np.int32), v) for v in ((keys & 0xFFFFFFFF).astype(np.int32), sums))
    table = pa.table([pa.array(names, pa.string()), *lists], list(_Bag._fields))
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, _ROWS)
    return np.bincount(numbers[docs] - first, frequencies, int(mask.sum())).astype(np.int32)


def _classes(segment: Segment, terms: list[str], term_of: Longs, docs: Ints) -> tuple[list[str], Longs]:
    """The distinct word classes of postings, sorted, and the class number of each posting (a term and a document)."""
    languages = segment.languages.codes[docs]
    used = np.zeros((len(segment.languages.names), len(terms)), bool)
    used[languages, term_of] = True
    class_of = [
        word_classes([terms[number] for number in np.flatnonzero(row)], language)
        for row, language in zip(used, segment.languages.names, strict=True)
    ]
    names = sorted(set().union(*class_of))
    numbers = {name: number for number, name in enumerate(names)}
    table = np.zeros(used.shape, np.int64)
    table[used] = [numbers[name] for row in class_of for name in row]
    return names, table[languages, term_of]


def _merged(runs: list[Path]) -> Iterator[_Bag]:
    """The bags of all runs, merged by term."""
    parts = heapq.merge(*map(_read_run, runs), key=operator.attrgetter("term"))
    for term, bags in itertools.groupby(parts, operator.attrgetter("term")):
        same = list(bags)  # of runs in their order, so documents rise
        yield _Bag(term, np.concatenate([bag.docs for bag in same]), np.concatenate([bag.frequencies for bag in same]))


def _read_run(path: Path) -> Iterator[_Bag]:
    with pa.memory_map(str(path)) as file:
        reader = pa.ipc.open_file(file)
        for number in range(reader.num_record_batches):
            terms, *lists = reader.get_batch(number).columns
            starts = lists[0].offsets.to_numpy()
            docs, frequencies = (column.values.to_numpy() for column in lists)
            for term, first, end in zip(terms.to_pylist(), starts, starts[1:], strict=False):
                yield _Bag(term, docs[first:end], frequencies[first:end])
