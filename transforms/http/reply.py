"""Interprets a server's reply, as pure functions of the status and the headers."""

import email.utils
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from ..outcomes import Outcome
from ..urls.canonical import canonicalize
from ..urls.filters import extension
from . import media_types

Headers = Sequence[tuple[str, str]]

_PARAMETER = re.compile(r'[;\s]*+([^=;"]*+)(?:=\s*+(?:"((?:[^"\\]|\\.)*+)|([^";]*+)))?[^;]*+', re.DOTALL)
_EXTENSION = re.compile(r"\.(\w+)\s*$", re.ASCII)
_HTTP_DATE = re.compile(
    r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT"
    r"|\w{6,9}, \d\d-\w{3}-\d\d \d\d:\d\d:\d\d GMT"
    r"|\w{3} \w{3} [\d ]\d \d\d:\d\d:\d\d \d{4}",
    re.ASCII | re.IGNORECASE,
)
_SECONDS = re.compile(r"\d+", re.ASCII)
_BY_STATUS = {
    **dict.fromkeys((404, 410), Outcome.GONE),
    402: Outcome.PAYMENT_REQUIRED,
    403: Outcome.FORBIDDEN,
    429: Outcome.TOO_MANY_REQUESTS,
    999: Outcome.CLIENT_ERROR,  # some sites refuse robots with it
}
_PRICES = ("crawler-price", "crawler-exact-price")
_LONGEST = 1e9  # seconds; with more, arithmetic on dates overflows
_CLOCK_ERROR = timedelta(days=1)  # tolerates a wrong time zone, but not a wrong year


class Reply(NamedTuple):
    """The result of one request. `failure` is the reason for no answer (`status` is None), or for an unwanted one."""

    status: int | None = None
    headers: Headers = ()
    body: bytes = b""
    truncated: bool = False
    address: str | None = None
    elapsed_s: float = 0.0  # seconds
    failure: Outcome | None = None
    error: str | None = None


def header(headers: Headers, name: str) -> str | None:
    """The first value of a header, by its lower-case name; None if it is missing."""
    return next((value for key, value in headers if key.lower() == name), None)


def joined(headers: Headers, name: str) -> str:
    """All values of a header as one line (RFC 9110, 5.3), by its lower-case name; "" if it is missing."""
    return ", ".join(value for key, value in headers if key.lower() == name)


def stored_headers(visit: Mapping[str, Any]) -> Headers:
    """The headers of a row of table visits."""
    return [(header["name"], header["value"]) for header in visit["headers"] or ()]


def content_type(headers: Headers) -> str | None:
    """All Content-Type headers as one line; None if there is none."""
    return joined(headers, "content-type") or None


def wanted(url: str, headers: Headers, types: Collection[str]) -> bool:
    """Whether the declared media type is one of `types`, or none is declared.

    A file that is declared as plain text or as of any type has the type of its name.
    """
    essence = media_types.parse(content_type(headers))[0]
    if essence is None or essence in media_types.UNKNOWN or essence in types:
        return True
    return essence in media_types.GENERIC | media_types.TEXT and type_by_name(url, headers) in types


def type_by_name(url: str, headers: Headers) -> str | None:
    """The media type by the extension of the name in Content-Disposition, else in the URL; None for most extensions.

    Of `filename*` and `filename`, the first that has an extension counts (RFC 6266, 4.3).

    >>> type_by_name("http://a.test/get?id=1", [("Content-Disposition", 'attachment; filename="a.epub"')])
    'application/epub+zip'
    """
    found = reversed(_PARAMETER.findall(header(headers, "content-disposition") or ""))  # of one name, the first counts
    parameters = {name.strip().lower(): quoted or plain for name, quoted, plain in found}
    extensions = (_EXTENSION.search(parameters.get(name, "")) for name in ("filename*", "filename"))
    named = next(filter(None, extensions), None)
    return media_types.BY_EXTENSION.get(named[1].lower() if named else extension(url))


def outcome(url: str, reply: Reply, conditional: bool) -> Outcome:
    """The outcome of a visit of a URL; an unknown status counts by its class (RFC 9110, 15)."""
    if reply.failure:
        return reply.failure
    status = reply.status or 0
    if status == 304:
        return Outcome.NOT_MODIFIED if conditional else Outcome.BAD_RESPONSE
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if 300 <= status < 400:
        target = redirect_target(url, reply)
        return Outcome.REDIRECT_LOOP if target == url else Outcome.REDIRECTED if target else Outcome.BAD_REDIRECT
    if 200 <= status < 300 and status != 206:  # no range was requested
        return Outcome.FETCHED
    if 400 <= status < 500:
        return Outcome.CLIENT_ERROR
    if status >= 500:  # above 599 a status is invalid, and counts as 5xx (RFC 9110, 15)
        return Outcome.SERVER_ERROR
    return Outcome.BAD_RESPONSE


def price(headers: Headers) -> str | None:
    """The price that a 402 asks of a robot, as its header says it; None if it states none.

    Source: developers.cloudflare.com, "Pay per crawl".

    >>> price([("Server", "a"), ("Crawler-Price", "USD 0.05")])
    'crawler-price: USD 0.05'
    """
    return next((f"{name}: {value}" for name in _PRICES if (value := header(headers, name))), None)


def redirect_target(url: str, reply: Reply) -> str | None:
    """The canonical target URL of a redirect; None without a usable one."""
    if not 300 <= (reply.status or 0) < 400 or not (location := header(reply.headers, "location")):
        return None
    return canonicalize(_reference(location), url)


def retry_after(headers: Headers, now: datetime) -> float | None:
    """The seconds of Retry-After, from `now` (an aware datetime): 0 to 1e9.

    Retry-After is a number of seconds or a date (RFC 9110, 10.2.3); None for anything else. A date is by the
    server's clock, so it is relative to the answer's Date, unless that differs from `now` by more than a day.
    """
    value = (header(headers, "retry-after") or "").strip()
    if _SECONDS.fullmatch(value):
        return min(float(value), _LONGEST)
    if not (until := http_date(value, strict=False)):
        return None
    sent = http_date((header(headers, "date") or "").strip(), strict=False)
    if sent is None or abs(sent - now) > _CLOCK_ERROR:
        sent = now
    return min(max((until - sent).total_seconds(), 0.0), _LONGEST)


def http_date(text: str, strict: bool = True) -> datetime | None:
    """A date as RFC 9110, 5.6.7, says, or if not `strict` as in mails, as an aware datetime; None for anything else.

    >>> str(http_date("Sunday, 01-Mar-26 12:00:00 GMT"))
    '2026-03-01 12:00:00+00:00'
    """
    if strict and not _HTTP_DATE.fullmatch(text):
        return None
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _reference(location: str) -> str:
    """A Location that http.client decoded as Latin-1, decoded as in browsers: UTF-8, with invalid bytes escaped."""
    raw = location.encode("latin-1", "replace")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return "".join(chr(byte) if byte < 128 else f"%{byte:02X}" for byte in raw)
