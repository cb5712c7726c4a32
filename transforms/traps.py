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

from transforms.novelty import form_hash
from transforms.sitemap_terms import SITEMAP
from transforms.templates import form, query_template, template

Row = dict[str, Any]
Name = tuple[str, str]  # template and kind
Allows = Callable[[str], bool]

TRAP = "trap"
"""Why a URL is in state `trapped`."""

ENOUGH = 8
"""Pages that prove something, and that a template may have in a round before it has proved anything."""

_THROTTLED = 2  # pages a round, to see whether it has changed
_GROWTH = 4  # times as many pages as it had so far, for a template that pays
_PAYS, _POOR, _NONE = 1 / 4, 1 / 8, 1 / 16  # of its pages have news
_WINDOW = 32  # pages; older ones are forgotten
_SAMPLES = 3
_ANY = "*"


class Kind(StrEnum):
    """How a crawl came to a URL."""

    PLAIN = "plain"  # a page with news links to it
    BARREN = "barren"  # only pages without news do
    VARIANT = "variant"  # one was visited that differs in nothing but opaque tokens, as sessions do


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

    open -> throttled -> trapped takes two rounds; throttled -> open takes one that pays.
    """
    kept = max(0.0, 1 - pages / _WINDOW)
    recent_pages, recent_fresh = row["recent_pages"] * kept + pages, row["recent_fresh"] * kept + fresh
    share = recent_fresh / recent_pages if recent_pages else 1.0
    state = State(row["state"])
    if recent_pages >= ENOUGH and state is not State.TRAPPED:
        if share >= _PAYS:
            state = State.OPEN
        elif state is State.OPEN and share < _POOR:
            state = State.THROTTLED
        elif state is State.THROTTLED and share < _NONE and _may_be_trapped(row):
            state = State.TRAPPED
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


def _may_be_trapped(row: Row) -> bool:
    """All that is new on a host never is, as long as pages with news link to it: there is an end to those."""
    return (row["template"], row["kind"]) != (_ANY, Kind.PLAIN)


def budget(row: Row | None) -> int:
    """How many pages of a template a round may visit."""
    if row is None or row["recent_pages"] < ENOUGH:
        return ENOUGH
    if row["state"] != State.OPEN:
        return _THROTTLED
    pays = row["recent_fresh"] >= _PAYS * row["recent_pages"]
    return int(row["pages"]) * (_GROWTH if pays else 1)


def newest(rows: Iterable[Row]) -> dict[Name, Row]:
    """The row that counts of each template."""
    found: dict[Name, Row] = {}
    for row in rows:
        name = (row["template"], row["kind"])
        if name not in found or row["round"] >= found[name]["round"]:
            found[name] = row
    return found


def allows(patterns: Iterable[str]) -> Allows:
    """Whether a URL is one of those that an operator wants, trap or not (setting traps.allow).

    >>> allows(["a.org/calendar/*"])("http://a.org/calendar/2099/1")
    True
    """
    expressions = [fnmatch.translate(pattern) for pattern in patterns]
    if not expressions:
        return lambda url: False
    matches = re.compile("|".join(expressions)).match
    return lambda url: bool(matches(url.partition("://")[2]))


class Place(NamedTuple):
    """Where a URL stands: the names of the rows that speak for it, and the hash of its form, if it has one."""

    names: list[Name]
    form: int | None


def place(url: str, is_barren: bool, known: Mapping[Name, Row], forms: Collection[int]) -> Place:
    """The rows for a URL: its template's own, and until that has proved something the one for all that is new.

    What is new among the queries to one kind of page has a row of its own, since filters come in all combinations.
    """
    target = _target(url)
    bare = form(target)
    hash_ = form_hash(bare) if bare else None
    kind = Kind.VARIANT if hash_ is not None and hash_ in forms else Kind.BARREN if is_barren else Kind.PLAIN
    own = template(target)
    row = known.get((own, kind))
    names: list[Name] = [(own, kind)]
    if row is None or row["recent_pages"] < ENOUGH:
        names.append((query_template(own) or _ANY, kind))
    return Place(names, hash_)


def _target(url: str) -> str:
    return "/" + url.split("/", 3)[3]


class Budgets:
    """What a round may still visit on a host. Holds nothing back of what was visited before, seeds, and sitemaps."""

    def __init__(self, rows: Iterable[Row], forms: Iterable[int], is_allowed: Allows) -> None:
        self._known = newest(rows)
        self._forms = set(forms)
        self._is_allowed = is_allowed
        self._left: dict[Name, int] = {}

    def take(self, url: str, is_barren: bool) -> bool:
        """Whether a URL may be visited; if so, it counts."""
        if self._is_allowed(url):
            return True
        names, hash_ = place(url, is_barren, self._known, self._forms)
        left = [self._left.setdefault(name, budget(self._known.get(name))) for name in names]
        if min(left) <= 0:
            return False
        for name in names:
            self._left[name] -= 1
        if hash_ is not None:
            self._forms.add(hash_)
        return True


def is_exempt(depth: int, kind: str | None, digest: bytes | None) -> bool:
    """Whether a URL of the frontier is one that no trap holds: a seed, a sitemap, or a page that was visited before."""
    return depth == 0 or kind == SITEMAP or digest is not None


class Held(NamedTuple):
    """What is known of a host that has traps; plain, since it travels to all workers."""

    host: str
    rows: list[Row]
    forms: list[int]


class Holds:
    """Which URLs of the frontier are to be held back."""

    def __init__(self, held: Iterable[tuple], is_allowed: Allows) -> None:
        self._hosts = {one.host: (newest(one.rows), frozenset(one.forms)) for one in map(Held._make, held)}
        self._is_allowed = is_allowed

    def __bool__(self) -> bool:
        return bool(self._hosts)

    def __call__(self, row: Row) -> bool:
        """Whether a trap holds a row of the frontier."""
        if row["host"] not in self._hosts or is_exempt(row["depth"], row["kind"], row["digest"]):
            return False
        known, forms = self._hosts[row["host"]]
        names, _ = place(row["url"], bool(row["barren"]), known, forms)
        rows = filter(None, map(known.get, names))
        return any(one["state"] == State.TRAPPED for one in rows) and not self._is_allowed(row["url"])


def hold(
    changed: list[Row], due: list[Row], earlier: Iterable[Row], holds: Holds, round_: int
) -> tuple[list[Row], list[Row]]:
    """(changed rows of urls, the next frontier) of `url_states.advance`, with what traps hold in state `trapped`."""
    if not holds or not (wanted := {row["url_key"] for row in due if holds(row)}):
        return changed, due
    rows: dict[bytes, Row] = {}
    for row in earlier:
        key = row["url_key"]
        if key in wanted and (key not in rows or row["round"] >= rows[key]["round"]):
            rows[key] = row
    rows |= {row["url_key"]: row for row in changed}
    held = {key for key in wanted if not rows[key]["fetches"]}
    rows = {row["url_key"]: row for row in changed} | {
        key: rows[key] | {"state": State.TRAPPED.value, "reason": TRAP, "round": round_} for key in held
    }
    return [rows[key] for key in sorted(rows)], [row for row in due if row["url_key"] not in held]
