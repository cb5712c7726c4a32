"""Searches the index of a crawl: all its segments as one."""

import functools
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from ..transforms.blocks.files import read_blocks
from ..transforms.indexing.korean import ANALYSED, HOW_TO_INSTALL, is_available, is_korean, morphemes
from ..transforms.indexing.live_segments import live_index
from ..transforms.indexing.tombstones import alive, read_tombstones
from ..transforms.storage.crawl_dir import CrawlDir, CrawlDirError
from .index import bm25f
from .index.patterns import is_pattern
from .index.postings import Unit
from .index.segment import HitFacts, Segment, StoredTexts
from .index.segments import Corpus, Mask, Scored
from .query.match import matching, units
from .query.parse import Query, parse
from .query.spelling import Dictionary
from .query.synonyms import Synonyms, read_synonyms
from .results.facets import FACTS, Facets, facets
from .results.hits import Explanation, Hit, Part, Results, Stored
from .results.host_grouping import by_host, whole_windows
from .results.snippets import WIDTH, Snippet, cut, snippet, without_title

_LOG = logging.getLogger(__name__)


_AS_TEXT = "no page matches this as it is written, so a minus and NOT are taken as text"

ORDERS = ("score", "date")
"""The orders of hits: best first, or newest first; by URL where that is equal."""


class _Candidate(NamedTuple):
    """A document that matches. Candidates sort in the order of hits: highest score or date first, then by URL."""

    negated_order: float
    url: str
    doc: int
    score: float


class _Terms(NamedTuple):
    """What a query's words and phrases are in the index."""

    scored: Mapping[Unit, Scored]
    stand_for: Mapping[str, Sequence[str]]  # by pattern or word, the words that are searched for in its place
    respelled: Mapping[str, str]  # by word that no document has, the nearest one


class _Answer(NamedTuple):
    """A query, with what it finds."""

    parsed: Query
    terms: _Terms
    found: Mask
    candidates: list[_Candidate]


