"""Rows of table traps: what the requests for the URLs of a template gave, by the kind of place that links them."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from operator import itemgetter

from ..tables.newest import newest
from ..tables.schemas import Row

Name = tuple[str, str]
"""A template, or a template and a page that links it, and the kind of place."""

ANY = "*"
"""The template of the row that all new templates of a host share, each of which also has its own."""

OF_QUERIES = "?*"
"""The end of templates of rows that new queries of a path shared, in earlier versions."""

SOURCE = " linked by "
"""Between a template and the path of a page, in the name of a row of this page's links to the template."""

REOPENED = "reopened"
"""The counter, in the manifest of an update step, of templates that were trapped and are open again."""


class Kind(StrEnum):
    """The kind of place that links a URL."""

    PLAIN = "plain"  # a page of another template that has news, or a plain page that is not a copy
    SERIES = "series"  # the same, but the page has the same template, or the link leads back (`leads_back`)
    WITHOUT_NEWS = "links_without_news"  # only other pages
    VARIANT = "variant"  # any; a visited URL differs only in opaque tokens, such as sessions
    FOREIGN = "foreign"  # only other sites; judged apart, so that these do not limit a site's own pages


LIMITS = dict.fromkeys(Kind, (16, 6)) | {Kind.PLAIN: (48, 16), Kind.VARIANT: (8, 6), Kind.FOREIGN: (64, 16)}
"""Pages of a template in its first round, and how many times as many pages as so far a round visits at most."""


class State(StrEnum):
    """What the estimate says of a template at a moment."""

    OPEN = "open"
    THROTTLED = "throttled"  # it promises little: it is sampled
    TRAPPED = "trapped"  # the same, and its host has nothing else: its URLs are held


_COUNTS = ("pages", "fresh", "news", "different", "failed", "redirected", "unresolved", "reached", "requested", "since")


def new_row(name: Name) -> Row:
    """The row of a template before its first request, without its host."""
    row: Row = {"template": name[0], "kind": name[1], "state": State.OPEN, "first": None, "round": 0, "samples": []}
    row |= dict.fromkeys(_COUNTS, 0) | {"recent_pages": 0.0, "recent_fresh": 0.0, "budget": LIMITS[Kind(name[1])][0]}
    return row | {"waiting": None}


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
    """The newest row of each template and kind; those of earlier versions' kinds and shared rows are left out."""
    known = (row for row in rows if row["kind"] in LIMITS and not row["template"].endswith(OF_QUERIES))
    return {
        name: new_row(name) | {column: value for column, value in row.items() if value is not None}
        for name, row in newest(known, itemgetter("template", "kind")).items()
    }


def template_part(name: str) -> str:
    """The template of a row, without the page whose links it is about."""
    return name.partition(SOURCE)[0]
