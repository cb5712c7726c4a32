"""Rows of tables visits and robots for the captures of an archive."""

import json
from datetime import datetime
from typing import Any

import pyarrow as pa

from ..http.reply import Reply, content_type, outcome, redirect_target, stored_headers
from ..outcomes import Outcome
from ..robots.lookup import robots_row, start_search
from ..robots.rules import MAX_BYTES
from ..tables.schemas import VISITS, RobotsRow, VisitRow
from ..urls.canonical import origin
from .digests import is_understood
from .rights import RIGHTS


def with_own_head(reply: Reply, head: str | None) -> Reply:
    """The answer that a revisit stands for: its own head, as in SCAN, and the body of its original.

    What the original says of the body (Content-…) holds unless the revisit says it too. A 304 of the revisit updates
    the headers of the original (RFC 9111, 3.2).
    """
    if head is None:
        return reply
    status, found = json.loads(head)
    own = [(name, value) for name, value in found]
    names, is_update = {name.lower() for name, _ in own}, status == 304
    kept = [
        (name, value)
        for name, value in reply.headers
        if name.lower() not in names and (is_update or name.lower().startswith("content-"))
    ]
    is_own = not is_update and reply.status != 304
    return reply._replace(status=status if is_own else reply.status, headers=[*own, *kept])


def stored_reply(visit: dict[str, Any]) -> Reply:
    """The answer of a stored visit, from some of its columns (STORED_REPLY)."""
    return Reply(visit["status"], stored_headers(visit), visit["body"])


STORED_REPLY = pa.schema([VISITS.field(name) for name in ("status", "headers", "body")])
"""The columns that `stored_reply` reads."""


def _compared(digest: str | None, reply: Reply | None) -> str | None:
    """The digest of a payload that was compared with it."""
    is_whole = reply is not None and reply.failure is None and not reply.truncated
    return digest if digest and is_whole and is_understood(digest) else None


def visit_of(planned: dict[str, Any], reply: Reply | None, round_: int) -> VisitRow:
    """The row of visits for a row of `choose.PLAN` with RIGHTS; without a reply, the page has not changed."""
    url, digest = planned["url"], _compared(planned["digest"], reply)
    reply = with_own_head(reply or Reply(304), planned["head"])
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
        "payload_digest": digest,
        **{name: planned[name] for name in RIGHTS.names},
    }


def robots_of(planned: dict[str, Any], reply: Reply, round_: int, token: str) -> RobotsRow:
    """The row of robots for a robots.txt in an archive: another robot's answer, so no request is made by it."""
    reply = with_own_head(reply, planned["head"])
    reply = reply._replace(body=reply.body[:MAX_BYTES])
    at: datetime = planned["fetched_at"]
    search = start_search(origin(planned["url"]), planned["depth"])
    row = robots_row(search, planned["host"], reply, round_, at, token)[0]
    return row | {"expires_at": at}
