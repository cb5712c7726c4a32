"""Rows of table traps: what the requests for the URLs of a template gave, by the kind of their discovery."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from operator import itemgetter

from ..tables.newest import newest
from ..tables.schemas import Row

Name = tuple[str, str]
"""A template, and the kind of discovery."""

ENOUGH = 6
"""Number of pages before a template is judged."""

WINDOW = 32
"""Number of recent pages."""

OFTEN = 1 / 2
"""Share of recent pages with news, from which on news are frequent."""

OF_SOURCE = 3
"""Number of useless requests by the links of one page that count for a template in a round: less than `ENOUGH`, so that
no page decides about the links of others."""

_NEW_SOURCES, _LEAST_SOURCES = 16, 2
_MOSTLY = 2 / 3  # the same, from which on a template is surely no trap
ANY = "*"
"""The template of a row that all templates of a host share, or the start of that of a file extension."""

SOURCE = " linked by "
"""Between a template and the path of a page, in the name of a row of this page's links to the template."""

REOPENED = "reopened"
"""The counter, in the manifest of an update step, of templates that were trapped and are open again."""


class Kind(StrEnum):
    """How the crawl discovered a URL."""

    PLAIN = "plain"  # linked by a page of another template that has news, or by a plain page that is not a copy
    SERIES = "series"  # the same, but the linking page has the same template, or the link leads back (`leads_back`)
    WITHOUT_NEWS = "links_without_news"  # linked only by other pages
    VARIANT = "variant"  # a visited URL differs only in opaque tokens, such as sessions
    TYPE = "type"  # a file extension with refused media types
    FOREIGN = "foreign"  # linked only by other sites; judged apart, so that these do not limit a site's own pages


FIRST = {Kind.PLAIN: 64, Kind.SERIES: 16, Kind.WITHOUT_NEWS: 16, Kind.VARIANT: 8, Kind.TYPE: 64, Kind.FOREIGN: 64}
"""Pages per round until a template is judged."""

GROWTH = {kind: 16 if kind in (Kind.PLAIN, Kind.FOREIGN) else 8 for kind in Kind}


class State(StrEnum):
    """How a template is treated."""

    OPEN = "open"
    THROTTLED = "throttled"  # sampled
    TRAPPED = "trapped"  # its URLs are held


def new_row(host: str, name: Name) -> Row:
    """The row of a template before its first request."""
    counts = {
        "pages": 0,
        "fresh": 0,
        "news": 0,
        "different": 0,
        "failed": 0,
        "redirected": 0,
        "chained": 0,
        "reached": 0,
        "recent_pages": 0.0,
        "recent_fresh": 0.0,
    }
    row = {
        "host": host,
        "template": name[0],
        "kind": name[1],
        "state": State.OPEN,
        "since": 0,
        "first": None,
        "round": 0,
        "samples": [],
    }
    return row | counts | {"budget": FIRST[Kind(name[1])], "waiting": None, "template_waiting": None, "requested": 0}


def requests_of(row: Row) -> int:
    """Number of first requests for URLs of a template."""
    return int(row["pages"] + row["failed"] + row["redirected"])


def results(row: Row) -> int:
    """Number of requests that tell what a template is worth: pages, and dead links if other sites have made them."""
    return int(row["pages"] + (row["failed"] + row["redirected"] if row["kind"] == Kind.FOREIGN else 0))


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
    """The newest row of each template and kind."""
    return {
        name: new_row(row["host"], name) | {column: value for column, value in row.items() if value is not None}
        for name, row in newest(rows, itemgetter("template", "kind")).items()
    }


def is_own(row: Mapping[str, object]) -> bool:
    """Whether a row is for URLs that their own site links."""
    return row["kind"] != Kind.FOREIGN


def has_proved(row: Row | None) -> bool:
    """Whether a template is judged by its own row: it has enough requests, or news on every page so far."""
    return row is not None and (requests_of(row) >= ENOUGH or 0 < row["pages"] == row["fresh"])


def is_sure(row: Row) -> bool:
    """Whether a template is surely no trap: most of many pages have news."""
    return bool(row["pages"] >= WINDOW and row["news"] >= _MOSTLY * row["pages"])


def vouched_pages(name: Name, known: Mapping[Name, Row]) -> int:
    """The first budget of a series whose template `is_sure` by its plain pages: as many pages; otherwise 0."""
    row = known.get((name[0], Kind.PLAIN)) if name[1] == Kind.SERIES else None
    return int(row["news"]) if row and is_sure(row) else 0


def template_part(name: str) -> str:
    """The template of a row, without the page whose links it is about."""
    return name.partition(SOURCE)[0]


def new_sources(row: Row) -> int:
    """How many pages with links to a template that is not open have a sample in a round, if none of theirs was tried.

    A page costs the template about `OF_SOURCE` useless requests, so that these grow with the logarithm of such pages.
    At least `_LEAST_SOURCES` have one.
    """
    useless = int(row["pages"] + row["failed"] + row["redirected"] - row["fresh"])
    return max(_LEAST_SOURCES, _NEW_SOURCES * OF_SOURCE // (OF_SOURCE + max(0, useless)))


def is_shared(template_: str) -> bool:
    """Whether a row is shared by several templates, each of which also has its own row."""
    return template_.startswith(ANY) or template_.endswith("?*")
