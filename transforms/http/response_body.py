"""Reads and decodes a body, within bounds of size and time."""

import zlib
from collections.abc import Callable, Iterator
from http.client import HTTPException
from typing import Any, NamedTuple

from urllib3.exceptions import HTTPError

from ..outcomes import Outcome
from .errors import RequestError, request_error

_CHUNK = 65_536
_COMPRESSED_CHUNK = 16_384  # zlib copies the rest of a chunk after each member: quadratic in the chunk size
_STEP = 262_144  # bytes that are inflated at a time: one byte may inflate to a thousand
_MOST_CODINGS = 3
_GZIP_MEMBER = b"\x1f\x8b\x08"


class Body(NamedTuple):
    """The result of reading a body."""

    truncated: bool = False  # it exceeds the limit
    ended: bool = False  # it was read to its end
    failure: RequestError | None = None


class Pace:
    """Checks the transfer rate: at least `rate` bytes per second in each period of `span` seconds."""

    def __init__(self, rate: float, span: float, now: float) -> None:
        self._rate, self._span = rate, span
        self._since, self._count = now, 0

    def too_slow(self, count: int, now: float) -> bool:
        """Whether the rate is too low, after `count` more bytes."""
        self._count += count
        passed = now - self._since
        if passed < self._span:
            return False
        slow = self._count < self._rate * passed
        self._since, self._count = now, 0
        return slow


def read_body(
    read: Callable[[int], bytes],
    encoding: str,
    limit: int,
    pace: Pace,
    clock: Callable[[], float],
    append: Callable[[bytes], None],
) -> Body:
    """Read a body piece by piece, decode it and `append` it, up to `limit` bytes.

    `encoding` is the value of all Content-Encoding headers. Bytes before a failure are appended. All members of a
    gzip stream are read (RFC 1952, 2.2), and bytes after a compressed body are ignored.
    """
    codings = [coding for part in encoding.split(",") if (coding := part.strip().lower()) not in ("", "identity")]
    if len(codings) > _MOST_CODINGS or not set(codings) <= {"gzip", "x-gzip", "deflate"}:
        text = f"content-encoding {encoding[:40]} was not asked for"
        return Body(failure=RequestError(Outcome.BAD_RESPONSE, text))
    decode = _Decoder(len(codings), limit) if codings else None
    size = came = 0
    try:
        while size <= limit and not (decode and decode.over):
            chunk = read(_COMPRESSED_CHUNK if decode else _CHUNK)
            if not chunk:
                if decode and came and not decode.complete:
                    raise RequestError(Outcome.BAD_RESPONSE, "the compressed body ends too early")
                return Body(ended=True)
            if pace.too_slow(len(chunk), clock()):
                raise RequestError(Outcome.TIMEOUT, "the body came slower than fetch.min_rate")
            came += len(chunk)
            for part in decode(chunk) if decode else (chunk,):
                if kept := part[: limit - size]:
                    append(kept)
                size += len(part)
                if size > limit:
                    break
    except (RequestError, HTTPException, HTTPError) as error:
        return Body(failure=request_error(error))
    except zlib.error as error:
        return Body(failure=RequestError(Outcome.BAD_RESPONSE, str(error)))
    return Body(truncated=size > limit)


def gunzip(data: bytes, limit: int) -> bytes:
    """Up to `limit` bytes of the content of a gzip file, as far as it can be read; other data unchanged."""
    if not data.startswith(_GZIP_MEMBER):
        return data[:limit]
    inflate, content = _Inflate(), bytearray()
    try:
        for start in range(0, len(data), _COMPRESSED_CHUNK):
            for part in inflate(data[start : start + _COMPRESSED_CHUNK]):
                content += part
                if len(content) >= limit:
                    return bytes(content[:limit])
            if inflate.over:
                break
    except zlib.error:
        pass
    return bytes(content)


class _Decoder:
    """Decodes one or several nested content codings.

    The input of each is bounded by `limit` bytes (and a chunk): TOO_LONG beyond, as nearly all of it is overhead.
    """

    def __init__(self, codings: int, limit: int) -> None:
        self._stages = [_Inflate() for _ in range(codings)]
        self._left = [limit + _CHUNK] * codings  # bytes of input that each may still receive

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
        for part in self._stages[number](chunk):
            yield from self(part, number + 1)


class _Inflate:
    """Inflates gzip, or deflate with or without the zlib wrapper: servers send both as `deflate`."""

    def __init__(self) -> None:
        self._engine: Any = zlib.decompressobj(zlib.MAX_WBITS | 32)  # detects gzip or zlib
        self._start: bytes | None = b""  # the first bytes, while it may still be raw deflate
        self._tail = b""  # bytes after a member, while they may be the start of another
        self.over = False  # further bytes are not part of it

    @property
    def complete(self) -> bool:
        """Whether the stream may end here."""
        return bool(self._engine.eof)

    def __call__(self, chunk: bytes) -> Iterator[bytes]:
        """The inflated bytes of a further chunk, in pieces of at most `_STEP` bytes."""
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