class Index:
    """The indexed documents of a crawl, opened for queries. Thread-safe."""

    def __init__(
        self,
        segments: Sequence[Segment],
        alive: Sequence[Mask] | None = None,
        clock: Callable[[], float] = time.time,
        weighting: bm25f.Weighting = bm25f.WEIGHTING,
        synonyms: Synonyms | None = None,
    ) -> None:
        """`alive` has a mask for each segment: the documents that searches find and statistics count. Default: all.

        `clock` gives the POSIX time at which documents past `unavailable_after` are left out. A word
        of `synonyms` is searched for as if these were forms of it.
        """
        self._clock = clock
        self._synonyms = synonyms or {}
        self._segments = segments
        self._alive = alive or [np.ones(segment.documents, bool) for segment in segments]
        self._corpus = Corpus(segments, self._alive, weighting)
        self.documents = self._corpus.documents

    @classmethod
    def open(cls, crawl: CrawlDir, as_of: int | None = None) -> "Index":
        """The index as of a round, or as of now, without the pages that are blocked now.

        CrawlDirError if there is no crawl, no index yet, or no index as of that round.
        """
        manifests = crawl.require_manifests()
        steps = [manifest for manifest in manifests if manifest.index]
        if not steps:
            raise CrawlDirError(f"{crawl.root} has no index yet; go on with: beamtrawl crawl {crawl.root}")
        first = min(manifest.round for manifest in steps)
        if as_of is not None and as_of < first:
            raise CrawlDirError(f"{crawl.root} has no index as of round {as_of}; ask as of round {first} or later")
        if as_of is not None and as_of > (last := max(manifest.round for manifest in manifests)):
            raise CrawlDirError(f"{crawl.root} has no round {as_of} yet; the last one is round {last}")
        live = live_index(manifests, as_of)
        tombstones = read_tombstones(crawl.root, [file.path for _, file in live.tombstones])
        with ThreadPoolExecutor(16) as pool:  # the latency of a store is that of one request
            segments = list(pool.map(lambda part: Segment(crawl.root, part.folder, part.links), live.segments))
        masks = [alive(s.facts["url_key"], p.round, tombstones) for s, p in zip(segments, live.segments, strict=True)]
        if blocks := read_blocks(crawl):
            masks = [m & ~np.asarray(blocks.mask(s.facts["url"])) for m, s in zip(masks, segments, strict=True)]
        return cls(segments, masks, synonyms=read_synonyms(crawl))

    def search(
        self,
        query: str,
        limit: int = 10,
        offset: int = 0,
        per_host: int | None = None,
        explain: bool = False,
        order: str = "score",
        facet_values: int = 0,
    ) -> Results:
        """The hits after the first `offset`, at most `limit`, in one of ORDERS; and so many values of each facet.

        Any text is a query (`query.parse`). With `per_host`, further hits of a host come after those of other hosts
        (`host_grouping.by_host`).
        """
        most = offset + limit if per_host is None else whole_windows(offset + limit)
        parsed, (scored, stand_for, respelled), found, candidates = self._answer(query, most, order)
        total = int(np.count_nonzero(found))
        if per_host is not None:
            places = [self._corpus.place(candidate.doc) for candidate in candidates]
            hosts = [segment.facts["host"][doc].as_py() for segment, doc in places]
            candidates = [candidates[place] for place in by_host(hosts, per_host)]
        candidates = candidates[offset : offset + limit]
        explanations = [self._explanation(c.doc, parsed, scored) if explain else None for c in candidates]
        suggestion = self._respelled(query, respelled)
        hits = self._hits(candidates, explanations, parsed.words, stand_for)
        counts = self._facets(found, facet_values) if facet_values else {}
        return Results(query, total, hits, suggestion, parsed.notes, counts)

    def words_like(self, pattern: str) -> list[str]:
        """The words of the index that a pattern (`index.patterns`) matches, the most frequent ones first."""
        return self._corpus.like(pattern)

    def parts(self) -> Iterator[tuple[Segment, Mask]]:
        """Each segment, with a mask of its documents that a search can find."""
        return zip(self._segments, self._alive, strict=True)

    @property
    def segments(self) -> int:
        """The number of segments."""
        return len(self._segments)

    @functools.cached_property
    def round(self) -> int:
        """The newest round of any document; 0 for an empty index."""
        return max((pc.max(segment.facts["round"]).as_py() or 0 for segment in self._segments), default=0)

    def title(self, number: int) -> str:
        """The title of one of the documents, by any number from 0; empty for an empty index."""
        if not self.documents:
            return ""
        ((_, _, texts),) = self._corpus.texts([number % len(self._corpus.current)])
        return texts["title"] or ""

    def stored(self, url: str, query: str = "") -> Stored | None:
        """The stored text of the document at a URL, with the forms of a query's words; None if there is none."""
        for segment, found in self.parts():
            doc = pc.index(segment.facts["url"], url).as_py()
            if doc >= 0 and found[doc] and not segment.expires[doc] <= self._now():
                facts = segment.facts_of(doc)
                texts = segment.texts([doc])[doc]
                forms = segment.forms(parse(query).words)
                is_hidden = _forbids_copy(facts)
                text = "" if is_hidden else texts["text"] or ""
                return Stored(
                    url=url,
                    title=texts["title"] or "",
                    text=text,
                    language=facts["language"],
                    fetched_at=facts["fetched_at"],
                    noarchive=is_hidden,
                    forms=forms,
                )
        return None

    def _now(self) -> np.datetime64:
        return np.datetime64(int(self._clock() * 1e6), "us")

    def _morphemes(self, text: str) -> list[str]:
        """The morphemes of a text; none if the index has no morphemes."""
        return morphemes(text) if is_korean(text) and self._has_morphemes else []

    @functools.cached_property
    def _has_morphemes(self) -> bool:
        marker = (ANALYSED,)
        if not len(self._corpus.scored([marker])[marker].scores):
            return False
        if not is_available():
            _LOG.warning("the index has Korean morphemes, which this search does not use: %s", HOW_TO_INSTALL)
        return is_available()

    def _answer(self, query: str, most: int, order: str) -> _Answer:
        """The answer to a query with its first `most` candidates. If exclusions leave nothing, they are text."""
        answer = self._answer_to(parse(query, self._morphemes), most, order)
        if answer.parsed.excludes and not answer.found.any():
            plain = self._answer_to(parse(query, self._morphemes, is_text=True), most, order)
            if plain.found.any():
                return plain._replace(parsed=plain.parsed._replace(notes=(*plain.parsed.notes, _AS_TEXT)))
        return answer

    def _answer_to(self, parsed: Query, most: int, order: str) -> _Answer:
        terms = self._terms(parsed)
        return _Answer(parsed, terms, *self._best(parsed, terms.scored, most, order))

    def _terms(self, parsed: Query) -> _Terms:
        """The words and phrases of the query, with their scored postings.

        A pattern has those of its terms, a word those of its synonyms too, and a word that no document contains those
        of the nearest words.
        """
        wanted = dict.fromkeys((*parsed.scoring, *units(parsed.condition)))
        patterns = [unit for unit in wanted if isinstance(unit, str) and is_pattern(unit)]
        scored = self._corpus.scored([unit for unit in wanted if unit not in patterns])
        stand_for = {pattern: self._corpus.like(pattern) for pattern in patterns}
        scored |= {pattern: self._corpus.any_of([(term,) for term in terms]) for pattern, terms in stand_for.items()}
        respelled = {}
        for word in wanted:
            if isinstance(word, str) and word in self._synonyms:
                stand_for[word] = [word, *self._synonyms[word]]
                scored[word] = self._corpus.any_of(stand_for[word])
        for word in parsed.words:
            if word not in stand_for and not len(scored[word].scores) and (near := self._near(word)):
                scored[word], stand_for[word], respelled[word] = self._corpus.any_of(near), near, near[0]
        return _Terms(scored, stand_for, respelled)

    def _near(self, word: str) -> list[str]:
        return self._dictionary.near(word) if self.documents else []

    def _best(
        self, parsed: Query, scored: Mapping[Unit, Scored], most: int, order: str
    ) -> tuple[Mask, list[_Candidate]]:
        """The documents that match, and the first `most` of them."""
        corpus = self._corpus
        found = matching(corpus, {unit: has.postings for unit, has in scored.items()}, parsed.condition)
        found &= corpus.found_at(self._now())
        scoring = [(scored[unit], parsed.weight(unit)) for unit in parsed.scoring]
        scores = (
            corpus.boosts if not scoring else np.zeros(len(found))
        )  # without words, the boost factors are the score
        for unit, weight in scoring:
            scores[unit.postings.docs] += unit.scores if weight == 1 else weight * unit.scores
        if parsed.least_score:
            found &= scores >= parsed.least_score * np.max(scores, initial=0.0, where=found)
        found[corpus.copies.others(found, scores)] = False
        keys = scores if order == "score" else corpus.days
        docs = bm25f.best(keys, found, most, [unit.top for unit, _ in scoring] if order == "score" else [])
        urls = [segment.facts["url"][doc].as_py() for segment, doc in map(corpus.place, docs.tolist())]
        candidates = sorted(map(_Candidate, (-keys[docs]).tolist(), urls, docs.tolist(), scores[docs].tolist()))
        return found, candidates[:most]

    def _facets(self, found: Mask, most: int) -> Facets:
        corpus = self._corpus
        counts = {name: corpus.counts(fact, found) for name, fact in FACTS.items()}
        return facets(counts, corpus.years(found), most)

    def _explanation(self, doc: int, parsed: Query, scored: Mapping[Unit, Scored]) -> Explanation:
        parts = []
        for unit in parsed.scoring:
            postings, scores, _ = scored[unit]
            place = int(np.searchsorted(postings.docs, doc))
            if place < len(postings.docs) and postings.docs[place] == doc:
                counts = {field: int(tf[place]) for field, tf in postings.frequencies.items() if tf[place]}
                text = unit if isinstance(unit, str) else " ".join(unit)
                score = parsed.weight(unit) * float(scores[place] / self._corpus.boosts[doc])
                parts.append(Part(text, len(postings.docs), counts, score))
        return Explanation(parts, *(float(factor[doc]) for factor in self._corpus.boost_factors))

    def _hits(
        self,
        candidates: Sequence[_Candidate],
        explanations: Sequence[Explanation | None],
        words: Sequence[str],
        stand_for: Mapping[str, Sequence[str]],
    ) -> list[Hit]:
        """The candidates as hits, with facts, titles and snippets."""
        found = self._corpus.texts([candidate.doc for candidate in candidates])
        others = {term: word for word, terms in stand_for.items() for term in terms}
        words = [*words, *(term for term, word in others.items() if not is_pattern(word))]
        forms = {segment: others | segment.forms(words) for segment in {segment for segment, _, _ in found}}
        return [
            _hit(candidate, segment.facts_of(doc), texts, forms[segment], explanation)
            for candidate, (segment, doc, texts), explanation in zip(candidates, found, explanations, strict=True)
        ]

    def _respelled(self, query: str, changes: Mapping[str, str]) -> str | None:
        """The query with other words in place of some; None if it stays the same."""
        if not changes:
            return None
        pattern = r"\b(?:" + "|".join(map(re.escape, changes)) + r")\b"
        respelled = re.sub(
            pattern, lambda match: changes.get(match[0].casefold(), match[0]), query, flags=re.IGNORECASE
        )
        return respelled if respelled != query else None

    @functools.cached_property
    def _dictionary(self) -> Dictionary:
        return Dictionary(segment.term_frequencies() for segment in self._segments)


