"""Inverts documents into an index in memory, in numpy: a pure function from texts to arrays."""

import bisect
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..tables.list_offsets import Longs, offsets, ranges
from .analysis import MAX_TERM_LENGTH, separate_words, terms_of_piece

PHRASE_FIELDS = ("title", "body")
"""The fields that phrases match in: the index keeps the positions of their terms."""

OWN_FIELDS = (*PHRASE_FIELDS, "headings", "url")
"""The fields of a document that ranking distinguishes, in the order in which its tokens are numbered.

The `rank` step adds "anchors", of links to the document (`link_folders`).
"""

Ints = npt.NDArray[np.int32]

_BLOCK = 2 << 20  # characters that are split at a time


class Inverted(NamedTuple):
    """An inverted index of N documents and T terms; a posting is a pair of a term and a document that contains it.

    The postings of term t are `docs[starts[t]:starts[t + 1]]`, ascending; `frequencies` are parallel to `docs`.
    The positions of term t are `positions[position_starts[t]:position_starts[t + 1]]`: those in its first
    document, ascending, then those in its second; a posting has as many positions as the sum of its frequencies
    in PHRASE_FIELDS. Positions run through the fields of a document with a gap of one between two fields, so that
    no phrase spans them. Identifiers and pairs have the position of their first part.
    """

    terms: list[str]  # sorted by code point, which is also the order of their UTF-8 bytes
    starts: Longs  # T + 1
    docs: Ints  # one a posting
    frequencies: dict[str, Ints]  # by field
    position_starts: Longs  # T + 1
    positions: Ints
    lengths: dict[str, Ints]  # by field, the tokens of each of the N documents, without identifiers


class _Tokens(NamedTuple):
    """The terms of texts; numbers are of `terms`, and places are counted in each text."""

    terms: list[str]  # distinct, sorted
    stream: Ints  # the number of each token, in order, without identifiers
    lengths: Longs  # by text, its tokens in the stream
    identifiers: Ints  # the number of each identifier, and of each further term
    texts: Longs  # the text of each of these
    places: Longs  # the place of each of these: that of its first part


def invert(
    texts: Mapping[str, Sequence[str]],
    extra_terms: Mapping[str, Sequence[Sequence[str]]] | None = None,
    further: Mapping[str, Sequence[Sequence[tuple[int, str]]]] | None = None,
) -> Inverted:
    """The inverted index of documents given by field: `texts["title"][3]` is document 3's title. PHRASE_FIELDS first.

    `extra_terms["title"][3]` are appended to the terms of that title. `further["title"][3]` are further terms of it,
    with their places, such as `analysis.pairs`: like its identifiers, they do not count for its length. None of
    them may be a term of a text.

    The index is one sort: every token has an address (its document, field and place in one number), and the addresses,
    sorted by term, are the index. Takes about 50 bytes of memory a token.
    """
    fields = list(texts)
    # Addresses run through the documents, and in each through its fields: span = document * fields + field.
    found = _tokens([text for document in zip(*texts.values(), strict=True) for text in document])
    if further:
        found = _add_further(found, _by_text(further, fields, len(found.lengths)))
    if extra_terms:
        found = _append_terms(found, _by_text(extra_terms, fields, len(found.lengths)))
    terms, lengths = found.terms, found.lengths
    spans = lengths + 1
    span_starts = np.cumsum(spans) - spans
    term = np.concatenate([found.stream, found.identifiers])
    address = np.concatenate(
        [ranges(span_starts, lengths), span_starts[found.texts] + found.places], dtype=np.uint32, casting="unsafe"
    )
    del found
    order = _by_term(term)  # stable, so the addresses of a term ascend
    term, address = term[order], address[order]
    del order
    span = np.repeat(np.arange(len(spans), dtype=np.int32), spans)[address]
    doc = span // len(fields)
    field_of = (span % len(fields)).astype(np.int8)
    in_phrases = field_of < sum(field in PHRASE_FIELDS for field in fields)
    positions = address[in_phrases] - span_starts[:: len(fields)].astype(np.uint32)[doc[in_phrases]]
    del span, address
    first = np.ones(len(doc), bool)  # of its posting
    first[1:] = (term[1:] != term[:-1]) | (doc[1:] != doc[:-1])
    cell = np.cumsum(first) - 1  # of a table of postings by fields
    postings = int(first.sum())
    cell *= len(fields)
    cell += field_of
    frequencies = np.bincount(cell, minlength=postings * len(fields)).astype(np.int32).reshape(postings, len(fields))
    return Inverted(
        terms,
        offsets(np.bincount(term[first], minlength=len(terms))),
        doc[first],
        {field: frequencies[:, number].copy() for number, field in enumerate(fields)},
        offsets(np.bincount(term[in_phrases], minlength=len(terms))),
        positions.astype(np.int32),
        {field: lengths[number :: len(fields)].astype(np.int32) for number, field in enumerate(fields)},
    )


