"""One index segment, opened for reading: words to documents, documents to facts and text."""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from search.files import Files
from search.terms import NO_POSITIONS, NO_POSTINGS, Ints, Positions, Postings, Terms, unite
from transforms.analysis import word_class
from transforms.index import DOCS, DOCSTORE, FORMS, POSITIONS, POSTINGS
from transforms.index_forms import stemmed_as
from transforms.index_invert import OWN_FIELDS

CACHED = 256
"""Words, and as many phrases and positions, of a segment that are kept at hand, decoded."""


class Segment:
    """An immutable segment; opening it reads the footers of its files and the facts of its documents.

    `links` is the folder with what the link graph says of it, if there is one.
    """

    def __init__(self, root: str, folder: str, links: str | None = None) -> None:
        self._files = Files(root, folder, (POSTINGS, POSITIONS, FORMS, DOCS, DOCSTORE))
        self._own = Terms(self._files)
        self._terms = [self._own]
        footer = self._files.footers[DOCSTORE]
        self._shown_ends = np.cumsum([footer.row_group(i).num_rows for i in range(footer.num_row_groups)])
        self.facts: pa.Table = self._files.read(DOCS)
        self.lengths: dict[str, Ints] = {field: self.facts[f"length_{field}"].to_numpy() for field in OWN_FIELDS}
        if links is None:
            self.lengths["anchors"] = np.zeros(self.documents, np.int32)
            self.link_ranks: npt.NDArray[np.float64] = np.zeros(self.documents)
        else:
            files = Files(root, links, (POSTINGS, FORMS, DOCS))
            docs = files.read(DOCS)
            self._terms.append(Terms(files))
            self.lengths["anchors"] = docs["length_anchors"].to_numpy()
            self.link_ranks = docs["link_rank"].to_numpy().astype(np.float64)
        self.published = _moments(self.facts["published_at"])
        self.fetched = _moments(self.facts["fetched_at"])
        self.dates = np.where(np.isnat(self.published), self.fetched, self.published)
        """When each document was published, as it says, or else fetched."""
        self.spam_scores = self.facts["spam_score"].to_numpy()
        stemmed = [stemmed_as(language) for language in self.facts["language"].to_pylist()]
        self.languages = sorted(set(stemmed))
        """How its documents are stemmed (`index_forms.stemmed_as`)."""
        self.language_of = np.array([self.languages.index(language) for language in stemmed], np.int8)
        self._distinct = functools.lru_cache(self._distinct_values)
        self._forms = functools.lru_cache(CACHED)(self._read_forms)
        self.word = functools.lru_cache(CACHED)(self._word)
        self.phrase = functools.lru_cache(CACHED)(self._phrase)
        self._positions = functools.lru_cache(CACHED)(lambda term: self._own.positions([term]).get(term, NO_POSITIONS))

    @property
    def documents(self) -> int:
        """How many documents are in the segment."""
        return int(self.facts.num_rows)

    def forms(self, term: str) -> set[str]:
        """All forms in which documents of this segment may have a word."""
        return set(self._forms(self._own, term))

    def having(self, fact: str, is_wanted: Callable[[str], bool]) -> npt.NDArray[np.bool_]:
        """Whether each document has a value of a fact that is wanted; what is not known is ""."""
        values, codes = self._distinct(fact)
        return np.array([is_wanted(value) for value in values], bool)[codes]

    def _distinct_values(self, fact: str) -> tuple[list[str], Ints]:
        """The values of a fact, and for each document which of them it has."""
        found = pc.fill_null(self.facts[fact], "").combine_chunks().dictionary_encode()
        return found.dictionary.to_pylist(), found.indices.to_numpy()

    def term_frequencies(self) -> pa.Table:
        """The terms of its documents with `df`, in how many of them they are."""
        return self._own.frequencies()

    def inverted(self) -> tuple[list[str], Ints, Postings]:
        """All terms of its documents, how many postings each has, and the postings, one term's after another's."""
        return self._own.inverted()

    def shown(self, docs: Iterable[int]) -> dict[int, dict[str, Any]]:
        """What may be shown of documents, by number: `title`, `description`, `text`, each possibly None."""
        result: dict[int, dict[str, Any]] = {}
        by_group: dict[int, list[int]] = {}
        for doc in docs:
            by_group.setdefault(int(np.searchsorted(self._shown_ends, doc, "right")), []).append(doc)
        for group, members in by_group.items():
            rows = self._files.read_group(DOCSTORE, group)
            first = self._shown_ends[group] - len(rows)
            result |= {doc: rows.slice(doc - first, 1).to_pylist()[0] for doc in members}
        return result

    def _word(self, term: str) -> Postings:
        """The documents that have a word in any of the forms that it has in their language; frequencies by field."""
        parts = []
        for terms in self._terms:
            forms = self._forms(terms, term)
            for form, found in terms.postings(forms).items():
                is_one = len(forms[form]) == len(self.languages)
                parts.append(found if is_one else found.only(np.isin(self.language_of[found.docs], forms[form])))
        return unite(parts)

    def _read_forms(self, terms: Terms, term: str) -> dict[str, list[int]]:
        """The forms of a word, each with the languages in which it is one."""
        classes = [word_class(term, language) for language in self.languages]
        rows = terms.forms(set(classes))
        found: dict[str, list[int]] = {}
        for code, (name, language) in enumerate(zip(classes, self.languages, strict=True)):
            for form in rows.get((name, language), [name]):
                found.setdefault(form, []).append(code)
        return found

    def _phrase(self, terms: Sequence[str]) -> Postings:
        """The documents that have exact forms one right after another; frequencies in title and body.

        A single term is looked for in all fields.
        """
        if len(terms) == 1:
            return unite([found for part in self._terms for found in part.postings(terms).values()])
        places = [self._positions(term) for term in terms]
        if not all(len(place.docs) for place in places):
            return NO_POSTINGS
        docs, positions = in_a_row(places)
        found, counts = np.unique(docs, return_counts=True)
        in_title = np.bincount(
            np.searchsorted(found, docs[positions < self.lengths["title"][docs]]), minlength=len(found)
        )
        frequencies = {"title": in_title.astype(np.int32), "body": (counts - in_title).astype(np.int32)}
        return Postings(found, frequencies)


def _moments(column: pa.ChunkedArray) -> npt.NDArray[np.datetime64]:
    return column.cast(pa.timestamp("us")).to_numpy()


def in_a_row(words: Sequence[Positions]) -> Positions:
    """Where the words stand one right after another, in this order: the places of the first.

    >>> first = Positions(np.array([3, 3, 8]), np.array([0, 7, 2]))
    >>> second = Positions(np.array([3, 8]), np.array([8, 1]))
    >>> [array.tolist() for array in in_a_row([first, second])]
    [[3], [7]]
    """
    # Where the phrase would begin, by each of its words. Positions are far below 2**32: documents do not mix.
    begins = [(word.docs.astype(np.int64) << 32) + word.positions - place for place, word in enumerate(words)]
    begins.sort(key=len)
    common = begins[0]
    for other in begins[1:]:
        common = np.intersect1d(common, other, assume_unique=True)
    return Positions((common >> 32).astype(np.int32), (common & 0xFFFFFFFF).astype(np.int32))