def _forbids_copy(facts: HitFacts) -> bool:
    """Whether a page forbids cached copies: by `noarchive`, or by `nosnippet`, which forbids to show any text."""
    return bool(facts["noarchive"]) or facts["max_snippet"] == 0


def _hit(
    candidate: _Candidate,
    facts: HitFacts,
    texts: StoredTexts,
    forms: Mapping[str, str],
    explanation: Explanation | None,
) -> Hit:
    # The text of a NOARCHIVE document is not stored; its description may be shown, unless the page forbids snippets.
    text = texts["text"] or texts["description"] or ""
    text = without_title(text, texts["title"] or "")
    limit = facts["max_snippet"]  # includes the ellipses before and after, four characters
    found = snippet(text, forms, WIDTH if limit is None else max(1, min(limit - 4, WIDTH))) if limit != 0 else Snippet()
    return Hit(
        url=candidate.url,
        title=" ".join((texts["title"] or "").split()),
        snippet=found if limit is None else cut(found, limit),
        score=candidate.score,
        host=facts["host"],
        language=facts["language"],
        media_type=facts["media_type"],
        noarchive=_forbids_copy(facts),
        round=facts["round"],
        fetched_at=facts["fetched_at"],
        published_at=facts["published_at"],
        explanation=explanation,
    )
