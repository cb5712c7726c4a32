"""Reads and decodes a body, within bounds of size and time."""

from collections.abc import Callable, Iterable
from http.client import HTTPException
from typing import NamedTuple

from ..outcomes import Outcome
from .content_coding import CHUNK_BYTES, DECODE_ERRORS, Decoder, unknown_codings
from .errors import RequestError, request_error
from .media_types import is_text

_CHUNK = 65_536
CUT = "the compressed body ends too early"
"""The error of a reply whose body is read all the same, as browsers and curl do."""

_MARKS = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x78")
"""How gzip, zstd and zlib begin. Anything may be the beginning of a deflate stream without its frame."""


class Body(NamedTuple):
    """The result of reading a body."""

    truncated: bool = False  # it exceeds the limit
    ended: bool = False  # it was read to its end
    failure: RequestError | None = None
    oddity: str | None = None  # what is wrong with the declaration or the end of a body that is read all the same


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


class _Coding:
    """The coding of a body, as it is declared or as its first bytes show."""

    def __init__(self, encoding: str, limit: int, content_type: str | None) -> None:
        self._encoding, self._limit, self._content_type = encoding, limit, content_type
        self._decoder = Decoder.of(encoding, limit, _CHUNK)
        self._head = b""
        self.oddity: str | None = None
        if encoding and (unknown := unknown_codings(encoding)):
            self.oddity = f"content-encoding {', '.join(unknown)[:40]} names no coding"

    @property
    def chunk_bytes(self) -> int:
        """How many bytes to read at a time."""
        return CHUNK_BYTES if self._decoder else _CHUNK

    @property
    def is_over(self) -> bool:
        """Whether further bytes are not part of the body."""
        return self._decoder is not None and self._decoder.over

    def decode(self, chunk: bytes) -> Iterable[bytes]:
        """The decoded parts of a further chunk."""
        if not self._head and self._decoder is None:
            undeclared = Decoder.undeclared(chunk, self._limit, _CHUNK)
            if undeclared and (self.oddity or is_text(self._content_type)):
                self._decoder, self.oddity = undeclared, "the body is in a coding that is not declared"
        self._head = self._head or chunk[:4]
        return self._decoder(chunk) if self._decoder else (chunk,)

    def end(self, is_empty: bool) -> Body:
        """The result at the end of the response; RequestError if nothing can be used of a coded body that is cut."""
        if not (self._decoder and self._head) or self._decoder.complete:
            return Body(ended=True, oddity=self.oddity)
        if not is_empty and (self._head.startswith(_MARKS) or "br" in self._encoding.lower()):
            return Body(truncated=True, ended=True, oddity=CUT)  # browsers and curl show what came
        raise RequestError(Outcome.BAD_RESPONSE, CUT)


def read_body(
    read: Callable[[int], bytes],
    encoding: str,
    limit: int,
    pace: Pace,
    clock: Callable[[], float],
    append: Callable[[bytes], None],
    content_type: str | None = None,
) -> Body:
    """Read a body piece by piece, decode it and `append` it, up to `limit` bytes.

    `encoding` is the value of all Content-Encoding headers. Bytes before a failure are appended; bytes after a
    compressed body are ignored. A body that begins with the mark of gzip or zstd is decoded if `content_type` is text,
    or if a word that names no coding is declared.
    """
    size = 0
    try:
        coding = _Coding(encoding, limit, content_type)
        while size <= limit and not coding.is_over:
            chunk = read(coding.chunk_bytes)
            if not chunk:
                return coding.end(is_empty=not size)
            if pace.too_slow(len(chunk), clock()):
                raise RequestError(Outcome.TIMEOUT, "the body came slower than fetch.min_rate")
            for part in coding.decode(chunk):
                if kept := part[: limit - size]:
                    append(kept)
                size += len(part)
                if size > limit:
                    break
    except (RequestError, HTTPException) as error:
        return Body(failure=request_error(error))
    except DECODE_ERRORS as error:
        return Body(failure=RequestError(Outcome.BAD_RESPONSE, str(error)))
    return Body(truncated=size > limit, oddity=coding.oddity)