def _by_term(term: Ints) -> npt.NDArray[np.intp]:
    """The order that sorts terms by their numbers, stable. numpy sorts numbers of 16 bits by radix: twice as fast."""
    high = term >> 16
    parts = [np.flatnonzero(high == part) for part in range(int(high.max(initial=0)) + 1)]
    return np.concatenate([places[np.argsort(term[places].astype(np.uint16), kind="stable")] for places in parts])


def _tokens(texts: Sequence[str]) -> _Tokens:
    """The same terms as `analysis.tokens` and `analysis.identifiers` give of each text.

    Arrow splits all texts at once, and Python sees each distinct piece once that is not one plain term.
    """
    pieces, piece_of, piece_starts = _pieces(texts)

    groups = _groups(pieces)
    parts = [part for group in groups for part in (group.terms, group.identifiers)]
    encoded = pa.concat_arrays(parts).dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)  # by their bytes in UTF-8, which is by code point
    numbered, rank = encoded.dictionary.take(order), np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    numbers_of = np.split(rank[encoded.indices.to_numpy()], np.cumsum(list(map(len, parts)))[:-1])
    counts, having = np.zeros(len(pieces), np.int32), np.zeros(len(pieces), np.int32)  # of terms, and of identifiers
    for group in groups:
        counts[group.pieces], having[group.pieces] = group.counts, group.having
    starts, firsts = np.cumsum(counts, dtype=np.int32) - counts, np.cumsum(having, dtype=np.int32) - having
    numbers, identifiers, before = (np.empty(int(total.sum()), np.int32) for total in (counts, having, having))
    for group, of_terms, of_identifiers in zip(groups, numbers_of[::2], numbers_of[1::2], strict=True):
        numbers[ranges(starts[group.pieces], group.counts)] = of_terms
        of_group = ranges(firsts[group.pieces], group.having)
        identifiers[of_group] = of_identifiers
        before[of_group] = group.before
    counts_of = counts[piece_of]
    stream_starts = offsets(counts_of)
    text_starts = stream_starts[piece_starts]
    stream = np.repeat(np.append(numbers, 0)[starts][piece_of], counts_of)
    several = np.flatnonzero((counts > 1)[piece_of])  # few, so the others are not looked at one term at a time
    several_of = piece_of[several]
    stream[ranges(stream_starts[several], counts[several_of])] = numbers[ranges(starts[several_of], counts[several_of])]
    with_some = np.flatnonzero((having > 0)[piece_of])
    found = np.repeat(with_some, having[piece_of[with_some]])
    which = ranges(firsts[piece_of[with_some]], having[piece_of[with_some]])
    texts_found = np.searchsorted(piece_starts, found, "right") - 1
    return _Tokens(
        numbered.to_pylist(),
        stream,
        np.diff(text_starts),
        identifiers[which],
        texts_found,
        stream_starts[found] - text_starts[texts_found] + before[which],
    )


def tokens_of(texts: Sequence[str]) -> list[list[str]]:
    """`analysis.tokens` of each text: as `invert` splits them, all at once.

    >>> tokens_of(["Node.js’s C++", "", "全文検索"])
    [['node', 'js', 's', 'c++'], [], ['全文', '文検', '検索']]
    """
    found = _tokens(texts)
    terms = [found.terms[number] for number in found.stream.tolist()]
    return [terms[start:end] for start, end in itertools.pairwise(offsets(found.lengths).tolist())]


class _Group(NamedTuple):
    """The terms of some distinct pieces, and their identifiers."""

    pieces: Longs  # their numbers
    counts: Ints  # the terms of each
    terms: pa.LargeStringArray
    having: Ints  # the identifiers of each
    identifiers: pa.LargeStringArray
    before: Ints  # the terms of its piece that are before the parts of each identifier


