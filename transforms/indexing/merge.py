"""Merges index segments: the result equals an index of their documents made in one piece.

Texts are not analysed again. The postings of all parts are sorted by term and new document number, as pairs in one
number; those of omitted documents are dropped, and so are terms without postings.
"""

import bisect
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..memory.bounds import ONE, Parts
from ..tables.batches import cuts
from ..tables.list_offsets import offsets, ranges
from ..tables.table_files import TableFile
from .invert import OWN_FIELDS, PHRASE_FIELDS, Inverted, Longs
from .link_folders import write_link_index
from .read_segment import BLOCK, read_blocks, read_footer, read_rows
from .segment_files import read_file
from .write_segment import DOCS, DOCSTORE, DOCSTORE_GROUP, ROW_GROUP_POSTINGS, ROW_POSTINGS, in_order, write_index

Bools = npt.NDArray[np.bool_]

BLOCKS = 5 * BLOCK
"""Row groups of postings that are read ahead of what is merged, of all parts; one of each part at least."""

MERGED_POSTINGS = 40 * ROW_GROUP_POSTINGS
"""Postings that are merged at a time."""

TEXT_BYTES = 8 << 20
"""Bytes of the texts that are in memory at a time, more if `DOCSTORE_GROUP` documents have more."""


class Part(NamedTuple):
    """A segment that is merged with others."""

    folder: str
    links: str | None  # the folder with its link data
    alive: Bools  # its documents that are kept


def merge(parts: Sequence[Inverted], numbers: Sequence[Longs], documents: int) -> Inverted:
    """One index of `documents` documents; `numbers[k][d]` is the new number of document d of part k, or -1 to omit it.

    The parts have the same fields. A part may repeat a term with further documents.
    """
    terms = sorted(set[str]().union(*(part.terms for part in parts)))
    place = {term: number for number, term in enumerate(terms)}
    keys, kept, counts, firsts, begin = [], [], [], [], 0
    for part, number in zip(parts, numbers, strict=True):
        places = np.fromiter(map(place.__getitem__, part.terms), np.int64, len(part.terms))
        docs = number[part.docs]
        kept.append(docs >= 0)
        keys.append((np.repeat(places, np.diff(part.starts)) << 32 | docs)[kept[-1]])
        count = _positions_of_postings(part)
        counts.append(count[kept[-1]])
        firsts.append((begin + np.cumsum(count) - count)[kept[-1]])
        begin += len(part.positions)
    key, count = np.concatenate(keys), np.concatenate(counts)
    order = np.argsort(key, kind="stable")  # timsort merges the runs of the parts, which are sorted
    key, count = key[order], count[order]
    term = key >> 32
    starts = np.flatnonzero(np.diff(term, prepend=-1, append=len(terms)))
    positions = np.concatenate([part.positions for part in parts])
    return Inverted(
        [terms[number] for number in term[starts[:-1]].tolist()],
        starts,
        (key & 0xFFFFFFFF).astype(np.int32),
        {
            field: np.concatenate([p.frequencies[field][keep] for p, keep in zip(parts, kept, strict=True)])[order]
            for field in parts[0].frequencies
        },
        offsets(count)[starts],
        positions[ranges(np.concatenate(firsts)[order], count)],
        {field: _renumbered([p.lengths[field] for p in parts], numbers, documents) for field in parts[0].lengths},
    )


def merge_blocks(
    parts: Sequence[Iterator[Inverted]], numbers: Sequence[Longs], least: int = MERGED_POSTINGS
) -> Iterator[Inverted]:
    """`merge` for parts that come in blocks of terms, in order; the result comes in blocks too, without lengths.

    Blocks of at least so many postings are merged at a time, besides which one of each part is in memory.
    """
    heads = {number: next(part) for number, part in enumerate(parts)}
    taken, size = list[tuple[Inverted, Longs]](), 0
    while heads:
        first = min(heads, key=lambda number: heads[number].terms[-1:])  # all parts have been read up to its end
        head, following = heads.pop(first), next(parts[first], None)
        taken.append((head, numbers[first]))
        size += len(head.docs)
        if following:
            heads[first] = following
        if size >= least or not heads:
            for number, each in heads.items():
                cut = bisect.bisect_right(each.terms, head.terms[-1])
                taken.append((terms_of(each, 0, cut), numbers[number]))
                heads[number] = terms_of(each, cut, len(each.terms))
            pieces, of_pieces = zip(*taken, strict=True)
            yield merge(pieces, of_pieces, 0)
            taken, size = [], 0


