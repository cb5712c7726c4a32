"""The index of a crawl: all its segments as one."""

import functools
import logging
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from search import ranking
from search.clustering import by_host, whole_windows
from search.matching import Mask, matching
from search.query import Condition, parse
from search.results import Explanation, Hit, Part, Results, Stored
from search.segment import CACHED, Segment
from search.snippets import snippet
from search.spelling import Dictionary
from search.terms import Ints, Postings
from transforms.crawl_dir import CrawlDir, CrawlDirError
from transforms.morphemes import ANALYSED, HOW_TO_INSTALL, is_available, is_korean, morphemes
from transforms.segments import live_index
from transforms.tombstones import alive, read_tombstones

_LOG = logging.getLogger(__name__)

Unit = str | tuple[str, ...]
"""What scores: a word in any of its forms, or a phrase."""


class _Candidate(NamedTuple):
    """A document that matches. Candidates sort as hits do: best score first, then by URL."""

    negated_score: float
    url: str
    segment: int
    doc: int


class _Scored(NamedTuple):
    """The documents that have a unit, by segment, and parallel to them what it adds to their scores."""

    documents: int  # in all segments
    docs: list[Ints]
    scores: list[ranking.Floats]


class Index:
    """The documents that a crawl has indexed, ready for queries. Safe to use from several threads."""

    def __init__(self, segments: Sequence[Segment], alive: Sequence[Mask] | None = None) -> None:
        """Of each segment's documents, those that `alive` has are found, and count; without it, all."""
        self._segments = segments
        self._current = alive or [np.ones(segment.documents, bool) for segment in segments]
        self.documents = sum(int(mask.sum()) for mask in self._current)
        # Statistics are those of all segments: a score does not depend on which documents lie together.
        averages = {
            field: sum(int(s.lengths[field][mask].sum()) for s, mask in zip(segments, self._current, strict=True))
            / max(1, self.documents)
            for field in ranking.WEIGHTS
        }
        self._factors = [ranking.field_factors(segment.lengths, averages) for segment in segments]
        self._standings = _standings(segments, self._current)
        self._boosts = [np.prod(standing, axis=0) for standing in self._standings]
        self._scored = functools.lru_cache(CACHED)(self._scored_anew)

    @classmethod
    def open(cls, crawl: CrawlDir, as_of: int | None = None) -> "Index":
        """The index as of a round, or as of now.

        CrawlDirError if there is no crawl, no index yet, or none (any more) as of that round.
        """
        manifests = crawl.require_manifests()
        steps = [manifest for manifest in manifests if manifest.index]
        if not steps:
            raise CrawlDirError(f"{crawl.root} has no index yet; go on with: beamtrawl crawl {crawl.root}")
        first = min(manifest.round for manifest in steps)
        if as_of is not None and as_of < first:
            raise CrawlDirError(f"{crawl.root} has no index as of round {as_of}; ask as of round {first} or later")
        live = live_index(manifests, as_of)
        tombstones = read_tombstones(crawl.root, [file.path for _, file in live.tombstones])
        segments = [Segment(crawl.root, part.folder, part.links) for part in live.segments]
        masks = [alive(s.facts["url_key"], p.round, tombstones) for s, p in zip(segments, live.segments, strict=True)]
        return cls(segments, masks)

    def parts(self) -> Iterator[tuple[Segment, Mask]]:
        """Each segment, with a mask of its documents that a search can find."""
        return zip(self._segments, self._current, strict=True)

    def search(
        self, query: str, limit: int = 10, offset: int = 0, per_host: int | None = None, explain: bool = False
    ) -> Results:
        """The hits after the first `offset`, at most `limit`: by score, and by URL where scores are equal.

        Any text is a query; `search.query` tells what it means. With `per_host`, further hits of a host come after
        those of others (`clustering.by_host`).
        """
        asked = parse(query, self._morphemes)
        units: list[Unit] = [*asked.words, *asked.phrases]
        scored = {unit: self._scored(unit) for unit in units}
        most = offset + limit if per_host is None else whole_windows(offset + limit)
        total, candidates = self._best(asked.condition, scored.values(), most)
        if per_host is not None:
            hosts = [self._segments[c.segment].facts["host"][c.doc].as_py() for c in candidates]
            candidates = [candidates[place] for place in by_host(hosts, per_host)]
        candidates = candidates[offset : offset + limit]
        explanations = [self._explanation(c, scored) if explain else None for c in candidates]
        return Results(query, total, self._hits(candidates, explanations, units), self._respelled(query, asked.words))

    @property
    def segments(self) -> int:
        """How many segments the documents lie in."""
        return len(self._segments)

    @functools.cached_property
    def round(self) -> int:
        """The newest round with documents here; 0 without any."""
        return max((pc.max(segment.facts["round"]).as_py() or 0 for segment in self._segments), default=0)

    def stored(self, url: str, query: str = "") -> Stored | None:
        """What is kept of the document at a URL, as a hit has it, with the words of a query; None if there is none."""
        for segment, current in zip(self._segments, self._current, strict=True):
            doc = pc.index(segment.facts["url"], url).as_py()
            if doc >= 0 and current[doc]:
                facts = segment.facts.slice(doc, 1).to_pylist()[0]
                shown = segment.shown([doc])[doc]
                forms = {form: word for word in parse(query).words for form in segment.forms(word)}
                text = "" if facts["noarchive"] else shown["text"] or ""
                return Stored(
                    url, shown["title"] or "", text, facts["language"], facts["fetched_at"], facts["noarchive"], forms
                )
        return None

    def _morphemes(self, text: str) -> list[str]:
        """The morphemes by which documents may be found; none if the index has none."""
        return morphemes(text) if is_korean(text) and self._has_morphemes else []

    @functools.cached_property
    def _has_morphemes(self) -> bool:
        if not any(len(segment.phrase((ANALYSED,)).docs) for segment in self._segments):
            return False
        if not is_available():
            _LOG.warning("Korean words are found by bigrams alone, though the index knows more: %s", HOW_TO_INSTALL)
        return is_available()

    def _best(self, condition: Condition, scored: Collection[_Scored], most: int) -> tuple[int, list[_Candidate]]:
        """How many documents match, and the best of them."""
        total = 0
        candidates: list[_Candidate] = []
        for number, segment in enumerate(self._segments):
            found = matching(segment, condition) & self._current[number]
            total += int(found.sum())
            scores = self._scores(number, scored)
            docs = ranking.best(scores, found, most)
            urls = segment.facts["url"].take(docs).to_pylist()
            candidates += map(_Candidate, (-scores[docs]).tolist(), urls, [number] * len(docs), docs.tolist())
        return total, sorted(candidates)[:most]

    def _scores(self, number: int, scored: Collection[_Scored]) -> ranking.Floats:
        """The scores of all documents of a segment; a query that has nothing to score ranks by standing alone."""
        scores = np.zeros(self._segments[number].documents)
        for unit in scored:
            scores[unit.docs[number]] += unit.scores[number]
        return (scores if scored else scores + 1) * self._boosts[number]

    def _scored_anew(self, unit: Unit) -> _Scored:
        postings = [self._postings(number, unit) for number in range(len(self._segments))]
        documents = sum(len(part.docs) for part in postings)
        weight = ranking.inverse_document_frequency(self.documents, documents)
        if not isinstance(unit, str):
            weight *= ranking.PHRASE
        impacts = map(ranking.impacts, postings, self._factors)
        return _Scored(documents, [part.docs for part in postings], [weight * impact for impact in impacts])

    def _postings(self, number: int, unit: Unit) -> Postings:
        segment = self._segments[number]
        postings = segment.word(unit) if isinstance(unit, str) else segment.phrase(unit)
        return postings.only(self._current[number][postings.docs])

    def _explanation(self, candidate: _Candidate, scored: Mapping[Unit, _Scored]) -> Explanation:
        number, doc = candidate.segment, candidate.doc
        parts = []
        for unit, found in scored.items():
            postings = self._postings(number, unit)
            place = int(np.searchsorted(postings.docs, doc))
            if place < len(postings.docs) and postings.docs[place] == doc:
                counts = {field: int(tf[place]) for field, tf in postings.frequencies.items() if tf[place]}
                text = unit if isinstance(unit, str) else " ".join(unit)
                parts.append(Part(text, found.documents, counts, float(found.scores[number][place])))
        return Explanation(parts, *(float(factor[doc]) for factor in self._standings[number]))

    def _hits(
        self, candidates: Sequence[_Candidate], explanations: Sequence[Explanation | None], units: Sequence[Unit]
    ) -> list[Hit]:
        """The candidates with all that is shown of them."""
        by_segment: dict[int, list[int]] = {}
        for candidate in candidates:
            by_segment.setdefault(candidate.segment, []).append(candidate.doc)
        shown = {number: self._segments[number].shown(docs) for number, docs in by_segment.items()}
        words = [unit for unit in units if isinstance(unit, str)]
        forms = {n: {form: word for word in words for form in self._segments[n].forms(word)} for n in by_segment}
        return [
            _hit(
                c,
                self._segments[c.segment].facts.slice(c.doc, 1).to_pylist()[0],
                shown[c.segment][c.doc],
                forms[c.segment],
                explanation,
            )
            for c, explanation in zip(candidates, explanations, strict=True)
        ]

    def _respelled(self, query: str, words: Sequence[str]) -> str | None:
        """The query with other words for those that no document has; None if all are there, or nothing is near."""
        if not self._segments:
            return None
        changes = {
            word: near
            for word in words
            if not self._scored(word).documents and (near := self._dictionary.suggest(word)) is not None
        }
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


