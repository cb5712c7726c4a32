"""Reads and decodes a body, within bounds of size and time."""

from collections.abc import Callable
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
    size, oddity, head = 0, None, b""
    try:
        decode = Decoder.of(encoding, limit, _CHUNK)
        if encoding and (unknown := unknown_codings(encoding)):
            oddity = f"content-encoding {', '.join(unknown)[:40]} names no coding"
        while size <= limit and not (decode and decode.over):
            chunk = read(CHUNK_BYTES if decode else _CHUNK)
            if not chunk:
                if not (decode and head) or decode.complete:
                    return Body(ended=True, oddity=oddity)
                if size and (head.startswith(_MARKS) or "br" in encoding.lower()):
                    return Body(truncated=True, ended=True, oddity=CUT)  # browsers and curl show what came
                raise RequestError(Outcome.BAD_RESPONSE, CUT)
            if pace.too_slow(len(chunk), clock()):
                raise RequestError(Outcome.TIMEOUT, "the body came slower than fetch.min_rate")
            if decode is None and not head:
                undeclared = Decoder.undeclared(chunk, limit, _CHUNK)
                if undeclared and (oddity or is_text(content_type)):
                    decode, oddity = undeclared, "the body is in a coding that is not declared"
            head = head or chunk[:4]
            for part in decode(chunk) if decode else (chunk,):
                if kept := part[: limit - size]:
                    append(kept)
                size += len(part)
                if size > limit:
                    break
    except (RequestError, HTTPException) as error:
        return Body(failure=request_error(error))
    except DECODE_ERRORS as error:
        return Body(failure=RequestError(Outcome.BAD_RESPONSE, str(error)))
    return Body(truncated=size > limit, oddity=oddity)
