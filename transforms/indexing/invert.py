"""Inverts documents into an index in memory, in numpy: a pure function from texts to arrays."""

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..storage.list_offsets import Longs, offsets, ranges
from .analysis import MAX_TERM_LENGTH, separate_words, terms_of_piece

PHRASE_FIELDS = ("title", "body")
"""The fields that phrases match in: the index keeps the positions of their terms."""

OWN_FIELDS = (*PHRASE_FIELDS, "headings", "url")
"""The fields of a document that ranking distinguishes, in the order in which its tokens are numbered."""

FIELDS = (*OWN_FIELDS, "anchors")
"""OWN_FIELDS, and the anchors of links to the document, which the `rank` step adds later (`link_folders`)."""

Ints = npt.NDArray[np.int32]

_BLOCK = 2 << 20  # characters that are split at a time


class Inverted(NamedTuple):
    """An inverted index of N documents and T terms; a posting is a pair of a term and a document that contains it.

    The postings of term t are `docs[starts[t]:starts[t + 1]]`, ascending; `frequencies` are parallel to `docs`.
    The positions of term t are `positions[position_starts[t]:position_starts[t + 1]]`: those in its first
    document, ascending, then those in its second; a posting has as many positions as the sum of its frequencies
    in PHRASE_FIELDS. Positions run through the fields of a document with a gap of one between two fields, so that
    no phrase spans them.
    """

    terms: list[str]  # sorted by code point, which is also the order of their UTF-8 bytes
    starts: Longs  # T + 1
    docs: Ints  # one a posting
    frequencies: dict[str, Ints]  # by field
    position_starts: Longs  # T + 1
    positions: Ints
    lengths: dict[str, Ints]  # by field, the tokens of each of the N documents


