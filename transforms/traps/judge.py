"""Judges URL templates by the content of their pages: whether they are sampled or held, and their budget of pages.

A row of table traps is for a template and a `Kind` of discovery. All functions depend only on such rows and on URLs.
docs/trap-judgement.md states the rules.
"""

import functools
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from operator import itemgetter
from typing import Any, NamedTuple

from ..tables.newest import newest
from ..tables.schemas import Row
from ..urls.canonical import is_foreign
from ..urls.templates import extension, family, form, query_template, template
from .draining import DRAINED, Queue, drains, is_useful
from .novelty import form_hash

Name = tuple[str, str]  # template and kind

ENOUGH = 6
"""Number of pages before a template is judged."""

ALL_FAIL, ALL_REFUSED, ALL_CHAINED = 64, 16, 16
"""Number of requests without a page, of refused types, and of redirects after two others of the same template, before
a template or a file extension is throttled."""

SPARED = 32
"""One in this many URLs of a held template is not held while its host has other pages to visit."""

_GROWTH, _SLOWER, _CAUTIOUS = 8, 4, 2  # growth of the budget: with frequent news, the same in a series, with some news
_SURE = 2  # factor of the growth of a template that is surely no trap
_MOSTLY, _OFTEN, _SELDOM = 2 / 3, 1 / 2, 1 / 4  # share of recent pages with news
_WINDOW = 32  # number of recent pages
_SAMPLED, _REOPENED = 8, 16  # pages per round: newly throttled, and reopened
_MOST_FOREIGN = 48  # pages per round of a throttled template of kind foreign
_LIKE_BEFORE = 2  # while a template drains, its budget is at least its different pages so far by this
_LED_ON = 1 / 8  # share of redirects without which a template of redirects is throttled
_SAMPLES = 3
_ANY = "*"


class Kind(StrEnum):
    """How the crawl discovered a URL."""

    PLAIN = "plain"  # linked by a page of another template that has news, or by a plain page that is not a copy
    SERIES = "series"  # the same, but the linking page has the same template, or the link leads back (`leads_back`)
    WITHOUT_NEWS = "links_without_news"  # linked only by other pages
    VARIANT = "variant"  # a visited URL differs only in opaque tokens, such as sessions
    TYPE = "type"  # a file extension with refused media types
    FOREIGN = "foreign"  # linked only by other sites; judged apart, so that these do not limit a site's own pages


_FIRST = {Kind.PLAIN: 64, Kind.SERIES: 16, Kind.WITHOUT_NEWS: 16, Kind.VARIANT: 8, Kind.TYPE: 64, Kind.FOREIGN: 64}
"""Pages per round until a template is judged."""


class State(StrEnum):
    """How a template is treated."""

    OPEN = "open"
    THROTTLED = "throttled"  # sampled
    TRAPPED = "trapped"  # its URLs are held


class Counts(NamedTuple):
    """The results of a round's requests for one template."""

    pages: int = 0
    fresh: int = 0  # pages with news; for kind plain, pages that are not copies
    news: int = 0  # pages with news
    different: int = 0  # pages that are not copies
    failed: int = 0  # no page: an error, a refused type
    redirected: int = 0
    chained: int = 0  # redirects after two others, all of them of the template
    reached: int = 0  # pages that count, and other templates, to which its redirects led


def new_row(host: str, name: Name) -> Row:
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
    return row | counts | {"budget": _FIRST[Kind(name[1])], "waiting": None, "template_waiting": None, "requested": 0}


def requests_of(row: Row) -> int:
    """Number of first requests for URLs of a template."""
    return int(row["pages"] + row["failed"] + row["redirected"])


def results(row: Row) -> int:
    """Number of requests that tell what a template is worth: pages, and dead links if other sites have made them."""
    return int(row["pages"] + (row["failed"] + row["redirected"] if row["kind"] == Kind.FOREIGN else 0))


def capped(row: Row, budget: int) -> int:
    """The budget of a template that is not open: other sites' links never get many pages of such a template."""
    return min(budget, _MOST_FOREIGN) if row["kind"] == Kind.FOREIGN else budget


def results_of(row: Mapping[str, object]) -> str:
    """What the requests for a template gave, in words.

    >>> results_of({"pages": 40, "fresh": 1, "failed": 2, "redirected": 0})
    '1 of 40 pages had anything new, 2 requests gave no page'
    """
    parts = [f"{row['fresh']} of {row['pages']} pages had anything new"] if row["pages"] else []
    parts += [f"{row['failed']} requests gave no page"] if row["failed"] else []
    parts += [f"{row['redirected']} requests were redirected"] if row["redirected"] else []
    return ", ".join(parts) or "none of it was requested"


