"""Answers a query: its words and phrases in the index, the documents that match, and the best of them."""

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...transforms.indexing.analysis import is_further, is_overlapping, is_unspaced
from ...transforms.indexing.korean import ANALYSED, HOW_TO_INSTALL, is_available, is_korean, morphemes
from ..index import pruning
from ..index.deadline import Deadline
from ..index.names import Named, named, words_of_names
from ..index.patterns import is_pattern
from ..index.postings import Unit
from ..index.pruning import Weighted
from ..index.scored import Scored
from ..index.segments import Corpus, Mask
from ..query.conditions import Condition, Query
from ..query.parse import parse
from ..query.spelling import RARE, Dictionary
from ..query.synonyms import Synonyms
from .cursor import Cursor
from .match import containing, matching, named_crawls, units
from .typing import COMPARED, title_rank, unfinished

_LOG = logging.getLogger(__name__)

Numbers = npt.NDArray[np.signedinteger]

_AS_TEXT = "no page matches this as it is written, so a minus and NOT are taken as text"
_WITHOUT_PHRASE = "no page has the phrases in quotation marks, so these pages have words of the query alone"


class Candidate(NamedTuple):
    """A document that matches. Candidates sort in the order of hits: highest score or date first, then by URL."""

    negated_order: float
    url: str
    doc: int
    score: float
    is_weaker: bool  # as `Hit.is_weaker`


class Terms(NamedTuple):
    """What a query's words and phrases are in the index."""

    scored: Mapping[Unit, Scored]  # of names, without their weight
    named: Named
    stand_for: Mapping[str, Sequence[str]]  # by pattern or word, the words that are searched for in its place
    respelled: Mapping[str, str]  # by word that no document has, or hardly any, the one that may be meant
    absent: Sequence[str]  # words that no document has, nor one near to them


class Answer(NamedTuple):
    """A query, with what it finds."""

    parsed: Query
    terms: Terms
    matches: Mask  # the documents found
    total: int  # documents found
    weaker: int  # further ones, which follow these
    candidates: list[Candidate]
    has_more: bool  # documents after the candidates

    def noting(self, note: str) -> "Answer":
        """The answer with one more note on the query."""
        return self._replace(parsed=self.parsed._replace(notes=(*self.parsed.notes, note)))


