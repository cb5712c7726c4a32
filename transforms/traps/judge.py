"""Which templates of a host are traps, judged by what their pages yield; and how much of each a round may visit.

A row stands for a template and a `Kind` of way to it. Everything here is a function of such rows and of URLs. Where the
way to a URL leads through pages without news, where other sessions have shown the same, or where nobody has been, a
round goes a few steps and looks what came of it; a template that pays may have many times as much in the next round.
"""

import fnmatch
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from ..storage.sitemap_terms import SITEMAP
from .novelty import form_hash
from .templates import form, query_template, template

Row = dict[str, Any]
Name = tuple[str, str]  # template and kind
Allows = Callable[[str], bool]

ENOUGH = 6
"""Pages that prove something."""

_GROWTH = 8  # times as many pages as it had so far, for a template that pays
_SLOW = 1 / 4  # times as many, for a throttled one that pages with news link to
_THROTTLED = 2  # pages a round, for other throttled ones
_PAYS, _POOR, _NONE = 1 / 2, 1 / 4, 1 / 16  # of its pages have news
_WINDOW = 32  # pages; older ones are forgotten
_SAMPLES = 3
_ANY = "*"


class Kind(StrEnum):
    """How a crawl came to a URL."""

    PLAIN = "plain"  # a page with news links to it
    WITHOUT_NEWS = "links_without_news"  # only pages without news do
    VARIANT = "variant"  # one was visited that differs in nothing but opaque tokens, as sessions do


# Pages a round, until a template has proved anything. What pages with news link to comes to an end, but filters come in
# all combinations.
_FIRST, _FIRST_QUERIES, _FIRST_WITHOUT_NEWS = 256, 8, 4
_FEW = 5  # pages of a host, before which nothing can be said of its queries


class State(StrEnum):
    """What is thought of a template."""

    OPEN = "open"
    THROTTLED = "throttled"
    TRAPPED = "trapped"  # until an operator says otherwise


def new_row(host: str, name: Name) -> Row:
    counts = {"pages": 0, "fresh": 0, "recent_pages": 0.0, "recent_fresh": 0.0}
    return {"host": host, "template": name[0], "kind": name[1], "state": State.OPEN, "since": 0, "samples": []} | counts


def judge(row: Row, pages: int, fresh: int, samples: Iterable[str], round_: int) -> Row:
    """The row after a round in which so many pages were visited, so many of them with news.

    open -> throttled -> trapped takes two rounds; throttled -> open takes one with news. What pages with news link to
    is never trapped, for there is an end to it.
    """
    kept = min(1.0, max(0, _WINDOW - pages) / max(1, row["recent_pages"]))
    recent_pages, recent_fresh = row["recent_pages"] * kept + pages, row["recent_fresh"] * kept + fresh
    share = recent_fresh / recent_pages if recent_pages else 1.0
    state = State(row["state"])
    if recent_pages >= ENOUGH and state is not State.TRAPPED:
        if state is State.THROTTLED and share < _NONE and row["kind"] != Kind.PLAIN:
            state = State.TRAPPED
        else:
            state = State.THROTTLED if share <= _POOR else State.OPEN
    return row | {
        "round": round_,
        "pages": row["pages"] + pages,
        "fresh": row["fresh"] + fresh,
        "recent_pages": recent_pages,
        "recent_fresh": recent_fresh,
        "state": state,
        "since": row["since"] if state == row["state"] and row["since"] else round_,
        "samples": list(samples)[:_SAMPLES] or row["samples"],
    }


def budget(name: Name, row: Row | None, seen: int) -> int:
    """How many pages of a template a round may visit, on a host of which so many have been seen."""
    is_plain = name[1] == Kind.PLAIN
    is_query = "?" in name[0] and seen >= _FEW
    first = (_FIRST_QUERIES if is_query else _FIRST) if is_plain else _FIRST_WITHOUT_NEWS
    if row is None or row["recent_pages"] < ENOUGH:
        return first
    pages = int(row["pages"])
    if row["state"] != State.OPEN:
        return max(first // 4, int(pages * _SLOW)) if is_plain else _THROTTLED
    return max(first, pages * _GROWTH if row["recent_fresh"] >= _PAYS * row["recent_pages"] else pages)


def newest_by_template(rows: Iterable[Row]) -> dict[Name, Row]:
    """The row that counts of each template."""
    found: dict[Name, Row] = {}
    for row in rows:
        name = (row["template"], row["kind"])
        if name not in found or row["round"] >= found[name]["round"]:
            found[name] = row
    return found


def compile_allow_list(patterns: Iterable[str]) -> Allows:
    """Whether a URL is one of those that an operator wants, trap or not (setting traps.allow).

    >>> compile_allow_list(["a.org/calendar/*"])("http://a.org/calendar/2099/1")
    True
    """
    expressions = [fnmatch.translate(pattern) for pattern in patterns]
    if not expressions:
        return lambda url: False
    matches = re.compile("|".join(expressions)).match
    return lambda url: bool(matches(url.partition("://")[2]))


class Look(NamedTuple):
    """What a URL looks like."""

    template: str
    form: int | None  # the hash of its form, if it has opaque tokens


def look(url: str) -> Look:
    target = "/" + url.split("/", 3)[3]
    bare = form(target)
    return Look(template(target), form_hash(bare) if bare else None)


def kind_of(looks: Look, is_without_news: bool, forms: Collection[int]) -> Kind:
    if looks.form is not None and looks.form in forms:
        return Kind.VARIANT
    return Kind.WITHOUT_NEWS if is_without_news else Kind.PLAIN


def has_proved(row: Row | None) -> bool:
    """Whether a template speaks for itself: by enough pages, or by news on every page so far."""
    return row is not None and (row["recent_pages"] >= ENOUGH or 0 < row["pages"] == row["fresh"])


def pages_seen(rows: Iterable[Row]) -> int:
    """Pages of a host that were visited, by the rows that count."""
    return sum(int(row["pages"]) for row in rows if not is_shared(row["template"]))


def is_shared(template_: str) -> bool:
    """Whether a row stands for several templates, each of which has one of its own."""
    return template_ == _ANY or template_.endswith("?*")


def names_of(template_: str, kind: Kind, known: Mapping[Name, Row]) -> list[Name]:
    """The rows that speak for a URL: its template's own, and until that has proved something those for all that is new.

    What is new among the queries to one kind of page has a row of its own, since filters come in all combinations.
    """
    own = (template_, kind)
    if has_proved(known.get(own)):
        return [own]
    queries = query_template(template_)
    return [own, *([(queries, kind)] if queries else []), (_ANY, kind)]


def is_exempt(depth: int, kind: str | None, digest: bytes | None) -> bool:
    """Whether a URL of the frontier is one that no trap holds: a seed, a sitemap, or a page that was visited before."""
    return depth == 0 or kind == SITEMAP or digest is not None
