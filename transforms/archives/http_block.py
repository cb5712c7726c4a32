"""The answer in the block of a record: its head, and its body without transfer and content codings."""

import io
import re
from collections.abc import Callable

from ..http.content_coding import DECODE_ERRORS, Decoder
from ..http.reply import Headers, content_type, joined
from ..http.response_body import Body, Pace, read_body
from ..http.response_head import read_head

_ORIGINAL = "x-archive-orig-"
_CHUNK = 65_536
_SIZE_LINE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")  # strictly: a text may begin with a number
_MOST_SIZE_LINE = 256
_BINARY_BYTE = re.compile(rb"[\0-\x08\x0e-\x1a]")
_ENDLESS = Pace(0, float("inf"), 0)


def read_answer_head(read: Callable[[int], bytes], limit: int) -> tuple[int, Headers, bytes]:
    """(status, headers, first bytes of the body that were read with them), of at most `limit` bytes.

    RequestError if the block has none (as `response_head.read_head`).
    """
    start = _read_fully(read, limit + 1)
    has_end = any(end in start for end in (b"\n\n", b"\r\n\r\n", b"\n\r\n"))
    if not has_end and start.endswith(b"\n") and len(start) <= limit:  # a revisit may end with its head
        start += b"\r\n\r\n"
    lines = io.BytesIO(start)
    head = read_head(lines.readline, limit)
    return head.status, head.fields, lines.read()


def _read_fully(read: Callable[[int], bytes], size: int) -> bytes:
    parts, left = [], size
    while left and (part := read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def original_headers(headers: Headers) -> Headers:
    """The headers as the server sent them: an exporter may have set those of the coded form aside (docs/export.md)."""
    aside = {name.lower().removeprefix(_ORIGINAL) for name, _ in headers if name.lower().startswith(_ORIGINAL)}
    if not aside:
        return headers
    return [
        (name[len(_ORIGINAL) :] if name.lower().startswith(_ORIGINAL) else name, value)
        for name, value in headers
        if name.lower() not in aside | {"content-length"} or name.lower().startswith(_ORIGINAL)
    ]


def is_chunked(headers: Headers) -> bool:
    """Whether a Transfer-Encoding header says that the body is in chunks."""
    return "chunked" in joined(headers, "transfer-encoding").lower()


def decode_body(
    read: Callable[[int], bytes],
    headers: Headers,
    limit: int,
    append: Callable[[bytes], None],
    unchunked: Callable[[bytes], None],
) -> tuple[Body, bool]:
    """Decode a body, of which `append` gets up to `limit` bytes; and whether it ends before its last chunk.

    `unchunked` gets what a body in chunks contains, before its content coding is undone.

    Archives hold bodies with or without the codings that their headers name: what does not begin like a coding is
    taken as it is.
    """
    source, chunks = _Source(read), None
    if is_chunked(headers) and _SIZE_LINE.match(source.peek(_MOST_SIZE_LINE)):
        chunks = _Dechunked(source, unchunked)
        source = _Source(chunks.read)
    coding = joined(headers, "content-encoding")
    if coding and not _begins_like(source.peek(_CHUNK), coding):
        coding = ""
    body = read_body(source.read, coding, limit, _ENDLESS, lambda: 0.0, append, content_type(headers))
    return body, bool(chunks and chunks.is_cut)


def _begins_like(start: bytes, coding: str) -> bool:
    """Whether a body may be in its last content coding, by its first bytes; br and deflate have no mark."""
    last = coding.rpartition(",")[2].strip().lower()
    if last in ("gzip", "x-gzip"):
        return start.startswith(b"\x1f\x8b")
    if last == "zstd":
        return start.startswith(b"\x28\xb5")
    if last not in ("br", "deflate") or _BINARY_BYTE.search(start, 0, _MOST_SIZE_LINE):
        return True
    decoder = Decoder.of(last, len(start), 0)
    try:
        return decoder is not None and any(decoder(start))
    except DECODE_ERRORS:
        return False


class _Source:
    """Bytes from a function that reads, with a look ahead."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read, self._ahead = read, b""

    def peek(self, size: int) -> bytes:
        """The next bytes; fewer than `size` only at the end."""
        while len(self._ahead) < size and (part := self._read(_CHUNK)):
            self._ahead += part
        return self._ahead[:size]

    def read(self, size: int) -> bytes:
        if not self._ahead:
            return self._read(size)
        data, self._ahead = self._ahead[:size], self._ahead[size:]
        return data


class _Dechunked:
    """The content of a body in chunks (RFC 9112, 7.1), up to its end or to what is no chunk."""

    def __init__(self, source: _Source, tap: Callable[[bytes], None]) -> None:
        self._source, self._tap, self._left, self._is_over = source, tap, 0, False
        self.is_cut = False  # it ends before its last chunk

    def read(self, size: int) -> bytes:
        if not self._left:
            self._next()
        if self._is_over:
            return b""
        data = self._source.read(min(size, self._left))
        self._left -= len(data)
        self._is_over = self.is_cut = not data
        self._tap(data)
        return data

    def _next(self) -> None:
        start = self._source.peek(_MOST_SIZE_LINE).removeprefix(b"\r\n")
        line = _SIZE_LINE.match(start)
        size = int(line[1], 16) if line else 0
        if not line or not size:
            self._is_over, self.is_cut = True, not line
            return
        skipped = len(self._source.peek(_MOST_SIZE_LINE)) - len(start) + line.end()
        while skipped:
            skipped -= len(self._source.read(skipped))
        self._left = size
