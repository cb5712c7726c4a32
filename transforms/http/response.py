"""Reads a response, with strict parsing and bounded sizes, which http.client does not have."""

import http.client
import re
from typing import Any

from ..outcomes import Outcome
from .errors import RequestError
from .response_head import framing, read_head

_CHUNK_LINE = 16_384  # bytes: the size of a chunk, and ignored extensions
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?\r?\n")


class Response(http.client.HTTPResponse):
    """A response on a connection of http.client or urllib3; `read1` reads its body. Raises RequestError."""

    def __init__(self, *args: Any, limit: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limit = limit  # bytes of the head, and of the trailer

    def begin(self) -> None:
        head = read_head(self.fp.readline, self._limit)
        self.chunked, self.length, self.will_close = framing(head)
        self.status, self.version, self.fields, self.reason = head.status, head.version, head.fields, ""
        self.chunk_left: int | None = None  # bytes; None: before the first chunk
        self.headers = self.msg = http.client.HTTPMessage()  # for urllib3
        for name, value in head.fields:
            self.msg.set_raw(name, value)

    def read1(self, n: int = -1) -> bytes:
        if self.fp is None:
            return b""
        if self.chunked and not self.chunk_left:
            self.chunk_left = self._next_chunk()
        left = self.chunk_left if self.chunked else self.length  # None: until the connection ends
        if left is None:
            data: bytes = self.fp.read1(n)
        else:
            data = self.fp.read1(min(n, left)) if left else b""
            if left and not data:
                raise RequestError(Outcome.BAD_RESPONSE, "the body ends too early")
            left -= len(data)
            if self.chunked:
                self.chunk_left = left
            else:
                self.length = left
        if not data:
            self.close()
        return data

    def _next_chunk(self) -> int:
        """The size of the next chunk; 0 after the last one."""
        if self.chunk_left == 0 and self.fp.readline(2) not in (b"\r\n", b"\n"):
            raise RequestError(Outcome.BAD_RESPONSE, "a chunk does not end where it should")
        line = self.fp.readline(_CHUNK_LINE)
        if len(line) == _CHUNK_LINE:
            raise RequestError(Outcome.TOO_LONG, "the size of a chunk is not to be found")
        if not (match := _CHUNK_SIZE.fullmatch(line)):
            raise RequestError(Outcome.BAD_RESPONSE, "a chunk of no size" if line else "the chunks end too early")
        if size := int(match[1], 16):
            return size
        limit = self._limit
        while (line := self.fp.readline(limit + 1)) not in (b"\r\n", b"\n", b""):
            if len(line) > limit:
                raise RequestError(Outcome.TOO_LONG, "what follows the last chunk is too long")
            limit -= len(line)
        return 0
