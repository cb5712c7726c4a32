"""An index segment, opened for reading: words to documents, documents to facts and texts."""

import functools
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, TypedDict, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...transforms.files import filesystem
from ...transforms.indexing.analysis import is_name
from ...transforms.indexing.invert import OWN_FIELDS, Inverted
from ...transforms.indexing.read_segment import decode
from ...transforms.indexing.term_forms import Languages, languages_of
from ...transforms.indexing.write_segment import DOCS, DOCSTORE
from .addresses import is_address, pages_at
from .page_facts import COLUMN, PageFacts
from .parquet_files import Files
from .postings import Ints, Postings, Terms, Unit, in_a_row, smallest

Moments = npt.NDArray[np.datetime64]

_REPEATED = ("host", "language", "media_type")  # facts of few distinct values


class HitFacts(TypedDict):
    """The facts of a document that a hit shows."""

    host: str
    language: str | None
    media_type: str | None
    noarchive: bool | None
    max_snippet: int | None
    round: int
    fetched_at: datetime | None
    published_at: datetime | None


class StoredTexts(TypedDict):
    """The texts of a document in the docstore."""

    title: str | None
    description: str | None  # shown where there is no text
    text: str | None  # without `data-nosnippet` passages; None where NOARCHIVE or NOSNIPPET is set
    sections: str | None  # of the text, as `section.to_text` writes them; None: none, or written by earlier versions


class StoredDocument(NamedTuple):
    """What a hit shows of a document."""

    facts: HitFacts
    texts: StoredTexts
    page_facts: Mapping[str, list[str]]  # by name; a fact may have several values


