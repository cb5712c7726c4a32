"""Judges URL templates by the content of their pages: whether they are sampled or held, and their budget of pages.

All functions depend only on rows of table traps. docs/trap-judgement.md states the rules.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ..tables.schemas import Row
from .draining import DRAINED, Queue, drains, is_useful, shrinks
from . import promise
from .template_rows import ENOUGH, FIRST, GROWTH, OFTEN, SOURCE, WINDOW, Kind, State, is_sure, requests_of, results

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
    requested: int = 0, prior: float = 0.5,
) -> Row:  # fmt: skip
    """The row after a round, of which `requested` URLs of the host were new.

    `queue` is the host's queue before the round, `own` that of the template, if known.
    """
    after = row | {name: row[name] + count for name, count in counts._asdict().items()}
    after |= {
        "round": round_,
        "first": row["first"] or round_,
        "waiting": queue.waiting if queue else None,
        "template_waiting": own.waiting if own else None,
        "requested": requested,
        "samples": list(samples)[:_SAMPLES] or row["samples"],
    }
    useful = counts.different if is_finite(row, queue, own) else counts.fresh
    reached, resolved = counts.reached, max(0, row["chained"] - counts.reached)
    good, bad = promise.remember(
        row["recent_fresh"], row["recent_pages"] - row["recent_fresh"],
        useful + reached, counts.pages - useful + counts.failed + resolved,
    )
    after |= {"recent_fresh": good, "recent_pages": good + bad, "chained": counts.redirected}
    kind = Kind(row["kind"])
    share = promise.promise(good, bad, prior)
    budget = promise.budget(share, bad, requests_of(after) - after["chained"], useful + reached, FIRST[kind], GROWTH[kind])
    state = State.OPEN
    if share <= promise.CLOSED:
        state = State.TRAPPED if row["state"] == State.TRAPPED and not useful + reached else State.THROTTLED
        budget = capped(row, budget)
    since = row["since"] if state == row["state"] and row["since"] else round_
    return after | {"state": state, "budget": budget, "since": since}


def is_finite(row: Row, queue: Queue | None, own: Queue | None) -> bool:
    """Whether fewer URLs wait than before, of the host by half of its requests: at most as many are still to be found."""
    by_host = shrinks(row["waiting"], queue, row["requested"] / 2)
    return by_host and (own is None or shrinks(row["template_waiting"], own))


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


def end(row: Row, is_idle: bool, round_: int, prior: float = 0.5) -> Row:
    """The row of a template that is not open, given whether its host has nothing else to visit (`is_idle`).

    On an idle host, a throttled template that was sampled for two rounds and does not shrink becomes trapped.
    """
    if row["state"] == State.TRAPPED:
        return row | {"budget": 0, "round": round_} if is_idle and row["budget"] else row
    good = row["recent_fresh"]
    is_sampled = promise.promise(good, row["recent_pages"] - good, prior) <= promise.ENDED
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
