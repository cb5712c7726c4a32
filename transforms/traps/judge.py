"""The row of a template after a round: what its results promise, and how many of its URLs the next round may visit."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..tables.schemas import Row
from . import promise
from .discovery import Known
from .template_rows import SOURCE, Kind, Name, State, new_row, requests_of

ENOUGH = 6
"""Number of useless results before a template is closed."""

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


Queues = Mapping[str, tuple[int, int]]
"""URLs of a host after a round: those in the frontier, and those moved to state `trapped` by the round. By kind: those
that only other sites link (`foreign`), and those that it links itself (empty)."""


def judge(
    known: Known, name: Name, counts: Counts, samples: Iterable[str], round_: int, queues: Queues, requested: int
) -> Row:
    """Changes the row of a template among those of its host to that after a round, and returns the row.

    The round has requested so many URLs of the host; `queues` are those that waited before. A redirect is no result
    until the next round shows where it leads.
    """
    row = known.rows.get(name) or new_row(name)
    after = row | {column: row[column] + count for column, count in counts._asdict().items()}
    useful = counts.reached + counts.fresh
    useless = counts.pages + counts.failed + max(counts.reached, row["unresolved"]) - useful
    good, bad = promise.remember(row["recent_fresh"], row["recent_pages"] - row["recent_fresh"], useful, useless)
    after |= {"recent_fresh": good, "recent_pages": good + bad, "unresolved": counts.redirected, "round": round_}
    after |= {"first": row["first"] or round_, "samples": list(samples)[:_SAMPLES] or row["samples"]}
    after |= {"waiting": queues.get(_queue_of(name[1]), (None,))[0], "requested": requested}
    known.rows[name] = after
    state, budget, is_of_page = State.OPEN, known.budget(name, useful), SOURCE in name[0]
    is_sampled = known.promised(name) <= promise.CLOSED or (budget <= promise.SAMPLE and not is_of_page)
    if is_sampled and (bad >= ENOUGH or is_of_page):
        state = State.THROTTLED if row["state"] == State.OPEN else State(row["state"])
    since = row["since"] if state == row["state"] and row["since"] else round_
    known.rows[name] = after | {"state": state, "budget": budget, "since": since}
    return known.rows[name]


def drained(row: Row, queues: Queues) -> int:
    """How many URLs of a template a round may visit because its queue becomes shorter; 0 if that is not known.

    So it is if fewer URLs of its host wait than a round before, by half of the requests of that round: where a page
    leads to less than half a new URL on average, at most as many as wait are still to be found. Then pages that are
    different are worth as much as news.
    """
    queue = queues.get(_queue_of(row["kind"]))
    if queue is None or row["waiting"] is None or sum(queue) > row["waiting"] - max(1, row["requested"] / 2):
        return 0
    is_worth = row["recent_fresh"] * _USEFUL >= row["recent_pages"] or row["different"] * 2 >= requests_of(row) > 0
    return max(_DRAINED, 2 * row["pages"]) if is_worth else 0


def _queue_of(kind: str) -> str:
    """The kind of the queue of all URLs of a kind: those that only other sites link wait apart."""
    return kind if kind == Kind.FOREIGN else ""


def end(known: Known, name: Name, is_idle: bool, round_: int) -> None:
    """Changes the row of a template that is not open, given whether its host has nothing else to visit (`is_idle`)."""
    row = known.rows[name]
    state = row["state"]
    if not is_idle:
        state = State.THROTTLED
    elif row["budget"] <= 1 or (row["since"] + 1 < round_ and known.promised(name) <= promise.ENDED):
        # After two rounds it is known whether its queue becomes shorter.
        state = State.TRAPPED
    if state != row["state"]:
        known.rows[name] = row | {"state": state, "since": round_, "round": round_}


def is_exempt(depth: int, kind: str | None, digest: bytes | None) -> bool:
    """Whether a URL of the frontier is never held: a seed, no page, or a page that was visited before."""
    return depth == 0 or kind is not None or digest is not None


def queues_of(rows: Iterable[Row], round_: int) -> Queues:
    """The queues of a host after a round, of its rows of table trap_queues."""
    found: dict[str, tuple[int, int]] = {}
    for row in rows:
        if row["round"] == round_ and not row["template"]:
            waiting, held = found.get(row["kind"], (0, 0))
            found[row["kind"]] = waiting + row["waiting"], held + row["held"]
    return found
