"""The documents of all segments as one: what a query costs does not depend on how many segments they lie in."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from . import bm25f
from .cache import Cache
from .postings import Ints, Postings, Unit, unite
from .segment import Segment

MAX_CACHED_POSTINGS = 4_000_000
"""Postings of words and phrases that are kept at hand, decoded and scored: 40 bytes each."""

_ENTRY = 64  # what an entry weighs besides: of words that nobody has, there is no end

TOP = 100
"""The best documents of a word or phrase that are known without a search."""

_LOOKUPS = ThreadPoolExecutor(64, "question")
"""For what is asked of several segments at the same time."""

Mask = npt.NDArray[np.bool_]
Value = TypeVar("Value")


class Scored(NamedTuple):
    """The documents that have a word or phrase."""

    postings: Postings
    scores: bm25f.Floats  # parallel to them: what it adds to their scores
    top: Ints  # the TOP best of the documents, or all if there are no more


class Corpus:
    """The documents of segments, numbered through. Safe to use from several threads."""

    def __init__(self, segments: Sequence[Segment], current: Sequence[Mask]) -> None:
        """Only the documents of the masks `current`, one a segment, are found and count."""
        self.segments = segments
        self.current = _joined(current, bool)
        self.documents = int(self.current.sum())
        self._starts = np.cumsum([0, *(segment.documents for segment in segments)])
        # Statistics are those of all segments: a score does not depend on which documents lie together.
        lengths = {name: _joined([s.lengths[name] for s in segments], np.int32) for name in bm25f.WEIGHTS}
        averages = {name: int(part[self.current].sum()) / max(1, self.documents) for name, part in lengths.items()}
        self._factors = bm25f.field_factors(lengths, averages)
        self.standing = _boost_factors(segments, current)
        self.boosts = np.prod(self.standing, axis=0)
        self.dates = _joined([s.dates for s in segments], "datetime64[us]")
        self._scored: Cache[Unit, Scored] = Cache(
            self._read, MAX_CACHED_POSTINGS, lambda found: len(found.scores) + _ENTRY
        )

    def place(self, doc: int) -> tuple[Segment, int]:
        """The segment that a document lies in, and its number there."""
        number = int(np.searchsorted(self._starts, doc, "right")) - 1
        return self.segments[number], doc - int(self._starts[number])

    def shown(self, docs: Sequence[int]) -> list[tuple[Segment, int, Mapping[str, Any]]]:
        """Of each document its segment, its number there, and what may be shown of it (`Segment.shown`)."""
        places = [self.place(doc) for doc in docs]
        by_segment: dict[Segment, list[int]] = {}
        for segment, number in places:
            by_segment.setdefault(segment, []).append(number)
        found = dict(
            zip(by_segment, _together(Segment.shown, list(by_segment), list(by_segment.values())), strict=True)
        )
        return [(segment, number, found[segment][number]) for segment, number in places]

    def having(self, fact: str, is_wanted: Callable[[str], bool]) -> Mask:
        """Whether each document has a value of a fact that is wanted; what is not known is ""."""
        return _joined([segment.having(fact, is_wanted) for segment in self.segments], bool)

    def scored(self, units: Sequence[Unit]) -> dict[Unit, Scored]:
        """Who has words and phrases. Those that were not asked for lately are read together, in two reads' time."""
        return self._scored.get(units)

    def _read(self, units: list[Unit]) -> dict[Unit, Scored]:
        asked = [
            (start, ask) for start, s in zip(self._starts, self.segments, strict=False) for ask in s.questions(units)
        ]
        answers = _together(lambda question: question(), [question for _, question in asked])
        found = {}
        for unit in units:
            parts = [
                Postings(answer[unit].docs + np.int32(start), answer[unit].frequencies)
                for (start, _), answer in zip(asked, answers, strict=True)
                if unit in answer
            ]
            postings = unite(parts)
            found[unit] = self._score(unit, postings.only(self.current[postings.docs]))
        return found

    def _score(self, unit: Unit, postings: Postings) -> Scored:
        weight = bm25f.inverse_document_frequency(self.documents, len(postings.docs))
        if not isinstance(unit, str):
            weight *= bm25f.PHRASE
        scores = weight * bm25f.impacts(postings, self._factors) * self.boosts[postings.docs]
        top = np.argpartition(scores, -TOP)[-TOP:] if len(scores) > TOP else slice(None)
        return Scored(postings, scores, postings.docs[top])


def _boost_factors(segments: Sequence[Segment], current: Sequence[Mask]) -> bm25f.BoostFactors:
    """The standing of the documents; the newest visit is the present, so that answers do not age."""
    visits = _joined([s.fetched[mask] for s, mask in zip(segments, current, strict=True)], "datetime64[us]")
    now = np.fmax.reduce(visits, initial=np.datetime64("NaT"))
    parts = [
        bm25f.boost_factors(s.link_ranks, s.spam_scores, (now - s.published) / np.timedelta64(1, "D")) for s in segments
    ]
    factors = range(len(bm25f.BoostFactors._fields))
    return bm25f.BoostFactors(*(_joined([part[factor] for part in parts], np.float64) for factor in factors))


def _together(call: Callable[..., Value], *arguments: Sequence[Any]) -> list[Value]:
    """What calls give that may run at the same time."""
    return list((_LOOKUPS.map if len(arguments[0]) > 1 else map)(call, *arguments))


def _joined(parts: Sequence[npt.NDArray], type_: npt.DTypeLike) -> npt.NDArray:
    """The arrays end to end; there may be none."""
    return np.concatenate([np.empty(0, type_), *parts])
