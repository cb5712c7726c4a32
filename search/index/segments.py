"""The documents of all segments as one collection: the cost of a query does not depend on the number of segments."""

import functools
import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ...transforms.indexing.analysis import is_further, is_name, is_pair
from . import bm25f
from .addresses import SCORE, is_address
from .cache import Cache
from .copies import find_copies
from .crawls import CRAWL, Crawls
from .deadline import Deadline
from .patterns import MAX_WORDS, is_pattern
from .postings import Postings, Unit, shifted, unite
from .scored import Scored, scored
from .segment import Segment, StoredDocument

CACHE_BYTES = 512 << 20
"""Bytes of the postings of words and phrases that are cached, decoded and scored: 10 to 20 for each posting."""

MAX_CACHED_PATTERNS = 1_000
"""Patterns whose words are cached."""

MAX_KNOWN = 200
"""Words and phrases that are read ahead because they were asked for: most are not asked for again."""

MAX_CACHED_TEXTS = 32 << 20
"""Characters of texts of documents that are cached."""

MAX_CACHED_TITLES = 50_000
"""Titles of documents that are cached, of some 100 bytes each."""

_ENTRY = 1_000  # additional weight of an entry: bounds entries of words that no document contains, too

_CHUNK = 1 << 16  # postings that are scored at once: what is computed on the way fits into the cache of a core

_REQUESTS = ThreadPoolExecutor(64, "question")
"""For parallel look-ups in several segments of an object store, which wait."""

_WORK = ThreadPoolExecutor(os.cpu_count() or 1, "question-work")
"""For what computes, look-ups in local files too: memory of more threads than cores is new to each, and slow."""

NO_DEADLINE = Deadline()

Mask = npt.NDArray[np.bool_]
Value = TypeVar("Value")


