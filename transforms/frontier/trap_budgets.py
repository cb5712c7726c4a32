"""Limits the URLs that a round visits on a host by what they promise; the others stay in the frontier."""

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..tables.schemas import Row
from ..traps import promise
from ..traps.allow_list import AllowList
from ..traps.discovery import Known, shape_of, side_of
from ..traps.judge import credit, is_exempt, queues_of
from ..traps.template_rows import SIDES, Kind, Name, template_part
from .selection import Due, order

_FIRST = 24  # URLs of a new template that a round visits at most, of what all new ones have earned
_SMALL = 48  # URLs of a host up to which a round is filled, so that a long queue is settled in few rounds
_TRIED = 8  # URLs that were earned for each one by which a larger round is filled

_Names = tuple[Name, ...]
_Turn = tuple[Due, "_Group", float]  # a URL, and what it promises if those of its group before it are useless


class _Group(NamedTuple):
    """What pays for the URLs that are alike."""

    side: Kind  # whose credit does
    earned: Sequence[Name]  # the rows whose results do
    new: Name | None  # that of a new template, which takes little of what others have earned


class Budgets:
    """What the results of a host's URLs, and its credit, allow a round to visit.

    `secret` draws what is sampled; `queues` are rows of table trap_queues.
    """

    def __init__(self, known: Known, is_allowed: AllowList, secret: bytes = b"", queues: Iterable[Row] = ()) -> None:
        self._known, self._is_allowed, self._secret = known, is_allowed, secret
        waiting = queues_of(queues, known.round)
        self._credit = {side: credit(known, side, waiting) for side in SIDES}
        self._left: dict[Name, int] = {}

    def admit(self, queue: Iterable[Due]) -> list[Due]:
        """The URLs of a queue that may be visited: those that its host has credit for, and the others in order.

        What results have earned is for URLs like them that promise more than `promise.CLOSED`; the rest has the credit.
        Rounds are filled with what would not be held if all of the round were useless. URLs that are alike take turns.
        Which of those are visited that promise little, or that only other sites link, is drawn, so that no site can
        foresee it.
        """
        everything = list(queue)
        limited = [due for due in everything if not is_exempt(due.depth, due.kind, due.digest)]
        limited = [due for due in limited if not self._is_allowed(due.url)]
        foreign = sum(bool(due.foreign) for due in limited)
        if len(limited) - foreign <= self._credit[Kind.PLAIN] and foreign <= self._credit[Kind.FOREIGN]:
            return everything
        groups, keys = dict[_Names, list[Due]](), {due.url_key for due in limited}
        for due in limited:
            shape = shape_of(due.url, due.referrer, due.foreign, due.redirects)
            names = self._known.names_of(shape, self._known.kind_of(shape, bool(due.links_without_news)))
            if shape.form is not None and not shape.is_foreign:
                self._known.forms.add(shape.form)
            groups.setdefault(names, []).append(due)
        sampled, earned = list[Due](), [due for due in everything if due.url_key not in keys]
        rest = list[tuple[Due, Kind, float]]()
        for due, group, share in self._in_turns(groups):
            if self._pay(group):
                earned.append(due)
            else:
                rest.append((due, group.side, share))
        room = max(_SMALL - len(earned), len(earned) // _TRIED)
        for due, side, share in rest:
            if self._credit[side] > 0 or (len(sampled) < room and share > promise.HELD):
                self._credit[side] -= 1
                sampled.append(due)
        return [*sampled, *sorted(earned, key=order)]

    def _pay(self, group: _Group) -> bool:
        """Whether results have earned a request for a URL of a group; takes it from what is left of that."""
        payer = next((name for name in group.earned if self._left[name] > 0), None)
        if payer is None or (group.new and self._left[group.new] <= 0):
            return False
        for name in filter(None, (payer, group.new)):
            self._left[name] -= 1
        return True

    def _in_turns(self, groups: Mapping[_Names, Sequence[Due]], level: int = 1) -> Iterator[_Turn]:
        """The URLs of groups, each time one of those that give most hope, by the rows of a level, then of the next."""
        parts = dict[_Names, dict[_Names, Sequence[Due]]]()
        for names, urls in groups.items():
            parts.setdefault(names[:level], {})[names] = urls
        heap = []
        for names, part in parts.items():
            share, results = self._known.promised(names), sum(self._known.results(names[-1]))
            is_whole = [*part] == [names]
            turns = self._urls(names, part[names], share, results) if is_whole else self._in_turns(part, level + 1)
            heap.append((-promise.hope(share, results, 0), self._draw(repr(names).encode()), 0, share, results, turns))
        heapq.heapify(heap)
        while heap:
            _, drawn, chosen, share, results, turns = heap[0]
            if found := next(turns, None):
                yield found
                hope = promise.hope(share, results, chosen + 1)
                heapq.heapreplace(heap, (-hope, drawn, chosen + 1, share, results, turns))
            else:
                heapq.heappop(heap)

    def _urls(self, names: _Names, urls: Sequence[Due], share: float, results: float) -> Iterator[_Turn]:
        """The URLs of a group that promises so much by so many results, each as if those before it were useless."""
        own, side, rows = (template_part(names[-1][0]), names[-1][1]), side_of(names[0][1]), self._known.rows
        tried = [name for name in names if name in rows]
        is_good = self._known.has_proved(own) if own in rows else True
        is_open = share > promise.CLOSED and is_good and all(rows[name]["recent_fresh"] for name in tried[-1:])
        earned = {name: rows[name]["budget"] for name in reversed(tried)} if is_open else {}
        for name, count in (earned if own in rows else {**earned, own: _FIRST}).items():
            self._left.setdefault(name, count)
        if side is Kind.FOREIGN or not is_open:
            urls = sorted(urls, key=lambda due: (side is Kind.FOREIGN and due.depth, self._draw(due.url_key)))
        group = _Group(side, [*earned], None if own in rows else own)
        return ((due, group, promise.hope(share, results, chosen, bonus=0)) for chosen, due in enumerate(urls))

    def _draw(self, name: bytes) -> bytes:
        return hashlib.blake2b(name, digest_size=8, key=self._secret).digest()
