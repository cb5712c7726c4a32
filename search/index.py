"""The index of a crawl: all its segments as one."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from search import ranking
from search.matching import matching
from search.query import parse
from search.results import Hit, Results
from search.segment import Segment
from search.snippets import snippet
from transforms.crawl_dir import CrawlDir, CrawlDirError


class _Candidate(NamedTuple):
    """A document that matches. Candidates sort as hits do: best score first, then by URL."""

    negated_score: float
    url: str
    segment: int
    doc: int


class Index:
    """The documents that a crawl has indexed, ready for queries. Safe to use from several threads."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._segments = segments
        self.documents = sum(segment.documents for segment in segments)
        # Statistics are those of all segments: a score does not depend on which documents lie together.
        averages = {
            field: sum(int(segment.lengths[field].sum()) for segment in segments) / max(1, self.documents)
            for field in ranking.WEIGHTS
        }
        self._current = _newest_versions(segments)
        self._factors = [ranking.field_factors(segment.lengths, averages) for segment in segments]

    @classmethod
    def open(cls, crawl: CrawlDir, as_of: int | None = None) -> "Index":
        """The index as of a round, or as of now.

        CrawlDirError if there is no crawl, no index yet, or none as of that round.
        """
        steps = [manifest for manifest in crawl.require_manifests() if manifest.index]
        if not steps:
            raise CrawlDirError(f"{crawl.root} has no index yet; go on with: beamtrawl crawl {crawl.root}")
        first = min(manifest.round for manifest in steps)
        if as_of is not None and as_of < first:
            raise CrawlDirError(f"{crawl.root} has no index as of round {as_of}; ask as of round {first} or later")
        wanted = [manifest for manifest in steps if as_of is None or manifest.round <= as_of]
        return cls([Segment(crawl.root, folder) for manifest in wanted for folder in manifest.index])

    def search(self, query: str, limit: int = 10, offset: int = 0) -> Results:
        """The hits after the first `offset`, at most `limit`: by score, and by URL where scores are equal.

        Any text is a query; `search.query` tells what it means.
        """
        asked = parse(query)
        weights = {
            term: ranking.inverse_document_frequency(
                self.documents, sum(len(segment.postings(term).docs) for segment in self._segments)
            )
            for term in asked.terms
        }
        total = 0
        candidates: list[_Candidate] = []
        for number, segment in enumerate(self._segments):
            found = matching(segment, asked) & self._current[number]
            total += int(found.sum())
            scores = self._scores(number, weights)
            docs = ranking.best(scores, found, offset + limit)
            urls = segment.facts["url"].take(docs).to_pylist()
            candidates += map(_Candidate, (-scores[docs]).tolist(), urls, [number] * len(docs), docs.tolist())
        terms = dict.fromkeys([*asked.terms, *(term for phrase in asked.phrases for term in phrase)])
        return Results(query, total, self._hits(sorted(candidates)[offset : offset + limit], list(terms)))

    def _scores(self, number: int, weights: Mapping[str, float]) -> ranking.Floats:
        """The scores of all documents of a segment; 0 for those without any of the terms."""
        segment, factors = self._segments[number], self._factors[number]
        scores = np.zeros(segment.documents)
        for term, weight in weights.items():
            postings = segment.postings(term)
            scores[postings.docs] += ranking.term_scores(weight, postings.docs, postings.frequencies, factors)
        return scores

    def _hits(self, candidates: Sequence[_Candidate], terms: Sequence[str]) -> list[Hit]:
        """The candidates with all that is shown of them."""
        by_segment: dict[int, list[int]] = {}
        for candidate in candidates:
            by_segment.setdefault(candidate.segment, []).append(candidate.doc)
        shown = {number: self._segments[number].shown(docs) for number, docs in by_segment.items()}
        return [
            _hit(
                c,
                self._segments[c.segment].facts.slice(c.doc, 1).to_pylist()[0],
                shown[c.segment][c.doc],
                terms,
            )
            for c in candidates
        ]


def _newest_versions(segments: Sequence[Segment]) -> list[Any]:
    """For each segment a mask of its documents, or True for all: a page that was visited again counts once."""
    tables = [segment.facts.select(["url", "round"]) for segment in segments]
    numbered = [t.append_column("segment", pa.repeat(n, t.num_rows)) for n, t in enumerate(tables)]
    if not tables or pc.count_distinct(pa.concat_tables(tables)["url"]).as_py() == sum(t.num_rows for t in tables):
        return [True] * len(segments)
    ordered = pa.concat_tables(numbered).sort_by([("round", "ascending")])
    newest = ordered.group_by("url", use_threads=False).aggregate([("segment", "last")])
    current = [newest.filter(pc.equal(newest["segment_last"], n))["url"] for n in range(len(segments))]
    return [pc.is_in(t["url"], value_set=urls).to_numpy() for t, urls in zip(tables, current, strict=True)]


def _hit(candidate: _Candidate, facts: Mapping[str, Any], shown: Mapping[str, Any], terms: Sequence[str]) -> Hit:
    # There is no text to be had of a NOARCHIVE document; its description is meant for this.
    text = shown["text"] or shown["description"] or ""
    return Hit(
        url=candidate.url,
        title=" ".join((shown["title"] or "").split()),
        snippet=snippet(text, terms),
        score=-candidate.negated_score,
        host=facts["host"],
        language=facts["language"],
        round=facts["round"],
        fetched_at=facts["fetched_at"],
    )