def judge(
    row: Row, counts: Counts, queue: Queue | None, samples: Iterable[str], round_: int, own: Queue | None = None,
    requested: int = 0,
) -> Row:  # fmt: skip
    """The row after a round, of which `requested` URLs of the host were new.

    `queue` is the host's queue before the round, `own` that of the template, if known.
    """
    recent = counts.pages + (counts.failed if row["kind"] == Kind.FOREIGN else 0)
    kept = min(1.0, max(0, _WINDOW - recent) / max(1, row["recent_pages"]))
    after = row | {name: row[name] + count for name, count in counts._asdict().items()}
    after |= {
        "round": round_,
        "first": row["first"] or round_,
        "waiting": queue.waiting if queue else None,
        "template_waiting": own.waiting if own else None,
        "requested": requested,
        "samples": list(samples)[:_SAMPLES] or row["samples"],
    }
    after["recent_pages"] = row["recent_pages"] * kept + recent
    after["recent_fresh"] = row["recent_fresh"] * kept + counts.fresh
    is_draining = drains(row, after, queue, own, results(after))
    good = counts.fresh + counts.reached * (row["redirected"] == requests_of(row))
    if row["state"] == State.OPEN:
        state, budget = _of_open(after, counts)
    elif good and (row["state"] == State.TRAPPED or good >= _OFTEN * (recent + counts.redirected)):
        state, budget = State.OPEN, max(_REOPENED, _GROWTH * good)
        after |= {"recent_pages": float(recent), "recent_fresh": float(counts.fresh)}  # it is judged anew
    elif good:  # a throttled template remains so, because only the queues of such templates are counted
        state, budget = State.THROTTLED, max(_REOPENED, _GROWTH * good)
    elif is_draining:
        state, budget = State.THROTTLED, row["budget"]
    else:
        state, budget = State(row["state"]), max(_SAMPLED if is_useful(after) else 1, row["budget"] // 2)
    if is_draining:
        budget = max(budget, DRAINED, _GROWTH * counts.pages, after["different"] // _LIKE_BEFORE)
    if state != State.OPEN:
        budget = capped(row, budget)
    since = row["since"] if state == row["state"] and row["since"] else round_
    return after | {"state": state, "budget": budget, "since": since}


def _of_open(row: Row, counts: Counts) -> tuple[State, int]:
    """(state, budget) of a template that was open, from its row after a round with these results."""
    if row["kind"] == Kind.TYPE:
        if row["pages"]:
            return State.OPEN, max(_FIRST[Kind.TYPE], _GROWTH * requests_of(row))
        return (State.THROTTLED, 1) if row["failed"] >= ALL_REFUSED else (State.OPEN, ALL_REFUSED)
    share = row["recent_fresh"] / row["recent_pages"] if row["recent_pages"] >= ENOUGH else 1.0
    is_dead = not row["pages"] and not row["reached"] and (row["failed"] >= ALL_FAIL or row["chained"] >= ALL_CHAINED)
    resolved = row["redirected"] - counts.redirected  # the round after a redirect shows where it leads
    leads_on = row["redirected"] < requests_of(row) or row["reached"] > _LED_ON * resolved
    if share <= _SELDOM or is_dead or (resolved >= ALL_CHAINED and not leads_on):
        return State.THROTTLED, _SAMPLED
    fast = _SLOWER if row["kind"] == Kind.SERIES else _GROWTH
    growth = _CAUTIOUS if share < _OFTEN else fast * _SURE if is_sure(row) else fast
    first, requests = _FIRST[Kind(row["kind"])], requests_of(row)
    leads_nowhere = row["redirected"] == requests and not row["reached"]
    if leads_nowhere and resolved >= ENOUGH:
        return State.OPEN, _REOPENED
    return State.OPEN, first if requests < ENOUGH or leads_nowhere else max(first, growth * requests)


def end(row: Row, is_idle: bool, round_: int) -> Row:
    """The row of a template that is not open, given whether its host has nothing else to visit (`is_idle`).

    On an idle host, a throttled template that was sampled for two rounds and does not shrink becomes trapped.
    """
    if row["state"] == State.TRAPPED:
        return row | {"budget": 0, "round": round_} if is_idle and row["budget"] else row
    is_sampled = row["since"] + 1 < round_ and row["budget"] < capped(row, DRAINED) and not is_useful(row)
    if not is_idle or not is_sampled:
        return row
    return row | {"state": State.TRAPPED, "since": round_, "round": round_, "budget": 0}


def wake(row: Row, round_: int) -> Row:
    """The row of a trapped template on a host that has other pages to visit again: the template is sampled."""
    return row | {"budget": 1, "round": round_} if row["state"] == State.TRAPPED and not row["budget"] else row


def newest_by_template(rows: Iterable[Row]) -> dict[Name, Row]:
    """The newest row of each template and kind."""
    return {
        name: new_row(row["host"], name) | {column: value for column, value in row.items() if value is not None}
        for name, row in newest(rows, itemgetter("template", "kind")).items()
    }


class UrlShape(NamedTuple):
    """The properties of a URL that the judgement uses."""

    template: str
    form: int | None  # the hash of its form, if it has opaque tokens
    extension: str
    referrer: str | None  # the template of the linking page; None: on another host
    is_same_path: bool  # same path as the referrer
    is_nested: bool  # the path of the referrer below another folder
    is_foreign: bool = False  # only other sites link to it


def from_elsewhere(row: Mapping[str, Any]) -> bool:
    """Whether only other sites link a URL; in rows of earlier versions, whether the first link was of another site."""
    known, source = row.get("foreign"), row.get("referrer") or row.get("discovered_from")
    return is_foreign(row["url"], source) if known is None else bool(known)


def shape_of(url: str, referrer: str | None = None, foreign: bool | None = False) -> UrlShape:
    """The shape of a URL; `foreign` as in the frontier."""
    scheme, _, host, rest = url.split("/", 3)
    target, from_template, is_same_path, is_nested = "/" + rest, None, False, False
    if referrer and referrer.startswith(f"{scheme}//{host}/"):
        origin = "/" + referrer.split("/", 3)[3]
        path, from_path = target.partition("?")[0], origin.partition("?")[0]
        from_template, is_same_path = _template(origin), path == from_path
        is_nested = not is_same_path and from_path != "/" and path.endswith(from_path)
    bare = form(target)
    code = form_hash(bare) if bare else None
    is_of_others = is_foreign(url, referrer) if foreign is None else foreign
    return UrlShape(template(target), code, extension(target), from_template, is_same_path, is_nested, is_of_others)


_template = functools.lru_cache(1 << 12)(template)


class Known:
    """The rows of a host by template and kind, with totals per template of what the site itself links."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.rows = newest_by_template(rows)
        self._first: dict[str, int] = {}
        self._pages: dict[str, list[int]] = {}
        for row in filter(is_own, self.rows.values()):
            name = row["template"]
            self._first[name] = min(self._first.get(name, row["round"]), row["first"] or row["round"])
            pages = self._pages.setdefault(name, [0, 0])
            pages[0] += row["pages"]
            pages[1] += row["news"]

    def leads_back(self, origin: str, target: str) -> bool:
        """Whether a template with little news links to its own family, or back to a template that was visited earlier.

        Endless nesting, and templates that link to each other such as months and days, consist of such links.
        """
        pages, news = self._pages.get(origin, (0, 0))
        if news >= _OFTEN * pages:
            return False
        is_back = target in self._first and (self._first[target], target) < (self._first[origin], origin)
        return is_back or family(target) == family(origin)

    @property
    def pages(self) -> int:
        """Number of visited pages of the host that it links itself."""
        return sum(int(row["pages"]) for row in filter(is_own, self.rows.values()) if not is_shared(row["template"]))


def is_own(row: Mapping[str, object]) -> bool:
    """Whether a row is for URLs that their own site links."""
    return row["kind"] != Kind.FOREIGN


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


def has_proved(row: Row | None) -> bool:
    """Whether a template is judged by its own row: it has enough requests, or news on every page so far."""
    return row is not None and (requests_of(row) >= ENOUGH or 0 < row["pages"] == row["fresh"])


def is_sure(row: Row) -> bool:
    """Whether a template is surely no trap: most of many pages have news."""
    return bool(row["pages"] >= _WINDOW and row["news"] >= _MOSTLY * row["pages"])


def vouched_pages(name: Name, known: Mapping[Name, Row]) -> int:
    """The first budget of a series whose template `is_sure` by its plain pages: as many pages; otherwise 0."""
    row = known.get((name[0], Kind.PLAIN)) if name[1] == Kind.SERIES else None
    return int(row["news"]) if row and is_sure(row) else 0


def is_shared(template_: str) -> bool:
    """Whether a row is shared by several templates, each of which also has its own row."""
    return template_.startswith(_ANY) or template_.endswith("?*")


def names_of(shape: UrlShape, kind: Kind, known: Mapping[Name, Row]) -> list[Name]:
    """The rows that apply to a URL: its template's own and, until that is judged, those shared by new templates.

    New combinations of several parameters of a path share a row, because filters occur in all combinations. A refused
    file extension has an additional row.
    """
    own, refused = (shape.template, kind), (_ANY + shape.extension, Kind.TYPE)
    by_type = [refused] if shape.extension and refused in known and kind != Kind.FOREIGN else []
    if has_proved(known.get(own)) or vouched_pages(own, known):
        return [own, *by_type]
    queries = query_template(shape.template)
    return [own, *([(queries, kind)] if queries else []), (_ANY, kind), *by_type]


def type_name(shape: UrlShape) -> Name:
    return (_ANY + shape.extension, Kind.TYPE)


def is_exempt(depth: int, kind: str | None, digest: bytes | None) -> bool:
    """Whether a URL of the frontier is never held: a seed, no page, or a page that was visited before."""
    return depth == 0 or kind is not None or digest is not None
