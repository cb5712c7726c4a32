"""Encodes the messages of a CIFF file, the Common Index File Format for exchange of indexes between search engines.

J. Lin and others, "Supporting Interoperability Between Open-Source Search Engines with the Common Index File Format",
2020, and the protobuf definition at github.com/osirrc/ciff. A file is a Header, the PostingsLists that it counts,
sorted by term, and the DocRecords that it counts. Three messages of numbers and strings need no generated code: this
module writes the wire format (protobuf.dev/programming-guides/encoding), which omits fields that are 0 or "".
"""

import functools
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .packing import varint

VERSION = 1


class Header(NamedTuple):
    """The counts of a file. It holds the whole index, so the totals of the collection are those of the file."""

    postings_lists: int
    documents: int
    tokens: int
    description: str


def header(found: Header) -> bytes:
    """The first message of a file."""
    counts = (VERSION, found.postings_lists, found.documents, found.postings_lists, found.documents, found.tokens)
    fields = [_number(tag, value) for tag, value in enumerate(counts, 1)]
    average = found.tokens / max(1, found.documents)
    fields.append(b"\x39" + struct.pack("<d", average) if average else b"")
    return _delimited([*fields, _text(8, found.description)])


def postings_list(term: str, gaps: Sequence[int], frequencies: Sequence[int]) -> bytes:
    """The message of a term: gaps between ascending document numbers (the first number as it is), and frequencies."""
    fields = [_text(1, term), _number(2, len(gaps)), _number(3, sum(frequencies))]
    return _delimited([*fields, *map(_posting, gaps, frequencies)])


def doc_record(number: int, name: str, length: int) -> bytes:
    """The message of a document: its number in the postings, its external name, and its length in tokens."""
    return _delimited([_number(1, number), _text(2, name), _number(3, length)])


@functools.lru_cache(1 << 16)  # small numbers are most of all postings
def _posting(gap: int, frequency: int) -> bytes:
    fields = _number(1, gap) + _number(2, frequency)
    return b"\x22" + varint(len(fields)) + fields


def _number(tag: int, value: int) -> bytes:
    return varint(tag << 3) + varint(value) if value else b""


def _text(tag: int, value: str) -> bytes:
    encoded = value.encode()
    return varint(tag << 3 | 2) + varint(len(encoded)) + encoded if encoded else b""


def _delimited(fields: Iterable[bytes]) -> bytes:
    message = b"".join(fields)
    return varint(len(message)) + message