class Answers:
    """Answers queries over an index. Thread-safe."""

    def __init__(self, corpus: Corpus, synonyms: Synonyms) -> None:
        self._corpus, self._synonyms = corpus, synonyms

    def answer(
        self,
        query: str,
        most: int,
        order: str,
        now: np.datetime64,
        deadline: Deadline,
        after: Cursor | None = None,
        typing: bool = False,
    ) -> Answer:
        """The answer to a query with its first `most` candidates, from a place on.

        While it is being typed (`typing`), its last word stands for all that begin with it, and titles that begin so
        come first. If exclusions leave nothing, they are text.
        """
        text, last = unfinished(query) if typing else (query, "")
        read = functools.partial(parse, text, self._morphemes, facts=self._corpus.fact_names)

        def answer_to(parsed: Query) -> Answer:
            parsed = parsed._replace(exact=(*parsed.exact, (last,))) if last else parsed
            terms = self._terms(parsed, deadline)
            return Answer(parsed, terms, *self._best(parsed, terms, most, order, now, deadline, after))

        answer = answer_to(read())
        if answer.parsed.excludes and not answer.total + answer.weaker and not deadline.cuts():
            plain = answer_to(read(is_text=True))
            if plain.matches.any():
                answer = plain.noting(_AS_TEXT)
        if answer.weaker and not answer.total:
            answer = answer.noting(_WITHOUT_PHRASE)
        if typing and order == "score" and not answer.parsed.addresses:
            return answer._replace(candidates=self._titles_first(answer, query, most, deadline))
        return answer

    def _titles_first(self, answer: Answer, text: str, most: int, deadline: Deadline) -> list[Candidate]:
        """The first `most` candidates; those before all others whose titles begin as a text does or have its words."""
        in_title = answer.matches.copy()
        for word in answer.parsed.words:
            in_title &= containing(answer.terms.scored[word], "title", len(in_title))
        scoring = self._scoring(answer.parsed, answer.terms)
        named = self._first(in_title, False, scoring, COMPARED, "score", deadline, None) if scoring else []
        titles = self._corpus.titles([candidate.doc for candidate in named])
        ranks = [title_rank(text, title) for title in titles]
        ranked = [candidate for _, candidate in sorted(zip(ranks, named, strict=True))]
        docs = {candidate.doc for candidate in ranked}
        return [*ranked, *(candidate for candidate in answer.candidates if candidate.doc not in docs)][:most]

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

    def _terms(self, parsed: Query, deadline: Deadline) -> Terms:
        """The words and phrases of the query, with their scored postings.

        A pattern has those of its terms, a word those of its synonyms too, and a word that no document contains those
        of the nearest words.
        """
        of_names = (*parsed.names, *words_of_names(parsed.names))
        wanted = dict.fromkeys((*parsed.scoring, *of_names, *units(parsed.condition), *units(parsed.wider)))
        scored = self._corpus.scored([*wanted], deadline)
        any_of: Callable[[Sequence[Unit]], Scored] = functools.partial(self._corpus.any_of, deadline=deadline)
        patterns = [unit for unit in wanted if isinstance(unit, str) and is_pattern(unit)]
        stand_for = {pattern: [] if deadline.cuts() else self._corpus.like(pattern) for pattern in patterns}
        respelled, absent = dict[str, str](), list[str]()
        for word in wanted:
            if isinstance(word, str) and word in self._synonyms:
                stand_for[word] = [word, *self._synonyms[word]]
                scored[word] = any_of(stand_for[word])
        rare = max(1, self._corpus.documents // RARE) if parsed.nearness else 0
        for word in parsed.words:
            documents = len(scored[word].scores)
            if word in stand_for or documents > rare or is_further(word) or is_unspaced(word) or deadline.cuts():
                continue
            if documents:
                if usual := self._dictionary.usual(word, documents):
                    respelled[word] = usual
            elif self._corpus.documents and (near := self._dictionary.near(word)):
                scored[word], stand_for[word], respelled[word] = any_of(near), near, near[0]
            elif not is_overlapping(word):  # which is a part of a run, not a word
                absent.append(word)
        best_names = named(parsed.names, scored, parsed.weight, self._corpus.documents, len(self._corpus.current))
        return Terms(scored, best_names, stand_for, respelled, absent)

    def warm(self) -> None:
        """Read the words of the index: else the first rare or misspelled word of a query waits for them."""
        if self._corpus.documents:
            self._dictionary.near("")

    @functools.cached_property
    def _dictionary(self) -> Dictionary:
        return Dictionary(segment.words() for segment in self._corpus.segments)

    def _best(
        self,
        parsed: Query,
        terms: Terms,
        most: int,
        order: str,
        now: np.datetime64,
        deadline: Deadline,
        after: Cursor | None,
    ) -> tuple[Mask, int, int, list[Candidate], bool]:
        """The documents found, their number, that of weaker ones, the first after a place, and whether more follow."""
        scored, scoring = terms.scored, self._scoring(parsed, terms)
        wider = matches = self._shown(parsed.condition, scored, scoring, now)
        if parsed.wider != parsed.condition and not matches.any():
            wider = self._shown(parsed.wider, scored, scoring, now)
        total, weaker = int(np.count_nonzero(matches)), 0
        before = after.hits if after is not None else 0
        candidates = self._first(matches, False, scoring, most, order, deadline, after) if before <= total else []
        if wider is not matches and order == "score":  # the newest of all that share a word would come first
            weaker = int(np.count_nonzero(wider))  # nothing is found
            if before <= weaker:
                candidates = self._first(wider, True, scoring, most, order, deadline, after if before else None)
        return matches, total, weaker, candidates, total + weaker - before > len(candidates)

    def _shown(
        self, condition: Condition, scored: Mapping[Unit, Scored], scoring: Sequence[Weighted], now: np.datetime64
    ) -> Mask:
        """The documents that match a condition and may be shown: of copies the best, of several crawls the newest."""
        corpus = self._corpus
        matches = matching(corpus, scored, condition) & corpus.current
        if corpus.crawls.names:
            matches[corpus.crawls.older(matches, any(named_crawls(condition)))] = False
        matches[corpus.expired(now)] = False
        if len(corpus.copies.docs):
            matches[corpus.copies.others(matches, self._scores(scoring, corpus.copies.docs))] = False
        return matches

    def _first(
        self,
        among: Mask,
        is_weaker: bool,
        scoring: Sequence[Weighted],
        most: int,
        order: str,
        deadline: Deadline,
        after: Cursor | None,
    ) -> list[Candidate]:
        """The first `most` of some documents in an order, from a place on."""
        if order == "score" and scoring and after is None:
            docs, scores = pruning.best(scoring, among, most, deadline)
            keys = scores
        else:
            if order == "score" and scoring:  # documents before the place are those that pruning is made for
                keys = pruning.all_scores(scoring, len(among), deadline)
            else:
                keys = self._corpus.days if order == "date" else self._corpus.boosts
            if after is not None:
                among = among & self._is_after(keys, after)
            docs = pruning.highest(keys, among, most)
            keys, scores = keys[docs], self._scores(scoring, docs)
        urls = [segment.facts["url"][doc].as_py() for segment, doc in map(self._corpus.place, docs.tolist())]
        rows = zip((-keys).tolist(), urls, docs.tolist(), scores.tolist(), strict=True)
        return sorted(Candidate(*row, is_weaker) for row in rows)[:most]

    def _is_after(self, keys: pruning.Floats, after: Cursor) -> Mask:
        """Whether each document comes after a place, by its key and then by its URL."""
        is_after = keys < after.key
        for start, segment in zip(self._corpus.starts, self._corpus.segments, strict=False):
            ties = np.flatnonzero(keys[start : start + segment.documents] == after.key)
            is_after[start + ties] = pc.greater(segment.facts["url"].take(pa.array(ties)), after.url).to_numpy()
        return is_after

    def _scoring(self, parsed: Query, terms: Terms) -> list[Weighted]:
        """What the score of a document is the sum of."""
        found = [(unit, terms.scored[unit]) for unit in parsed.scoring]
        scoring = [Weighted(of, parsed.weight(unit, self._corpus.share(of))) for unit, of in found]
        return [*scoring, Weighted(terms.named.scored, 1)] if parsed.names else scoring

    def _scores(self, scoring: Sequence[Weighted], docs: Numbers) -> pruning.Floats:
        """The scores of documents: without words, the boost factors are the score."""
        if not scoring:
            return self._corpus.boosts[docs]
        ascending = np.argsort(docs)
        scores = np.empty(len(docs))
        scores[ascending] = pruning.scores_of(scoring, docs[ascending])
        return scores