def invert(
    texts: Mapping[str, Sequence[str]], extra_terms: Mapping[str, Sequence[Sequence[str]]] | None = None
) -> Inverted:
    """The inverted index of documents given by field: `texts["title"][3]` is document 3's title. PHRASE_FIELDS first.

    `extra_terms["title"][3]` are appended to the terms of that title.

    The index is one sort: every token has an address (its document, field and place in one number), and the sorted
    pairs of term and address are the index. Takes about 50 bytes of memory a token.
    """
    fields = list(texts)
    # Addresses run through the documents, and in each through its fields: span = document * fields + field.
    terms, stream, lengths = _token_stream(
        [text for document in zip(*texts.values(), strict=True) for text in document]
    )
    if extra_terms:
        none: Sequence[Sequence[str]] = [()] * (len(lengths) // len(fields))
        by_document = zip(*(extra_terms.get(field, none) for field in fields), strict=True)
        terms, stream, lengths = _append_terms(terms, stream, lengths, list(itertools.chain.from_iterable(by_document)))
    spans = lengths + 1
    span_starts = np.cumsum(spans) - spans
    keys = stream.astype(np.int64)
    del stream
    keys <<= 32
    keys |= ranges(span_starts, lengths)
    keys.sort()

    address = (keys & 0xFFFFFFFF).astype(np.uint32)
    term = (keys >> 32).astype(np.int32)
    del keys
    span = np.repeat(np.arange(len(spans), dtype=np.int32), spans)[address]
    doc = span // len(fields)
    field_of = (span % len(fields)).astype(np.int8)
    in_phrases = field_of < sum(field in PHRASE_FIELDS for field in fields)
    positions = address[in_phrases] - span_starts[:: len(fields)].astype(np.uint32)[doc[in_phrases]]
    del span, address
    first = np.ones(len(doc), bool)  # of its posting
    first[1:] = (term[1:] != term[:-1]) | (doc[1:] != doc[:-1])
    posting = np.cumsum(first, dtype=np.int32) - 1
    postings = int(first.sum())
    return Inverted(
        terms,
        offsets(np.bincount(term[first], minlength=len(terms))),
        doc[first],
        {
            field: np.bincount(posting[field_of == number], minlength=postings).astype(np.int32)
            for number, field in enumerate(fields)
        },
        offsets(np.bincount(term[in_phrases], minlength=len(terms))),
        positions.astype(np.int32),
        {field: lengths[number :: len(fields)].astype(np.int32) for number, field in enumerate(fields)},
    )


def _token_stream(texts: Sequence[str]) -> tuple[list[str], Ints, Longs]:
    """The distinct terms of the texts, sorted; all tokens in order, as numbers of these terms; tokens of each text.

    The same terms as `analysis.tokens` gives, but Arrow splits all texts at once, and Python sees each distinct
    non-ASCII piece once.
    """
    pieces, piece_of, piece_starts = _pieces(texts)

    is_term = pc.and_(pc.ascii_is_alnum(pieces), pc.less_equal(pc.binary_length(pieces), MAX_TERM_LENGTH))
    others = [terms_of_piece(piece) for piece in pieces.filter(pc.invert(is_term)).to_pylist()]
    of_others = list(itertools.chain.from_iterable(others))
    as_they_are, made = pieces.filter(is_term), pa.array(of_others, pa.large_string())
    distinct = pc.unique(pa.concat_arrays([as_they_are, made]))
    numbered = distinct.take(pc.sort_indices(distinct))  # by their bytes in UTF-8, which is by code point
    plain = is_term.to_numpy(zero_copy_only=False)
    counts = np.ones(len(pieces), np.int32)  # the terms of each piece
    counts[~plain] = [len(found) for found in others]
    starts = np.cumsum(counts, dtype=np.int32) - counts
    numbers = np.empty(int(counts.sum()), np.int32)
    numbers[starts[plain]] = pc.index_in(as_they_are, value_set=numbered).to_numpy()
    numbers[ranges(starts[~plain], counts[~plain])] = pc.index_in(made, value_set=numbered).to_numpy()
    lengths = np.diff(offsets(counts[piece_of])[piece_starts])
    return numbered.to_pylist(), numbers[ranges(starts[piece_of], counts[piece_of])], lengths


def _pieces(texts: Sequence[str]) -> tuple[pa.LargeStringArray, Ints, Longs]:
    """The distinct pieces of the texts, all pieces in order as numbers of these, and where those of a text start."""
    ends = np.cumsum([0, *map(len, texts)])
    cuts = np.unique(np.searchsorted(ends, np.arange(0, ends[-1], _BLOCK)[1:]))
    blocks = [_split(texts[start:end]) for start, end in itertools.pairwise([0, *cuts.tolist(), len(texts)])]
    encoded = pa.chunked_array([pieces for pieces, _ in blocks]).unify_dictionaries()
    piece_of = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])
    starts = offsets(np.concatenate([counts for _, counts in blocks]))
    return encoded.chunk(encoded.num_chunks - 1).dictionary, piece_of, starts


def _split(texts: Sequence[str]) -> tuple[pa.DictionaryArray, Longs]:
    """The pieces of some texts in order, and their number in each text."""
    together = pa.array([f"{text}\n" for text in texts], pa.large_string())
    _, ends, data = together.buffers()
    as_pieces = pa.py_buffer(separate_words(data.to_pybytes() if data else b""))
    lists = pc.ascii_split_whitespace(pa.LargeStringArray.from_buffers(len(texts), ends, as_pieces))
    return lists.flatten().dictionary_encode(), np.diff(lists.offsets.to_numpy())


def _append_terms(
    terms: list[str], stream: Ints, lengths: Longs, extra_terms: Sequence[Sequence[str]]
) -> tuple[list[str], Ints, Longs]:
    """The result of `_token_stream` when extra terms follow each text."""
    added = list(itertools.chain.from_iterable(extra_terms))
    counts = np.array(list(map(len, extra_terms)), np.int64)
    united = sorted({*terms, *added})
    numbered = pa.array(united, pa.large_string())
    old, new = (
        pc.index_in(pa.array(part, pa.large_string()), value_set=numbered).to_numpy() for part in (terms, added)
    )
    return united, np.insert(old[stream], np.repeat(np.cumsum(lengths), counts), new), lengths + counts
