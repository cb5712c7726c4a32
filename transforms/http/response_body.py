"""Reads and decodes a body, within bounds of size and time."""

from collections.abc import Callable
from http.client import HTTPException
from typing import NamedTuple

from ..outcomes import Outcome
from .content_coding import CHUNK_BYTES, DECODE_ERRORS, Decoder
from .errors import RequestError, request_error

_CHUNK = 65_536


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

    `encoding` is the value of all Content-Encoding headers. Bytes before a failure are appended; bytes after a
    compressed body are ignored.
    """
    size = came = 0
    try:
        decode = Decoder.of(encoding, limit, _CHUNK)
        while size <= limit and not (decode and decode.over):
            chunk = read(CHUNK_BYTES if decode else _CHUNK)
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
    except (RequestError, HTTPException) as error:
        return Body(failure=request_error(error))
    except DECODE_ERRORS as error:
        return Body(failure=RequestError(Outcome.BAD_RESPONSE, str(error)))
    return Body(truncated=size > limit)
