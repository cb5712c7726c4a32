"""Counts a bundle's hosts by what they wait for, and estimates how long their queues last."""

from collections.abc import Iterable

from ..settings import Politeness
from ..workers.progress import Census
from . import backoff
from .host_queue import HostTurn


def take_census(turns: Iterable[tuple[str, HostTurn]], now: float, deadline: float, politeness: Politeness) -> Census:
    """Return the census of (name of the shared queue, turn) pairs at `now`, in a round that ends at `deadline`."""
    hosts = backing_off = urls = 0
    seconds: dict[str, float] = {}
    for queue, turn in turns:
        if count := len(turn.queue):
            wait = max(0.0, turn.ready_at - now)
            hosts, urls = hosts + 1, urls + count
            backing_off += wait > 0 and backoff.is_backoff(turn.held_by)
            delay = backoff.usual_rest(turn.state, politeness).seconds
            until = wait + delay * (count - 1)
            seconds[queue] = seconds.get(queue, 0.0) + min(until, max(0.0, turn.ends_at - now))
    return Census(hosts, backing_off, urls, max(seconds.values(), default=0.0), max(0.0, deadline - now))
