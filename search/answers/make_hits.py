"""Makes hits of the documents that a query finds: facts, titles, snippets and explanations."""

import bisect
import functools
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...transforms.indexing.analysis import is_unspaced, words_of
from ...transforms.sections.section import TOP, Place, Section, from_text, place, url_of
from ..index.cache import Cache
from ..index.names import words_of_names
from ..index.patterns import is_pattern, prefix
from ..index.postings import Unit
from ..index.scored import Scored
from ..index.segment import HitFacts, StoredDocument
from ..index.segments import Corpus
from ..query.conditions import Query
from .answer import Candidate, Terms
from .results.beginnings import without_contents, without_leaders, without_title
from .results.carriers import without_carriers
from .results.form_matches import Forms, Match, Text, kept, matches_of
from .results.hits import Explanation, Hit, Part
from .results.named_sections import named_section
from .results.snippets import MAX_SCANNED_CHARACTERS, MAX_SEARCHED, WIDTH, Snippet, cut, passage, searchable
from .results.title_endings import first_part

SnippetKey = tuple[int, Forms, str]
"""A document, the forms that are marked in it, and the id of the section that links call as the query does, or ""."""

MAX_CACHED_SNIPPETS = 2_000
"""The number of snippets that are kept, of some 2 kB each."""

MAX_CACHED_TEXTS = 16 << 20
"""Characters of the texts that are kept as they are searched for passages."""

MAX_LED_TO = 1_000
"""The most pages of which a section has the query's name: of a more frequent one, links do not say what is meant."""

_AFTER_HEADING = 1_000  # characters of a section that a query names, of which the snippet is taken


class ShownText(NamedTuple):
    """What a hit shows of a text."""

    snippet: Snippet
    place: Place  # of the snippet
    path: tuple[str, ...]  # the headings of its sections


class Snippets:
    """Finished snippets, and the texts of documents as they are searched for passages."""

    def __init__(self) -> None:
        self.made: Cache[SnippetKey, ShownText] = Cache(MAX_CACHED_SNIPPETS)
        self.texts: Cache[int, Text] = Cache(MAX_CACHED_TEXTS, _weight)


def _weight(text: Text) -> int:
    """The characters that a text takes, with those of its beginning as they are searched."""
    return 1_000 + len(text.text) + min(len(text.text), MAX_SCANNED_CHARACTERS)


def make_hits(
    corpus: Corpus,
    candidates: Sequence[Candidate],
    explanations: Sequence[Explanation | None],
    parsed: Query,
    terms: Terms,
    snippets: Snippets,
) -> list[Hit]:
    """The candidates as hits, with facts, titles and snippets. Snippets are kept in `snippets`."""
    docs = [candidate.doc for candidate in candidates]
    found = corpus.stored(docs)
    others = {
        term: word
        for word, stands_for in terms.stand_for.items()
        for term in ([prefix(word)] if is_pattern(word) and is_unspaced(word) else stands_for)
    }
    words = [*parsed.words, *(term for term, word in others.items() if not is_pattern(word))]
    forms = {
        segment: others | {form: others.get(word, word) for form, word in segment.forms(words).items()}
        for segment in {segment for segment, _ in found}
    }
    in_texts = _in_texts(docs, parsed.words, terms.scored)
    marked = functools.cache(lambda segment, words: kept(tuple(_only(forms[segment], words).items())))
    documents = {doc: document for doc, (_, document) in zip(docs, found, strict=True)}
    ids = _led_to(corpus, docs, parsed, terms.scored)
    keys = [
        (doc, marked(segment, in_text if document.texts["text"] else None), ids.get(doc, ""))
        for doc, (segment, document), in_text in zip(docs, found, in_texts, strict=True)
    ]

    def make(missing: list[SnippetKey]) -> dict[SnippetKey, ShownText]:
        wanted = [doc for doc, *_ in missing]
        texts = snippets.texts.get(wanted, lambda new: {doc: _text(documents[doc]) for doc in new})
        return {key: _shown(documents[key[0]], texts[key[0]], *key[1:]) for key in missing}

    made = snippets.made.get(keys, make)
    return [
        _hit(candidate, documents[candidate.doc], made[key], why, corpus.crawls.of(corpus.number(candidate.doc)))
        for candidate, key, why in zip(candidates, keys, explanations, strict=True)
    ]


