"""The shape of a URL and the kind of place that links it, and which rows of table traps say what it promises."""

import functools
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ..tables.schemas import Row
from ..urls.canonical import is_foreign
from ..urls.templates import family, form, template
from . import promise
from .template_rows import (
    ANY,
    LIMITS,
    SOURCE,
    Kind,
    Name,
    State,
    newest_by_template,
    requests_of,
    template_part,
)

WITHOUT_NEWS = 2
"""The `doubt` about the links of a page without news."""

_SHARED = (16, 2)  # pages in the first round, and growth, of all new templates together
_OF_SOURCE = 4  # least pages per round by the links of a page to an open template


class UrlShape(NamedTuple):
    """The properties of a URL that the judgement uses."""

    template: str
    form: int | None  # the hash of its form, if it has opaque tokens
    referrer: str | None  # the template of the linking page; None: on another host
    is_variation: bool  # of the linking page: the same path, or the same below another folder
    is_foreign: bool  # only other sites link to it
    source: str | None  # the path and query of the linking page; None: on another host, or a redirect


def from_elsewhere(row: Mapping[str, Any]) -> bool:
    """Whether only other sites link a URL; in rows of earlier versions, whether the first link was of another site."""
    known, source = row.get("foreign"), row.get("referrer") or row.get("discovered_from")
    return is_foreign(row["url"], source) if known is None else bool(known)


def shape_of(url: str, referrer: str | None = None, foreign: bool | None = False, redirects: int = 0) -> UrlShape:
    """The shape of a URL to which so many redirects in a row have led; `foreign` as in the frontier."""
    scheme, _, host, rest = url.split("/", 3)
    target, from_template, is_variation, source = "/" + rest, None, False, None
    if referrer and referrer.startswith(f"{scheme}//{host}/"):
        origin = "/" + referrer.split("/", 3)[3]
        source = None if redirects else origin
        path, from_path = target.partition("?")[0], origin.partition("?")[0]
        from_template = _template(origin)
        is_variation = path == from_path or (from_path != "/" and path.endswith(from_path))
    is_of_others = is_foreign(url, referrer) if foreign is None else foreign
    bare = form(target)
    code = zlib.crc32(bare.encode()) if bare else None
    return UrlShape(template(target), code, from_template, is_variation, is_of_others, source)


def doubt(url: str, referrer: str | None, is_without_news: bool | None) -> int:
    """How little a link says of its target: 0, 1 within the first folder of a site, or WITHOUT_NEWS.

    A link to the same name below another folder, which a server may make of any URL, says as little as the second.
    """
    if is_without_news or not referrer:
        return WITHOUT_NEWS * bool(is_without_news)
    return int(says_little(place_of(url), place_of(referrer)))


def says_little(place: tuple[str, str], origin: tuple[str, str]) -> bool:
    """Whether the `doubt` about a link between two places is 1, if its page has news."""
    return place[1] == origin[1] or place[0].endswith("/" + origin[0])


@functools.lru_cache(1 << 12)
def place_of(url: str) -> tuple[str, str]:
    """(path and query, first folder) of a URL; cached, because pages share links."""
    path = url.partition("//")[2].partition("/")[2]
    return path, path.partition("?")[0].rpartition("/")[0].partition("/")[0]


_template = functools.lru_cache(1 << 12)(template)


class Known:
    """The rows of a host by template and kind, and the forms of its visited URLs."""

    def __init__(self, rows: Iterable[Row] = (), forms: Iterable[int] = ()) -> None:
        self.rows, self.forms = newest_by_template(rows), {*forms}
        self.round = max((row["round"] for row in self.rows.values()), default=0)
        self._news = Counter[str]()  # pages with news, less those without, of what the site itself linked until now
        for row in self.rows.values():
            if row["kind"] != Kind.FOREIGN:
                self._news[template_part(row["template"])] += 2 * row["news"] - row["pages"]

    def leads_back(self, origin: str, target: str) -> bool:
        """Whether a template whose pages seldom have news links to its own family, as endless nesting does."""
        return self._news[origin] < 0 and family(target) == family(origin)

    def kind_of(self, shape: UrlShape, is_without_news: bool) -> Kind:
        if shape.is_foreign:
            return Kind.FOREIGN
        if shape.form in self.forms:
            return Kind.VARIANT
        if is_without_news:
            return Kind.WITHOUT_NEWS
        if shape.referrer is None:
            return Kind.PLAIN
        is_same = shape.is_variation or shape.referrer.partition("?")[0] == shape.template
        return Kind.SERIES if is_same or self.leads_back(shape.referrer, shape.template) else Kind.PLAIN

    def names_of(self, shape: UrlShape, kind: Kind) -> list[Name]:
        """The rows that say what a URL promises: of its template and, until this has proved something, of all new ones.

        What the links of its page have shown takes the place of either.
        """
        names: list[Name] = []
        for name in ((shape.template, kind), (ANY, kind)):
            source = source_name(name, shape)
            is_tried = source is not None and source in self.rows
            names.append(source if source and is_tried else name)
            if is_tried or self.has_proved(name):
                break
        return names

    def has_proved(self, name: Name) -> bool:
        """Whether a template is judged by its own row: a result was useful."""
        row = self.rows.get(name)
        return row is not None and row["fresh"] + row["reached"] > 0

    def is_closed(self, name: Name) -> bool:
        """Whether a template is throttled or trapped."""
        return name in self.rows and self.rows[name]["state"] != State.OPEN

    def promised(self, name: Name) -> float:
        """What URLs promise: links of a page start from what their template does, this from new templates."""
        template_, kind = name
        row, prior = self.rows.get(name), promise.PRIOR
        if SOURCE in template_:
            prior = self.promised((template_part(template_), kind))
        elif template_ != ANY:
            prior = min(prior, self.promised((ANY, kind)))
        good, results = (row["recent_fresh"], row["recent_pages"]) if row else (0.0, 0.0)
        return promise.promise(good, results - good, prior)

    def budget(self, name: Name, last: int = 0) -> int:
        """How many of the URLs the next round may visit, after one with so many useful results.

        A page of whose links none was useful waits while their template is closed.
        """
        (template_, kind), row = name, self.rows.get(name)
        limits = _SHARED if row and template_ == ANY else LIMITS[Kind(kind)]
        bad, requests = (row["recent_pages"] - row["recent_fresh"], requests_of(row)) if row else (0.0, 0)
        budget = promise.budget(self.promised(name), bad, requests, last, *limits)
        if row is None or SOURCE not in template_ or row["recent_fresh"]:
            return budget
        return 0 if self.is_closed((template_part(template_), kind)) else min(budget, _OF_SOURCE)


def source_name(name: Name, shape: UrlShape) -> Name | None:
    """The row of the links of one page to a template, or to new ones; None if there is no such row."""
    return (name[0] + SOURCE + shape.source, name[1]) if name[1] is Kind.PLAIN and shape.source else None