def _groups(pieces: pa.LargeStringArray) -> list[_Group]:
    """The pieces that are one term each, those that are words joined by underscores, and all others, as groups."""
    is_term = pc.and_(pc.ascii_is_alnum(pieces), pc.less_equal(pc.binary_length(pieces), MAX_TERM_LENGTH))
    is_joined = pc.and_(pc.ascii_is_alnum(pc.replace_substring(pieces, "_", "")), pc.invert(is_term))
    kinds = [is_term, is_joined, pc.invert(pc.or_(is_term, is_joined))]
    plain, joined, others = (pieces.filter(kind) for kind in kinds)
    places = [np.flatnonzero(kind.to_numpy(zero_copy_only=False)) for kind in kinds]

    parts = pc.split_pattern(joined, "_")
    words, is_word = parts.flatten(), pc.greater(pc.binary_length(parts.flatten()), 0)
    words_before = offsets(is_word.to_numpy(zero_copy_only=False))
    is_name = pc.and_(pc.match_substring(joined, "_"), pc.less_equal(pc.binary_length(joined), MAX_TERM_LENGTH))
    names = joined.filter(is_name)

    found = list(map(terms_of_piece, others.to_pylist()))
    of_others = [named for _, identifiers in found for named in identifiers]
    zeros = [np.zeros(len(kind), np.int32) for kind in (plain, names)]
    return [
        _Group(places[0], np.ones(len(plain), np.int32), plain, zeros[0], _strings([]), zeros[0][:0]),
        _Group(
            places[1],
            np.diff(words_before[parts.offsets.to_numpy()]).astype(np.int32),
            pc.utf8_slice_codeunits(words.filter(is_word), 0, MAX_TERM_LENGTH),
            is_name.to_numpy(zero_copy_only=False).astype(np.int32),
            names,
            zeros[1],
        ),
        _Group(
            places[2],
            np.array([len(terms) for terms, _ in found], np.int32),
            _strings(list(itertools.chain.from_iterable(terms for terms, _ in found))),
            np.array([len(identifiers) for _, identifiers in found], np.int32),
            _strings([name for _, name in of_others]),
            np.array([number for number, _ in of_others], np.int32),
        ),
    ]


def _strings(values: list[str]) -> pa.LargeStringArray:
    return pa.array(values, pa.large_string())


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


def _by_text(values: Mapping[str, Sequence[Sequence[Any]]], fields: Sequence[str], texts: int) -> list[Sequence[Any]]:
    """The values of all texts, in the order of the texts; none for the fields that are left out."""
    none: Sequence[Sequence[Any]] = [()] * (texts // len(fields))
    return list(itertools.chain.from_iterable(zip(*(values.get(field, none) for field in fields), strict=True)))


def _add_further(tokens: _Tokens, further: Sequence[Sequence[tuple[int, str]]]) -> _Tokens:
    """The tokens with further terms of each text, with their places, ascending."""
    counts = list(map(len, further))
    added = list(itertools.chain.from_iterable(further))
    tokens, numbers = _with_terms(tokens, [term for _, term in added])
    return tokens._replace(
        identifiers=np.concatenate([tokens.identifiers, numbers]),
        texts=np.concatenate([tokens.texts, np.repeat(np.arange(len(counts)), counts)]),
        places=np.concatenate([tokens.places, np.array([place for place, _ in added], np.int64)]),
    )


def _append_terms(tokens: _Tokens, extra_terms: Sequence[Sequence[str]]) -> _Tokens:
    """The tokens when extra terms follow each text."""
    added = list(itertools.chain.from_iterable(extra_terms))
    counts = np.array(list(map(len, extra_terms)), np.int64)
    tokens, numbers = _with_terms(tokens, added)
    stream = np.insert(tokens.stream, np.repeat(np.cumsum(tokens.lengths), counts), numbers)
    return tokens._replace(stream=stream, lengths=tokens.lengths + counts)


def _with_terms(tokens: _Tokens, terms: Sequence[str]) -> tuple[_Tokens, Ints]:
    """The tokens, numbered among their terms and others, and the numbers of the others."""
    distinct = sorted(set(terms))
    places = np.array([bisect.bisect_left(tokens.terms, term) for term in distinct], np.int32)
    is_new = np.array([tokens.terms[p : p + 1] != [t] for p, t in zip(places.tolist(), distinct, strict=True)], bool)
    new = places[is_new]
    old = np.arange(len(tokens.terms), dtype=np.int32)
    old += np.searchsorted(new, old, "right").astype(np.int32)
    united = np.insert(
        np.array(tokens.terms, object), new, list(itertools.compress(distinct, is_new.tolist()))
    ).tolist()
    places += np.cumsum(is_new, dtype=np.int32) - is_new
    number_of = dict(zip(distinct, places.tolist(), strict=True))
    numbers = np.array([number_of[term] for term in terms], np.int32)
    return tokens._replace(terms=united, stream=old[tokens.stream], identifiers=old[tokens.identifiers]), numbers
