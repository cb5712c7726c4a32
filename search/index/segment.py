"""One index segment, opened for reading: words to documents, documents to facts and text."""

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...transforms.indexing.invert import OWN_FIELDS, Inverted
from ...transforms.indexing.read_segment import decode
from ...transforms.indexing.term_forms import stemmed_as
from ...transforms.indexing.write_segment import DOCSTORE
from .cache import Cache
from .parquet_files import Files
from .postings import Ints, Languages, Postings, Terms, Unit, in_a_row

MAX_CACHED_CHARACTERS = 8 << 20
"""Characters of texts of a segment that are kept at hand."""

HIT_FACTS = ("host", "language", "media_type", "noarchive", "round", "fetched_at", "published_at")
"""The facts that are told of a hit."""

_SHOWN_COLUMNS = ("title", "description", "text")


class Segment:
    """An immutable segment; opening it is one request, which reads the facts of its documents.

    `links` is the folder with what the link graph says of it, if there is one, and one request more.
    """

    def __init__(self, root: str, folder: str, links: str | None = None) -> None:
        self._files = Files(root, folder)
        self.facts: pa.Table = self._files.docs
        self.lengths: dict[str, Ints] = {field: self.facts[f"length_{field}"].to_numpy() for field in OWN_FIELDS}
        stemmed = [stemmed_as(language) for language in self.facts["language"].to_pylist()]
        names, codes = np.unique(np.array(stemmed, dtype=np.str_), return_inverse=True)
        self.languages = languages = Languages(names.tolist(), codes.astype(np.int8))
        self._own = Terms(self._files, OWN_FIELDS, languages)
        self._terms = [self._own]
        if links is None:
            self.lengths["anchors"] = np.zeros(self.documents, np.int32)
            self.link_ranks: npt.NDArray[np.float64] = np.zeros(self.documents)
        else:
            files = Files(root, links)
            self._terms.append(Terms(files, ["anchors"], self.languages))
            self.lengths["anchors"] = files.docs["length_anchors"].to_numpy()
            self.link_ranks = files.docs["link_rank"].to_numpy().astype(np.float64)
        self.published = _moments(self.facts["published_at"])
        self.fetched = _moments(self.facts["fetched_at"])
        self.dates = np.where(np.isnat(self.published), self.fetched, self.published)
        """When each document was published, as it says, or else fetched."""
        self.spam_scores = self.facts["spam_score"].to_numpy()
        self._distinct = functools.lru_cache(self._distinct_values)
        self._shown: Cache[int, dict[str, Any]] = Cache(self._read_shown, MAX_CACHED_CHARACTERS, _characters)

    @property
    def documents(self) -> int:
        """How many documents are in the segment."""
        return int(self.facts.num_rows)

    def questions(self, units: Collection[Unit]) -> list[Callable[[], Mapping[Unit, Postings]]]:
        """What to call for the postings of units; those of one unit in the several answers are to be united.

        Calls may run at the same time. Each reads twice at most, one read after the other.
        """
        words = [unit for unit in units if isinstance(unit, str)]
        terms = [unit[0] for unit in units if isinstance(unit, tuple) and len(unit) == 1]
        phrases = [unit for unit in units if isinstance(unit, tuple) and len(unit) > 1]
        asked: list[Callable[[], Mapping[Unit, Postings]]] = []
        for part in self._terms:
            if words:
                asked.append(functools.partial(_words, part, words))
            if terms:
                asked.append(functools.partial(_single_terms, part, terms))
        if phrases:
            asked.append(functools.partial(self._phrases, phrases))
        return asked

    def forms(self, words: Collection[str]) -> dict[str, str]:
        """All forms in which documents of this segment may have words, each with a word that it is one of."""
        return {form: word for word, forms in self._own.forms(words).items() for form in forms}

    def facts_of(self, doc: int) -> dict[str, Any]:
        """What a hit says of a document besides its texts: the facts of SAID."""
        return {name: self.facts[name][doc].as_py() for name in HIT_FACTS}

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

    def inverted(self) -> Inverted:
        """All terms of its documents, without their positions, and without lengths."""
        return decode(self._own.everything(), OWN_FIELDS)

    def shown(self, docs: Iterable[int]) -> dict[int, dict[str, Any]]:
        """What may be shown of documents, by number: `title`, `description`, `text`, each possibly None."""
        return self._shown.get(list(docs))

    def _read_shown(self, docs: Sequence[int]) -> dict[int, dict[str, Any]]:
        rows = self._files.rows(DOCSTORE)
        ends = np.cumsum(rows)
        groups = np.unique(np.searchsorted(ends, docs, "right")).tolist()
        found = self._files.read(DOCSTORE, groups, _SHOWN_COLUMNS)
        numbers = np.concatenate([np.arange(ends[group] - rows[group], ends[group]) for group in groups])
        places = np.searchsorted(numbers, docs)
        return dict(zip(docs, found.take(pa.array(places)).to_pylist(), strict=True))

    def _phrases(self, phrases: Collection[tuple[str, ...]]) -> dict[Unit, Postings]:
        """The documents that have exact forms one right after another; frequencies in title and body."""
        places = self._own.positions({term for phrase in phrases for term in phrase})
        found: dict[Unit, Postings] = {}
        for phrase in phrases:
            begins = in_a_row([places[term] for term in phrase])
            docs, counts = np.unique(begins.docs, return_counts=True)
            titles = begins.docs[begins.positions < self.lengths["title"][begins.docs]]
            in_title = np.bincount(np.searchsorted(docs, titles), minlength=len(docs))
            found[phrase] = Postings(
                docs, {"title": in_title.astype(np.int32), "body": (counts - in_title).astype(np.int32)}
            )
        return found


def _words(terms: Terms, wanted: Collection[str]) -> dict[Unit, Postings]:
    return dict(terms.words(wanted).items())


def _single_terms(terms: Terms, wanted: Collection[str]) -> dict[Unit, Postings]:
    return {(term,): postings for term, postings in terms.exact(wanted).items()}


def _characters(shown: Mapping[str, Any]) -> int:
    return 100 + sum(len(text or "") for text in shown.values())


def _moments(column: pa.ChunkedArray) -> npt.NDArray[np.datetime64]:
    return column.cast(pa.timestamp("us")).to_numpy()
