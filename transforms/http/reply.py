"""What a server's reply means: pure functions of the status line and the headers."""

import re
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from ..outcomes import Outcome
from ..urls.canonical import canonicalize
from . import media_types
from .dates import http_date

Headers = Sequence[tuple[str, str]]

_SECONDS = re.compile(r"\d+", re.ASCII)
_LONGEST = 1e9  # seconds; with more, arithmetic on dates overflows
_CLOCK_ERROR = timedelta(days=1)  # a time zone too many, but not another year


class Reply(NamedTuple):
    """What came of one request. `failure` says why there is no answer (`status` is None), or none that is wanted."""

    status: int | None = None
    headers: Headers = ()
    body: bytes = b""
    truncated: bool = False
    address: str | None = None
    elapsed_s: float = 0.0  # seconds
    failure: Outcome | None = None
    error: str | None = None


def header(headers: Headers, name: str) -> str | None:
    """The first value of a header, whatever its case; None if there is none."""
    return next((value for key, value in headers if key.lower() == name), None)


def content_type(headers: Headers) -> str | None:
    """The Content-Type as one line; None if there is none."""
    return ", ".join(value for key, value in headers if key.lower() == "content-type") or None


def wanted(headers: Headers, types: Collection[str]) -> bool:
    """Whether the declared media type is one of these; an undeclared one is, as it may be."""
    essence = media_types.parse(content_type(headers))[0]
    return essence is None or essence in media_types.UNKNOWN or essence in types


def outcome(url: str, reply: Reply, conditional: bool) -> Outcome:
    """How a visit of a URL ended; a code that we do not know counts as its class says (RFC 9110, 15)."""
    if reply.failure:
        return reply.failure
    status = reply.status or 0
    if status == 304:
        return Outcome.NOT_MODIFIED if conditional else Outcome.BAD_RESPONSE
    if status in (404, 410):
        return Outcome.GONE
    if 300 <= status < 400:
        return _redirect(url, redirect_target(url, reply))
    if 200 <= status < 300 and status != 206:  # a part was never asked for
        return Outcome.FETCHED
    if (400 <= status < 500 and status != 429) or status == 999:  # 999 refuses robots, by the custom of some sites
        return Outcome.CLIENT_ERROR
    if status == 429 or status >= 500:  # beyond 599 a code is invalid, and counts as 5xx (RFC 9110, 15)
        return Outcome.SERVER_ERROR
    return Outcome.BAD_RESPONSE


def _redirect(url: str, target: str | None) -> Outcome:
    if target is None:
        return Outcome.BAD_REDIRECT
    return Outcome.REDIRECT_LOOP if target == url else Outcome.REDIRECTED


def redirect_target(url: str, reply: Reply) -> str | None:
    """Where a redirect leads, in canonical form; None without a usable target."""
    if not 300 <= (reply.status or 0) < 400 or not (location := header(reply.headers, "location")):
        return None
    return canonicalize(_reference(location), url)


def retry_after(headers: Headers, now: datetime) -> float | None:
    """Seconds that the server asks us to stay away, from `now` (aware of its time zone): 0 to 1e9.

    Retry-After is a number of seconds or a date (RFC 9110, 10.2.3); None for anything else. A date is one of the
    server's clock, so it is taken relative to the answer's own Date, unless that is more than a day off ours.
    """
    value = (header(headers, "retry-after") or "").strip()
    if _SECONDS.fullmatch(value):
        return min(float(value), _LONGEST)
    if not (until := http_date(value)):
        return None
    sent = http_date((header(headers, "date") or "").strip())
    if sent is None or abs(sent - now) > _CLOCK_ERROR:
        sent = now
    return min(max((until - sent).total_seconds(), 0.0), _LONGEST)


def _reference(location: str) -> str:
    """http.client reads headers as Latin-1; browsers read a Location as UTF-8, and escape bytes that are not."""
    raw = location.encode("latin-1", "replace")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return "".join(chr(byte) if byte < 128 else f"%{byte:02X}" for byte in raw)