def _standings(segments: Sequence[Segment], alive: Sequence[Mask]) -> list[ranking.Standing]:
    """The standing of each segment's documents; the newest visit is the present, so that answers do not age."""
    visits = [s.fetched[mask & ~np.isnat(s.fetched)] for s, mask in zip(segments, alive, strict=True)]
    now = max((part.max() for part in visits if len(part)), default=np.datetime64("NaT"))
    result = []
    for segment in segments:
        ages = (now - segment.published) / np.timedelta64(1, "D")
        result.append(ranking.standing(segment.link_ranks, segment.spam_scores, ages))
    return result


def _hit(
    candidate: _Candidate,
    facts: Mapping[str, Any],
    shown: Mapping[str, Any],
    forms: Mapping[str, str],
    explanation: Explanation | None,
) -> Hit:
    # There is no text to be had of a NOARCHIVE document; its description is meant for this.
    text = shown["text"] or shown["description"] or ""
    return Hit(
        url=candidate.url,
        title=" ".join((shown["title"] or "").split()),
        snippet=snippet(text, forms),
        score=-candidate.negated_score,
        host=facts["host"],
        language=facts["language"],
        media_type=facts["media_type"],
        noarchive=bool(facts["noarchive"]),
        round=facts["round"],
        fetched_at=facts["fetched_at"],
        published_at=facts["published_at"],
        explanation=explanation,
    )