class Corpus:
    """The documents of all segments, numbered consecutively. Thread-safe."""

    def __init__(
        self,
        segments: Sequence[Segment],
        current: Sequence[Mask],
        weighting: bm25f.Weighting = bm25f.WEIGHTING,
        cache_bytes: int = CACHE_BYTES,
        crawls: Sequence[str] = (),
    ) -> None:
        """`current` has a mask for each segment: the documents that searches find and statistics count.

        `crawls` has the name of the crawl of each segment, if there are several.
        """
        self._weighting, self._cache_bytes = weighting, cache_bytes
        self.segments = segments
        self._workers = _REQUESTS if any(segment.reads_by_request for segment in segments) else _WORK
        self.current = _joined(current, bool)
        self.documents = int(self.current.sum())
        self._is_current = self.documents == len(self.current)  # none is replaced or gone
        self.starts = np.cumsum([0, *(segment.documents for segment in segments)])
        # Statistics cover all segments, so that scores do not depend on the segmentation.
        lengths = {name: _joined([s.lengths[name] for s in segments], np.int32) for name in weighting.fields}
        averages = {name: int(part[self.current].sum()) / max(1, self.documents) for name, part in lengths.items()}
        self._factors = bm25f.field_factors(lengths, averages, weighting)
        # A section is named no less on a page with many anchors, nor more on one with none.
        same = np.float32(weighting.fields["anchors"])
        self._factors_of_names = {"anchors": np.broadcast_to(same, len(self.current))}
        visits = _joined([s.fetched[mask] for s, mask in zip(segments, current, strict=True)], "datetime64[us]")
        # Ages count from the newest visit, so that results are reproducible.
        self._newest = np.fmax.reduce(visits, initial=np.datetime64("NaT"))
        self.boosts = _joined([np.prod(self._boost_factors(s), axis=0) for s in segments], np.float32)
        expires = _joined([s.expires for s in segments], "datetime64[us]")
        self._expiring = np.flatnonzero(~np.isnat(expires))
        self._expires = expires[self._expiring]
        self.dates = _joined([s.dates for s in segments], "datetime64[us]")
        self.crawls = Crawls(segments, current, crawls)
        self.copies = find_copies([segment.facts for segment in segments])
        self._like: Cache[str, list[str]] = Cache(MAX_CACHED_PATTERNS)
        self._scored: Cache[Unit, Scored] = Cache(cache_bytes, lambda found: found.nbytes + _ENTRY)
        self._titles: Cache[int, str] = Cache(MAX_CACHED_TITLES)
        self._stored: Cache[int, StoredDocument] = Cache(MAX_CACHED_TEXTS, _characters)

    @functools.cached_property
    def days(self) -> npt.NDArray[np.float64]:
        """The date of each document in days since 1970; 0 without a date."""
        return np.nan_to_num((self.dates - np.datetime64(0, "us")) / np.timedelta64(1, "D"))

    def expired(self, now: np.datetime64) -> npt.NDArray[np.int64]:
        """The documents past `unavailable_after`, which searches do not find."""
        return self._expiring[self._expires <= now]

    def share(self, found: Scored) -> float:
        """The share of the documents that have a word or phrase."""
        return len(found.scores) / max(1, self.documents)

    def number(self, doc: int) -> int:
        """The number of the segment of a document."""
        return int(np.searchsorted(self.starts, doc, "right")) - 1

    def place(self, doc: int) -> tuple[Segment, int]:
        """The segment of a document, and its number there."""
        number = self.number(doc)
        return self.segments[number], doc - int(self.starts[number])

    def boost_factors(self, doc: int) -> bm25f.BoostFactors:
        """The boost factors of a document, as arrays of one."""
        segment, number = self.place(doc)
        return self._boost_factors(segment, slice(number, number + 1))

    def _boost_factors(self, segment: Segment, docs: slice = slice(None)) -> bm25f.BoostFactors:
        ages = (self._newest - segment.published[docs]) / np.timedelta64(1, "D")
        return bm25f.boost_factors(segment.link_ranks[docs].astype(np.float64), segment.spam_scores[docs], ages)

    def by_segment(self, docs: Iterable[int]) -> dict[Segment, dict[int, int]]:
        """The segments of documents, each with its documents by their numbers there."""
        found: dict[Segment, dict[int, int]] = {}
        for doc in docs:
            segment, number = self.place(doc)
            found.setdefault(segment, {})[number] = doc
        return found

    def stored(self, docs: Sequence[int]) -> list[tuple[Segment, StoredDocument]]:
        """For each document its segment, and what a hit shows of it."""
        stored = self._stored.get(docs, self._read_stored)
        return [(self.place(doc)[0], stored[doc]) for doc in docs]

    def _read_stored(self, docs: list[int]) -> dict[int, StoredDocument]:
        by_segment = self.by_segment(docs)
        found = self._of_segments(Segment.stored, list(by_segment), [list(numbers) for numbers in by_segment.values()])
        return {
            numbers[number]: document
            for numbers, part in zip(by_segment.values(), found, strict=True)
            for number, document in part.items()
        }

    def titles_of(self, host: str, language: str, most: int) -> list[str]:
        """At most `most` titles of the documents of a host in a language, spread evenly over all that searches find."""
        docs = np.flatnonzero(
            self.having("host", host.__eq__) & self.having("language", language.__eq__) & self.current
        )
        return self.titles(docs[:: max(1, -(-len(docs) // most))].tolist())

    def titles(self, docs: Sequence[int]) -> list[str]:
        """The title of each of some documents; empty where there is none."""
        found = self._titles.get(docs, self._read_titles)
        return [found[doc] for doc in docs]

    def _read_titles(self, docs: list[int]) -> dict[int, str]:
        ascending, titles = np.sort(np.array(docs, np.int64)), list[str]()
        for start, end, segment in zip(self.starts, self.starts[1:], self.segments, strict=False):
            if len(own := ascending[(ascending >= start) & (ascending < end)] - start):
                titles += segment.titles(own.tolist())
        return dict(zip(ascending.tolist(), titles, strict=True))

    def having(self, fact: str, is_wanted: Callable[[str], bool]) -> Mask:
        """Whether `is_wanted` holds for the value of a fact of each document; null counts as ""."""
        return _joined([segment.having(fact, is_wanted) for segment in self.segments], bool)

    def below(self, path: str) -> Mask:
        """Whether the URL of each document has a path or is below it, in any letter case; without the first slash."""
        return _joined([segment.below(path) for segment in self.segments], bool)

    @functools.cached_property
    def fact_names(self) -> frozenset[str]:
        """The names of the facts of documents, by which queries filter."""
        names = frozenset[str]().union(*(segment.page_facts.names for segment in self.segments))
        return names | {CRAWL} if self.crawls.names else names

    def having_fact(self, name: str, value: str) -> Mask:
        """Whether each document has a fact with a value (`page_facts.PageFacts.having`), or is of a crawl."""
        if name == CRAWL and self.crawls.names:
            return self.crawls.having(value)
        return _joined([segment.page_facts.having(name, value) for segment in self.segments], bool)

    def counts(self, fact: str, found: Mask) -> Counter[str]:
        """How many of the documents found have each value of a fact; null counts as ""."""
        counts: Counter[str] = Counter()
        for start, segment in zip(self.starts, self.segments, strict=False):
            counts.update(segment.counts(fact, found[start : start + segment.documents]))
        return counts

    def years(self, found: Mask) -> dict[int, int]:
        """How many of the documents found are of each year, by `dates`."""
        dates = self.dates[found]
        years, counts = np.unique(dates[~np.isnat(dates)].astype("datetime64[Y]").astype(int), return_counts=True)
        return dict(zip((1970 + years).tolist(), counts.tolist(), strict=True))

    def scored(self, units: Sequence[Unit], deadline: Deadline = NO_DEADLINE) -> dict[Unit, Scored]:
        """The scored postings of words, phrases and patterns. Those not cached are read together, in two round trips.

        Segments that are not read because of the deadline add nothing, and what the others have is not cached.
        """
        incomplete: dict[Unit, Scored] = {}

        def read(missing: list[Unit]) -> dict[Unit, Scored]:
            found, is_complete = self._read(missing, deadline)
            if not is_complete:
                incomplete.update(found)
            return found if is_complete else {}

        found = self._scored.get(units, read)
        return {unit: found[unit] if unit in found else incomplete[unit] for unit in units}

    def cached(self) -> list[tuple[Unit, int]]:
        """The words and phrases that are cached, with bytes of memory, the least recently used ones first."""
        return self._scored.entries()

    def warm(self, cached: Sequence[tuple[Unit, int]], least: int, goes_on: Callable[[], bool]) -> None:
        """Fill half of the cache, while `goes_on`, with what would be slow when it is first asked for.

        That is what another corpus has `cached`, at most the MAX_KNOWN that were used last, and then words of at least
        so many documents, the most frequent first.
        """
        half = self._cache_bytes // 2
        last = cached[-MAX_KNOWN:][::-1]
        sums = itertools.accumulate(weight for _, weight in last)
        known = [unit for (unit, _), sum_ in zip(last, sums, strict=True) if sum_ <= half][::-1]
        frequent: Counter[str] = Counter()
        for segment in self.segments:
            frequent.update(segment.frequent())
        slow = [word for word, documents in frequent.most_common() if documents >= least and not is_further(word)]
        for unit in (*known, *slow):
            if self._scored.weight >= half or not goes_on():
                break
            self.scored([unit])
        self._scored.get(known, lambda missing: {})  # so that these are the last to be evicted

    def like(self, pattern: str) -> list[str]:
        """The terms that a pattern matches, the most frequent MAX_WORDS of them."""
        return self._like.get([pattern], self._read_like)[pattern]

    def _read_like(self, patterns: list[str]) -> dict[str, list[str]]:
        found = {}
        for pattern in patterns:
            tables = itertools.chain(*self._of_segments(Segment.like, self.segments, [pattern] * len(self.segments)))
            df: Counter[str] = Counter()
            for table in tables:
                for term, documents in zip(table["term"].to_pylist(), table["df"].to_pylist(), strict=True):
                    df[term] += documents
            found[pattern] = sorted(df, key=lambda term: (-df[term], term))[:MAX_WORDS]
        return found

    def any_of(self, units: Sequence[Unit], deadline: Deadline = NO_DEADLINE) -> Scored:
        """The scored postings of the documents with any of some units, as if these were forms of one word."""
        return self._score("", unite([found.postings for found in self.scored(units, deadline).values()]))

    def _read(self, units: list[Unit], deadline: Deadline) -> tuple[dict[Unit, Scored], bool]:
        """The scored postings, and whether they are those of all segments."""
        patterns = [unit for unit in units if isinstance(unit, str) and is_pattern(unit)]
        stand_for = {pattern: [] if deadline.cuts() else self.like(pattern) for pattern in patterns}
        lookups = [
            (number, lookup)
            for number, segment in enumerate(self.segments)
            for lookup in segment.lookups(units, stand_for)
        ]
        results = self._of_segments(
            lambda lookup: None if deadline.cuts() else lookup(), [lookup for _, lookup in lookups]
        )

        def scored_of(unit: Unit) -> Scored:
            parts: list[list[Postings]] = [[] for _ in self.segments]
            for (number, _), result in zip(lookups, results, strict=True):
                if result is not None and unit in result:
                    parts[number].append(result[unit])
            postings = shifted(list(map(unite, parts)), self.starts)
            return self._score(unit, postings if self._is_current else postings.only(self.current[postings.docs]))

        return dict(zip(units, _in_parallel(_WORK, scored_of, units), strict=True)), None not in results

    def _of_segments(self, call: Callable[..., Value], *arguments: Sequence[Any]) -> list[Value]:
        """The results of a call that reads from segments, for each of some arguments."""
        return _in_parallel(self._workers, call, *arguments)

    def _score(self, unit: Unit, postings: Postings) -> Scored:
        if is_address(unit):
            return scored(postings, np.full(len(postings.docs), SCORE, np.float32), len(self.current))
        weight = bm25f.inverse_document_frequency(self.documents, len(postings.docs))
        factors: Mapping[str, bm25f.Scores] = self._factors
        frequencies = postings.frequencies
        if not isinstance(unit, str):
            weight *= self._weighting.phrase
            frequencies = {field: tf for field, tf in frequencies.items() if field != "url"}  # it has one spelling only
        elif is_name(unit):
            weight = self._weighting.section  # and that of its words, which `names.named` knows
            factors = self._factors_of_names
        elif is_pair(unit):
            weight *= self._weighting.pair
        scores = np.empty(len(postings.docs), np.float32)
        for start in range(0, len(scores), _CHUNK):
            chunk = Postings(postings.docs, frequencies).only(slice(start, start + _CHUNK))
            impacts = bm25f.impacts(chunk, factors, self._weighting)
            impacts *= weight
            np.multiply(impacts, bm25f.of_documents(self.boosts, chunk.docs), out=scores[start : start + _CHUNK])
        return scored(postings, scores, len(self.current))


def _characters(document: StoredDocument) -> int:
    texts = document.texts
    return _ENTRY + sum(len(text or "") for text in (texts["title"], texts["description"], texts["text"]))


def _in_parallel(pool: ThreadPoolExecutor, call: Callable[..., Value], *arguments: Sequence[Any]) -> list[Value]:
    """The results of a call for each of some arguments, in parallel if there are several."""
    return list((pool.map if len(arguments[0]) > 1 else map)(call, *arguments))


def _joined(parts: Sequence[npt.NDArray], type_: npt.DTypeLike) -> npt.NDArray:
    """The concatenated arrays, of a type; `parts` may be empty."""
    return np.concatenate([np.empty(0, type_), *parts], dtype=type_, casting="same_kind")
