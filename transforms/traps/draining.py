"""Draining: what waits of a throttled template is visited in rounds that grow, if it is finite and worth its pages."""

from typing import NamedTuple

from ..tables.schemas import Row

DRAINED = 64
"""Pages of the first round of draining."""

_USEFUL = 1 / 16  # share of recent pages that count, with which a template is never trapped, and drains if it is finite


class Queue(NamedTuple):
    """The URLs of a host, or of a template, after a round."""

    waiting: int  # in the frontier
    held: int  # moved to state trapped by the round


def drains(row: Row, after: Row, queue: Queue | None, own: Queue | None, results: int) -> bool:
    """Whether a template is finite and worth its pages: most `results` are no copies, or some recent ones count.

    It is finite if its own queue shrinks, and that of its host by half of the requests or more: where a page leads to
    less than half a new one on average, at most as many as wait are still to be found.
    """
    is_finite = shrinks(row["waiting"], queue, row["requested"] / 2)
    is_finite = is_finite and (own is None or shrinks(row["template_waiting"], own))
    return is_finite and (is_useful(after) or after["different"] * 2 >= results > 0)


def is_useful(row: Row) -> bool:
    """Whether some of the recent pages of a template count."""
    return bool(row["recent_fresh"] >= _USEFUL * row["recent_pages"] > 0)


def shrinks(before: int | None, queue: Queue | None, least: float = 1) -> bool:
    """Whether a queue is known to have become shorter by at least so many URLs."""
    return before is not None and queue is not None and sum(queue) <= before - max(1, least)


def drain_budget(row: Row, queue: Queue, own: Queue | None, results: int) -> int:
    """The least budget of a throttled template for the queues before a round, which its row does not know yet.

    Its row has the queues before the round before. What templates share has no queue of its own (None).
    """
    is_known = own is None or row["template_waiting"] is not None
    return DRAINED if is_known and drains(row, row, queue, own, results) else 0
