"""Reads the records of a WARC file, past what is damaged. The only module that needs fastwarc."""

import contextlib
import io
import re
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from ..http.content_coding import zstd
from .sources import Source, Trouble, open_source

HEAD_BYTES = 64 << 10
"""The longest header of a record that is read."""

TYPES = ("warcinfo", "response", "resource", "request", "metadata", "revisit", "conversion", "continuation")
"""The types of records (ISO 28500:2017, 6)."""

HOW_TO_INSTALL = "pip install 'beamtrawl[warc]'"

_CHUNK = 1 << 20
_GZIP, _ZSTD, _PLAIN = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"WARC/"
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_FAR = 1 << 62  # beyond the end of any file
_MEMBER = 512  # bytes that are decoded to see whether a record begins
_MOST_DAMAGED = 100  # places in a file
_MOST_TRIED = 1_000  # places, of which each may be the next record: in compressed data, few look like one


class Record:
    """A record; its block can be read once, until the next record is taken."""

    def __init__(self, record: Any, number: int, offset: int) -> None:
        self._record, self.number, self.offset = record, number, offset
        type_ = self.field("WARC-Type").lower()
        self.type = type_ if type_ in TYPES else "unknown"
        self.length: int = record.content_length
        self.is_whole = False  # its block was read to its end
        self._came = 0

    def field(self, name: str) -> str:
        """The value of a named field; empty if there is none."""
        value: str | None = self._record.headers.get(name)
        return value or ""

    def read(self, size: int) -> bytes:
        """Up to `size` further bytes of the block, none at its end; DamagedError if it cannot be read."""
        try:
            data: bytes = self._record.reader.read(size)
        except OSError as error:
            raise DamagedError(str(error)) from error
        self._came += len(data)
        return data

    def drain(self) -> None:
        """Skip the rest of the block; DamagedError if it is shorter than the record says."""
        try:
            self._came += self._record.reader.consume()
        except OSError as error:
            raise DamagedError(str(error)) from error
        if self._came < self.length:
            raise DamagedError(f"the file ends after {self._came} of the {self.length} bytes of a record")
        self.is_whole = True


class DamagedError(Exception):
    """A record that cannot be read to its end."""


class _Bytes(io.RawIOBase):
    """A file from a position on, for the reader, which cannot bear an exception: it is kept in `error`."""

    def __init__(self, file: BinaryIO, start: int) -> None:
        self._file, self.start = file, start
        self._magic: list[int] = []  # where it is in what was read of a file in gzip
        self.error: Exception | None = None
        file.seek(start)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset + (self.start if whence == io.SEEK_SET else 0), whence) - self.start

    def tell(self) -> int:
        return self._file.tell() - self.start

    def read(self, size: int = -1) -> bytes:
        try:
            at, data = self._file.tell(), self._file.read(size)
        except Exception as error:
            self.error = error
            return b""
        if self._magic or (at == self.start and data.startswith(_GZIP)):
            self._magic += (at + place for place in _places(data, _GZIP))
        return data

    def goes_back(self, last: int, following: int) -> bool:
        """Go to the member behind the one at `last` if the reader has left it out, because of bytes behind a record."""
        passed = [place for place in self._magic if last < place < following]
        self._magic = [0, *(place for place in self._magic if place >= following)]
        at, end = self._file.tell(), (_member_end(self._file, last) or 0) if passed else 0
        if is_left_out := end in passed and _decoded(self._file, end).startswith(_PLAIN):
            at = self.start = end
        self._file.seek(at)
        return is_left_out


def read_records(source: Source) -> Iterator[Record | Trouble]:
    """The records of a file in order, numbered from 0, and what cannot be read.

    After damage it goes on at the next record that can be found: in a compressed file, at the next member that begins
    with one. OSError, or an error of a store, if the file itself cannot be read.
    """
    with open_source(source) as file:
        if problem := _foreign(file):
            yield Trouble(source.name, 0, problem)
            return
        start = number = 0
        for damaged in range(1, _MOST_DAMAGED + 1):
            last, problem = None, ""
            stream = _Bytes(file, start)
            for found in _from(stream, number):
                if isinstance(found, str):
                    problem = found
                    break
                number, last = found.number + 1, found
                yield found
            if stream.error:
                raise stream.error
            place = last.offset if last else start
            following = _next_record(file, _end(file, last) if last else start + 1)
            if following is None and not problem:
                if (cut := _unread(file, start, last)) is not None:
                    yield Trouble(source.name, cut, "the file ends within a record: it was cut")
                return
            problem = problem or "a record is not as long as it says"
            if following is None or damaged == _MOST_DAMAGED:
                yield Trouble(source.name, place, f"{problem}; what follows in this file is left out")
                return
            start = following
            yield Trouble(source.name, place, f"{problem}; the import goes on at byte {start}")


