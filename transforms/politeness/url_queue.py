"""The URLs of a host in a round, and which of them is requested next, also after failures."""

import dataclasses
import pickle
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from ..frontier.failed_templates import FAILED, TRUSTS, template_of, trust
from ..frontier.selection import Due

MOST_TRIES = 3
"""Failures in a row of a template, after which its other URLs wait for the next round."""

_AT_HAND = 2  # URLs that are objects, of 600 bytes each
_TOGETHER = 8  # that are packed together: each takes a tenth of that, and 2 µs to pack and unpack
_ANSWERS = 16  # of which the templates are first after a failure
_STEP = (5**0.5 - 1) / 2  # of a sequence that is spread evenly over 0 to 1, whatever part of it is taken


def probe(size: int, failures: int) -> int:
    """Return which of `size` URLs of a template is requested next, after some failures.

    URLs that fail are often neighbours, so the next one after each failure is far from the last ones.

    >>> [probe(100, failures) for failures in range(5)]
    [0, 61, 23, 85, 47]
    """
    return int(size * (failures * _STEP % 1.0))


@dataclasses.dataclass
class _Template:
    """The URLs of a template, by `trust`, each in the order of selection."""

    lanes: tuple[deque[Due], ...]
    is_failing: bool = False  # has `failures`
    failures: int = 0  # in this round, and of the URLs that failed when they were last requested
    failures_in_row: int = 0  # in this round

    def __len__(self) -> int:
        return sum(map(len, self.lanes))

    @property
    def rank(self) -> tuple[int, int]:
        """Sort key after a failure: pages that worked before, then the most URLs that its own host links to."""
        works = any(due.digest is not None for due in self.lanes[0])
        return (-works, -len(self.lanes[0]) - len(self.lanes[1]))

    def first(self) -> Due:
        lane = next(filter(None, self.lanes))
        return lane[probe(len(lane), self.failures)]

    def remove(self, due: Due) -> None:
        lane = self.lanes[trust(due)]
        place = probe(len(lane), self.failures)
        del lane[place if lane[place] == due else lane.index(due)]