def _led_to(corpus: Corpus, docs: Sequence[int], parsed: Query, scored: Mapping[Unit, Scored]) -> dict[int, str]:
    """The ids of sections of some of the documents: of those that links call as the whole query does."""
    name = max(parsed.names, key=lambda name: len(words_of(name)), default="")
    if not name or not {*words_of(name)}.issuperset(words_of_names(parsed.names)):
        return {}
    of_name = scored[name].postings.docs
    if len(of_name) > MAX_LED_TO:
        return {}
    return {
        of_segment[number]: id_
        for segment, of_segment in corpus.by_segment({*docs}.intersection(of_name.tolist())).items()
        for number, id_ in segment.led_to(name, of_segment).items()
    }


def _in_texts(docs: Sequence[int], words: Sequence[str], scored: Mapping[Unit, Scored]) -> list[frozenset[str]]:
    """The words that the text of each document has. A word that is not known to be in any may be in all."""
    found: list[set[str]] = [set() for _ in docs]
    for word in words:
        postings = scored[word].postings
        if not len(postings.docs):
            in_text = np.ones(len(docs), bool)
        elif "body" in postings.frequencies:
            wanted = np.array(docs, postings.docs.dtype)  # of another type, all of the postings would be converted
            places = postings.docs.searchsorted(wanted)
            in_text = postings.docs.take(places, mode="clip") == wanted
            in_text &= postings.frequencies["body"].take(places, mode="clip") > 0
        else:
            continue
        for number in in_text.nonzero()[0].tolist():
            found[number].add(word)
    return list(map(frozenset, found))


def _only(forms: Mapping[str, str], words: Collection[str] | None) -> Mapping[str, str]:
    """The forms of some of the words: none of the others need be searched for in a text."""
    return forms if words is None else {form: word for form, word in forms.items() if word in words}


def explain(corpus: Corpus, doc: int, parsed: Query, terms: Terms) -> Explanation:
    """The explanation of the score of a document."""
    docs = np.array([doc], np.int32)
    found = [(unit, terms.scored[unit]) for unit in parsed.scoring]
    scores = [(unit, parsed.weight(unit, corpus.share(of)) * float(of.at(docs)[0])) for unit, of in found]
    if name := terms.named.best_of(doc):
        scores.append((name, float(terms.named.scored.at(docs)[0])))
    parts = []
    for unit, score in scores:
        if score:
            postings = terms.scored[unit].postings
            place = int(postings.docs.searchsorted(postings.docs.dtype.type(doc)))
            counts = {field: int(tf[place]) for field, tf in postings.frequencies.items() if tf[place]}
            text = " ".join(words_of(unit) if isinstance(unit, str) else unit)
            if unit in parsed.exact:
                text = f'"{text}"'
            elif unit in parsed.names:
                text = f"#{text}"
            parts.append(Part(text, len(postings.docs), counts, score / float(corpus.boosts[doc])))
    return Explanation(parts, *(float(factor[0]) for factor in corpus.boost_factors(doc)))


def forbids_copy(facts: HitFacts) -> bool:
    """Whether a page forbids cached copies: by `noarchive`, or by `nosnippet`, which forbids to show any text."""
    return bool(facts["noarchive"]) or facts["max_snippet"] == 0


def _text(document: StoredDocument) -> Text:
    # The text of a NOARCHIVE document is not stored; its description may be shown, unless the page forbids snippets.
    texts = document.texts
    return searchable(without_title(texts["text"] or texts["description"] or "", texts["title"] or ""))


def _without_contents(text: Text) -> Text:
    """The same text where it has no table of contents, so that what is prepared of it is used again."""
    rest = without_leaders(without_contents(text.text))
    return text if rest == text.text else Text(rest)