class Segment:
    """An immutable segment; opening it takes one request, which reads the facts of its documents.

    `links` is the folder of its link data, if there is one; it takes a second request.
    """

    def __init__(
        self, root: str, folder: str, links: str | None = None, checksums: Mapping[str, str] | None = None
    ) -> None:
        """`checksums` has those of the manifests, by path; those of files that are read as a whole are compared."""
        checksums = checksums or {}
        self.place = (root, folder, links)
        self.reads_by_request = filesystem.store_of(root).reads_by_request
        self._files = Files(root, folder, _REPEATED, checksums.get(f"{folder}/{DOCS}", ""))
        docs = self._files.take_docs()
        self.page_facts = PageFacts(docs)
        others = [f"length_{field}" for field in OWN_FIELDS]
        self.facts: pa.Table = docs.drop_columns(others + [COLUMN] * (COLUMN in docs.column_names))
        self.lengths: dict[str, Ints] = {field: smallest(docs[f"length_{field}"].to_numpy()) for field in OWN_FIELDS}
        values, numbers = _distinct_values(docs["language"])
        names, codes = languages_of(values)
        self.languages = languages = Languages(names, codes.astype(np.int8)[numbers])
        self._own = Terms(self._files, OWN_FIELDS, languages)
        self._terms = [self._own]
        if links is None:
            self.lengths["anchors"] = np.zeros(self.documents, np.uint8)
            self.link_ranks: npt.NDArray[np.float32] = np.zeros(self.documents, np.float32)
        else:
            files = Files(root, links, checksum=checksums.get(f"{links}/{DOCS}", ""))
            self._terms.append(Terms(files, ["anchors"], self.languages))
            docs = files.take_docs()
            self.lengths["anchors"] = smallest(docs["length_anchors"].to_numpy())
            self.link_ranks = docs["link_rank"].to_numpy()
        self._distinct = functools.lru_cache(lambda fact: _distinct_values(self.facts[fact]))

    @property
    def published(self) -> Moments:
        """The date of publication that each document states; NaT: none, or one after the day of its fetch."""
        stated, day = _moments(self.facts["published_at"]), np.timedelta64(1, "D")
        return np.where(stated > self.fetched + day, np.datetime64("NaT"), stated)

    @property
    def fetched(self) -> Moments:
        """The time of the fetch of each document."""
        return _moments(self.facts["fetched_at"])

    @property
    def dates(self) -> Moments:
        """The date of publication of each document, if it states one, or else of the fetch."""
        published = self.published
        return np.where(np.isnat(published), self.fetched, published)

    @property
    def expires(self) -> Moments:
        """The time from which a document must not be found; NaT: none."""
        return _moments(self.facts["unavailable_after"])

    @property
    def spam_scores(self) -> npt.NDArray[np.float32]:
        """The spam score of each document; NaN: none."""
        return self.facts["spam_score"].to_numpy()

    @property
    def documents(self) -> int:
        """The number of documents of the segment, dead ones included."""
        return int(self.facts.num_rows)

    def lookups(
        self, units: Collection[Unit], stand_for: Mapping[str, Collection[str]]
    ) -> list[Callable[[], Mapping[Unit, Postings]]]:
        """Calls that look up the postings of units; the results of one unit in several calls must be united.

        A pattern has those of the exact forms that `stand_for` it. The calls may run in parallel. Each makes at most
        two reads, one after the other.
        """
        addresses = [unit for unit in units if isinstance(unit, str) and is_address(unit)]
        words = [unit for unit in units if isinstance(unit, str) and unit not in (*stand_for, *addresses)]
        terms = [unit[0] for unit in units if isinstance(unit, tuple) and len(unit) == 1]
        phrases = [unit for unit in units if isinstance(unit, tuple) and len(unit) > 1]
        calls: list[Callable[[], Mapping[Unit, Postings]]] = []
        if words or terms:
            own = [word for word in words if not is_name(word)]
            calls += [
                functools.partial(part.look_up, own if part is self._own else words, terms) for part in self._terms
            ]
        if phrases:
            calls.append(functools.partial(self._phrases, phrases))
        if addresses:
            calls.append(functools.partial(pages_at, addresses, self.facts["url_key"]))
        if any(stand_for.values()):
            calls += [functools.partial(part.any_of, stand_for) for part in self._terms]
        return calls

    def forms(self, words: Collection[str]) -> dict[str, str]:
        """All forms that words have in the languages of this segment, each with its word."""
        return {form: word for word, forms in self._own.forms(words).items() for form in forms}

    def led_to(self, name: str, docs: Collection[int]) -> dict[int, str]:
        """The ids of the sections of documents that links with this name lead to."""
        return {} if self._terms[-1] is self._own else self._terms[-1].led_to(name, docs)

    def having(self, fact: str, is_wanted: Callable[[str], bool]) -> npt.NDArray[np.bool_]:
        """Whether `is_wanted` holds for the value of a fact of each document; null counts as ""."""
        values, codes = self._distinct(fact)
        return np.array([is_wanted(value) for value in values], bool)[codes]

    def below(self, path: str) -> npt.NDArray[np.bool_]:
        """Whether the URL of each document has a path or is below it, in any letter case; without the first slash."""
        pattern = rf"(?i)^\w+://[^/]*/{re.escape(path.rstrip('/'))}(?:[/?]|$)"
        return pc.match_substring_regex(self.facts["url"], pattern).to_numpy()

    def counts(self, fact: str, found: npt.NDArray[np.bool_]) -> dict[str, int]:
        """How many of the documents found have each value of a fact; null counts as ""."""
        values, codes = self._distinct(fact)
        counts = np.bincount(codes[found], minlength=len(values))
        return {values[number]: int(counts[number]) for number in np.flatnonzero(counts)}

    def words(self) -> pa.Table:
        """The terms of its documents that spelling help may suggest, with `df` (`Terms.words`)."""
        return self._own.words()

    def frequent(self) -> Counter[str]:
        """The terms of many of its documents, with the number of these, nearly. Reads no posting."""
        return self._own.frequent()

    def like(self, pattern: str) -> list[pa.Table]:
        """Tables of the terms of its documents and their anchors that a pattern matches, with `df`."""
        return [terms.like(pattern) for terms in self._terms]

    def inverted(self) -> Inverted:
        """The inverted index of its documents, without positions and lengths."""
        return decode(self._own.all_postings(), OWN_FIELDS)

    def stored(self, docs: Sequence[int]) -> dict[int, StoredDocument]:
        """The facts and texts of documents, by number. Reads the texts."""
        docs = sorted({*docs})
        texts = self._files.rows(DOCSTORE, docs, list(StoredTexts.__annotations__))
        columns = [(name, self.facts[name]) for name in HitFacts.__annotations__]
        # To take rows of all columns, and to convert these, takes twice as long for ten documents.
        facts = ({name: column[doc].as_py() for name, column in columns} for doc in docs)
        shown = (cast(StoredTexts, {"sections": None} | of_doc) for of_doc in texts)
        return {
            doc: StoredDocument(cast(HitFacts, of_hit), of_doc, self.page_facts.of(doc))
            for doc, of_hit, of_doc in zip(docs, facts, shown, strict=True)
        }

    def titles(self, docs: Sequence[int]) -> list[str]:
        """The titles of documents, by ascending numbers; empty where there is none. Reads no other text."""
        return [row["title"] or "" for row in self._files.rows(DOCSTORE, docs, ["title"])]

    def _phrases(self, phrases: Collection[tuple[str, ...]]) -> dict[Unit, Postings]:
        """The postings of phrases of exact forms, with frequencies in title and body."""
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


def _distinct_values(column: pa.ChunkedArray) -> tuple[list[str], Ints]:
    """The distinct values of a column of _REPEATED, and the number of each document's value; null counts as ""."""
    encoded = column.combine_chunks()
    values = encoded.dictionary.to_pylist()
    if encoded.null_count and "" not in values:
        values.append("")
    numbers = encoded.indices
    return values, (numbers.fill_null(values.index("")) if numbers.null_count else numbers).to_numpy()


def _moments(column: pa.ChunkedArray) -> Moments:
    return column.cast(pa.timestamp("us")).to_numpy()
