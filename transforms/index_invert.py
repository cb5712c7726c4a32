"""Turn the words of documents into an inverted index, in numpy.

Nothing here knows files or Parquet: `invert` is a function from texts to arrays.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from transforms.analysis import tokens

PHRASE_FIELDS = ("title", "body")
"""The fields that phrases are looked for in: the index keeps where their terms stand."""

OWN_FIELDS = (*PHRASE_FIELDS, "headings", "url")
"""The parts of a document that are told apart in ranking, in the order in which its tokens are counted."""

FIELDS = (*OWN_FIELDS, "anchors")
"""Those, and what links to the document say of it, which the link graph adds later (`index_links`)."""

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


class Inverted(NamedTuple):
    """An inverted index of N documents and T terms; a posting is a pair of a term and a document that has it.

    The postings of term t are `docs[starts[t]:starts[t + 1]]`, rising; `frequencies` lie parallel to `docs`.
    The positions of term t are `positions[position_starts[t]:position_starts[t + 1]]`: those in its first
    document, rising, then those in its second; a posting has as many as its frequencies in PHRASE_FIELDS sum
    up to. Positions count through a document's fields, and one is left free between two fields, so that no
    phrase spans them.
    """

    terms: list[str]  # sorted by code point, which is the order of their UTF-8 bytes too
    starts: Longs  # T + 1
    docs: Ints  # one a posting
    frequencies: dict[str, Ints]  # by field
    position_starts: Longs  # T + 1
    positions: Ints
    lengths: dict[str, Ints]  # by field, the tokens of each of the N documents


def invert(
    texts: Mapping[str, Sequence[str]], further: Mapping[str, Sequence[Sequence[str]]] | None = None
) -> Inverted:
    """Invert documents that are given by field: `texts["title"][3]` is document 3's title. PHRASE_FIELDS come first.

    `further["title"][3]` are terms that follow those of the title.

    At its heart is one sort: every token has an address (its document, field and place in one number), and
    the sorted pairs of term and address are the index. Takes about 50 bytes of memory a token.
    """
    fields = list(texts)
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__  # a new term gets the next number
    none = itertools.repeat(())
    streams, by_field = zip(
        *(_stream(texts[field], (further or {}).get(field, none), numbers) for field in fields), strict=True
    )
    lengths = np.array(by_field)  # fields x documents
    terms = sorted(numbers)
    places = np.empty(len(terms), np.int64)
    places[np.fromiter(map(numbers.__getitem__, terms), np.int64, len(terms))] = np.arange(len(terms))

    # Addresses run through the documents, and in each through its fields: span = document * fields + field.
    spans = (lengths + 1).T.ravel()
    span_starts = np.cumsum(spans) - spans
    keys = np.concatenate(
        [
            places[stream] << 32 | _ranges(span_starts[field :: len(fields)], lengths[field])
            for field, stream in enumerate(streams)
        ]
    )
    del streams
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
        _starts(term[first], len(terms)),
        doc[first],
        {
            field: np.bincount(posting[field_of == number], minlength=postings).astype(np.int32)
            for number, field in enumerate(fields)
        },
        _starts(term[in_phrases], len(terms)),
        positions.astype(np.int32),
        {field: lengths[number].astype(np.int32) for number, field in enumerate(fields)},
    )


def _stream(texts: Iterable[str], further: Iterable[Sequence[str]], numbers: Mapping[str, int]) -> tuple[Ints, Longs]:
    """The terms of the texts, end to end, as numbers; and how many each text has."""
    arrays = [np.empty(0, np.int32)]
    for text, more in zip(texts, further, strict=False):
        words = [*tokens(text), *more]
        arrays.append(np.fromiter(map(numbers.__getitem__, words), np.int32, len(words)))
    return np.concatenate(arrays), np.array([len(array) for array in arrays[1:]], np.int64)


def _ranges(firsts: Longs, lengths: Longs) -> Longs:
    """The whole numbers from each of `firsts` on, `lengths` of them, end to end."""
    ends = np.cumsum(lengths)
    return np.repeat(firsts - (ends - lengths), lengths) + np.arange(int(lengths.sum()))


def _starts(sorted_terms: Ints, terms: int) -> Longs:
    """Where each term begins among the sorted ones, and at last where they end."""
    return np.concatenate([[0], np.cumsum(np.bincount(sorted_terms, minlength=terms))]).astype(np.int64)
