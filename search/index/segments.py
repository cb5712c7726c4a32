"""The documents of all segments as one collection: the cost of a query does not depend on the number of segments."""

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from . import bm25f
from .cache import Cache
from .copies import find_copies
from .patterns import MAX_WORDS
from .postings import Ints, Postings, Unit, unite
from .segment import Segment, StoredTexts

MAX_CACHED_POSTINGS = 4_000_000
"""Postings of words and phrases that are cached, decoded and scored: 40 bytes each."""

MAX_CACHED_PATTERNS = 1_000
"""Patterns whose words are cached."""

_ENTRY = 64  # additional weight of an entry: bounds entries of words that no document contains, too

TOP = 100
"""The number of best documents that are kept for each word and phrase."""

_LOOKUPS = ThreadPoolExecutor(64, "question")
"""For parallel look-ups in several segments."""

Mask = npt.NDArray[np.bool_]
Value = TypeVar("Value")


class Scored(NamedTuple):
    """The postings of a word or phrase, with scores."""

    postings: Postings
    scores: bm25f.Floats  # parallel to the postings: the part of each document's score
    top: Ints  # the TOP best of the documents, or all if there are fewer


class Corpus:
    """The documents of all segments, numbered consecutively. Thread-safe."""

    def __init__(
        self, segments: Sequence[Segment], current: Sequence[Mask], weighting: bm25f.Weighting = bm25f.WEIGHTING
    ) -> None:
        """`current` has a mask for each segment: the documents that searches find and statistics count."""
        self._weighting = weighting
        self.segments = segments
        self.current = _joined(current, bool)
        self.documents = int(self.current.sum())
        self._starts = np.cumsum([0, *(segment.documents for segment in segments)])
        # Statistics cover all segments, so that scores do not depend on the segmentation.
        lengths = {name: _joined([s.lengths[name] for s in segments], np.int32) for name in weighting.fields}
        averages = {name: int(part[self.current].sum()) / max(1, self.documents) for name, part in lengths.items()}
        self._factors = bm25f.field_factors(lengths, averages, weighting)
        self.boost_factors = _boost_factors(segments, current)
        self.boosts = np.prod(self.boost_factors, axis=0)
        self.expires = _joined([s.expires for s in segments], "datetime64[us]")
        self._may_expire = not bool(np.isnat(self.expires).all())
        self.dates = _joined([s.dates for s in segments], "datetime64[us]")
        self.copies = find_copies([segment.facts for segment in segments])
        self._like: Cache[str, list[str]] = Cache(self._read_like, MAX_CACHED_PATTERNS)
        self._scored: Cache[Unit, Scored] = Cache(
            self._read, MAX_CACHED_POSTINGS, lambda found: len(found.scores) + _ENTRY
        )

    @functools.cached_property
    def days(self) -> npt.NDArray[np.float64]:
        """The date of each document in days since 1970; 0 without a date."""
        return np.nan_to_num((self.dates - np.datetime64(0, "us")) / np.timedelta64(1, "D"))

    def found_at(self, now: np.datetime64) -> Mask:
        """The documents that searches find at a time: the current ones, except those past `unavailable_after`."""
        return self.current & ~(self.expires <= now) if self._may_expire else self.current

    def place(self, doc: int) -> tuple[Segment, int]:
        """The segment of a document, and its number there."""
        number = int(np.searchsorted(self._starts, doc, "right")) - 1
        return self.segments[number], doc - int(self._starts[number])

    def texts(self, docs: Sequence[int]) -> list[tuple[Segment, int, StoredTexts]]:
        """For each document its segment, its number there, and its texts."""
        places = [self.place(doc) for doc in docs]
        by_segment: dict[Segment, list[int]] = {}
        for segment, number in places:
            by_segment.setdefault(segment, []).append(number)
        found = dict(
            zip(by_segment, _in_parallel(Segment.texts, list(by_segment), list(by_segment.values())), strict=True)
        )
        return [(segment, number, found[segment][number]) for segment, number in places]

    def having(self, fact: str, is_wanted: Callable[[str], bool]) -> Mask:
        """Whether `is_wanted` holds for the value of a fact of each document; null counts as ""."""
        return _joined([segment.having(fact, is_wanted) for segment in self.segments], bool)

    def counts(self, fact: str, found: Mask) -> Counter[str]:
        """How many of the documents found have each value of a fact; null counts as ""."""
        counts: Counter[str] = Counter()
        for start, segment in zip(self._starts, self.segments, strict=False):
            counts.update(segment.counts(fact, found[start : start + segment.documents]))
        return counts

    def years(self, found: Mask) -> dict[int, int]:
        """How many of the documents found are of each year, by `dates`."""
        dates = self.dates[found]
        years, counts = np.unique(dates[~np.isnat(dates)].astype("datetime64[Y]").astype(int), return_counts=True)
        return dict(zip((1970 + years).tolist(), counts.tolist(), strict=True))

    def scored(self, units: Sequence[Unit]) -> dict[Unit, Scored]:
        """The scored postings of words and phrases. Those not cached are read together, in two round trips."""
        return self._scored.get(units)

    def like(self, pattern: str) -> list[str]:
        """The terms that a pattern matches, the most frequent MAX_WORDS of them."""
        return self._like.get([pattern])[pattern]

    def _read_like(self, patterns: list[str]) -> dict[str, list[str]]:
        found = {}
        for pattern in patterns:
            tables = itertools.chain(*_in_parallel(Segment.like, self.segments, [pattern] * len(self.segments)))
            df: Counter[str] = Counter()
            for table in tables:
                for term, documents in zip(table["term"].to_pylist(), table["df"].to_pylist(), strict=True):
                    df[term] += documents
            found[pattern] = sorted(df, key=lambda term: (-df[term], term))[:MAX_WORDS]
        return found

    def any_of(self, units: Sequence[Unit]) -> Scored:
        """The scored postings of the documents with any of some units, as if these were forms of one word."""
        return self._score("", unite([found.postings for found in self.scored(units).values()]))

    def _read(self, units: list[Unit]) -> dict[Unit, Scored]:
        lookups = [
            (start, lookup)
            for start, segment in zip(self._starts, self.segments, strict=False)
            for lookup in segment.lookups(units)
        ]
        results = _in_parallel(lambda lookup: lookup(), [lookup for _, lookup in lookups])
        found = {}
        for unit in units:
            parts = [
                Postings(result[unit].docs + np.int32(start), result[unit].frequencies)
                for (start, _), result in zip(lookups, results, strict=True)
                if unit in result
            ]
            postings = unite(parts)
            found[unit] = self._score(unit, postings.only(self.current[postings.docs]))
        return found

    def _score(self, unit: Unit, postings: Postings) -> Scored:
        weight = bm25f.inverse_document_frequency(self.documents, len(postings.docs))
        if not isinstance(unit, str):
            weight *= self._weighting.phrase
        scores = weight * bm25f.impacts(postings, self._factors, self._weighting) * self.boosts[postings.docs]
        top = np.argpartition(scores, -TOP)[-TOP:] if len(scores) > TOP else slice(None)
        return Scored(postings, scores, postings.docs[top])


def _boost_factors(segments: Sequence[Segment], current: Sequence[Mask]) -> bm25f.BoostFactors:
    """The boost factors of all documents. Ages count from the newest visit, so that results are reproducible."""
    visits = _joined([s.fetched[mask] for s, mask in zip(segments, current, strict=True)], "datetime64[us]")
    newest = np.fmax.reduce(visits, initial=np.datetime64("NaT"))
    parts = [
        bm25f.boost_factors(s.link_ranks, s.spam_scores, (newest - s.published) / np.timedelta64(1, "D"))
        for s in segments
    ]
    factors = range(len(bm25f.BoostFactors._fields))
    return bm25f.BoostFactors(*(_joined([part[factor] for part in parts], np.float64) for factor in factors))


def _in_parallel(call: Callable[..., Value], *arguments: Sequence[Any]) -> list[Value]:
    """The results of a call for each of some arguments, in parallel if there are several."""
    return list((_LOOKUPS.map if len(arguments[0]) > 1 else map)(call, *arguments))


def _joined(parts: Sequence[npt.NDArray], type_: npt.DTypeLike) -> npt.NDArray:
    """The concatenated arrays; `parts` may be empty."""
    return np.concatenate([np.empty(0, type_), *parts])