def _shown(document: StoredDocument, text: Text, forms: Forms, id_: str) -> ShownText:
    limit = document.facts["max_snippet"]  # includes the ellipses before and after, four characters
    if limit == 0:
        return ShownText(Snippet(), TOP, ())
    width = WIDTH if limit is None else max(1, min(limit - 4, WIDTH))
    searched = _without_contents(text)
    found = passage(searched, forms, width)
    if not found.matches:
        in_contents = passage(text, forms, width)
        searched, found = (text, in_contents) if in_contents.matches else (searched, found)
    if limit is not None:
        return ShownText(cut(found.snippet, limit), TOP, ())
    whole, sections = document.texts["text"] or "", from_text(document.texts["sections"] or "")
    title = document.texts["title"] or ""
    in_title = {word for _, _, word in matches_of(Text(title), forms.probes, 0, len(title))}
    if forms.words <= in_title and (len(forms.words) > 1 or _is_name(first_part(title), forms)):
        return ShownText(found.snippet, TOP, ())  # what is meant is the page
    if id_ and whole:
        led_to = next((section for section in sections if section.id == id_), None)
        return _beginning(led_to, sections, whole, forms) if led_to else ShownText(found.snippet, Place(id_, ()), ())
    words = {word for _, _, word in found.matches}
    if not sections or words <= in_title:
        return ShownText(found.snippet, TOP, ())
    if named := named_section(sections, whole, forms, in_title, len(words | in_title)):
        return _beginning(named, sections, whole, forms)
    return ShownText(found.snippet, *_section(whole, sections, searched, found.matches))


def _is_name(text: str, forms: Forms) -> bool:
    """Whether a word is a text from its beginning to its end."""
    return any(match[:2] == (0, len(text)) for match in matches_of(Text(text), forms.probes, 0, len(text)))


def _beginning(section: Section, sections: Sequence[Section], text: str, forms: Forms) -> ShownText:
    """What is shown of a page whose section a query names."""
    after = text[section.offset : section.offset + _AFTER_HEADING]
    return ShownText(passage(Text(after), forms, WIDTH).snippet, *_path(sections, section, text))


def _section(
    text: str, sections: Sequence[Section], searched: Text, matches: Sequence[Match]
) -> tuple[Place, tuple[str, ...]]:
    """The section with the most of the matches in a passage, and its path."""
    is_cut = len(text) > MAX_SEARCHED
    before = text.find(searched.text) if is_cut else len(text.rstrip()) - len(searched.text)  # characters left out
    begins = [section.offset for section in sections]
    numbers = Counter(bisect.bisect_right(begins, before + start) for start, _, _ in matches)
    number = numbers.most_common(1)[0][0]
    if not number:
        return TOP, ()
    return _path(sections, sections[number - 1], text)


def _path(sections: Sequence[Section], section: Section, text: str) -> tuple[Place, tuple[str, ...]]:
    found = place(sections, section.offset)
    return found, tuple(filter(None, (without_carriers(above.heading(text)) for above in found.path)))


def _hit(
    candidate: Candidate, document: StoredDocument, shown: ShownText, explanation: Explanation | None, crawl: str | None
) -> Hit:
    facts = document.facts
    return Hit(
        url=candidate.url,
        title=without_carriers(" ".join((document.texts["title"] or "").split())),
        snippet=shown.snippet,
        score=candidate.score,
        host=facts["host"],
        language=facts["language"],
        media_type=facts["media_type"],
        noarchive=forbids_copy(facts),
        round=facts["round"],
        fetched_at=facts["fetched_at"],
        published_at=facts["published_at"],
        explanation=explanation,
        facts={} if facts["max_snippet"] == 0 else document.page_facts,
        crawl=crawl,
        section_url=url_of(candidate.url, shown.place.id) if shown.place.id else None,
        path=shown.path,
        is_weaker=candidate.is_weaker,
    )
