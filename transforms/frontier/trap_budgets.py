"""What a round visits of a host, by the budgets of its templates; the rest waits in the frontier."""

from collections import Counter
from collections.abc import Iterable, Iterator

from ..traps.judge import (
    Allows,
    Kind,
    Look,
    Name,
    Row,
    budget,
    has_proved,
    is_exempt,
    kind_of,
    look,
    names_of,
    newest_by_template,
    pages_seen,
)
from .selection import Due


class Budgets:
    """The budgets of a host's templates in a round. `rows` are of table traps, `forms` those that were visited."""

    def __init__(self, rows: Iterable[Row], forms: Iterable[int], is_allowed: Allows) -> None:
        self._known = newest_by_template(rows)
        self._seen = pages_seen(self._known.values())
        self._forms = set(forms)
        self._is_allowed = is_allowed
        self._left: dict[Name, int] = {}

    def admit(self, queue: Iterable[Due]) -> Iterator[Due]:
        """The URLs of a queue that may be visited: its order within each depth, but new templates take turns."""
        turns = Counter[tuple[str, bool]]()
        in_turn: list[tuple[int, int, Due, Look | None]] = []
        for due in queue:
            if is_exempt(due.depth, due.kind, due.digest) or self._is_allowed(due.url):
                in_turn.append((due.depth, 0, due, None))
                continue
            looks, is_without_news = look(due.url), bool(due.links_without_news)
            name = (looks.template, is_without_news)
            in_turn.append((due.depth, turns[name], due, looks))
            turns[name] += not has_proved(
                self._known.get((looks.template, Kind.WITHOUT_NEWS if is_without_news else Kind.PLAIN))
            )
        for _, _, due, limited in sorted(in_turn, key=lambda item: item[:2]):
            if limited is None or self._take(limited, bool(due.links_without_news)):
                yield due

    def _take(self, looks: Look, is_without_news: bool) -> bool:
        names = names_of(looks.template, kind_of(looks, is_without_news, self._forms), self._known)
        left = [self._left.setdefault(name, budget(name, self._known.get(name), self._seen)) for name in names]
        if min(left) <= 0:
            return False
        for name in names:
            self._left[name] -= 1
        if looks.form is not None:
            self._forms.add(looks.form)
        return True
