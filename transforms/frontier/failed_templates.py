"""Order among the URLs of a host by what is known of their templates: those with failed URLs come last."""

from collections.abc import Sequence

from ..urls.canonical import host, origin
from ..urls.templates import template
from .selection import Due

FAILED, TRUSTS = 3, 4
"""The `trust` in a URL whose last request failed, and the number of values."""


def template_of(url: str) -> str:
    """The template of a URL, of its path and query."""
    return template(url[len(origin(url)) :])


def trust(due: Due) -> int:
    """How likely a URL is a page: 0 a page that worked before, or a seed, 1 linked by its own host, 2 by others only.

    `FAILED` for a URL whose last request failed.
    """
    if due.failures:
        return FAILED
    if due.digest is not None or due.referrer is None:
        return 0
    return 1 if host(due.referrer) == due.host else 2


def failed_last(rows: Sequence[Due]) -> list[Due]:
    """The rows, those of failed templates after all others, so that they take no room from pages that work."""
    if not (failed := {template_of(due.url) for due in rows if due.failures}):
        return list(rows)
    return sorted(rows, key=lambda due: template_of(due.url) in failed)
