"""Which pages of a host are news: words and titles that its other pages have not shown."""

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..batches.batch_schemas import YieldRow
from ..tables.schemas import Row
from . import soft_404
from .judge import Counts
from .novelty import Family, Novelty, pack, unpack
from .page_words import PageWords
from .soft_404 import Suspicion, is_soft_404
from .stacks import is_stacked
from .template_rows import Kind

_VARIED, _LARGE = 5, 1_000
"""Minimum pages of a host with many new words, or minimum pages, before pages count as without news: on a host where
all pages are similar or have few words, that is no evidence of a trap."""


class Seen(NamedTuple):
    """What the pages of a host have shown so far."""

    words: frozenset[int] = frozenset()
    telling: int = 0  # pages with many new words
    pages: int = 0


NOTHING_SEEN = Seen()


class Duplicates(NamedTuple):
    """Keys of exact and near duplicates, each with that of the page that it duplicates."""

    copies: Mapping[bytes, bytes]
    near: Mapping[bytes, bytes]

    def has_copy(self, request: YieldRow) -> bool:
        """Whether a page is a copy; a near duplicate is one if its URL piles up parts of the other one's."""
        key = request["url_key"]
        like = self.copies.get(key) or self.near.get(key)
        return key in self.copies or (like is not None and is_stacked(request["url"], like))


class HostNews:
    """What the pages of a host have shown, in earlier rounds and in this one, by family of templates.

    `trap_samples` are the rows of earlier rounds, which had so many `pages`; `answers` is what the answers of this
    round to URLs that cannot exist say of their families; what `site` has is no news either.
    """

    def __init__(
        self, trap_samples: Iterable[Row], pages: int, answers: Mapping[str, soft_404.Known], site: Seen
    ) -> None:
        rows, words = list(trap_samples), dict[str, list[bytes]]()
        for row in rows:
            words.setdefault(row["template"], []).extend(row["words"])
        self._families = {group: Family(seen) for group, seen in words.items()}
        self._words = set(site.words).union(*(one.seen for one in self._families.values()))
        self._telling = site.telling + sum(row["telling"] or 0 for row in rows)
        self._pages = site.pages + pages
        self._answers = dict(answers)
        self._asked = soft_404.answers_of(rows) | self._answers
        self._suspicions = dict[str, Suspicion]()
        self._new_telling, self._new_forms = Counter[str](), dict[str, list[int]]()
        self.forms = {form for row in rows for form in unpack(row["forms"])}

    @property
    def seen(self) -> Seen:
        return Seen(frozenset(self._words), self._telling, self._pages)

    def add_form(self, form: int | None, group: str) -> None:
        """Remember the form of a URL."""
        if form is not None and form not in self.forms:
            self.forms.add(form)
            self._new_forms.setdefault(group, []).append(form)

    def take(self, request: YieldRow, group: str, kind: Kind, duplicates: Duplicates) -> Counts:
        """Add a page and return what it counts as: fresh, with news, different."""
        is_series = kind is not Kind.PLAIN
        added = self._added(request, group, is_series)
        is_copy = duplicates.has_copy(request) or is_soft_404(self._asked.get(group), request, is_series=is_series)
        is_uniform = self._telling < _VARIED and self._pages < _LARGE
        is_told = added.has_new_title or (added.is_news and request["url_key"] not in duplicates.near)
        is_news = not is_copy and (is_told or is_uniform)
        is_fresh = is_news or (not is_series and not is_copy)
        if is_fresh and not is_uniform and group not in self._asked:
            suspicion = self._suspicions.setdefault(group, Suspicion())
            suspicion.add(request, is_named=added.is_named or not is_news, is_series=is_series)
        return Counts(pages=1, fresh=int(is_fresh), news=int(is_news), different=int(not is_copy))

    def _added(self, request: YieldRow, group: str, is_series: bool) -> Novelty:
        found = PageWords(request["title_words"] or b"", request["words"] or b"", request["own_words"] or b"")
        added = self._families.setdefault(group, Family()).take(found, self._words if is_series else frozenset())
        self._pages += 1
        self._words |= added.words
        self._new_telling[group] += added.is_telling
        self._telling += added.is_telling
        return added

    def suspected(self) -> dict[str, YieldRow]:
        """A page of each family that may answer any URL with a page, of as many as are asked at once."""
        found = {group: one.sample for group, one in self._suspicions.items() if one and one.sample}
        return dict(itertools.islice(found.items(), soft_404.ASKED_AT_ONCE))

    def rows(self, host: str, round_: int, asked: Iterable[str]) -> list[Row]:
        """The rows of trap_samples of the round, in which URLs that cannot exist are requested of some families."""
        families = self._families
        answers = self._answers | {group: soft_404.Known(soft_404.ErrorPages.ASKED) for group in asked}
        added = (group for group, family in families.items() if family.added)
        return [
            {"host": host, "template": group, "round": round_, "telling": self._new_telling[group]}
            | {"words": [pack(families[group].added)] if group in families else []}
            | {"forms": pack(self._new_forms.get(group, ()))}
            | (
                {"answer": answers[group].answer, "answer_words": pack(answers[group].words)}
                if group in answers
                else {}
            )
            for group in sorted({*self._new_forms, *answers, *added})
        ]
