"""Searches the index of a crawl: all its segments as one."""

import functools
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow.compute as pc

from ...transforms.directory.crawl_dir import CrawlDir, CrawlDirError
from ..index import bm25f
from ..index.cache import Cache
from ..index.crawls import CRAWL
from ..index.deadline import Deadline
from ..index.postings import Unit
from ..index.segment import Segment
from ..index.segments import CACHE_BYTES, Corpus, Mask
from ..query.parse import parse
from ..query.synonyms import Synonyms
from . import make_hits
from .answer import Answer, Answers, Candidate
from .cursor import Cursor, CursorError, decode, encode
from .match import named_crawls
from .opening import LeaveOut, Opened, open_crawl, packed, united, unpacked
from .results.carriers import without_carriers
from .results.facets import FACTS, Facets, facets
from .results.hits import Hit, Results, Stored
from .results.host_grouping import by_host, whole_windows
from .results.title_endings import SAMPLE, shared_ending, without_ending

_LOG = logging.getLogger(__name__)

TIMED_OUT = "the time limit is reached: these are the best of the pages that were compared, and others may match"

AFTER_ALONE = "a cursor gives a place of its own in the order of hits: give neither offset nor per_host with it"

SLOW = 100_000
"""The documents of a word that takes several milliseconds to read."""

MAX_CACHED_ENDINGS = 10_000
"""Hosts and languages whose shared ending of titles is kept."""

ORDERS = ("score", "date")
"""The orders of hits: best first, or newest first; by URL where that is equal."""