class UrlQueue:
    """The URLs of a host in a round: in the order of selection, while the host answers.

    After a failure, a template is next that has answered in this round; then one with pages that worked before; then
    the one with the most URLs that the host itself links to. The templates that fail come after all others, each with
    `MOST_TRIES` failures in a row at most if the host has answered. Every step costs a constant time on average;
    templates are computed only in rounds with a failure. Until then, all URLs but the next ones are packed.
    """

    __slots__ = (
        *("has_answered", "_answers", "_is_after_failure", "_ordinary", "_packed", "_packed_rows", "_waiting"),
        *("_answered", "_counted", "_levels", "_ranked", "_templates", "_uncounted"),
    )
    _answered: dict[str, None]  # templates, the last one at the end; these are set once templates matter
    _ranked: list[str]  # templates that do not fail, the first by rank at the end
    _levels: tuple[deque[str], ...]  # templates that fail, by failures in a row
    _uncounted: set[str]  # templates that failed before the last answer of the host
    _counted: set[str]  # and since

    def __init__(self, rows: Iterable[Due] = ()) -> None:
        self._waiting: dict[bytes, Due] = {}
        self._ordinary: list[Due] = []  # the next one at the end; may hold URLs that do not wait any more
        self._packed: list[bytes] = []  # URLs after these, the next ones at the end
        self._packed_rows = 0
        self._templates: dict[str, _Template] | None = None  # None until they matter
        self._answers: list[str] = []  # the last URLs, until templates matter
        self.has_answered = False  # the host, in this round
        self._is_after_failure = False
        self._fill(list({due.url_key: due for due in rows}.values()))

    def _fill(self, rows: Sequence[Due]) -> None:
        """Hold these URLs, and no others: packed, unless their templates matter."""
        is_grouped = self._templates is not None or any(due.failures for due in rows)
        at_hand = len(rows) if is_grouped else 0
        self._waiting = {due.url_key: due for due in rows[:at_hand]}
        self._ordinary = list(rows[:at_hand][::-1])
        starts = range(at_hand, len(rows), _TOGETHER)
        self._packed = [_pack(rows[start : start + _TOGETHER]) for start in reversed(starts)]
        self._packed_rows = max(0, len(rows) - at_hand)
        if is_grouped:
            self._group()

    def _unpack(self, count: int) -> None:
        """Add the next packed URLs to those at hand: so many, or those that are packed together."""
        rows = [Due._make(row) for row in pickle.loads(zlib.decompress(self._packed.pop()))]
        if rest := rows[count:]:
            self._packed.append(_pack(rest))
        rows = rows[:count]
        self._packed_rows -= len(rows)
        self._waiting |= {due.url_key: due for due in rows}
        self._ordinary[:0] = rows[::-1]

    def __len__(self) -> int:
        return len(self._waiting) + self._packed_rows

    def __iter__(self) -> Iterator[Due]:
        while self._packed:
            self._unpack(_TOGETHER)
        return iter(self._waiting.values())

    def head(self) -> Due | None:
        """Return the URL to request next."""
        if self._packed and not self._waiting:
            self._unpack(_AT_HAND)
        if not self._is_after_failure:
            while self._ordinary:
                due = self._ordinary[-1]
                if due.url_key in self._waiting and not self.is_failing(due):
                    return due
                self._ordinary.pop()
        name = self._next_template(self._templates) if self._templates else None
        return self._templates[name].first() if self._templates and name is not None else None

    def remove(self, due: Due) -> None:
        """Remove the URL that `head` has returned."""
        del self._waiting[due.url_key]
        if self._templates is not None:
            self._templates[template_of(due.url)].remove(due)

    def is_failing(self, due: Due) -> bool:
        """Return whether a URL is of a template that fails."""
        return self._templates is not None and self._templates[template_of(due.url)].is_failing

    def held_by(self, due: Due) -> str | None:
        """Return why a URL is not requested in this round; None if it may be.

        Its template has failed too often, on a host that has answered other requests of the round. (Of a host that is
        down, all templates fail, and only its delays limit the requests.)
        """
        if self._templates is None or not self.has_answered:
            return None
        if self._templates[name := template_of(due.url)].failures_in_row < MOST_TRIES:
            return None
        return f"{MOST_TRIES} requests of template {name} failed in this round"

    def set_aside(self, due: Due) -> None:
        """Hold the template of a URL that has failed back for the rest of the round."""
        if self._templates is not None:
            template = self._templates[template_of(due.url)]
            template.failures_in_row = max(template.failures_in_row, MOST_TRIES)
            self._levels[MOST_TRIES].append(template_of(due.url))

    def answered(self, due: Due) -> None:
        """Note that the host answered a request."""
        self._is_after_failure, self.has_answered = False, True
        if self._templates is None:
            self._answers = [*self._answers[1 - _ANSWERS :], due.url]
            return
        name = template_of(due.url)
        self._note_answer(name)
        self._uncounted |= self._counted
        self._counted.clear()
        self._uncounted.discard(name)
        template = self._templates[name]
        if template.is_failing and template.failures_in_row:
            template.failures_in_row = 0
            self._levels[0].append(name)

    def failed(self, due: Due) -> bool:
        """Note that a request failed; return whether that tells more of the host than its failures so far.

        It does not if the template fails again that has failed before on a host that then answered another request.
        """
        self._is_after_failure = True
        templates = self._group() if self._templates is None else self._templates
        name = template_of(due.url)
        template = templates.setdefault(name, _new_template())
        template.is_failing = True
        template.failures += 1
        template.failures_in_row += 1
        self._levels[min(template.failures_in_row, MOST_TRIES)].append(name)
        is_news = name not in self._counted or name not in self._uncounted
        self._counted.add(name)
        return is_news

    def trim(self, count: int) -> None:
        """Drop all URLs but the first `count`; those of failing templates come last."""
        if len(self) > count:
            self._fill(sorted(self, key=self.is_failing)[:count])

    def clear(self) -> None:
        """Drop all URLs."""
        self.trim(0)

    def _note_answer(self, name: str) -> None:
        self._answered.pop(name, None)
        self._answered[name] = None

    def _next_template(self, templates: dict[str, _Template]) -> str | None:
        if self._is_after_failure:
            while self._answered:
                name = next(reversed(self._answered))
                if templates[name] and not templates[name].failures_in_row:
                    return name
                del self._answered[name]
            while self._ranked:
                if templates[self._ranked[-1]] and not templates[self._ranked[-1]].is_failing:
                    return self._ranked[-1]
                self._ranked.pop()
        for failures, level in enumerate(self._levels):
            while level:
                template = templates[level[0]]
                if template and min(template.failures_in_row, MOST_TRIES) == failures:
                    return level[0]
                level.popleft()
        return None

    def _group(self) -> dict[str, _Template]:
        """Sort the URLs that wait by template; what is known of the templates stays."""
        if self._templates is None:
            self._answered, self._uncounted, self._counted = {}, set(), set()
        known = self._templates or {}
        templates = {name: dataclasses.replace(of, lanes=_new_template().lanes) for name, of in known.items()}
        for due in self:
            templates.setdefault(template_of(due.url), _new_template()).lanes[trust(due)].append(due)
        for url in self._answers:
            templates.setdefault(name := template_of(url), _new_template())
            self._note_answer(name)
        self._answers.clear()
        if not known:
            for template in templates.values():
                template.failures = len(template.lanes[FAILED])
                template.is_failing = template.failures > 0
        self._ranked = sorted(templates, key=lambda name: templates[name].rank)[::-1]
        self._levels = tuple(deque() for _ in range(MOST_TRIES + 1))
        for name, template in templates.items():
            if template.is_failing:
                self._levels[min(template.failures_in_row, MOST_TRIES)].append(name)
        self._templates = templates
        return templates


def _pack(rows: Sequence[Due]) -> bytes:
    return zlib.compress(pickle.dumps(list(map(tuple, rows)), pickle.HIGHEST_PROTOCOL), 1)


def _new_template() -> _Template:
    return _Template(tuple(deque() for _ in range(TRUSTS)))
