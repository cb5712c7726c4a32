"""Reads the records of a WARC file, past what is damaged."""

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

_CHUNK = 1 << 20
_RAW = 16 << 10  # compressed bytes that are decoded at a time: what is behind a member is copied for each
_GZIP, _ZSTD, _PLAIN = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"WARC/"
_MAGIC = re.compile(b"|".join(map(re.escape, (_GZIP, _ZSTD, _PLAIN))))
_VERSION = re.compile(rb"WARC/\d+\.\d+[ \t\r]*\n")
_BLANK = re.compile(rb"\s*+\0?\s*+")  # between records: StormCrawler wrote a zero byte until 2018 (pull request 652)
_CUT = "the file ends within a record: it was cut"
_MEMBER = 512  # bytes that are decoded to see whether a record begins
_MOST_DAMAGED = 100  # places in a file
_MOST_TRIED = 1_000  # places, of which each may be the next record: in compressed data, few look like one


class DamagedError(Exception):
    """A record that cannot be read to its end."""


class Record:
    """A record; its block can be read once, until the next record is taken."""

    def __init__(self, members: "_Members", fields: dict[str, str], number: int, offset: int) -> None:
        self._members, self._fields, self.number, self.offset = members, fields, number, offset
        type_ = self.field("WARC-Type").lower()
        self.type = type_ if type_ in TYPES else "unknown"
        if not re.fullmatch(r"\d{1,18}", length := self.field("Content-Length"), re.ASCII):
            raise DamagedError(f"the length of a record is {length[:40]!r}")
        self.length = self._left = int(length)
        self.end = members.position  # of the block, as far as it was read
        self.is_whole = False  # its block was read to its end

    def field(self, name: str) -> str:
        """The value of a named field; empty if there is none."""
        return self._fields.get(name.lower(), "")

    def read(self, size: int) -> bytes:
        """Up to `size` further bytes of the block, none at its end; DamagedError if it cannot be read."""
        data = self._members.read(min(size, self._left))
        self._left -= len(data)
        return data

    def drain(self) -> None:
        """Skip the rest of the block; DamagedError if it is shorter than the record says."""
        while self.read(_CHUNK):
            pass
        if self._left:
            raise DamagedError(f"the file ends after {self.length - self._left} of the {self.length} bytes of a record")
        self.is_whole, self.end = True, self._members.position


class _Members:
    """The decoded bytes of a file from a position on: plain, or in members of gzip or frames of zstd."""

    def __init__(self, file: BinaryIO, start: int) -> None:
        file.seek(start)
        self._file, self._raw = file, file.read(len(_ZSTD))
        self._decoder: Any = None
        self._data, self._place = b"", 0  # decoded bytes, and how many of them are read
        self.start = start  # of the member that is decoded now
        self.is_plain = not self._raw.startswith((_GZIP, _ZSTD))

    @property
    def position(self) -> int:
        """Where the next byte is; within a member, where the search for the next member begins."""
        left = len(self._data) - self._place
        if self._decoder or (left and not self.is_plain):
            return self.start + 1
        return self._file.tell() - len(self._raw) - left

    def read(self, size: int) -> bytes:
        """Up to `size` further bytes; none at the end of the file. DamagedError if they cannot be decoded."""
        if size and self._place == len(self._data):
            self._data, self._place = self._more(), 0
        data = self._data[self._place : self._place + size]
        self._place += len(data)
        return data

    def line(self, most: int) -> bytes:
        """Further bytes up to the end of a line, or `most`."""
        while (end := self._data.find(b"\n", self._place, self._place + most)) < 0:
            if len(self._data) - self._place >= most or not (more := self._more()):
                return self.read(min(most, len(self._data) - self._place))
            self._data, self._place = self._data[self._place :] + more, 0
        return self.read(end + 1 - self._place)

    def unread(self, count: int) -> None:
        """The last bytes of a line are read again."""
        self._place -= count

    def _more(self) -> bytes:
        """Further decoded bytes; none at the end of the file."""
        while True:
            if len(self._raw) < len(_ZSTD) and getattr(self._decoder, "needs_input", True):
                self._raw += self._file.read(_CHUNK if self.is_plain else _RAW)
            raw = self._raw if self.is_plain or self._decoder else self._raw.lstrip()
            if self.is_plain or not (raw or self._decoder):
                self._raw = b""
                return raw
            if not self._decoder:
                self._raw, self.start = raw, self._file.tell() - len(raw)
                self._decoder = _decoder(raw)
            try:
                data: bytes = self._decoder.decompress(raw, _CHUNK)
            except (zlib.error, zstd.ZstdError) as error:
                raise DamagedError(str(error)) from error
            if self._decoder.eof:
                self._raw, self._decoder = self._decoder.unused_data, None
            else:
                self._raw = getattr(self._decoder, "unconsumed_tail", b"")
                if not raw and not data:
                    raise DamagedError(_CUT)
            if data:
                return data