def merge_segments(
    root: str, parts: Sequence[Part], folder: str, links: str, row_postings: int = ROW_POSTINGS, sizes: Parts = ONE
) -> list[TableFile]:
    """Write one segment of all documents that are kept, and their link data to the folder `links`; return the files.

    `links` is written only if any part had link data. At least one document must be kept. `sizes` bounds what is in
    memory at a time; the rows of the files do not depend on it.
    """
    block = max(1, min(BLOCK, sizes.share(BLOCKS) // len(parts)))
    docs = _concat([read_file(root, f"{part.folder}/{DOCS}") for part in parts], parts)
    order = in_order(docs)
    numbers = _numbers([part.alive for part in parts], order)
    docs = docs.take(order)
    blocks = merge_blocks([read_blocks(root, part.folder, OWN_FIELDS, block) for part in parts], numbers)
    paths = [f"{part.folder}/{DOCSTORE}" for part in parts]
    docstore = _merged_rows(root, paths, numbers, sizes.share(TEXT_BYTES))
    files = write_index(root, folder, blocks, docs, docstore, row_postings)
    if not any(part.links for part in parts):
        return files
    of_links = _concat([_read_links(root, part) for part in parts], parts).take(order)
    found = [read_blocks(root, part.links, ["anchors"], block) if part.links else iter([_NOTHING]) for part in parts]
    merged = merge_blocks(found, numbers)
    return files + write_link_index(root, links, docs["language"].to_pylist(), merged, of_links, row_postings)


_NONE, _BEGIN = np.empty(0, np.int32), np.zeros(1, np.int64)
_NOTHING = Inverted([], _BEGIN, _NONE, {"anchors": _NONE}, _BEGIN, _NONE, {})


def blocks_of(index: Inverted, terms: int) -> Iterator[Inverted]:
    """An index in blocks of so many terms, at least one block, without lengths."""
    for first in range(0, max(1, len(index.terms)), terms):
        yield terms_of(index, first, min(first + terms, len(index.terms)))


def terms_of(index: Inverted, first: int, end: int) -> Inverted:
    """The part of an index with the terms numbered from `first` up to `end`, without lengths."""
    postings = slice(index.starts[first], index.starts[end])
    positions = slice(index.position_starts[first], index.position_starts[end])
    return Inverted(
        index.terms[first:end],
        index.starts[first : end + 1] - index.starts[first],
        index.docs[postings],
        {field: frequency[postings] for field, frequency in index.frequencies.items()},
        index.position_starts[first : end + 1] - index.position_starts[first],
        index.positions[positions],
        {},
    )


def _merged_rows(root: str, paths: Sequence[str], numbers: Sequence[Longs], most: int) -> Iterator[pa.Table]:
    """The rows of one file of each part, in the order of the new document numbers, so many bytes at a time.

    All tables but the last have a multiple of DOCSTORE_GROUP rows.
    """
    sizes = np.empty(sum(int((number >= 0).sum()) for number in numbers), np.int64)
    for path, number in zip(paths, numbers, strict=True):
        sizes[number[number >= 0]] = _sizes_of_rows(root, path)[number >= 0]
    of_groups = np.add.reduceat(sizes, np.arange(0, len(sizes), DOCSTORE_GROUP))
    bounds = [DOCSTORE_GROUP * first for first, _ in cuts(of_groups.tolist(), most)]
    part_of = [np.searchsorted(bounds, number, "right") for number in numbers]  # from 1 on; 0: omitted
    picked = [[np.flatnonzero(part == n + 1) for n in range(len(bounds))] for part in part_of]
    readers = [read_rows(root, path, rows) for path, rows in zip(paths, picked, strict=True)]
    for rows, tables in zip(zip(*picked, strict=True), zip(*readers, strict=True), strict=True):
        table = pa.concat_tables(tables, promote_options="default")  # segments of earlier versions have no sections
        if "sections" not in table.column_names:
            table = table.append_column("sections", pa.nulls(len(table), pa.string()))
        places = np.concatenate([number[docs] for number, docs in zip(numbers, rows, strict=True)])
        yield table.take(np.argsort(places)).combine_chunks()


def _sizes_of_rows(root: str, path: str) -> Longs:
    """The bytes of each row of a file, uncompressed: the mean of its row group."""
    footer = read_footer(root, path)
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    rows = [group.num_rows for group in groups]
    return np.repeat(np.array([group.total_byte_size // max(1, group.num_rows) for group in groups], np.int64), rows)


def _positions_of_postings(index: Inverted) -> Longs:
    counts = np.zeros(len(index.docs), np.int64)
    for field in PHRASE_FIELDS:
        counts += index.frequencies.get(field, 0)
    return counts


def _concat(tables: Sequence[pa.Table], parts: Sequence[Part]) -> pa.Table:
    """The rows of the kept documents, from one table of each part."""
    kept = [table.filter(pa.array(part.alive)) for table, part in zip(tables, parts, strict=True)]
    return pa.concat_tables(kept, promote_options="default").combine_chunks()  # not all segments have facts


def _read_links(root: str, part: Part) -> pa.Table:
    """The `docs` of the link folder of a part; no anchors and rank 0 where links were not ranked yet."""
    if part.links:
        return read_file(root, f"{part.links}/{DOCS}")
    zeros = np.zeros(len(part.alive))
    return pa.table({"link_rank": pa.array(zeros, pa.float32()), "length_anchors": pa.array(zeros, pa.int32())})


def _numbers(alive: Sequence[Bools], order: Longs) -> list[Longs]:
    """The new number of each document of the parts, -1 if omitted; `order` sorts the kept documents of all parts."""
    new = np.empty(len(order), np.int64)
    new[order] = np.arange(len(order))
    numbers = np.full(sum(map(len, alive)), -1, np.int64)
    numbers[np.concatenate(alive)] = new
    return np.split(numbers, np.cumsum([len(part) for part in alive])[:-1])


def _renumbered(columns: Sequence[npt.NDArray[Any]], numbers: Sequence[Longs], documents: int) -> npt.NDArray[Any]:
    """One column of the documents of all parts, in the order of the new numbers."""
    number = np.concatenate(numbers)
    result = np.empty(documents, columns[0].dtype)
    result[number[number >= 0]] = np.concatenate(columns)[number >= 0]
    return result
