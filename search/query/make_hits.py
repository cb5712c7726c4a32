"""Makes hits of the documents that a query finds: facts, titles, snippets and explanations."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ..index.patterns import is_pattern
from ..index.postings import Unit
from ..index.scored import Scored
from ..index.segment import HitFacts, StoredDocument
from ..index.segments import Corpus
from ..results.hits import Explanation, Hit, Part
from ..results.snippets import WIDTH, Snippet, cut, snippet, without_title
from .answer import Candidate, Terms
from .parse import Query


def make_hits(
    corpus: Corpus,
    candidates: Sequence[Candidate],
    explanations: Sequence[Explanation | None],
    parsed: Query,
    terms: Terms,
) -> list[Hit]:
    """The candidates as hits, with facts, titles and snippets."""
    docs = [candidate.doc for candidate in candidates]
    found = corpus.stored(docs)
    others = {term: word for word, stands_for in terms.stand_for.items() for term in stands_for}
    words = [*parsed.words, *(term for term, word in others.items() if not is_pattern(word))]
    forms = {
        segment: others | {form: others.get(word, word) for form, word in segment.forms(words).items()}
        for segment in {segment for segment, _ in found}
    }
    in_texts = _in_texts(docs, parsed.words, terms.scored)
    return [
        _hit(candidate, document, _only(forms[segment], in_text) if document.texts["text"] else forms[segment], why)
        for candidate, (segment, document), in_text, why in zip(candidates, found, in_texts, explanations, strict=True)
    ]


def _in_texts(docs: Sequence[int], words: Sequence[str], scored: Mapping[Unit, Scored]) -> list[set[str]]:
    """The words that the text of each document has. A word that is not known to be in any may be in all."""
    found: list[set[str]] = [set() for _ in docs]
    for word in words:
        postings = scored[word].postings
        if not len(postings.docs):
            in_text = np.ones(len(docs), bool)
        elif "body" in postings.frequencies:
            places = np.minimum(np.searchsorted(postings.docs, docs), len(postings.docs) - 1)
            in_text = (postings.docs[places] == docs) & (postings.frequencies["body"][places] > 0)
        else:
            continue
        for number in np.flatnonzero(in_text).tolist():
            found[number].add(word)
    return found


def _only(forms: Mapping[str, str], words: Collection[str]) -> dict[str, str]:
    """The forms of some of the words: none of the others need be searched for in a text."""
    return {form: word for form, word in forms.items() if word in words}


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
    document: StoredDocument,
    forms: Mapping[str, str],
    explanation: Explanation | None,
) -> Hit:
    facts, texts = document
    # The text of a NOARCHIVE document is not stored; its description may be shown, unless the page forbids snippets.
    text = texts["text"] or texts["description"] or ""
    text = without_title(text, texts["title"] or "")
    limit = facts["max_snippet"]  # includes the ellipses before and after, four characters
    width = WIDTH if limit is None else max(1, min(limit - 4, WIDTH))
    found = snippet(text, forms, width) if limit != 0 else Snippet()
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
