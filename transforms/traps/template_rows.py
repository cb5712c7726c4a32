"""Rows of table traps: what the requests for the URLs of a template gave, by the kind of place that links them."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from operator import itemgetter

from ..tables.newest import newest
from ..tables.schemas import Row

Name = tuple[str, str]
"""A template, or a template and the place that links it, and the kind of place."""

ANY = "*"
"""The template of the row that all new templates of a host share, each of which also has its own."""

HOST, CLOSED = "", "closed"
"""The templates of the rows of all URLs of a host, and of those that promised little, of either of the `SIDES`."""

SOURCE, SOURCES = " linked by ", " linked by pages "
"""Between a template and the path of a page, or the template of pages, in the name of a row of their links to it."""

REOPENED = "reopened"
"""The counter, in the manifest of an update step, of templates that were trapped and are open again."""


class Kind(StrEnum):
    """The kind of place that links a URL."""

    PLAIN = "plain"  # a page of another template that has news, or a plain page that is not a copy
    SERIES = "series"  # only other pages, or the page has the same template, or the link leads back (`leads_back`)
    VARIANT = "variant"  # any; a visited URL differs only in opaque tokens, such as sessions
    FOREIGN = "foreign"  # only other sites; judged apart, so that these do not limit a site's own pages


SIDES = (Kind.PLAIN, Kind.FOREIGN)
"""The kinds of the rows of a host: what its own site links, and what only other sites link."""


class State(StrEnum):
    """What the estimate says of a template at a moment."""

    OPEN = "open"
    THROTTLED = "throttled"  # it promises little: it is sampled
    TRAPPED = "trapped"  # the same, and its host has nothing else: its URLs are held


_COUNTS = ("pages", "fresh", "news", "different", "failed", "redirected", "unresolved", "reached", "since", "budget")


def new_row(name: Name) -> Row:
    """The row of a template before its first request, without its host."""
    row: Row = {"template": name[0], "kind": name[1], "state": State.OPEN, "first": None, "round": 0, "samples": []}
    row |= dict.fromkeys(_COUNTS, 0) | {"recent_pages": 0.0, "recent_fresh": 0.0}
    return row | {"waiting": None, "requested": 0}


def requests_of(row: Row) -> int:
    """Number of first requests for URLs of a template whose results are known."""
    return int(row["pages"] + row["failed"] + row["redirected"] - row["unresolved"])


def results_of(row: Mapping[str, object]) -> str:
    """What the requests for a template gave, in words.

    >>> results_of({"pages": 40, "fresh": 1, "failed": 2, "redirected": 0})
    '1 of 40 pages had anything new, 2 requests gave no page'
    """
    parts = [f"{row['fresh']} of {row['pages']} pages had anything new"] if row["pages"] else []
    parts += [f"{row['failed']} requests gave no page"] if row["failed"] else []
    parts += [f"{row['redirected']} requests were redirected"] if row["redirected"] else []
    return ", ".join(parts) or "none of it was requested"


def newest_by_template(rows: Iterable[Row]) -> dict[Name, Row]:
    """The newest row of each template and kind; those of earlier versions' kinds are left out."""
    kinds = {*map(str, Kind)}
    known = (row for row in rows if row["kind"] in kinds)
    return {
        name: new_row(name) | {column: value for column, value in row.items() if value is not None}
        for name, row in newest(known, itemgetter("template", "kind")).items()
    }


def template_part(name: str) -> str:
    """The template of a row, without the place whose links it is about."""
    return name.partition(SOURCE)[0]
