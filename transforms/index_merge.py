"""Merge index segments: the result is what indexing their documents together would have given.

Nothing is analysed anew. Postings of all parts are sorted by term and new document number, as pairs in one number;
those of documents that are left out fall away, and terms that nobody has any more with them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from transforms.index import DOCS, DOCSTORE, FACTS, in_order, write_index
from transforms.index_invert import OWN_FIELDS, PHRASE_FIELDS, Inverted, Longs
from transforms.index_links import write_link_index
from transforms.index_read import read_file, read_index

Bools = npt.NDArray[np.bool_]


class Part(NamedTuple):
    """A segment that is merged with others."""

    folder: str
    links: str | None  # the folder with what links say of it
    alive: Bools  # its documents that are kept


def merge(parts: Sequence[Inverted], numbers: Sequence[Longs], documents: int) -> Inverted:
    """One index of so many documents: `numbers[k][d]` is the new number of document d of part k, or -1: it is left out.

    The parts have the same fields.
    """
    terms = sorted(set[str]().union(*(part.terms for part in parts)))
    place = {term: number for number, term in enumerate(terms)}
    kept = [number[part.docs] >= 0 for part, number in zip(parts, numbers, strict=True)]
    keys, counts, firsts, begin = [], [], [], 0
    for part, number, keep in zip(parts, numbers, kept, strict=True):
        places = np.fromiter(map(place.__getitem__, part.terms), np.int64, len(part.terms))
        keys.append((np.repeat(places, np.diff(part.starts)) << 32 | number[part.docs])[keep])
        count = _positions_of_postings(part)
        counts.append(count[keep])
        firsts.append((begin + np.cumsum(count) - count)[keep])
        begin += len(part.positions)
    key, count = np.concatenate(keys), np.concatenate(counts)
    order = np.argsort(key, kind="stable")  # it merges runs that are sorted already, and those of the parts are
    key, count = key[order], count[order]
    used, term = np.unique(key >> 32, return_inverse=True)
    starts = _starts(np.bincount(term, minlength=len(used)))
    positions = np.concatenate([part.positions for part in parts])
    return Inverted(
        [terms[number] for number in used.tolist()],
        starts,
        (key & 0xFFFFFFFF).astype(np.int32),
        {
            field: np.concatenate([p.frequencies[field][keep] for p, keep in zip(parts, kept, strict=True)])[order]
            for field in parts[0].frequencies
        },
        _starts(count)[starts],
        positions[_ranges(np.concatenate(firsts)[order], count)],
        {field: _renumbered([p.lengths[field] for p in parts], numbers, documents) for field in parts[0].lengths},
    )


def merge_segments(root: str, parts: Sequence[Part], folder: str, links: str) -> bool:
    """Write one segment of all documents that are kept, and to `links` what links say of them.

    Whether any part had links: only then are they written. At least one document must be kept.
    """
    facts = _concat(root, parts, DOCS, FACTS)
    order = in_order(facts)
    facts = facts.take(order)
    numbers = _numbers([part.alive for part in parts], order)
    index = merge([read_index(root, part.folder, OWN_FIELDS) for part in parts], numbers, facts.num_rows)
    write_index(root, folder, index, facts, _concat(root, parts, DOCSTORE).take(order))
    if not any(part.links for part in parts):
        return False
    read = [_read_links(root, part) for part in parts]
    index = merge([anchors for anchors, _ in read], numbers, facts.num_rows)
    ranks = _renumbered([ranks for _, ranks in read], numbers, facts.num_rows)
    write_link_index(root, links, facts["language"].to_pylist(), index, ranks)
    return True


def _positions_of_postings(index: Inverted) -> Longs:
    counts = np.zeros(len(index.docs), np.int64)
    for field in PHRASE_FIELDS:
        counts += index.frequencies.get(field, 0)
    return counts


def _concat(root: str, parts: Sequence[Part], name: str, columns: Sequence[str] | None = None) -> pa.Table:
    """A file of all parts, as far as the documents are kept."""
    tables = [read_file(root, f"{part.folder}/{name}", columns).filter(pa.array(part.alive)) for part in parts]
    return pa.concat_tables(tables).combine_chunks()


def _read_links(root: str, part: Part) -> tuple[Inverted, npt.NDArray[np.float32]]:
    """The anchors of a part and the link rank of its documents: none and 0 where no link was counted yet."""
    if part.links:
        ranks = read_file(root, f"{part.links}/{DOCS}", ["link_rank"])["link_rank"].to_numpy()
        return read_index(root, part.links, ["anchors"]), ranks
    nothing, begin = np.empty(0, np.int32), np.zeros(1, np.int64)
    lengths = np.zeros(len(part.alive), np.int32)
    anchors = Inverted([], begin, nothing, {"anchors": nothing}, begin, nothing, {"anchors": lengths})
    return anchors, lengths.astype(np.float32)


def _numbers(alive: Sequence[Bools], order: Longs) -> list[Longs]:
    """The new number of each document of the parts; `order` is that of those that are kept, from part to part."""
    new = np.empty(len(order), np.int64)
    new[order] = np.arange(len(order))
    numbers = np.full(sum(map(len, alive)), -1, np.int64)
    numbers[np.concatenate(alive)] = new
    return np.split(numbers, np.cumsum([len(part) for part in alive])[:-1])


def _renumbered(columns: Sequence[npt.NDArray[Any]], numbers: Sequence[Longs], documents: int) -> npt.NDArray[Any]:
    """One column of the documents of all parts, by their new numbers."""
    number = np.concatenate(numbers)
    result = np.empty(documents, columns[0].dtype)
    result[number[number >= 0]] = np.concatenate(columns)[number >= 0]
    return result


def _starts(counts: Longs) -> Longs:
    return np.concatenate([[0], np.cumsum(counts)])


def _ranges(firsts: Longs, lengths: Longs) -> Longs:
    """The whole numbers from each of `firsts` on, `lengths` of them, end to end."""
    ends = np.cumsum(lengths)
    return np.repeat(firsts - (ends - lengths), lengths) + np.arange(int(lengths.sum()))
