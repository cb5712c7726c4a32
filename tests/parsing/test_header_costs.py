"""Whatever a server writes into a header, reading it takes no more time than its length explains."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from beamtrawl.transforms.documents.parse_visits import refresh_links
from beamtrawl.transforms.http import media_types, reply
from beamtrawl.transforms.parsing import rel_canonical, robots_meta
from beamtrawl.transforms.robots import rules
from beamtrawl.transforms.signatures.signer import asks

URL, NOW = "http://a.test/", datetime(2026, 3, 1, tzinfo=UTC)
HEADER_CHARS = 60_000  # near the limit of `fetch.max_header_bytes`
CPU_S = 1.5  # 0.2 on a machine without load; a quadratic reader takes up to 12

READERS: dict[str, Callable[[reply.Headers], object]] = {
    "Content-Type": lambda headers: media_types.parse(reply.content_type(headers)),
    "Content-Disposition": lambda headers: reply.type_by_name(URL, headers),
    "Location": lambda headers: reply.redirect_target(URL, reply.Reply(302, headers)),
    "Retry-After": lambda headers: reply.retry_after(headers, NOW),
    "Link": lambda headers: rel_canonical.declared(URL, None, headers),
    "Refresh": lambda headers: refresh_links(URL, headers),
    "X-Robots-Tag": lambda headers: robots_meta.from_headers(headers, "Bot/1"),
    "Content-Usage": lambda headers: robots_meta.from_headers(headers, "Bot/1"),
    "Content-Signal": lambda headers: robots_meta.from_headers(headers, "Bot/1"),
    "Cache-Control": lambda headers: rules.expires_at(NOW, headers, 200),
    "Accept-Signature": asks,
}
PIECES = {
    "Content-Type": (";", ";a", '";', "a/b,"),
    "Content-Disposition": ("filename=a.", "filename=", 'filename="', "filename=a. "),
    "Location": ("\xe9", "../", "%"),
    "Retry-After": ("9", " "),
    "Link": ("<a>;", "<", '<a>;rel="', "a="),
    "Refresh": ("0;", "5;url='", "\xe9"),
    "X-Robots-Tag": (",", "a,", "a:", "unavailable_after:", "max-snippet"),
    "Content-Usage": ("a,", "a=(", 'a;b="c",'),
    "Content-Signal": ("a=b,", ","),
    "Cache-Control": ("max-age=", 'a="', ","),
    "Accept-Signature": ("a,", 'sig=("a"),'),
}


@pytest.mark.parametrize("name", READERS)
def test_a_header_is_read_in_time_whatever_it_says(name: str) -> None:
    assert {piece: seconds for piece in PIECES[name] if (seconds := cpu_s(name, piece)) > CPU_S} == {}


def cpu_s(name: str, piece: str) -> float:
    headers = [(name, (piece * HEADER_CHARS)[:HEADER_CHARS])]
    started = time.thread_time()
    READERS[name](headers)
    return time.thread_time() - started