class Index:
    """The indexed documents of a crawl, opened for queries. Thread-safe."""

    def __init__(
        self,
        segments: Sequence[Segment],
        alive: Sequence[Mask] | None = None,
        clock: Callable[[], float] = time.time,
        weighting: bm25f.Weighting = bm25f.WEIGHTING,
        synonyms: Synonyms | None = None,
        timer: Callable[[], float] = time.monotonic,
        cache_bytes: int = CACHE_BYTES,
        as_of: int = 0,
        crawls: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> None:
        """`alive` has a mask for each segment: the documents that searches find and statistics count. Default: all.

        `clock` gives the POSIX time at which documents past `unavailable_after` are left out. A word
        of `synonyms` is searched for as if these were forms of it. `timer`, in seconds, never goes back; deadlines are
        measured by it. Postings take at most `cache_bytes` of memory. The index is that as of a round. `crawls` has the
        name of the crawl of each segment, if there are several; all results have the `notes`.
        """
        self._clock, self._timer = clock, timer
        self._segments = segments
        self._alive = alive or [np.ones(segment.documents, bool) for segment in segments]
        self._corpus = Corpus(segments, self._alive, weighting, cache_bytes, crawls)
        self._answers = Answers(self._corpus, synonyms or {})
        self._snippets = make_hits.Snippets()
        self._endings: Cache[tuple[str, str], str] = Cache(MAX_CACHED_ENDINGS)
        self.documents = self._corpus.documents
        self.as_of = as_of
        """The round as of which it is: `open` opens the same index as of this round later, unless it was dropped.

        Of several crawls, the number of their rounds (`opening.packed`).
        """
        self.notes = tuple(notes)
        """Sentences on crawls that could not be opened."""

    @classmethod
    def open(
        cls,
        crawls: CrawlDir | Mapping[str, CrawlDir],
        as_of: int | None = None,
        timer: Callable[[], float] = time.monotonic,
        cache_bytes: int = CACHE_BYTES,
        previous: "Index | None" = None,
        leave_out: LeaveOut | None = None,
        skips_unreadable: bool = False,
    ) -> "Index":
        """The index of a crawl, or of several by name, as of a round, or as of now (`open_crawl`).

        Segments that `previous` has are not read again, and are in memory once. Of several crawls, `as_of` is that of
        an index of the same ones, and with `skips_unreadable` those that cannot be opened are left out, with a note in
        all results. CrawlDirError if there is no crawl, no index yet, or no index as of that round.
        """
        directories = {"": crawls} if isinstance(crawls, CrawlDir) else crawls
        rounds = [None] * len(directories) if as_of is None else unpacked(as_of, len(directories))
        open_segments = {segment.place: segment for segment, _ in previous.parts()} if previous else {}
        opened: dict[str, Opened] = {}
        notes: list[str] = []
        for (name, crawl), round_ in zip(directories.items(), rounds, strict=True):
            try:
                if round_ != 0 or len(directories) == 1:  # 0: it was left out
                    opened[name] = open_crawl(crawl, round_, open_segments, leave_out)
            except CrawlDirError as error:
                if not skips_unreadable or len(directories) == 1:
                    raise
                _LOG.error("crawl %s is not searched: %s", name, error)  # for the operator only: it has paths
                notes.append(f"the pages of crawl {name} are not searched: it cannot be read now")
        if not opened:
            raise CrawlDirError(notes[0] if notes else "there is no index as of these rounds")
        return cls(
            [segment for part in opened.values() for segment in part.segments],
            [mask for part in opened.values() for mask in part.alive],
            synonyms=united([part.synonyms for part in opened.values()]),
            timer=timer,
            cache_bytes=cache_bytes,
            as_of=packed([opened[name].round if name in opened else 0 for name in directories]),
            crawls=[name for name, part in opened.items() for _ in part.segments if len(directories) > 1],
            notes=notes,
        )

    def search(
        self,
        query: str,
        limit: int = 10,
        offset: int = 0,
        per_host: int | None = None,
        explain: bool = False,
        order: str = "score",
        facet_values: int = 0,
        timeout_s: float | None = None,
        after: str | None = None,
        typing: bool = False,
    ) -> Results:
        """The hits after the first `offset`, at most `limit`, in one of ORDERS; and so many values of each facet.

        Any text is a query (`query.parse`). With `per_host`, further hits of a host come after those of other hosts
        (`host_grouping.by_host`). Weaker matches (`Query.wider`) follow all others. After `timeout_s`
        no further part of the index is read and compared, and the results are marked as partial.

        `after`, the `next` of a page of this query in this order, gives the hits after that page, at the same cost
        however many come before. ValueError together with `offset` or `per_host`; CursorError if it is of another
        query, order or round, or no cursor at all.

        While the query is being typed (`typing`), its last word stands for all that begin with it, and pages whose
        titles begin with the query come first; there is no `next`.
        """
        deadline = Deadline(timeout_s, self._timer)
        if after is not None and (offset or per_host is not None):
            raise ValueError(AFTER_ALONE)
        cursor = decode(after, query, order) if after is not None else None
        if cursor is not None and cursor.round != self.as_of:
            raise CursorError(f"the cursor is of the index as of round {cursor.round}, not of round {self.as_of}")
        most = offset + limit if per_host is None else whole_windows(offset + limit)
        answer = self._answers.answer(query, most, order, self._now(), deadline, cursor, typing)
        parsed, terms = answer.parsed, answer.terms
        ordered = answer.candidates if per_host is None else self._by_host(answer, order, per_host)
        candidates = ordered[offset : offset + limit]
        explanations = [make_hits.explain(self._corpus, c.doc, parsed, terms) if explain else None for c in candidates]
        suggestion = self._respelled(query, terms.respelled)
        hits = make_hits.make_hits(self._corpus, candidates, explanations, parsed, terms, self._snippets)
        counts = self._facets(answer.matches, facet_values) if facet_values else {}
        notes = (*self.notes, *self._corpus.crawls.unknown(named_crawls(parsed.condition)), *parsed.notes)
        notes = (*notes, TIMED_OUT) if deadline.is_partial else notes
        following = None
        if answer.has_more and candidates and per_host is None and not deadline.is_partial and not typing:
            last, before = candidates[-1], cursor.hits if cursor else offset
            following = encode(Cursor(-last.negated_order, last.url, self.as_of, before + len(hits)), query, order)
        return Results(
            query,
            answer.total,
            hits,
            suggestion,
            notes,
            counts,
            following,
            deadline.is_partial,
            answer.weaker,
            tuple(terms.absent) if answer.total + answer.weaker else (),
        )

    def words_like(self, pattern: str) -> list[str]:
        """The words of the index that a pattern (`index.patterns`) matches, the most frequent ones first."""
        return self._corpus.like(pattern)

    def parts(self) -> Iterator[tuple[Segment, Mask]]:
        """Each segment, with a mask of its documents that a search can find."""
        return zip(self._segments, self._alive, strict=True)

    def cached(self) -> list[tuple[Unit, int]]:
        """The words and phrases that are cached, with bytes of memory, the least recently used ones first."""
        return self._corpus.cached()

    def warm(
        self, cached: Sequence[tuple[Unit, int]] = (), goes_on: Callable[[], bool] = lambda: True, least: int = SLOW
    ) -> None:
        """Read ahead the words that misspellings are compared with, and, while `goes_on`, postings.

        These are those that another index has `cached`, and those of words of at least so many documents.

        So no query waits for what is slow to read. Of the memory for postings, half is used at most.
        """
        self._answers.warm()
        self._corpus.warm(cached, least, goes_on)

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
        ((_, document),) = self._corpus.stored([number % len(self._corpus.current)])
        return document.texts["title"] or ""

    def short_titles(self, hits: Sequence[Hit]) -> list[str]:
        """The titles of hits without the ending that most titles of their host and language share, sampled once."""

        def read(missing: list[tuple[str, str]]) -> dict[tuple[str, str], str]:
            return {site: shared_ending(self._corpus.titles_of(*site, SAMPLE)) for site in missing}

        sites = [(hit.host, hit.language or "") for hit in hits]
        endings = self._endings.get({*sites}, read)
        return [without_ending(hit.title, endings[site]) for hit, site in zip(hits, sites, strict=True)]

    def stored(self, url: str, query: str = "", crawl: str | None = None) -> Stored | None:
        """The stored text of the document at a URL, with the forms of a query's words; None if there is none.

        Of several crawls, it is that of the `crawl`, or else the newest.
        """
        newest: Stored | None = None
        for number, (segment, alive) in enumerate(self.parts()):
            name = self._corpus.crawls.of(number)
            doc = pc.index(segment.facts["url"], url).as_py()
            if doc >= 0 and alive[doc] and crawl in (None, name) and not segment.expires[doc] <= self._now():
                stored = _stored(segment, doc, segment.forms(parse(query).words), name)
                if newest is None or _time(stored) > _time(newest):
                    newest = stored
        return newest

    def _by_host(self, answer: Answer, order: str, per_host: int) -> list[Candidate]:
        """The candidates, those that are documents found grouped by host."""
        matches, weaker = answer.candidates[: answer.total], answer.candidates[answer.total :]
        places = [self._corpus.place(candidate.doc) for candidate in matches]
        hosts = [segment.facts["host"][doc].as_py() for segment, doc in places]
        scores = [candidate.score if order == "score" else 1.0 for candidate in matches]
        return [matches[place] for place in by_host(hosts, scores, per_host)] + weaker

    def _now(self) -> np.datetime64:
        return np.datetime64(int(self._clock() * 1e6), "us")

    def _facets(self, matches: Mask, most: int) -> Facets:
        corpus = self._corpus
        counts = {CRAWL: corpus.crawls.counts(matches)} if corpus.crawls.names else {}
        counts |= {name: corpus.counts(fact, matches) for name, fact in FACTS.items()}
        return facets(counts, corpus.years(matches), most)

    def _respelled(self, query: str, changes: Mapping[str, str]) -> str | None:
        """The query with other words in place of some; None if it stays the same."""
        if not changes:
            return None
        pattern = r"\b(?:" + "|".join(map(re.escape, changes)) + r")\b(?!:)"  # not the name of a filter
        respelled = re.sub(
            pattern, lambda match: changes.get(match[0].casefold(), match[0]), query, flags=re.IGNORECASE
        )
        return respelled if respelled != query else None


def _stored(segment: Segment, doc: int, forms: Mapping[str, str], crawl: str | None) -> Stored:
    facts, texts, _ = segment.stored([doc])[doc]
    is_hidden = make_hits.forbids_copy(facts)
    return Stored(
        url=segment.facts["url"][doc].as_py(),
        title=without_carriers(texts["title"] or ""),
        text="" if is_hidden else without_carriers(texts["text"] or ""),
        language=facts["language"],
        fetched_at=facts["fetched_at"],
        noarchive=is_hidden,
        forms=forms,
        crawl=crawl,
    )


def _time(stored: Stored) -> float:
    return stored.fetched_at.timestamp() if stored.fetched_at else 0.0
