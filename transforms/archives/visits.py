"""Rows of tables visits and robots for the captures of an archive."""

from datetime import datetime
from typing import Any

from .. import urls
from ..http.reply import Reply, content_type, outcome, redirect_target
from ..outcomes import Outcome
from ..robots.lookup import robots_row, start_search
from ..robots.rules import MAX_BYTES
from ..tables.schemas import RobotsRow, VisitRow
from .captures import head_of
from .digests import PayloadDigest
from .http_block import decode_body, original_headers
from .reader import DamagedError, Record


def reply_of(record: Record, digest: str | None, body_bytes: int, head_bytes: int) -> Reply:
    """The answer in a record, with its body decoded, and cut after `body_bytes`; `failure` says what is wrong with it.

    `digest` is that of its payload, as the record, or a revisit of it, says.
    """
    status, headers, rest = head_of(record, head_bytes)
    headers = original_headers(headers)
    check, body = PayloadDigest(digest or ""), bytearray()
    check.as_it_is(rest)
    rests = [rest]

    def read(size: int) -> bytes:
        if rests:
            return rests.pop()
        data = record.read(size)
        check.as_it_is(data)
        return data

    failure, error, is_cut = None, None, bool(record.field("WARC-Truncated"))
    try:
        decoded = decode_body(read, headers, body_bytes, body.extend, check.without_chunks)
        while read(1 << 16):  # the digest is that of all bytes
            pass
        truncated = decoded.truncated or is_cut
        if decoded.failure and not is_cut:
            failure, error = decoded.failure.outcome, decoded.failure.text
    except DamagedError as damage:
        return Reply(status, headers, failure=Outcome.BAD_RESPONSE, error=str(damage))
    if is_cut and not body:
        failure, error = Outcome.TOO_LONG, "the archive has no byte of the body"
    if not check.agrees:
        failure, error = Outcome.BAD_RESPONSE, f"the payload digest {str(digest)[:80]} is not that of the record"
    kept = b"" if failure else bytes(body)
    address = record.field("WARC-IP-Address") or None
    return Reply(status, headers, kept, truncated, address, failure=failure, error=error)


def visit_of(planned: dict[str, Any], reply: Reply | None, round_: int) -> VisitRow:
    """The row of visits for a row of `choose.PLAN`; without a reply, the page has not changed."""
    url = planned["url"]
    reply = reply or Reply(304)
    end = outcome(url, reply, conditional=reply.status == 304)
    return {
        "url_key": planned["url_key"],
        "url": url,
        "host": planned["host"],
        "round": round_,
        "fetched_at": planned["fetched_at"],
        "outcome": end.value,
        "status": reply.status,
        "redirect_to": redirect_target(url, reply) if end is Outcome.REDIRECTED else None,
        "address": reply.address,
        "media_type": content_type(reply.headers),
        "headers": [{"name": name, "value": value} for name, value in reply.headers],
        "body": reply.body,
        "body_bytes": len(reply.body),
        "truncated": reply.truncated,
        "elapsed_ms": planned["elapsed_ms"],
        "host_failures": 0,
        "attempt": 1,
        "depth": planned["depth"],
        "referrer": planned["referrer"],
        "error": reply.error,
        "priority": 1.0,
        "redirects": 0,
        "discovered_round": round_ if planned["discovered_round"] is None else planned["discovered_round"],
        "digest_before": planned["digest_before"],
        "kind": None,
    }


def robots_of(planned: dict[str, Any], reply: Reply, round_: int, token: str) -> RobotsRow:
    """The row of robots for a robots.txt in an archive."""
    reply = reply._replace(body=reply.body[:MAX_BYTES])
    at: datetime = planned["fetched_at"]
    search = start_search(urls.origin(planned["url"]), planned["depth"])
    return robots_row(search, planned["host"], reply, round_, at, token)[0]
