"""The shape of a URL and the kind of place that links it, and which rows of table traps say what it promises."""

import functools
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..tables.schemas import Row
from ..urls.canonical import is_foreign
from ..urls.templates import family, form, template
from . import promise
from .template_rows import ANY, SOURCE, SOURCES, Kind, Name, State, newest_by_template, template_part

WITHOUT_NEWS = 2
"""The `doubt` about the links of a page without news."""


class UrlShape(NamedTuple):
    """The properties of a URL that the judgement uses."""

    template: str
    form: int | None  # the hash of its form, if it has opaque tokens
    referrer: str | None  # the template of the linking page; None: on another host
    is_variation: bool  # of the linking page: the same template or path, or the same path below another folder
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
        is_variation = is_variation or template(target) == from_template.partition("?")[0]
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
                self._news[row["template"]] += 2 * row["news"] - row["pages"]

    def leads_back(self, origin: str | None, target: str) -> bool:
        """Whether a template whose pages seldom have news links to its own family, as endless nesting does."""
        return origin is not None and self._news[origin] < 0 and family(target) == family(origin)

    def kind_of(self, shape: UrlShape, is_without_news: bool) -> Kind:
        if shape.is_foreign:
            return Kind.FOREIGN
        if shape.form in self.forms:
            return Kind.VARIANT
        is_series = is_without_news or shape.is_variation or self.leads_back(shape.referrer, shape.template)
        return Kind.SERIES if is_series else Kind.PLAIN

    def names_of(self, shape: UrlShape, kind: Kind) -> tuple[Name, ...]:
        """The rows that say what a URL promises, the most general first.

        That of its template, that of the links of pages like its own to new templates, and to its own, and of its page.
        Until its template has proved something, all new templates stand for it.
        """
        own, shared = (shape.template, kind), (ANY, kind)
        sources, of_new = (sources_of(name, shape.referrer, shape.source) for name in (own, shared))
        return (own, *of_new[:1], *sources) if self.has_proved(own) else (shared, *of_new, *(sources or [own]))

    def names_above(self, name: Name) -> tuple[Name, ...]:
        """The row from which that of a name starts, and that."""
        base = template_part(name[0])
        above = ANY if base == name[0] and not self.has_proved(name) else base
        return ((above, name[1]), name) if above != name[0] else (name,)

    def has_proved(self, name: Name) -> bool:
        """Whether a template is judged by its own row: a result was useful."""
        row = self.rows.get(name)
        return row is not None and row["fresh"] + row["reached"] > 0

    def is_closed(self, name: Name) -> bool:
        """Whether a template is throttled or trapped."""
        return name in self.rows and self.rows[name]["state"] != State.OPEN

    @property
    def is_ended(self) -> bool:
        """Whether the host has nothing but what promises little."""
        return any(row["state"] == State.TRAPPED for row in self.rows.values())

    def results(self, name: Name) -> tuple[float, float]:
        """The good and the bad results of a row that count; a redirect is a quarter of a bad one until it is known."""
        row = self.rows.get(name)
        if row is None:
            return 0.0, 0.0
        return row["recent_fresh"], row["recent_pages"] - row["recent_fresh"] + row["unresolved"] / 4

    def promised(self, names: Sequence[Name]) -> float:
        """What a URL promises: each of its rows starts from the one before."""
        share = promise.PRIOR
        for name in names:
            share = promise.promise(*self.results(name), share)
        return share


def sources_of(name: Name, referrer: str | None, source: str | None) -> list[Name]:
    """The rows of the links of pages of one template to a template, or to new ones, and of one page of these."""
    if name[1] != Kind.PLAIN or not source:
        return []
    return [(f"{name[0]}{SOURCES}{referrer}", name[1]), (name[0] + SOURCE + source, name[1])]


def side_of(kind: str) -> Kind:
    """The kind of the rows of a host that a URL counts for."""
    return Kind.FOREIGN if kind == Kind.FOREIGN else Kind.PLAIN