def _end(file: BinaryIO, record: Record) -> int:
    """Where the next record may begin: behind a whole record that is not compressed, which may contain others."""
    file.seek(record.offset)
    head = file.read(HEAD_BYTES)
    if not record.is_whole or not head.startswith(_PLAIN) or not (end := _HEAD_END.search(head)):
        return record.offset + 1
    return record.offset + end.end() + record.length


def _unread(file: BinaryIO, start: int, last: Record | None) -> int | None:
    """Where the part of a record begins that the reader has left at the end of a file; None if it has read all.

    It ends without an error in a record that is cut in its head, or in a compressed one that is cut in its first bytes.
    """
    if last is None:
        file.seek(start)
        return start if file.read(_MEMBER).strip() else None
    file.seek(last.offset)
    if (head := file.read(len(_ZSTD))).startswith(_GZIP):
        at = _member_end(file, last.offset) or last.offset
    elif head.startswith(_ZSTD):
        return None
    else:
        at = _end(file, last)
    file.seek(at)
    return at if file.read(_CHUNK).strip() else None


def _member_end(file: BinaryIO, start: int) -> int | None:
    """Where the member of gzip ends that begins at a position; None if the file ends before, or it is damaged."""
    file.seek(start)
    member = zlib.decompressobj(zlib.MAX_WBITS | 16)
    with contextlib.suppress(zlib.error):
        while not member.eof and (data := file.read(_CHUNK)):
            while data and not member.eof:
                member.decompress(data, _CHUNK)
                data = member.unconsumed_tail
    return file.tell() - len(member.unused_data) if member.eof else None


def _from(stream: _Bytes, number: int) -> Iterator[Record | str]:
    """The records from a position on; the last item may be what is wrong after them."""
    from fastwarc.warc import ArchiveIterator  # noqa: PLC0415 - optional

    try:
        while True:
            last = _FAR
            for found in ArchiveIterator(stream, parse_http=False, quirks_mode=True, max_header_len=HEAD_BYTES):
                record = Record(found, number, stream.start + found.stream_pos)
                if stream.goes_back(last, record.offset):
                    break
                yield record
                record.drain()
                number, last = number + 1, record.offset
            else:
                if not stream.goes_back(last, _FAR):
                    return
    except (DamagedError, OSError) as error:
        yield str(error)


def _foreign(file: BinaryIO) -> str:
    """Why a file is no WARC file, by its first bytes; empty if it may be one."""
    start = _decoded(file, 0)
    file.seek(0)
    if not file.read(1):
        return "the file is empty"
    if start.startswith(b"filedesc://"):
        return "it is an ARC file; make a WARC file of it first, with: warcio recompress FILE NEW.warc.gz"
    if start and not start.lstrip().startswith(_PLAIN):
        return "it is no WARC file"
    return ""


def _next_record(file: BinaryIO, start: int) -> int | None:
    """The position of the next record, at or after a position; None if none is found."""
    tried = 0
    while True:
        file.seek(start)
        block = file.read(_CHUNK)
        if len(block) < len(_PLAIN):
            return None
        hits = (place for magic in (_GZIP, _ZSTD, _PLAIN) for place in _places(block, magic))
        for place in sorted(hits):
            if _decoded(file, start + place).startswith(_PLAIN):
                return start + place
            if (tried := tried + 1) == _MOST_TRIED:
                return None
        start += len(block) - len(_PLAIN) + 1


def _places(block: bytes, magic: bytes) -> Iterator[int]:
    place = block.find(magic)
    while place >= 0:
        yield place
        place = block.find(magic, place + 1)


def _decoded(file: BinaryIO, start: int) -> bytes:
    """The first bytes at a position, without compression; empty if they cannot be decoded."""
    file.seek(start)
    data = file.read(4 * _MEMBER)
    try:
        if data.startswith(_GZIP):
            return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, _MEMBER)
        if data.startswith(_ZSTD):
            return zstd.ZstdDecompressor().decompress(data, _MEMBER)
    except (zlib.error, zstd.ZstdError):
        return b""
    return data[:_MEMBER]
