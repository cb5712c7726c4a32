"""The rows of a host after a round: what its results promise, and how many of its URLs the next round may visit."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from ..tables.schemas import Row
from ..urls.templates import family
from . import promise
from .discovery import Known, side_of
from .template_rows import ANY, CLOSED, HOST, SIDES, SOURCE, Kind, Name, State, new_row, requests_of, template_part

_GROWTH = dict.fromkeys(Kind, 4) | {Kind.PLAIN: 12, Kind.FOREIGN: 12}
_ENOUGH = 6  # useless results before a template is closed
_SAMPLES = 3
_SUSPECTED = 16  # requests of a round for a template whose pages may be answers to any URL, until the host has answered
_USEFUL = 16  # a host is drained if one of so many results of what promises little was good, or half are different
_MOST = 256  # pages that are drained at most, beside twice as many as were good
_DRAINED = 48  # least requests per round for what promises little on a host that is drained


class Counts(NamedTuple):
    """The results of a round's requests for one template."""

    pages: int = 0
    fresh: int = 0  # pages with news; for kind plain, pages that are not copies
    news: int = 0  # pages with news
    different: int = 0  # pages that are not copies
    failed: int = 0  # no page: an error, a refused type
    redirected: int = 0
    reached: int = 0  # pages that count, and other templates, to which its redirects led


Queues = Mapping[Kind, tuple[int, int]]
"""URLs of a host after a round, by side: those in the frontier, and those moved to state `trapped` by the round."""


def judge(known: Known, name: Name, counts: Counts, samples: Iterable[str], round_: int) -> Row:
    """Changes the row of a template among those of its host to that after a round, and returns the row.

    A redirect is counted as a result by the next round, which shows where it leads.
    """
    row = known.rows.get(name) or new_row(name)
    after = row | {column: row[column] + count for column, count in counts._asdict().items()}
    useful = counts.reached + counts.fresh
    useless = counts.pages + counts.failed + max(counts.reached, row["unresolved"]) - useful
    good, bad = promise.remember(row["recent_fresh"], row["recent_pages"] - row["recent_fresh"], useful, useless)
    after |= {"recent_fresh": good, "recent_pages": good + bad, "unresolved": counts.redirected, "round": round_}
    after |= {"first": row["first"] or round_, "samples": list(samples)[:_SAMPLES] or row["samples"]}
    known.rows[name] = after
    return after


def settle(known: Known, round_: int, *, is_ended: bool, suspected: Collection[str]) -> None:
    """Changes the rows of a host to say what each promises now: its state, and what its results have earned.

    Given whether the host has nothing but what promises little, and the families that may answer any URL with a page.
    """
    for name, row in known.rows.items():
        if name[0] in (HOST, CLOSED):
            continue
        share, state = known.promised(known.names_above(name)), State.OPEN
        if share <= promise.CLOSED and row["recent_pages"] - row["recent_fresh"] >= _ENOUGH:
            state = State.TRAPPED if is_ended else State.THROTTLED
        budget = promise.earned(share, row["fresh"] + row["reached"], _GROWTH[Kind(name[1])])
        base = template_part(name[0])
        if suspected and (base == ANY or family(base) in suspected):
            budget = 0 if SOURCE in name[0] else min(budget, _SUSPECTED)
        after = row | {"state": state, "budget": budget, "since": row["since"] if state == row["state"] else round_}
        if after != row:
            known.rows[name] = after | {"round": round_}


def settle_host(known: Known, queues: Queues, requested: int, round_: int, *, is_idle: bool) -> bool:
    """Changes the rows of a host that has requested so many URLs; whether it has nothing but what promises little.

    So it is after two rounds in a row that requested nothing else and found nothing good (`is_idle`), if what was
    closed promises little enough, and the host is not drained: by then it is known whether its queue becomes shorter.
    """
    rows = [known.rows[CLOSED, kind] for kind in SIDES if (CLOSED, kind) in known.rows]
    counts = [(row["recent_fresh"], row["recent_pages"] - row["recent_fresh"]) for row in rows]
    share = max((promise.promise(*each, promise.CLOSED) for each in counts), default=1.0)
    is_idle = is_idle and share <= promise.ended(sum(waiting for waiting, _ in queues.values()))
    is_idle = is_idle and not any(drained(known, kind, queues) for kind in SIDES)
    since = (known.rows.get((HOST, Kind.PLAIN)) or new_row((HOST, Kind.PLAIN)))["since"] or round_
    for kind in {Kind.PLAIN, *(kind for kind in SIDES if (HOST, kind) in known.rows)}:
        row = known.rows.get((HOST, kind)) or new_row((HOST, kind))
        waiting = queues.get(kind, (None,))[0]
        after = {"waiting": waiting, "requested": requested, "round": round_, "since": since if is_idle else 0}
        known.rows[HOST, kind] = row | after
    return is_idle and since < round_


def credit(known: Known, kind: Kind, queues: Queues) -> int:
    """How many URLs that have earned nothing the next round may visit, of those that a host links itself or others."""
    row = known.rows.get((HOST, kind)) or new_row((HOST, kind))
    useful = row["fresh"] + row["reached"]
    return max(promise.credit(useful, requests_of(row) - useful), drained(known, kind, queues))


def drained(known: Known, kind: Kind, queues: Queues) -> int:
    """How many URLs that promise little a round may visit because the queue becomes shorter; 0 if that is not known.

    So it is if fewer URLs of the host wait than a round before, by half of the requests of that round: where a page
    leads to less than half a new URL on average, at most as many as wait are still to be found. Then pages that are
    different are worth as much as news.
    """
    row, closed, queue = known.rows.get((HOST, kind)), known.rows.get((CLOSED, kind)), queues.get(kind)
    if queue is None or row is None or closed is None or row["waiting"] is None:
        return 0
    if sum(queue) > row["waiting"] - max(1, row["requested"] / 2):
        return 0
    is_good = closed["recent_fresh"] * _USEFUL >= closed["recent_pages"]
    is_different = closed["different"] * 2 >= requests_of(closed) > 0 and closed["pages"] <= _MOST + 2 * row["fresh"]
    return max(_DRAINED, closed["pages"] // 2) if is_good or is_different else 0


def is_exempt(depth: int, kind: str | None, digest: bytes | None) -> bool:
    """Whether a URL of the frontier is never held: a seed, no page, or a page that was visited before."""
    return depth == 0 or kind is not None or digest is not None


def queues_of(rows: Iterable[Row], round_: int) -> Queues:
    """The queues of a host after a round, of its rows of table trap_queues."""
    found: dict[Kind, tuple[int, int]] = {}
    for row in rows:
        if row["round"] == round_ and not row["template"]:
            waiting, held = found.get(side := side_of(row["kind"]), (0, 0))
            found[side] = waiting + row["waiting"], held + row["held"]
    return found
