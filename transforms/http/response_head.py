"""Parses the head of a response, and determines the framing of its body (RFC 9112)."""

import re
from collections.abc import Callable
from typing import NamedTuple

from ..outcomes import Outcome
from .errors import RequestError

_MOST_INTERIM = 100  # interim responses: 100 Continue, 102 Processing, 103 Early Hints

# Of any version: archivers write the one of the connection (HTTP/2, HTTP/3), and browsers take any in any case.
_STATUS_LINE = re.compile(rb"HTTP/(\d(?:\.\d)?)[ \t]+([1-9]\d\d)(?!\d).*\r?\n", re.IGNORECASE)
_LENGTH = re.compile(r"\d{1,18}", re.ASCII)
_UNSAFE = str.maketrans("\r\n\0", "   ")  # in header values (RFC 9110, 5.5)
_FRAMING = frozenset({"transfer-encoding", "content-length", "connection"})


class Head(NamedTuple):
    """The final status line, and the headers below it."""

    status: int
    version: int  # of HTTP: 10 or 11
    fields: list[tuple[str, str]]  # in order; names in original case, bytes decoded as Latin-1


class Framing(NamedTuple):
    """How to read a body."""

    chunked: bool
    length: int | None  # in bytes; None: chunked, or until the connection closes
    closes: bool  # the connection closes after the response


def read_head(readline: Callable[[int], bytes], limit: int) -> Head:
    """Reads the head of a response, at most `limit` bytes including all interim responses (RFC 9110, 15.2).

    Raises RequestError: connect_error if nothing arrives, too_long beyond the limit, else bad_response. Lines that are
    not headers are skipped, as in browsers. Nothing but the limit bounds the number of lines.
    """
    for _ in range(1 + _MOST_INTERIM):
        while (line := readline(limit + 1)) in (b"\r\n", b"\n"):  # browsers skip some bytes before an answer
            limit -= _checked(line, limit)
        if not line:
            raise RequestError(Outcome.CONNECT_ERROR, "the server hung up without an answer")
        if not line[:5].upper().startswith(b"HTTP/"):
            raise RequestError(Outcome.BAD_RESPONSE, "the answer does not begin as HTTP does")
        limit -= _checked(line, limit)
        if not (match := _STATUS_LINE.fullmatch(line)):
            raise RequestError(Outcome.BAD_RESPONSE, "the answer begins with a status line that is none")
        status = int(match[2])
        fields: list[tuple[str, list[str]]] = []
        while True:
            line = readline(limit + 1)
            limit -= _checked(line, limit)
            if line in (b"\r\n", b"\n"):
                break
            _add(fields, line.decode("latin-1"))
        if status >= 200 or status == 101:
            return Head(status, 10 if match[1] < b"1.1" else 11, [(name, " ".join(lines)) for name, lines in fields])
    raise RequestError(Outcome.BAD_RESPONSE, f"more than {_MOST_INTERIM} interim answers")


def framing(head: Head) -> Framing:
    """The framing of the response to a GET (RFC 9112, 6.3); bad_response if it is ambiguous or invalid."""
    found: dict[str, list[str]] = {name: [] for name in _FRAMING}
    for name, value in head.fields:
        if (name := name.lower()) in _FRAMING:
            found[name] += [token.strip().lower() for token in value.split(",")]
    options = found["connection"]
    closes = "close" in options or (head.version == 10 and "keep-alive" not in options)
    if head.status in (101, 204, 304):
        return Framing(False, 0, closes or head.status == 101)
    lengths = set(found["content-length"])
    codings = [coding for coding in found["transfer-encoding"] if coding not in ("", "identity")]
    closes = closes or bool(codings and (lengths or codings != ["chunked"]))  # what is wrong may be so on purpose
    if "chunked" in codings:  # once, however often it is named, and others are ignored: browsers
        return Framing(True, None, closes)
    if len(lengths) > 1:
        raise RequestError(Outcome.BAD_RESPONSE, "several values of content-length")
    length = next(iter(lengths), "")
    if not _LENGTH.fullmatch(length):  # what is no number says nothing (Fetch standard, "extract a length")
        return Framing(False, None, True)
    return Framing(False, int(length), closes)


def _checked(line: bytes, limit: int) -> int:
    """The length of a line; RequestError if it is incomplete or exceeds the limit."""
    if len(line) > limit:
        raise RequestError(Outcome.TOO_LONG, "the head of the answer is longer than fetch.max_header_bytes")
    if not line.endswith(b"\n"):
        raise RequestError(Outcome.BAD_RESPONSE, "the head of the answer ends too early")
    return len(line)


def _add(fields: list[tuple[str, list[str]]], line: str) -> None:
    """Add a line to the names with the lines of their values."""
    if line[0] in " \t":  # obsolete line folding (RFC 9112, 5.2)
        if fields:
            fields[-1][1].append(_value(line))
        return
    name, colon, value = line.partition(":")
    if colon and (name := name.strip(" \t")):
        fields.append((name, [_value(value)]))


def _value(text: str) -> str:
    text = text.strip(" \t\r\n")
    return text if text.isprintable() else text.translate(_UNSAFE)
