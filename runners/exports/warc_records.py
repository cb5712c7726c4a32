"""The records of an archive for a capture (WARC 1.1, ISO 28500:2017), as values.

What a visit holds decides what a record can say. Response headers are stored whole, in order, as they were sent; the
body is stored without its codings. So a response has the original headers, except those that describe the coded form:
`Content-Encoding`, `Transfer-Encoding` and `Content-Length` get the prefix `X-Archive-Orig-`, and `Content-Length`
is that of the body in the record. The version and the reason phrase of the status line, and the request, are rebuilt.
"""

import base64
import dataclasses
import hashlib
import http
import re
import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from ...transforms.http.reply import stored_headers
from ...transforms.http.request_headers import Identity
from ...transforms.outcomes import Outcome
from .captures import Capture

Fields = tuple[tuple[str, str], ...]

SAME_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"

_OF_CODED_FORM = frozenset({"content-encoding", "transfer-encoding", "content-length"})
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]+")


@dataclasses.dataclass(frozen=True)
class Original:
    """An earlier response record with the payload that a revisit refers to."""

    url: str
    date: str
    digest: str


@dataclasses.dataclass(frozen=True)
class Record:
    """A record: named fields, and a block of a head and a body."""

    type: str
    id: str
    fields: Fields
    content_type: str
    head: bytes = b""
    body: bytes = b""


def records(capture: Capture, original: Original | None, identity: Identity) -> Iterator[Record]:
    """The records of an answer, the response or revisit first; `original` makes it a revisit."""
    visit = capture.visit
    id_ = record_id(visit["url"], visit["fetched_at"], "response")
    about = (("WARC-Target-URI", safe_url(visit["url"])), ("WARC-Date", warc_date(visit["fetched_at"])))
    server = (("WARC-IP-Address", visit["address"]),) if visit["address"] else ()
    yield response(visit, original, id_, about + server)
    yield Record(
        "request",
        record_id(visit["url"], visit["fetched_at"], "request"),
        (*about, *server, ("WARC-Concurrent-To", id_)),
        "application/http; msgtype=request",
        request_head(visit, identity),
    )
    facts = [("via", safe_url(visit["referrer"]))] if visit["referrer"] else []
    facts += [("hopsFromSeed", str(visit["depth"]))]
    facts += [("fetchTimeMs", str(round(visit["elapsed_ms"])))] if visit["elapsed_ms"] is not None else []
    facts += [("outlink", f"{safe_url(url)} {kind}") for url, kind in capture.outlinks]
    yield Record(
        "metadata",
        record_id(visit["url"], visit["fetched_at"], "metadata"),
        (*about, ("WARC-Concurrent-To", id_)),
        "application/warc-fields",
        body=named_fields(facts),
    )
    if capture.text:
        yield Record(
            "conversion",
            record_id(visit["url"], visit["fetched_at"], "conversion"),
            (*about, ("WARC-Refers-To", id_)),
            "text/plain; charset=utf-8",
            body=capture.text.encode("utf-8", "replace"),
        )


def response(visit: dict[str, Any], original: Original | None, id_: str, about: Fields) -> Record:
    """The record of an answer: a response, or a revisit of an earlier one."""
    body, content_type = visit["body"] or b"", "application/http; msgtype=response"
    if original is None:
        fields = (*about, ("WARC-Payload-Digest", payload_digest(body)), *_truncation(visit))
        return Record("response", id_, fields, content_type, response_head(visit, len(body)), body)
    profile = NOT_MODIFIED if visit["outcome"] == Outcome.NOT_MODIFIED else SAME_PAYLOAD
    refers = (("WARC-Refers-To-Target-URI", safe_url(original.url)), ("WARC-Refers-To-Date", original.date))
    fields = (*about, ("WARC-Payload-Digest", original.digest), ("WARC-Profile", profile), *refers)
    return Record("revisit", id_, fields, content_type, response_head(visit, len(body)))


def _truncation(visit: dict[str, Any]) -> Fields:
    if visit["truncated"]:
        return (("WARC-Truncated", "length"),)
    if visit["outcome"] in (Outcome.UNWANTED_TYPE, Outcome.TOO_LONG):
        return (("WARC-Truncated", "unspecified"),)
    return ()


def response_head(visit: dict[str, Any], length: int) -> bytes:
    """Status line and headers of an answer, with the length of the body in the record."""
    status = visit["status"]
    phrase = http.HTTPStatus(status).phrase if status in _STATUSES else ""
    fields = stored_headers(visit)
    headers = [(f"X-Archive-Orig-{name}" if name.lower() in _OF_CODED_FORM else name, value) for name, value in fields]
    return _head(f"HTTP/1.1 {status} {phrase}", [*headers, ("Content-Length", str(length))])


_STATUSES = frozenset(http.HTTPStatus)


def request_head(visit: dict[str, Any], identity: Identity) -> bytes:
    """Request line and headers, rebuilt; without conditions, credentials and additional headers."""
    parts = urlsplit(visit["url"])
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    host = parts.netloc.rpartition("@")[2]
    return _head(f"GET {target} HTTP/1.1", [("Host", host), *identity.headers(visit["url"], visit["referrer"]).items()])


def _head(first: str, fields: Sequence[tuple[str, str]]) -> bytes:
    """A head of HTTP/1.1. Line ends and other control characters in values become spaces."""
    lines = [first, *(f"{name}: {_one_line(value)}" for name, value in fields if _TOKEN.fullmatch(name))]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode("latin-1", "replace")


def named_fields(fields: Sequence[tuple[str, str]]) -> bytes:
    """A block of application/warc-fields: one line a field."""
    return "".join(f"{name}: {_one_line(value)}\r\n" for name, value in fields).encode("utf-8", "replace")


def payload_digest(body: bytes) -> str:
    """The digest of a payload, as archives write it.

    >>> payload_digest(b"")
    'sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    return "sha1:" + base64.b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()


def record_id(name: str, moment: datetime, type_: str) -> str:
    """An identifier of a record about a URL or file at a time: the same in each export."""
    return f"<{uuid.uuid5(uuid.NAMESPACE_URL, f'{name} {moment} {type_}').urn}>"


def warc_date(moment: datetime) -> str:
    """A time in UTC, to the microsecond."""
    return f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}"


def safe_url(url: str) -> str:
    """A URL without white space and control characters, which it may hold after a foreign downloader.

    >>> safe_url("http://a.test/\\r\\nWARC-Type: x")
    'http://a.test/%0D%0AWARC-Type:%20x'
    """
    return re.sub(r"[\x00-\x20\x7f]", lambda match: f"%{ord(match[0]):02X}", url)


def _one_line(value: str) -> str:
    return _CONTROL.sub(" ", value)
