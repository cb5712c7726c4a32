"""How the crawl discovered a URL, and which rows of table traps apply to it."""

import functools
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from ..tables.schemas import Row
from ..urls.canonical import is_foreign
from ..urls.templates import extension, family, form, query_template, template
from .novelty import form_hash
from .template_rows import (
    ANY,
    ENOUGH,
    OFTEN,
    SOURCE,
    Kind,
    Name,
    State,
    has_proved,
    is_own,
    is_shared,
    newest_by_template,
    requests_of,
    template_part,
    vouched_pages,
)


class UrlShape(NamedTuple):
    """The properties of a URL that the judgement uses."""

    template: str
    form: int | None  # the hash of its form, if it has opaque tokens
    extension: str
    referrer: str | None  # the template of the linking page; None: on another host
    is_same_path: bool  # same path as the referrer
    is_nested: bool  # the path of the referrer below another folder
    is_foreign: bool = False  # only other sites link to it
    source: str | None = None  # the path and query of the linking page; None: on another host, or a redirect


def from_elsewhere(row: Mapping[str, Any]) -> bool:
    """Whether only other sites link a URL; in rows of earlier versions, whether the first link was of another site."""
    known, source = row.get("foreign"), row.get("referrer") or row.get("discovered_from")
    return is_foreign(row["url"], source) if known is None else bool(known)


def shape_of(url: str, referrer: str | None = None, foreign: bool | None = False, redirects: int = 0) -> UrlShape:
    """The shape of a URL to which so many redirects in a row have led; `foreign` as in the frontier."""
    scheme, _, host, rest = url.split("/", 3)
    target, from_template, is_same_path, is_nested = "/" + rest, None, False, False
    source = None
    if referrer and referrer.startswith(f"{scheme}//{host}/"):
        origin = "/" + referrer.split("/", 3)[3]
        source = None if redirects else origin
        path, from_path = target.partition("?")[0], origin.partition("?")[0]
        from_template, is_same_path = _template(origin), path == from_path
        is_nested = not is_same_path and from_path != "/" and path.endswith(from_path)
    bare = form(target)
    code = form_hash(bare) if bare else None
    is_of_others = is_foreign(url, referrer) if foreign is None else foreign
    return UrlShape(
        template(target), code, extension(target), from_template, is_same_path, is_nested, is_of_others, source
    )


_template = functools.lru_cache(1 << 12)(template)


class Known:
    """The rows of a host by template and kind, with totals per template of what the site itself links."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.rows = newest_by_template(rows)
        self._first: dict[str, int] = {}
        self._pages: dict[str, list[int]] = {}
        for row in filter(is_own, self.rows.values()):
            name = template_part(row["template"])
            self._first[name] = min(self._first.get(name, row["round"]), row["first"] or row["round"])
            pages = self._pages.setdefault(name, [0, 0])
            pages[0] += row["pages"]
            pages[1] += row["news"]

    def leads_back(self, origin: str, target: str) -> bool:
        """Whether a template with little news links to its own family, or back to a template that was visited earlier.

        Endless nesting, and templates that link to each other such as months and days, consist of such links.
        """
        pages, news = self._pages.get(origin, (0, 0))
        if news >= OFTEN * pages:
            return False
        is_back = target in self._first and (self._first[target], target) < (self._first[origin], origin)
        return is_back or family(target) == family(origin)

    @property
    def pages(self) -> int:
        """Number of visited pages of the host that it links itself."""
        return sum(int(row["pages"]) for row in filter(is_own, self.rows.values()) if not is_shared(row["template"]))


def kind_of(shape: UrlShape, is_without_news: bool, forms: Collection[int], known: Known) -> Kind:
    if shape.is_foreign:
        return Kind.FOREIGN
    if shape.form is not None and shape.form in forms:
        return Kind.VARIANT
    if is_without_news:
        return Kind.WITHOUT_NEWS
    path, has_query, _ = shape.template.partition("?")
    if shape.referrer is None:
        return Kind.PLAIN
    is_one = shape.referrer.partition("?")[0] == path and (shape.is_same_path or not has_query)
    if is_one or shape.is_nested or known.leads_back(shape.referrer, shape.template):
        return Kind.SERIES
    return Kind.PLAIN


def names_of(shape: UrlShape, kind: Kind, known: Mapping[Name, Row]) -> list[Name]:
    """The rows that apply to a URL: its template's own and, until that is judged, those shared by new templates.

    New combinations of several parameters of a path share a row, because filters occur in all combinations. A refused
    file extension has an additional row. A page whose links were tried has a row of its own, which decides instead:
    one with few results does while its template is not open.
    """
    own, refused = (shape.template, kind), (ANY + shape.extension, Kind.TYPE)
    by_type = [refused] if shape.extension and refused in known and kind != Kind.FOREIGN else []
    source, of_template = known.get(source_name(shape, kind) or own), known.get(own)
    if source and source is not of_template:
        is_closed = of_template is not None and of_template["state"] != State.OPEN
        if is_closed or requests_of(source) >= ENOUGH:
            return [(source["template"], kind), *by_type]
    if has_proved(of_template) or vouched_pages(own, known):
        return [own, *by_type]
    queries = query_template(shape.template)
    return [own, *([(queries, kind)] if queries else []), (ANY, kind), *by_type]


def source_name(shape: UrlShape, kind: Kind) -> Name | None:
    """The row of the links of one page to a template; None if they are judged by the template alone."""
    return (shape.template + SOURCE + shape.source, kind) if kind is Kind.PLAIN and shape.source else None


def type_name(shape: UrlShape) -> Name:
    return (ANY + shape.extension, Kind.TYPE)
