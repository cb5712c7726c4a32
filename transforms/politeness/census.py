"""Counts a bundle's hosts by what they wait for, and estimates how long their queues last."""

import heapq
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ..settings import Fetch, Politeness
from . import backoff
from .host_queue import HostTurn
from .workers.reports import ANSWER, Census, Queue

_LONGEST = 10  # queues that are named
_LATE_S = 1.0  # plus twice the last response time: then the missing answer is the reason why a queue lasts


def take_census(
    turns: Iterable[tuple[str, HostTurn]],
    now: float,
    deadline: float,
    politeness: Politeness,
    under_way: Mapping[str, float] = MappingProxyType({}),
    answer_s: float = Fetch.read_timeout,
) -> Census:
    """Return the census of (name of the shared queue, turn) pairs at `now`, in a round that ends at `deadline`.

    `under_way` has the start of the request of each queue that has one; for an answer, `answer_s` are waited.
    """
    hosts = backing_off = urls = 0
    queues: dict[str, Queue] = {}
    for name, turn in turns:
        if count := len(turn.queue):
            hosts, urls = hosts + 1, urls + count
            backing_off += turn.ready_at > now and backoff.is_backoff(turn.held_by)
            queue = _queue(name, turn, count, now, deadline, politeness)
            late_s = now - under_way.get(name, now)
            if late_s >= _LATE_S + 2 * turn.state.elapsed_s:
                more_s = max(0.0, min(answer_s - late_s, deadline - now))
                queue = queue._replace(why=ANSWER, delay_s=late_s, seconds=queue.seconds + more_s, holds=True)
            if before := queues.get(name):
                longer = max(before, queue, key=_length)
                queue = longer._replace(urls=before.urls + count, seconds=before.seconds + queue.seconds)
            queues[name] = queue
    longest = tuple(heapq.nlargest(_LONGEST, queues.values(), _length))
    seconds = longest[0].seconds if longest and longest[0].holds else 0.0
    return Census(hosts, backing_off, urls, seconds, max(0.0, deadline - now), longest)


def _length(queue: Queue) -> tuple[bool, float, int]:
    return queue.holds, queue.seconds, queue.urls


def _queue(name: str, turn: HostTurn, count: int, now: float, deadline: float, politeness: Politeness) -> Queue:
    """Return how long the queue of a host with `count` URLs lasts, and whether the round waits for it."""
    wait, usual = max(0.0, turn.ready_at - now), backoff.usual_rest(turn.state, politeness)
    is_backing_off = wait > 0 and backoff.is_backoff(turn.held_by)
    delay_s, why = (wait, turn.held_by or "") if is_backing_off else usual
    holds = wait <= backoff.patience(why, politeness)
    until = wait
    if holds and usual.seconds <= backoff.patience(usual.why, politeness):  # else only its next URL is waited for
        until += (usual.seconds + turn.state.elapsed_s) * (count - 1)
    return Queue(name, count, why, delay_s, max(0.0, min(until, turn.ends_at - now, deadline - now)), holds)
