"""The row of a template after a round: what its results promise, and how many of its URLs the next round may visit."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..tables.schemas import Row
from . import promise
from .template_rows import ANY, ENOUGH, FIRST, GROWTH, SOURCE, Kind, Name, State, is_shared, requests_of, template_part

_MOST_FOREIGN = 48  # pages per round of a closed template of kind foreign
_SHARED = (16, 2, 16)  # pages in the first round, growth, and sample of all new templates together
_OF_SOURCE = 4  # least pages per round by the links of a page to an open template
_USEFUL = 16  # a template is drained if one of so many results was good lately, or half of its pages are different
_DRAINED = 48  # least pages per round of a template that is drained
_SAMPLES = 3


class Counts(NamedTuple):
    """The results of a round's requests for one template."""

    pages: int = 0
    fresh: int = 0  # pages with news; for kind plain, pages that are not copies
    news: int = 0  # pages with news
    different: int = 0  # pages that are not copies
    failed: int = 0  # no page: an error, a refused type
    redirected: int = 0
    reached: int = 0  # pages that count, and other templates, to which its redirects led


class Queue(NamedTuple):
    """The URLs of a host, or of a template, after a round."""

    waiting: int  # in the frontier
    held: int  # moved to state trapped by the round


class Queues(NamedTuple):
    """What waited before a round."""

    of_host: Queue | None = None
    own: Queue | None = None  # of the template
    requested: int = 0  # URLs of the host that the round requested


def promised(row: Row | None, known: Mapping[Name, Row]) -> float:
    """What the URLs of a row promise: links of a page start from what their template does, this from new templates."""
    if row is None:
        return promise.PRIOR
    good = row["recent_fresh"]
    return promise.promise(good, row["recent_pages"] - good, prior_of((row["template"], row["kind"]), known))


def prior_of(name: Name, known: Mapping[Name, Row]) -> float:
    """What is expected before there are results: of a page's links as of their template, of this as of new ones."""
    if SOURCE in name[0]:
        return promised(known.get((template_part(name[0]), name[1])), known)
    return min(promise.PRIOR, promised(known.get((ANY, name[1])), known)) if name[0] != ANY else promise.PRIOR


def judge(
    row: Row, counts: Counts, samples: Iterable[str], round_: int, queues: Queues, known: Mapping[Name, Row]
) -> Row:
    """The row after a round, given all rows of the host.

    A redirect is no result until the next round shows where it leads.
    """
    after = row | {name: row[name] + count for name, count in counts._asdict().items()}
    useful = counts.reached + counts.fresh
    useless = counts.pages + counts.failed + max(counts.reached, row["unresolved"]) - useful
    good, bad = promise.remember(row["recent_fresh"], row["recent_pages"] - row["recent_fresh"], useful, useless)
    after |= {"recent_fresh": good, "recent_pages": good + bad, "unresolved": counts.redirected, "round": round_}
    after |= {"first": row["first"] or round_, "samples": list(samples)[:_SAMPLES] or row["samples"]}
    after |= {"waiting": queues.of_host and queues.of_host.waiting, "requested": queues.requested}
    after |= {"template_waiting": queues.own and queues.own.waiting}
    kind, share = Kind(row["kind"]), promised(after, known)
    state, is_source = State.OPEN, SOURCE in row["template"]
    if share <= promise.CLOSED and bad >= ENOUGH * (not is_source):
        state = State.TRAPPED if row["state"] == State.TRAPPED and not useful else State.THROTTLED
    is_worth = good * _USEFUL >= good + bad or after["different"] * 2 >= after["pages"] > 0
    is_drained = is_finite(row, queues) and is_worth
    budget = budget_of(after, known, useful)
    if is_drained:
        budget = max(budget, _DRAINED, GROWTH[Kind.SERIES] * counts.pages)
    if kind is Kind.FOREIGN and state != State.OPEN:
        budget = min(budget, _MOST_FOREIGN)
    since = row["since"] if state == row["state"] and row["since"] else round_
    return after | {"state": state, "budget": budget, "since": since}


def is_finite(row: Row, queues: Queues) -> bool:
    """Whether a queue is known to become shorter: then pages that are different are worth as much as news.

    So are fewer of its URLs waiting than a round before, and of its host by half of the requests of that round: where a
    page leads to less than half a new URL on average, at most as many as wait are still to be found.
    """
    by_host = _shrinks(row["waiting"], queues.of_host, row["requested"] / 2)
    return by_host and (queues.own is None or _shrinks(row["template_waiting"], queues.own, 1))


def _shrinks(before: int | None, queue: Queue | None, least: float) -> bool:
    return before is not None and queue is not None and sum(queue) <= before - max(1, least)


def end(row: Row, is_idle: bool, round_: int, known: Mapping[Name, Row]) -> Row:
    """The row of a template that is not open, given whether its host has nothing else to visit (`is_idle`)."""
    state = row["state"]
    if not is_idle:
        state = State.THROTTLED
    elif row["budget"] <= 1 or (
        row["since"] + 1 < round_ and row["budget"] <= promise.SAMPLE and promised(row, known) <= promise.ENDED
    ):  # after two rounds it is known whether it is finite
        state = State.TRAPPED
    return row if state == row["state"] else row | {"state": state, "since": round_, "round": round_}


def is_exempt(depth: int, kind: str | None, digest: bytes | None) -> bool:
    """Whether a URL of the frontier is never held: a seed, no page, or a page that was visited before."""
    return depth == 0 or kind is not None or digest is not None


def budget_of(row: Row, known: Mapping[Name, Row], last: int = 0) -> int:
    """How many URLs of a row the next round may visit, after one with so many useful results.

    A page of whose links none was useful waits while their template is closed.
    """
    kind, bad = Kind(row["kind"]), row["recent_pages"] - row["recent_fresh"]
    limits = _SHARED if is_shared(row["template"]) else (FIRST[kind], GROWTH[kind])
    budget = promise.budget(promised(row, known), bad, requests_of(row), last, *limits)
    if SOURCE not in row["template"] or row["recent_fresh"]:
        return budget
    above = known.get((template_part(row["template"]), kind))
    return 0 if above and above["state"] != State.OPEN else min(budget, _OF_SOURCE)


def first_budget(name: Name, known: Mapping[Name, Row]) -> int:
    """The budget of a template without results."""
    kind = Kind(name[1])
    return promise.budget(prior_of(name, known), 0, 0, 0, FIRST[kind], GROWTH[kind])
