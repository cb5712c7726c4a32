"""Limits the URLs that a round visits on a host by template budgets; the others stay in the frontier."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator

from ..tables.schemas import Row
from ..traps.allow_list import AllowList
from ..traps.discovery import Known, UrlShape, kind_of, names_of, shape_of, source_name
from ..traps.draining import Queue, drain_budget
from ..traps.judge import capped, is_exempt
from ..traps.template_rows import Kind, Name, State, has_proved, is_shared, new_row, new_sources, results, vouched_pages
from .selection import Due

_SAMPLE = 2  # URLs of a page, of whose links to a template that is not open none was tried


class Budgets:
    """The budgets of a host's templates in a round. `rows` are of table traps, `forms` are the visited forms."""

    def __init__(self, rows: Iterable[Row], forms: Iterable[int], is_allowed: AllowList, secret: bytes = b"") -> None:
        self._known = Known(rows)
        self._forms = set(forms)
        self._is_allowed = is_allowed
        self._secret = secret
        self._sampled: dict[Name, Counter[Name]] = {}  # number of URLs by page that links them
        self._left: dict[Name, int] = {}
        self._waiting, self._own_waiting = Counter[bool](), Counter[Name]()  # by whether only other sites link them
        states = {row["state"] for row in self._known.rows.values()}
        self._may_drain = State.THROTTLED in states and State.TRAPPED not in states  # a queue with held URLs shrinks

    def admit(self, queue: Iterable[Due]) -> Iterator[Due]:
        """The URLs of a queue that may be visited, in order within each depth, with new templates in round-robin.

        URLs that only other sites link are taken in the order of their keys, so that a budget is a sample of them.
        """
        turns = Counter[Name]()
        of_sources = Counter[tuple[Name, str | None]]()
        in_turn: list[tuple[int, int, bytes, Due, UrlShape | None]] = []
        for due in queue:
            self._waiting[bool(due.foreign)] += 1
            if is_exempt(due.depth, due.kind, due.digest) or self._is_allowed(due.url):
                in_turn.append((due.depth, 0, b"", due, None))
                continue
            shape = shape_of(due.url, due.referrer, due.foreign, due.redirects)
            if self._may_drain:
                self._count_own(shape, kind_of(shape, bool(due.links_without_news), self._forms, self._known))
            name = (shape.template, kind_of(shape, bool(due.links_without_news), (), self._known))
            row, source = self._known.rows.get(name), (name, shape.source)
            if row and row["state"] != State.OPEN and not shape.is_foreign:
                in_turn.append((0, of_sources[source], self._draw(due), due, shape))
                of_sources[source] += 1
                continue
            turn, key = (0, due.url_key) if shape.is_foreign else (turns[name], b"")
            in_turn.append((due.depth, turn, key, due, shape))
            turns[name] += not has_proved(self._known.rows.get(name))
        for *_, due, limited in sorted(in_turn, key=lambda item: item[:3]):
            if limited is None or self._take(limited, bool(due.links_without_news)):
                yield due

    def _take(self, shape: UrlShape, is_without_news: bool) -> bool:
        kind = kind_of(shape, is_without_news, self._forms, self._known)
        names = names_of(shape, kind, self._known.rows)
        if self._is_sample(shape, kind, names[0]):
            return True
        left = [self._left.setdefault(name, self._budget(name)) for name in names]
        if min(left) <= 0:
            return False
        for name in names:
            self._left[name] -= 1
        if shape.form is not None and not shape.is_foreign:
            self._forms.add(shape.form)
        return True

    def _count_own(self, shape: UrlShape, kind: Kind) -> None:
        """Count a waiting URL for its template, or for the page that links it, as `Holds` does."""
        name = names_of(shape, kind, self._known.rows)[0]
        self._own_waiting[name] += 1

    def _is_sample(self, shape: UrlShape, kind: Kind, name: Name) -> bool:
        """Whether a URL is of the sample of a page's links, if none of its links to a closed template was tried."""
        row, source = self._known.rows.get(name), source_name(shape, kind)
        if source is None or name != (shape.template, kind) or row is None or row["state"] == State.OPEN:
            return False
        sources = self._sampled.setdefault(name, Counter())
        if source not in sources and len(sources) >= new_sources(row):
            return False
        sources[source] += 1
        return sources[source] <= _SAMPLE

    def _draw(self, due: Due) -> bytes:
        """Orders URLs by chance; no site can foresee it."""
        return hashlib.blake2b(due.url_key, digest_size=8, key=self._secret).digest()

    def _budget(self, name: Name) -> int:
        row = self._known.rows.get(name)
        budget = int((new_row("", name) if row is None or row["budget"] is None else row)["budget"])
        if row is None or row["state"] == State.OPEN:
            return max(budget, vouched_pages(name, self._known.rows))
        if True:
            return budget
        of_host = Queue(self._waiting[name[1] == Kind.FOREIGN], 0)
        own = None if is_shared(name[0]) else Queue(self._own_waiting[name], 0)
        drained = drain_budget(row, of_host, own, results(row))
        return max(budget, capped(row, drained))
