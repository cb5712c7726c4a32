"""Limits the URLs that a round visits on a host by template budgets; the others stay in the frontier."""

from collections import Counter
from collections.abc import Iterable, Iterator

from ..tables.schemas import Row
from ..traps.allow_list import AllowList
from ..traps.discovery import Known, UrlShape, kind_of, names_of, shape_of
from ..traps.draining import Queue, drain_budget
from ..traps.judge import capped, is_exempt
from ..traps.template_rows import Kind, Name, State, has_proved, is_shared, new_row, results, vouched_pages
from .selection import Due


class Budgets:
    """The budgets of a host's templates in a round. `rows` are of table traps, `forms` are the visited forms."""

    def __init__(self, rows: Iterable[Row], forms: Iterable[int], is_allowed: AllowList) -> None:
        self._known = Known(rows)
        self._forms = set(forms)
        self._is_allowed = is_allowed
        self._left: dict[Name, int] = {}
        self._waiting, self._own_waiting = Counter[bool](), Counter[Name]()  # by whether only other sites link them
        states = {row["state"] for row in self._known.rows.values()}
        self._may_drain = State.THROTTLED in states and State.TRAPPED not in states  # a queue with held URLs shrinks

    def admit(self, queue: Iterable[Due]) -> Iterator[Due]:
        """The URLs of a queue that may be visited, in order within each depth, with new templates in round-robin.

        URLs that only other sites link are taken in the order of their keys, so that a budget is a sample of them.
        """
        turns = Counter[Name]()
        in_turn: list[tuple[int, int, bytes, Due, UrlShape | None]] = []
        for due in queue:
            self._waiting[bool(due.foreign)] += 1
            if is_exempt(due.depth, due.kind, due.digest) or self._is_allowed(due.url):
                in_turn.append((due.depth, 0, b"", due, None))
                continue
            shape = shape_of(due.url, due.referrer, due.foreign)
            name = (shape.template, kind_of(shape, bool(due.links_without_news), (), self._known))
            turn, key = (0, due.url_key) if shape.is_foreign else (turns[name], b"")
            in_turn.append((due.depth, turn, key, due, shape))
            turns[name] += not has_proved(self._known.rows.get(name))
            if self._may_drain:
                kind = kind_of(shape, bool(due.links_without_news), self._forms, self._known)
                self._own_waiting[shape.template, kind] += 1
        for *_, due, limited in sorted(in_turn, key=lambda item: item[:3]):
            if limited is None or self._take(limited, bool(due.links_without_news)):
                yield due

    def _take(self, shape: UrlShape, is_without_news: bool) -> bool:
        names = names_of(shape, kind_of(shape, is_without_news, self._forms, self._known), self._known.rows)
        left = [self._left.setdefault(name, self._budget(name)) for name in names]
        if min(left) <= 0:
            return False
        for name in names:
            self._left[name] -= 1
        if shape.form is not None and not shape.is_foreign:
            self._forms.add(shape.form)
        return True

    def _budget(self, name: Name) -> int:
        row = self._known.rows.get(name)
        budget = int((new_row("", name) if row is None or row["budget"] is None else row)["budget"])
        if row is None or row["state"] == State.OPEN:
            return max(budget, vouched_pages(name, self._known.rows))
        if not self._may_drain:
            return budget
        of_host = Queue(self._waiting[name[1] == Kind.FOREIGN], 0)
        own = None if is_shared(name[0]) else Queue(self._own_waiting[name], 0)
        drained = drain_budget(row, of_host, own, results(row))
        return max(budget, capped(row, drained))
