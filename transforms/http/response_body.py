"""Read a body and decode it, within bounds of size and of time."""

import threading
import zlib
from collections.abc import Callable
from http.client import HTTPException
from typing import Any, NamedTuple

from urllib3.exceptions import HTTPError

from ..outcomes import Outcome
from .errors import RequestError, request_error

_CHUNK = 65_536
_COMPRESSED_CHUNK = 16_384  # zlib copies what follows a member: with many of them in one piece, again and again
_EXPANSION = 1032  # the most that deflate makes of a byte (zlib's technical details), gzip's own bytes aside
_GZIP_MEMBER = b"\x1f\x8b\x08"


class Body(NamedTuple):
    """What came of a body, decoded."""

    data: bytes
    truncated: bool = False  # there was more than may be
    ended: bool = False  # nothing of it is left on the connection
    failure: RequestError | None = None
    held: int = 0  # bytes of the room that it takes


class Room:
    """The bytes that all bodies of a worker may take at a time. Who finds no room waits, and reads no further."""

    def __init__(self, total: int) -> None:
        self._free = total
        self._changed = threading.Condition()

    def take(self, count: int, patience: float) -> None:
        """Take so many bytes, waiting at most so many seconds; RequestError if others have them for longer."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._free >= count, patience):
                raise RequestError(Outcome.TIMEOUT, "other bodies took all the memory that there is for them")
            self._free -= count

    def give_back(self, count: int) -> None:
        with self._changed:
            self._free += count
            self._changed.notify_all()


class Pace:
    """Whether bytes come fast enough: at least `rate` a second, in each span of so many seconds."""

    def __init__(self, rate: float, span: float, now: float) -> None:
        self._rate, self._span = rate, span
        self._since, self._count = now, 0

    def too_slow(self, count: int, now: float) -> bool:
        """After so many more bytes."""
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
    take: Callable[[int], None],
    give_back: Callable[[int], None],
) -> Body:
    """The body that `read` gives piece by piece, decoded and cut at `limit` bytes.

    `take` has room made for as many bytes before they are there, and `give_back` gets those that were too many.

    `encoding` is the value of all Content-Encoding headers. With trouble, `data` is what came before it. A gzip
    stream is read through all of its members (RFC 1952, 2.2), and what follows a compressed body is ignored.
    """
    codings = [coding for part in encoding.split(",") if (coding := part.strip().lower()) not in ("", "identity")]
    if len(codings) > 1 or not set(codings) <= {"gzip", "x-gzip", "deflate"}:
        text = f"content-encoding {encoding[:40]} was not asked for"
        return Body(b"", failure=RequestError(Outcome.BAD_RESPONSE, text))
    inflate = _Inflate() if codings else None
    data, came = bytearray(), 0  # not a list of parts: a byte each, they would take fifty times their size
    failure: RequestError | None = None
    try:
        while len(data) <= limit and not (inflate and inflate.over):
            chunk = read(_COMPRESSED_CHUNK if inflate else _CHUNK)
            if not chunk:
                if inflate and came and not inflate.complete:
                    raise RequestError(Outcome.BAD_RESPONSE, "the compressed body ends too early")
                return Body(bytes(data), ended=True, held=len(data))
            if pace.too_slow(len(chunk), clock()):
                raise RequestError(Outcome.TIMEOUT, "the body came slower than fetch.min_rate")
            came += len(chunk)
            if came > limit + _CHUNK and len(data) <= limit and inflate:  # nearly all of it is wrapping
                raise RequestError(Outcome.TOO_LONG, "the compressed body is longer than fetch.max_body_bytes")
            most = min(limit + 1 - len(data), _EXPANSION * len(chunk)) if inflate else len(chunk)
            before = len(data)
            take(most)
            try:
                data += inflate(chunk, limit + 1 - before) if inflate else chunk
            finally:
                give_back(most - (len(data) - before))
    except (RequestError, HTTPException, HTTPError) as error:
        failure = request_error(error)
    except zlib.error as error:
        failure = RequestError(Outcome.BAD_RESPONSE, str(error))
    return Body(bytes(data[:limit]), truncated=len(data) > limit, failure=failure, held=len(data))


def gunzip(data: bytes, limit: int) -> bytes:
    """What is in a gzip file, as far as it can be read and up to `limit` bytes; other data as it is, up to there."""
    if not data.startswith(_GZIP_MEMBER):
        return data[:limit]
    inflate, content = _Inflate(), bytearray()
    try:
        for start in range(0, len(data), _COMPRESSED_CHUNK):
            content += inflate(data[start : start + _COMPRESSED_CHUNK], limit - len(content))
            if inflate.over or len(content) >= limit:
                break
    except zlib.error:
        pass
    return bytes(content)


class _Inflate:
    """gzip, or deflate with the zlib wrapper or without: servers send both under one name."""

    def __init__(self) -> None:
        self._engine: Any = zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip or zlib, whichever it is
        self._start: bytes | None = b""  # what came first, as long as it may be neither of both
        self._tail = b""  # what follows a member, as long as it may be the start of another
        self.over = False  # what comes now is no part of it

    @property
    def complete(self) -> bool:
        """Whether it may end here."""
        return bool(self._engine.eof)

    def __call__(self, chunk: bytes, room: int) -> bytes:
        """What a further piece stands for, `room` bytes of it at most; if there are as many, it is the last call."""
        parts = []
        while chunk and room > 0:
            if self._engine.eof:
                chunk, self._tail = self._tail + chunk, b""
                if not chunk.startswith(_GZIP_MEMBER):
                    self._tail = chunk if _GZIP_MEMBER.startswith(chunk) else b""
                    self.over = not self._tail
                    break
                self._engine = zlib.decompressobj(zlib.MAX_WBITS | 16)
            part = self._decode(chunk, room)
            parts.append(part)
            room -= len(part)
            chunk = self._engine.unused_data
        return b"".join(parts)

    def _decode(self, chunk: bytes, room: int) -> bytes:
        try:
            part: bytes = self._engine.decompress(chunk, room)
        except zlib.error:
            if self._start is None:
                raise
            self._engine = zlib.decompressobj(-zlib.MAX_WBITS)
            part = self._engine.decompress(self._start + chunk, room)
        if self._start is not None:
            self._start = None if self._start or len(chunk) > 1 else chunk  # two bytes tell
        return part
