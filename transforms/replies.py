"""What a server's reply means: pure functions of the status line and the headers."""

from collections.abc import Sequence
from typing import NamedTuple

from transforms import media_types
from transforms.outcomes import Outcome
from transforms.urls import canonical, resolve

Headers = Sequence[tuple[str, str]]

_REDIRECTS = frozenset({300, 301, 302, 303, 307, 308})
WANTED_TYPES = frozenset({"text/html", "application/xhtml+xml", "text/plain"})
"""Media types that become documents. An undeclared type is fetched and sniffed."""


class Reply(NamedTuple):
    """What came of one request. Without an answer, `status` is None and `trouble` says why."""

    status: int | None = None
    headers: Headers = ()
    body: bytes = b""
    truncated: bool = False
    address: str | None = None
    elapsed: float = 0.0  # seconds
    trouble: Outcome | None = None
    error: str | None = None


def header(headers: Headers, name: str) -> str | None:
    """The first value of a header, whatever its case; None if there is none."""
    return next((value for key, value in headers if key.lower() == name), None)


def wanted(headers: Headers) -> bool:
    """Whether the declared media type is one that we read; an undeclared one is."""
    content_type = header(headers, "content-type")
    essence = media_types.parse(content_type)[0]
    return not essence or essence in WANTED_TYPES


def outcome(reply: Reply, conditional: bool) -> Outcome:
    """How a visit ended. A code that we do not know counts as its class says (RFC 9110, 15)."""
    if reply.trouble:
        return reply.trouble
    status = reply.status or 0
    if status == 304:
        return Outcome.NOT_MODIFIED if conditional else Outcome.BAD_RESPONSE
    if status in (404, 410):
        return Outcome.GONE
    if status == 429 or 500 <= status < 600:
        return Outcome.SERVER_ERROR
    if 400 <= status < 500:
        return Outcome.CLIENT_ERROR
    if status in _REDIRECTS:
        return Outcome.REDIRECTED if header(reply.headers, "location") else Outcome.BAD_RESPONSE
    if 200 <= status < 300 and status != 206:  # a part was never asked for
        return Outcome.FETCHED if wanted(reply.headers) else Outcome.UNWANTED_TYPE
    return Outcome.BAD_RESPONSE


def redirect_target(url: str, reply: Reply) -> str | None:
    """Where a redirect leads, in canonical form; None without a usable target."""
    if reply.status not in _REDIRECTS or not (location := header(reply.headers, "location")):
        return None
    # http.client reads headers as Latin-1; browsers read a Location's bytes as UTF-8.
    reference = location.encode("latin-1", "replace").decode("utf-8", "replace")
    target = resolve(reference, url)
    return canonical(target) if target else None