class _Records:
    """The records of a file from a position on, up to what is damaged."""

    def __init__(self, file: BinaryIO, start: int) -> None:
        self._members = _Members(file, start)
        self.start = start
        self.last: Record | None = None
        self.search_from = start + 1  # for the next record after damage: what is before was read, or is damaged
        self.goes_on = False  # after damage: behind it in its member, where no other place can be found

    @property
    def is_in_last_member(self) -> bool:
        """Whether what is read next is in the member of the last record."""
        return self.last is not None and self.last.offset == self._members.start

    def next(self, number: int) -> Record | None:
        """The next record, once the block of the last one was drained; None at the end.

        DamagedError for a head that is none, and for bytes of no record.
        """
        members, is_behind_damage, self.goes_on = self._members, self.goes_on, False
        while line := members.line(HEAD_BYTES):
            version = _VERSION.search(line)
            is_blank = _BLANK.fullmatch(line[: version.start()] if version else line)
            if not is_blank and not is_behind_damage:
                is_cut = len(line) < HEAD_BYTES and not line.endswith(b"\n")
                self.goes_on = self.is_in_last_member and not members.is_plain and not is_cut
                members.unread(len(version[0]) if version else 0)
                raise DamagedError(_CUT if is_cut else "a record is not as long as it says")
            if version:
                offset = members.position - len(version[0]) if members.is_plain else members.start
                self.search_from = offset + 1
                self.last = Record(members, self._fields(), number, offset)
                self.search_from = self.last.end
                return self.last
            self.search_from = members.position
        return None

    def _fields(self) -> dict[str, str]:
        """The named fields in a head, by name in lower case; of several with one name, the first."""
        fields, name, left = dict[str, str](), "", HEAD_BYTES
        while (line := self._members.line(left)).strip(b"\r\n"):
            left -= len(line)
            text = line.decode("utf-8", "replace")
            if text[0] in " \t":
                fields[name] = f"{fields.get(name, '')} {text.strip()}".strip()
            else:
                name, _, value = text.partition(":")
                fields.setdefault(name := name.strip().lower(), value.strip())
        if not line:
            raise DamagedError(_CUT if left else "Maximum header length exceeded")
        return fields


def read_records(source: Source) -> Iterator[Record | Trouble]:
    """The records of a file in order, numbered from 0, and what cannot be read.

    After damage it goes on at the next record that can be found: in a compressed file, at the next member that begins
    with one. OSError, or an error of a store, if the file itself cannot be read.
    """
    with open_source(source) as file:
        if problem := _foreign(file):
            yield Trouble(source.name, 0, problem)
            return
        number, records = 0, _Records(file, 0)
        for damaged in range(1, _MOST_DAMAGED + 1):
            try:
                while record := records.next(number):
                    number += 1
                    yield record
                    record.drain()
                return
            except DamagedError as error:
                problem = str(error)
                if error.__cause__ and records.last and records.is_in_last_member:  # what cannot be decoded
                    records.last.is_whole = False
            place = records.last.offset if records.last else records.start
            following = _behind_damage(file, records) if damaged < _MOST_DAMAGED else None
            if following is records:
                problem += "; the import goes on behind it"
            elif following:
                problem += f"; the import goes on at byte {following.start}"
            elif problem != _CUT:
                problem += "; what follows in this file is left out"
            yield Trouble(source.name, place, problem)
            if following is None:
                return
            records = following


def _behind_damage(file: BinaryIO, records: _Records) -> _Records | None:
    """The records behind the damage that has ended others; None if there are none."""
    if records.goes_on:
        return records
    place = _next_record(file, records.search_from)
    if place is None:
        return None
    if records.last and place < records.last.end:  # it said that it is longer than it is
        records.last.is_whole = False
    return _Records(file, place)


def _decoder(data: bytes) -> Any:
    """The decoder of the member that data begin with; DamagedError if they begin with none."""
    if data.startswith(_GZIP):
        return zlib.decompressobj(zlib.MAX_WBITS | 16)
    if data.startswith(_ZSTD):
        return zstd.ZstdDecompressor()
    raise DamagedError("a record is not as long as it says")


def _foreign(file: BinaryIO) -> str:
    """Why a file is no WARC file, by its first bytes; empty if it may be one."""
    start = _decoded(file, 0)
    file.seek(0)
    if not file.read(1):
        return "the file is empty"
    if start.startswith(b"filedesc://"):
        return "it is an ARC file; make a WARC file of it first, with: warcio recompress FILE NEW.warc.gz"
    return "it is no WARC file" if start and not start.lstrip().startswith(_PLAIN) else ""


def _next_record(file: BinaryIO, start: int) -> int | None:
    """The position of the next record, at or after a position; None if none is found."""
    tried = 0
    while True:
        file.seek(start)
        block = file.read(_CHUNK)
        if len(block) < len(_PLAIN):
            return None
        for hit in _MAGIC.finditer(block):
            if _VERSION.match(_decoded(file, start + hit.start())):
                return start + hit.start()
            if (tried := tried + 1) == _MOST_TRIED:
                return None
        start += len(block) - len(_PLAIN) + 1


def _decoded(file: BinaryIO, start: int) -> bytes:
    """The first bytes at a position, without compression; empty if they cannot be decoded."""
    file.seek(start)
    data = file.read(4 * _MEMBER)
    try:
        return bytes(_decoder(data).decompress(data, _MEMBER)) if data.startswith((_GZIP, _ZSTD)) else data[:_MEMBER]
    except (zlib.error, zstd.ZstdError):
        return b""
