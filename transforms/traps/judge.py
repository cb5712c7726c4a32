"""Judges URL templates by the content of their pages: whether they are sampled or held, and their budget of pages.

All functions depend only on rows of table traps. docs/trap-judgement.md states the rules.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ..tables.schemas import Row
from .draining import DRAINED, Queue, drains, is_useful
from .template_rows import ENOUGH, FIRST, OFTEN, SOURCE, WINDOW, Kind, State, is_sure, requests_of, results

ALL_FAIL, ALL_REFUSED, ALL_CHAINED = 64, 16, 16
"""Number of requests without a page, of refused types, and of redirects after two others of the same template, before
a template or a file extension is throttled."""

SPARED = 32
"""One in this many URLs of a held template is not held while its host has other pages to visit."""

_GROWTH, _SLOWER, _CAUTIOUS = 8, 4, 2  # growth of the budget: with frequent news, the same in a series, with some news
_SURE = 2  # factor of the growth of a template that is surely no trap
_SAMPLED, _REOPENED = 8, 16  # pages per round: newly throttled, and reopened
_MOST_FOREIGN = 48  # pages per round of a throttled template of kind foreign
_SELDOM = 1 / 4  # share of recent pages with news, up to which an open template is throttled
_LIKE_BEFORE = 2  # while a template drains, its budget is at least its different pages so far by this
_LED_ON = 1 / 8  # share of redirects without which a template of redirects is throttled
_OF_SOURCE = 2  # pages per round by the links of a page, of which nothing was useful
_SAMPLES = 3


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


def capped(row: Row, budget: int) -> int:
    """The budget of a template that is not open: other sites' links never get many pages of such a template."""
    return min(budget, _MOST_FOREIGN) if row["kind"] == Kind.FOREIGN else budget


def judge(
    row: Row, counts: Counts, queue: Queue | None, samples: Iterable[str], round_: int, own: Queue | None = None,
    requested: int = 0,
) -> Row:  # fmt: skip
    """The row after a round, of which `requested` URLs of the host were new.

    `queue` is the host's queue before the round, `own` that of the template, if known.
    """
    recent = counts.pages + (counts.failed if row["kind"] == Kind.FOREIGN else 0)
    kept = min(1.0, max(0, WINDOW - recent) / max(1, row["recent_pages"]))
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
    elif good and (row["state"] == State.TRAPPED or good >= OFTEN * (recent + counts.redirected)):
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
            return State.OPEN, max(FIRST[Kind.TYPE], _GROWTH * requests_of(row))
        return (State.THROTTLED, 1) if row["failed"] >= ALL_REFUSED else (State.OPEN, ALL_REFUSED)
    share = row["recent_fresh"] / row["recent_pages"] if row["recent_pages"] >= ENOUGH else 1.0
    is_dead = not row["pages"] and not row["reached"] and (row["failed"] >= ALL_FAIL or row["chained"] >= ALL_CHAINED)
    resolved = row["redirected"] - counts.redirected  # the round after a redirect shows where it leads
    leads_on = row["redirected"] < requests_of(row) or row["reached"] > _LED_ON * resolved
    if share <= _SELDOM or is_dead or (resolved >= ALL_CHAINED and not leads_on):
        return State.THROTTLED, _SAMPLED
    fast = _SLOWER if row["kind"] == Kind.SERIES else _GROWTH
    growth = _CAUTIOUS if share < OFTEN else fast * _SURE if is_sure(row) else fast
    first, requests = FIRST[Kind(row["kind"])], requests_of(row)
    leads_nowhere = row["redirected"] == requests and not row["reached"]
    if leads_nowhere and resolved >= ENOUGH:
        return State.OPEN, _REOPENED
    is_barren = leads_nowhere or not (row["pages"] or row["redirected"])
    return State.OPEN, first if requests < ENOUGH or is_barren else max(first, growth * requests)


def of_source(row: Row, template_: Row | None) -> Row:
    """The row of a page's links to a template after a round: it is sampled until one of them is useful.

    If nothing of a first sample is, while the template is not open, the others wait for the template.
    """
    if row["fresh"] or row["reached"]:
        return row
    is_closed = template_ is not None and template_["state"] != State.OPEN
    if is_closed and row["state"] == State.OPEN:
        return row | {"state": State.TRAPPED, "since": row["round"], "budget": 0}
    is_unresolved = row["redirected"] == requests_of(row)  # the next round shows where they led
    return row | {"budget": min(row["budget"], _SAMPLED if is_unresolved else _OF_SOURCE)}


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
    is_small = SOURCE in row["template"] and requests_of(row) < ENOUGH
    if row["state"] != State.TRAPPED or row["budget"] or is_small:
        return row
    return row | {"budget": 1, "round": round_}


def is_exempt(depth: int, kind: str | None, digest: bytes | None) -> bool:
    """Whether a URL of the frontier is never held: a seed, no page, or a page that was visited before."""
    return depth == 0 or kind is not None or digest is not None
