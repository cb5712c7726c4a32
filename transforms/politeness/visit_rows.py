"""Rows of table visits."""

from datetime import datetime

from ..frontier.selection import Due
from ..http.reply import Reply, content_type, redirect_target
from ..outcomes import REQUESTED, Outcome
from ..tables.schemas import VisitRow
from ..tables.sitemap_terms import EXTERNAL


def visit_row(
    due: Due,
    end: Outcome,
    reply: Reply,
    rule: str,
    robots_at: datetime | None,
    usage: str,
    signals: str,
    failures: int,
    round_: int,
    now: datetime,
) -> VisitRow:
    """Return the row of table visits for a visit, whatever its outcome.

    `robots_at` identifies the robots.txt applied, `rule` is its line, `usage` its preference about the content and
    `signals` its content signals; `failures` counts the host's consecutive ones.
    """
    return {
        "url_key": due.url_key,
        "url": due.url,
        "host": due.host,
        "round": round_,
        "fetched_at": now,
        "outcome": end.value,
        "status": reply.status,
        "redirect_to": redirect_target(due.url, reply) if end is Outcome.REDIRECTED else None,
        "address": reply.address,
        "media_type": content_type(reply.headers),
        "headers": [{"name": name, "value": value} for name, value in reply.headers],
        "body": reply.body if reply.status and due.kind != EXTERNAL else None,
        "body_bytes": len(reply.body),
        "truncated": reply.truncated,
        "elapsed_ms": reply.elapsed_s * 1000 if end in REQUESTED else None,
        "robots_rule": rule or None,
        "robots_at": robots_at,
        "host_failures": failures,
        "attempt": due.failures + 1,
        "depth": due.depth,
        "referrer": due.referrer,
        "error": reply.error,
        "priority": due.priority,
        "redirects": due.redirects,
        "discovered_round": due.discovered_round,
        "digest_before": due.digest,
        "kind": due.kind,
        "sitemap": due.sitemap,
        "links_without_news": due.links_without_news,
        "foreign": due.foreign,
        "robots_usage": usage or None,
        "robots_signals": signals or None,
    }
