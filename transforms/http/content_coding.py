"""Decodes content codings piece by piece: gzip, deflate, br and zstd, also several in a row (RFC 9110, 8.4)."""

import struct
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import brotli

from ..outcomes import Outcome
from .errors import RequestError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHUNK_BYTES = 16_384
"""Bytes to decode at a time: zlib and zstd copy the rest of a chunk after each member, quadratic in its size."""

DECODE_ERRORS = (zlib.error, brotli.error, zstd.ZstdError)
"""The exceptions for a body that is not in its declared coding."""

_STEP = 262_144  # bytes that are decoded at a time: one byte may expand to a thousand, in br and zstd to many more
_MOST_CODINGS = 3
_UNREADABLE = frozenset({"compress", "x-compress", "dcb", "dcz", "aes128gcm", "exi", "pack200-gzip"})
"""Registered codings that are not decoded (IANA, HTTP Content Coding Registry)."""

_GZIP_MEMBER = b"\x1f\x8b\x08"
_ZSTD_FRAME = b"\x28\xb5\x2f\xfd"
_ZSTD_FRAMES = frozenset([0xFD2FB528, *range(0x184D2A50, 0x184D2A60)])  # magic numbers (RFC 8878, 3.1.1, 3.1.2)
_ZSTD_WINDOW_LOG = 23  # 8 MB: "decoders … MAY reject" larger ones, encoders MUST NOT use them (RFC 9659, 3)
_MOST_ZSTD_FRAMES = 10_000  # each takes 10 µs, also an empty one of 9 bytes
_BROTLI_KEPT = 65_536  # bytes of a br body that are kept for a second pass


class Stage(Protocol):
    """The decoder of one coding."""

    over: bool  # further bytes are not part of the content

    @property
    def complete(self) -> bool:
        """Whether the content may end here."""

    def __call__(self, chunk: bytes) -> Iterator[bytes]:
        """The decoded bytes of a further chunk, in pieces of bounded size. Raises one of DECODE_ERRORS."""


class Decoder:
    """Decodes one or several nested content codings.

    The input of each is bounded by `limit` bytes (and `spare`): TOO_LONG beyond, as nearly all of it is overhead.
    """

    def __init__(self, stages: Sequence[Stage], limit: int, spare: int) -> None:
        self._stages = stages
        self._left = [limit + spare] * len(stages)  # bytes of input that each may still receive

    @classmethod
    def of(cls, encoding: str, limit: int, spare: int) -> "Decoder | None":
        """The decoder for the value of all Content-Encoding headers, applied in reverse order; None for no coding.

        Words that name no coding count for nothing, as in browsers. RequestError (bad_response) for a coding that is
        not decoded, or too many of them.
        """
        codings = _names(encoding)
        known = [coding for coding in codings if coding in _STAGES]
        if len(codings) > _MOST_CODINGS or not _UNREADABLE.isdisjoint(codings):
            raise RequestError(Outcome.BAD_RESPONSE, f"content-encoding {encoding[:40]} was not asked for")
        return cls([_STAGES[coding]() for coding in reversed(known)], limit, spare) if known else None

    @classmethod
    def undeclared(cls, start: bytes, limit: int, spare: int) -> "Decoder | None":
        """The decoder for the coding with whose mark a body begins; None if it begins with none."""
        coding = "gzip" if start.startswith(_GZIP_MEMBER) else "zstd" if start.startswith(_ZSTD_FRAME) else None
        return cls([_STAGES[coding]()], limit, spare) if coding else None

    @property
    def complete(self) -> bool:
        """Whether the body may end here."""
        return all(stage.complete for stage in self._stages)

    @property
    def over(self) -> bool:
        """Whether further bytes are not part of the body."""
        return any(stage.over for stage in self._stages)

    def __call__(self, chunk: bytes, number: int = 0) -> Iterator[bytes]:
        """The decoded bytes of a further chunk, in pieces of bounded size."""
        if number == len(self._stages):
            yield chunk
            return
        self._left[number] -= len(chunk)
        if self._left[number] < 0:
            raise RequestError(Outcome.TOO_LONG, "the compressed body is longer than fetch.max_body_bytes")
        for start in range(0, len(chunk), CHUNK_BYTES):
            for part in self._stages[number](chunk[start : start + CHUNK_BYTES]):
                yield from self(part, number + 1)


def unknown_codings(encoding: str) -> list[str]:
    """The words of all Content-Encoding headers that name no coding, in lower case.

    >>> unknown_codings("UTF-8, gzip, identity")
    ['utf-8']
    """
    return [name for name in _names(encoding) if name not in _STAGES and name not in _UNREADABLE]


def _names(encoding: str) -> list[str]:
    names = (part.partition(";")[0].strip(" \t\"'").lower() for part in encoding.split(","))
    return [name for name in names if name not in ("", "identity")]


def gunzip(data: bytes, limit: int) -> bytes:
    """Up to `limit` bytes of the content of a gzip file, as far as it can be read; other data unchanged."""
    if not data.startswith(_GZIP_MEMBER):
        return data[:limit]
    inflate, content = _Inflate(), bytearray()
    try:
        for start in range(0, len(data), CHUNK_BYTES):
            for part in inflate(data[start : start + CHUNK_BYTES]):
                content += part
                if len(content) >= limit:
                    return bytes(content[:limit])
            if inflate.over:
                break
    except zlib.error:
        pass
    return bytes(content)


