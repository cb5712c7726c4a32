"""Limits the URLs that a round visits on a host by what they promise; the others stay in the frontier."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from operator import itemgetter

from ..tables.schemas import Row
from ..traps.allow_list import AllowList
from ..traps.discovery import Known, UrlShape, shape_of, source_name
from ..traps.judge import drained, is_exempt, queues_of
from ..traps.template_rows import SOURCE, Name, template_part
from ..urls.templates import template
from .selection import Due

_SAMPLE = 2  # URLs of a page of whose links to a closed template none was tried, and such pages of a template, at least
_GROWTH = 6  # such pages for each page of their template whose links were good

_Place = tuple[object, ...]  # the page that links a closed or new template, and the template of pages with new ones


class Budgets:
    """The budgets of a host's templates in a round.

    `secret` draws what is sampled; `queues` are rows of table trap_queues.
    """

    def __init__(self, known: Known, is_allowed: AllowList, secret: bytes = b"", queues: Iterable[Row] = ()) -> None:
        self._known, self._is_allowed, self._secret = known, is_allowed, secret
        self._queues = queues_of(queues, self._known.round)
        self._sampled: dict[tuple[str | None, ...], Counter[Name]] = {}  # by template of pages: URLs by page
        self._left: dict[Name, int] = {}
        good = (name for name, row in self._known.rows.items() if SOURCE in name[0] and row["recent_fresh"])
        self._good = Counter[tuple[str | None, ...]](
            (template_part(name), kind, template(name.partition(SOURCE)[2])) for name, kind in good
        )

    def admit(self, queue: Iterable[Due]) -> Iterator[Due]:
        """The URLs of a queue that may be visited, in order within each depth.

        Templates of pages take turns with their links to new templates, and so do the pages of each of them. URLs of
        closed templates come page by page, not by depth. These, and those that only other sites link, are drawn, so
        that no site can foresee which of them are visited.
        """
        turns = Counter[Name]()
        waiting = list[tuple[tuple[int, int, bytes], tuple[_Place, ...], Due, UrlShape | None]]()
        for due in queue:
            depth, turn, drawn = due.depth, 0, b""
            places: tuple[_Place, ...] = ()
            shape: UrlShape | None = None
            if not (is_exempt(due.depth, due.kind, due.digest) or self._is_allowed(due.url)):
                shape = shape_of(due.url, due.referrer, due.foreign, due.redirects)
                kind = self._known.kind_of(shape, bool(due.links_without_news))
                own: Name = (shape.template, kind)
                if shape.is_foreign:
                    drawn = self._draw(due)
                elif limiting := self._closed(own, *self._known.names_of(shape, kind)):
                    depth, drawn, places = 0, self._draw(due), ((limiting, shape.source),)
                elif not self._known.has_proved(own):
                    turn, places = turns[own], ((shape.source, shape.referrer), (shape.referrer,))
                    turns[own] += 1
            waiting.append(((depth, turn, drawn), places, due, shape))
        for level in range(2):
            waiting.sort(key=itemgetter(0))
            taken = Counter[_Place]()
            for number, ((depth, _, drawn), places, due, shape) in enumerate(waiting):
                for place in places[level : level + 1]:
                    waiting[number] = ((depth, taken[place], drawn), places, due, shape)
                    taken[place] += 1
        for _, _, due, limited in sorted(waiting, key=itemgetter(0)):
            if limited is None or self._take(limited, bool(due.links_without_news)):
                yield due

    def _take(self, shape: UrlShape, is_without_news: bool) -> bool:
        kind = self._known.kind_of(shape, is_without_news)
        names = self._known.names_of(shape, kind)
        if (limiting := self._closed(*names)) and SOURCE not in limiting[0] and self._is_sample(limiting, shape):
            return True
        if any(self._left.setdefault(name, self._budget(name)) <= 0 for name in names):
            return False
        for name in names:
            self._left[name] -= 1
        if shape.form is not None and not shape.is_foreign:
            self._known.forms.add(shape.form)
        return True

    def _closed(self, *names: Name) -> Name | None:
        return next(filter(self._known.is_closed, names), None)

    def _is_sample(self, name: Name, shape: UrlShape) -> bool:
        """Whether a URL is of the sample of a page's links to a closed template, if none of them was tried."""
        if (source := source_name(name, shape)) is None:
            return False
        alike = (*name, shape.referrer)
        sources = self._sampled.setdefault(alike, Counter())
        most = max(_SAMPLE, _GROWTH * self._good[alike])
        if source not in sources and len(sources) >= most:
            return False
        sources[source] += 1
        return sources[source] <= _SAMPLE

    def _draw(self, due: Due) -> bytes:
        return hashlib.blake2b(due.url_key, digest_size=8, key=self._secret).digest()

    def _budget(self, name: Name) -> int:
        row = self._known.rows.get(name)
        if row is None or SOURCE in name[0]:
            return self._known.budget(name)
        return max(int(row["budget"]), drained(row, self._queues))
