"""Makes hits of the documents that a query finds: facts, titles, snippets and explanations."""

from collections.abc import Mapping, Sequence

import numpy as np

from ..index.patterns import is_pattern
from ..index.postings import Unit
from ..index.scored import Scored
from ..index.segment import HitFacts, StoredTexts
from ..index.segments import Corpus
from ..results.hits import Explanation, Hit, Part
from ..results.snippets import WIDTH, Snippet, cut, snippet, without_title
from .answer import Candidate
from .parse import Query


def make_hits(
    corpus: Corpus,
    candidates: Sequence[Candidate],
    explanations: Sequence[Explanation | None],
    words: Sequence[str],
    stand_for: Mapping[str, Sequence[str]],
) -> list[Hit]:
    """The candidates as hits, with facts, titles and snippets."""
    found = corpus.texts([candidate.doc for candidate in candidates])
    others = {term: word for word, terms in stand_for.items() for term in terms}
    words = [*words, *(term for term, word in others.items() if not is_pattern(word))]
    forms = {segment: others | segment.forms(words) for segment in {segment for segment, _, _ in found}}
    return [
        _hit(candidate, segment.facts_of(doc), texts, forms[segment], explanation)
        for candidate, (segment, doc, texts), explanation in zip(candidates, found, explanations, strict=True)
    ]


def explain(corpus: Corpus, doc: int, parsed: Query, scored: Mapping[Unit, Scored]) -> Explanation:
    """The explanation of the score of a document."""
    parts = []
    for unit in parsed.scoring:
        postings, scores = scored[unit].postings, scored[unit].scores
        place = int(np.searchsorted(postings.docs, doc))
        if place < len(postings.docs) and postings.docs[place] == doc:
            counts = {field: int(tf[place]) for field, tf in postings.frequencies.items() if tf[place]}
            text = unit if isinstance(unit, str) else " ".join(unit)
            score = parsed.weight(unit) * float(scores[place] / corpus.boosts[doc])
            parts.append(Part(text, len(postings.docs), counts, score))
    return Explanation(parts, *(float(factor[doc]) for factor in corpus.boost_factors))


def forbids_copy(facts: HitFacts) -> bool:
    """Whether a page forbids cached copies: by `noarchive`, or by `nosnippet`, which forbids to show any text."""
    return bool(facts["noarchive"]) or facts["max_snippet"] == 0


def _hit(
    candidate: Candidate,
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
        noarchive=forbids_copy(facts),
        round=facts["round"],
        fetched_at=facts["fetched_at"],
        published_at=facts["published_at"],
        explanation=explanation,
    )