class _Inflate:
    """Inflates gzip, or deflate with or without the zlib wrapper: servers send both as `deflate`.

    All members of a gzip stream are read (RFC 1952, 2.2).
    """

    def __init__(self) -> None:
        self._engine: Any = zlib.decompressobj(zlib.MAX_WBITS | 32)  # detects gzip or zlib
        self._start: bytes | None = b""  # the first bytes, while it may still be raw deflate
        self._tail = b""  # bytes after a member, while they may be the start of another
        self.over = False

    @property
    def complete(self) -> bool:
        return bool(self._engine.eof)

    def __call__(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            if self._engine.eof:
                chunk, self._tail = self._tail + chunk, b""
                if not chunk.startswith(_GZIP_MEMBER):
                    self._tail = chunk if _GZIP_MEMBER.startswith(chunk) else b""
                    self.over = not self._tail
                    return
                self._engine = zlib.decompressobj(zlib.MAX_WBITS | 16)
            part = self._decode(chunk)
            yield part
            while len(part) == _STEP or self._engine.unconsumed_tail:
                part = self._engine.decompress(self._engine.unconsumed_tail, _STEP)
                yield part
            chunk = self._engine.unused_data

    def _decode(self, chunk: bytes) -> bytes:
        try:
            part: bytes = self._engine.decompress(chunk, _STEP)
        except zlib.error:
            if self._start is None:
                raise
            self._engine = zlib.decompressobj(-zlib.MAX_WBITS)
            part = self._engine.decompress(self._start + chunk, _STEP)
        if self._start is not None:
            self._start = None if self._start or len(chunk) > 1 else chunk  # two bytes decide
        return part


class _Zstd:
    """Decodes all frames of zstd content, skippable ones included (RFC 8878, 3.1).

    A frame whose window exceeds 8 MB is an error (RFC 9659), as is one that needs a dictionary.
    """

    def __init__(self) -> None:
        self._frames = 0
        self._engine = self._next()
        self._tail = b""  # bytes after a frame, while they may be the start of another
        self.over = False

    def _next(self) -> "zstd.ZstdDecompressor":
        self._frames += 1
        if self._frames > _MOST_ZSTD_FRAMES:
            raise RequestError(Outcome.TOO_LONG, f"more than {_MOST_ZSTD_FRAMES} frames of zstd")
        return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG})

    @property
    def complete(self) -> bool:
        return self._engine.eof

    def __call__(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            if self._engine.eof:
                chunk, self._tail = self._tail + chunk, b""
                if len(chunk) < 4:
                    self._tail = chunk
                    return
                if struct.unpack_from("<I", chunk)[0] not in _ZSTD_FRAMES:
                    self.over = True
                    return
                self._engine = self._next()
            yield self._engine.decompress(chunk, _STEP)
            while not (self._engine.eof or self._engine.needs_input):
                yield self._engine.decompress(b"", _STEP)
            chunk = self._engine.unused_data if self._engine.eof else b""


class _Brotli:
    """Decodes br content, one stream (RFC 7932, 2). Its window is 16 MB at most: the library refuses larger ones."""

    def __init__(self) -> None:
        self._engine: Any = brotli.Decompressor()
        self._input: bytearray | None = bytearray()  # all of it, until it is longer than _BROTLI_KEPT
        self._output_bytes = 0
        self.over = False

    @property
    def complete(self) -> bool:
        return self.over or bool(self._engine.is_finished())

    def __call__(self, chunk: bytes) -> Iterator[bytes]:
        if self._engine.is_finished():
            self.over = True
            return
        if self._input is not None:
            self._input += chunk
            if len(self._input) > _BROTLI_KEPT:
                self._input = None
        try:
            for part in _decoded(self._engine, chunk):
                self._output_bytes += len(part)
                yield part
        except brotli.error:
            if self._input is None:
                raise
            yield from self._second_pass(self._input)

    def _second_pass(self, data: bytearray) -> Iterator[bytes]:
        """The rest of the content, up to the end of the stream or the error in it.

        For bytes after the stream, the library raises the error of a broken one, and drops what it has decoded.
        """
        engine, known = brotli.Decompressor(), self._output_bytes
        for position in range(len(data)):
            for part in _decoded(engine, data[position : position + 1]):
                yield part[known:]
                known = max(known - len(part), 0)
            if engine.is_finished():
                self.over = True
                return


def _decoded(engine: Any, data: bytes | bytearray) -> Iterator[bytes]:
    """What a decoder of br makes of further data, in pieces of at most about two `_STEP`.

    It may hold output back although it accepts more data, so it is asked until it returns nothing.
    """
    while True:
        part = engine.process(data, output_buffer_limit=_STEP)
        yield part
        if engine.is_finished() or (not part and engine.can_accept_more_data()):
            return
        data = b""


_STAGES: dict[str, Callable[[], Stage]] = {
    "gzip": _Inflate,
    "x-gzip": _Inflate,
    "deflate": _Inflate,
    "br": _Brotli,
    "zstd": _Zstd,
}
