"""The messages of a CIFF file, the Common Index File Format, in which search engines hand indexes to each other.

J. Lin and others, "Supporting Interoperability Between Open-Source Search Engines with the Common Index File Format",
2020, and the messages in protobuf's language at github.com/osirrc/ciff. A file is a Header, as many PostingsLists as it
says, sorted by term, and as many DocRecords. Three messages of numbers and strings need no generated code: this is
their wire format (protobuf.dev/programming-guides/encoding), in which fields that are 0 or "" are left out.
"""

import functools
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

VERSION = 1


class Header(NamedTuple):
    """What a file holds, which here is the whole index: the totals are those of the file."""

    postings_lists: int
    documents: int
    tokens: int
    description: str


def header(found: Header) -> bytes:
    """The message that a file begins with."""
    counts = (VERSION, found.postings_lists, found.documents, found.postings_lists, found.documents, found.tokens)
    fields = [_number(tag, value) for tag, value in enumerate(counts, 1)]
    average = found.tokens / max(1, found.documents)
    fields.append(b"\x39" + struct.pack("<d", average) if average else b"")
    return _delimited([*fields, _text(8, found.description)])


def postings_list(term: str, gaps: Sequence[int], frequencies: Sequence[int]) -> bytes:
    """The documents of a term, as the differences of their rising numbers (the first as it is), and how often each."""
    fields = [_text(1, term), _number(2, len(gaps)), _number(3, sum(frequencies))]
    return _delimited([*fields, *map(_posting, gaps, frequencies)])


def doc_record(number: int, name: str, length: int) -> bytes:
    """A document: its number in the postings, what it is called outside, and how many tokens it has."""
    return _delimited([_number(1, number), _text(2, name), _number(3, length)])


@functools.lru_cache(1 << 16)  # small numbers are most of all postings
def _posting(gap: int, frequency: int) -> bytes:
    fields = _number(1, gap) + _number(2, frequency)
    return b"\x22" + _varint(len(fields)) + fields


def _number(tag: int, value: int) -> bytes:
    return _varint(tag << 3) + _varint(value) if value else b""


def _text(tag: int, value: str) -> bytes:
    encoded = value.encode()
    return _varint(tag << 3 | 2) + _varint(len(encoded)) + encoded if encoded else b""


def _delimited(fields: Iterable[bytes]) -> bytes:
    message = b"".join(fields)
    return _varint(len(message)) + message


def _varint(value: int) -> bytes:
    """A number of at least 0 in groups of seven bits, the lowest first; all but the last have the eighth bit set.

    >>> _varint(300).hex()
    'ac02'
    """
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
