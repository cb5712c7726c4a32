"""Looks up words and phrases in an index folder: documents, frequencies and positions."""

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...transforms.indexing.analysis import is_further, leading_to, word_classes
from ...transforms.indexing.invert import PHRASE_FIELDS
from ...transforms.indexing.light_stems import STEMS
from ...transforms.indexing.packing import FIELD_BITS, max_frequency, undo_gaps
from ...transforms.indexing.term_forms import Languages
from ...transforms.indexing.write_segment import FORMS, POSTINGS, WORDS, suggestible
from . import patterns
from .cache import Cache
from .pages import Bytes, together
from .parquet_files import Files

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
_NONE = np.empty(0, np.int32)
_FORMS_COLUMNS = ("class", "language", "forms")

Unit = str | tuple[str, ...]
"""A unit of a query: a word in any of its forms, or a phrase of consecutive exact forms."""

_RARE = 16  # lists of fewer than one document in so many are sorted, or inserted into a list of so many

MAX_CACHED_WORDS = 1_000
"""Words whose forms are cached."""

MAX_CACHED_IDS = 20_000
"""Ids of sections that are cached by the names of links to them, of at most 800 bytes each."""


class Postings(NamedTuple):
    """The documents that contain a term, ascending, and parallel arrays of frequencies by field."""

    docs: Ints
    frequencies: Mapping[str, Ints]

    def only(self, chosen: npt.NDArray[np.bool_] | slice) -> "Postings":
        """The postings that a mask over `docs` selects, or a slice."""
        return Postings(self.docs[chosen], {field: tf[chosen] for field, tf in self.frequencies.items()})


class Positions(NamedTuple):
    """The positions of a term: parallel arrays, sorted by document and then position."""

    docs: Ints
    positions: Ints


NO_POSTINGS = Postings(_NONE, {})
NO_POSITIONS = Positions(_NONE, _NONE)


class Terms:
    """The files of an index folder that are sorted by term, for some fields of its documents."""

    def __init__(self, files: Files, fields: Sequence[str], languages: Languages) -> None:
        self._files, self._fields, self._languages = files, fields, languages
        self._forms: Cache[str, dict[str, list[int]]] = Cache(MAX_CACHED_WORDS)
        self._ids: Cache[str, list[tuple[str, Ints]]] = Cache(MAX_CACHED_IDS, lambda ids: 1 + len(ids))

    def look_up(self, words: Collection[str], exact: Collection[str]) -> dict[Unit, Postings]:
        """The postings of words, in any form that the word has in the language of the document, and of exact forms.

        An exact form of one of the words is read once.
        """
        forms = self.forms(words) if words else {}
        postings = self.exact({form for found in forms.values() for form in found}.union(exact))
        found: dict[Unit, Postings] = {
            word: unite([self._in_languages(codes, postings[form]) for form, codes in forms[word].items()])
            for word in words
        }
        return found | {(term,): postings[term] for term in exact}

    def _in_languages(self, codes: Sequence[int], postings: Postings) -> Postings:
        if len(codes) == len(self._languages.names) or not len(postings.docs):
            return postings
        is_wanted = np.zeros(len(self._languages.names), bool)
        is_wanted[codes] = True
        return postings.only(is_wanted[self._languages.codes[postings.docs]])

    def exact(self, terms: Collection[str]) -> dict[str, Postings]:
        parts: dict[str, list[Postings]] = {term: [] for term in terms}
        for first, rows in self._lists(parts):
            if isinstance(rows, pa.Table):
                for row, term in enumerate(rows["term"].to_pylist()):
                    parts[term].append(self._postings(rows.slice(row, 1)))
            else:
                parts[first].append(self._of_bytes(**rows))
        return {term: shifted(of_term, itertools.repeat(0)) for term, of_term in parts.items()}

    def any_of(self, stand_for: Mapping[str, Collection[str]]) -> dict[Unit, Postings]:
        """The postings of patterns: the exact forms for which one stands count as one."""
        return {
            pattern: unite(
                [
                    _together(rows["docs"].combine_chunks(), rows["tf"].combine_chunks(), self._fields)
                    if isinstance(rows, pa.Table)
                    else self._of_bytes(**rows)
                    for _, rows in self._lists(terms)
                ]
            )
            for pattern, terms in stand_for.items()
        }

    def _lists(self, terms: Collection[str]) -> Iterator[tuple[str, pa.Table | dict[str, Bytes]]]:
        return self._files.find_lists(POSTINGS, terms, ("term", "docs", "tf"), ("docs", "tf"))

    def positions(self, terms: Collection[str]) -> dict[str, Positions]:
        """The positions of exact forms in the PHRASE_FIELDS."""
        parts: dict[str, list[Positions]] = {term: [NO_POSITIONS] for term in terms}
        for term, row in self._files.find(POSTINGS, parts, ("term", "docs", "tf", "positions")):
            parts[term].append(self._positions(row))
        return {term: Positions(*map(np.concatenate, zip(*of_term, strict=True))) for term, of_term in parts.items()}

    def forms(self, words: Collection[str]) -> dict[str, dict[str, list[int]]]:
        """The forms of words, each with the numbers of the languages in which it is a form of the word."""
        return self._forms.get(words, self._read_forms)

    def _read_forms(self, words: list[str]) -> dict[str, dict[str, list[int]]]:
        names = self._languages.names
        # Segments of earlier versions have the words of documents in the languages of STEMS as those of no language.
        stemmed = names if STEMS.keys().isdisjoint(names) else {"", *names}
        classes = {
            (word, language): word_class
            for language in stemmed
            for word, word_class in zip(words, word_classes(list(words), language), strict=True)
        }
        with_forms = {word_class for (word, _), word_class in classes.items() if not is_further(word)}
        rows = [row.to_pylist()[0] for _, row in self._files.find(FORMS, with_forms, _FORMS_COLUMNS)]
        forms = {(row["class"], row["language"]): row["forms"] for row in rows}
        found: dict[str, dict[str, list[int]]] = {word: {} for word in words}
        for code, language in enumerate(names):
            for word in words:
                key = (classes[word, language], language)
                of_word = forms.get(
                    key, [key[0], word]
                )  # itself: earlier versions had other classes of words with points
                if language in STEMS and key not in forms:
                    unstemmed = (classes[word, ""], "")
                    of_word = list(dict.fromkeys([*of_word, *forms.get(unstemmed, [unstemmed[0]])]))
                for form in of_word:
                    found[word].setdefault(form, []).append(code)
        return found

    def words(self) -> pa.Table:
        """The `suggestible` terms with `df`, the number of documents; a term of several rows may have parts of it."""
        if self._files.has(WORDS):
            return self._files.read(WORDS, ("term", "df"))
        return suggestible(self._files.read(POSTINGS, ("term", "df")))

    def frequent(self) -> Counter[str]:
        """The terms of many documents, with a number of these; for the most frequent ones, of all. Reads no posting."""
        return self._files.long_rows(POSTINGS, "docs")

    def like(self, pattern: str) -> pa.Table:
        """The terms that a pattern matches, with `df` as in `words`."""
        start = patterns.prefix(pattern)
        rows = self._files.between(POSTINGS, start, f"{start}\U0010ffff", ("term", "df"))
        return rows.filter(pc.match_substring_regex(rows["term"], patterns.expression(pattern)))

    def led_to(self, name: str, docs: Collection[int]) -> dict[int, str]:
        """The ids of the sections of documents that links with this name lead to."""
        of_ids = self._ids.get([name], self._read_ids)[name]
        return {doc: id_ for id_, having in of_ids for doc in {*docs}.intersection(having.tolist())}

    def _read_ids(self, names: list[str]) -> dict[str, list[tuple[str, Ints]]]:
        """The ids that links with some names lead to, each with its documents."""
        found: dict[str, list[tuple[str, Ints]]] = {name: [] for name in names}
        for name, forms in self.forms(names).items():
            for form, codes in forms.items():
                start = leading_to(form, "")
                rows = self._files.between(POSTINGS, start, f"{start}\U0010ffff", ("term", "docs"))
                for term, gaps in zip(rows["term"].to_pylist(), rows["docs"], strict=True):
                    postings = Postings(np.cumsum(gaps.values.to_numpy(), dtype=np.int32), {})
                    found[name].append((term.removeprefix(start), self._in_languages(codes, postings).docs))
        return found

    def all_postings(self) -> pa.Table:
        """All rows of the postings file, without positions."""
        return self._files.read(POSTINGS, ("term", "df", "cf", "docs", "tf"))

    def _postings(self, row: pa.Table) -> Postings:
        docs = np.cumsum(row["docs"][0].values.to_numpy(), dtype=np.int32)
        return Postings(docs, frequencies(row["tf"][0].values.to_numpy(), self._fields))

    def _of_bytes(self, docs: Bytes, tf: Bytes) -> Postings:
        bits = {field: FIELD_BITS[field] for field in self._fields}
        found = {field: together(tf[start >> 3 : (start + count + 7) >> 3]) for field, (start, count) in bits.items()}
        return Postings(
            np.cumsum(together(docs), dtype=np.int32), {field: tf for field, tf in found.items() if tf.any()}
        )

    def _positions(self, row: pa.Table) -> Positions:
        postings = self._postings(row)
        counts = np.zeros(len(postings.docs), np.int32)
        for field in PHRASE_FIELDS:
            counts += postings.frequencies.get(field, np.uint8(0))
        positions = undo_gaps(row["positions"][0].values.to_numpy(), counts)
        return Positions(np.repeat(postings.docs, counts), positions)


def _together(gaps: pa.ListArray, packed: pa.ListArray, fields: Sequence[str]) -> Postings:
    """The union of the postings of several rows: what is done once for each row costs more than all else."""
    docs = np.cumsum(gaps.flatten().to_numpy(), dtype=np.int64)
    lengths = gaps.value_lengths().to_numpy()
    docs -= np.repeat([0, *docs[np.cumsum(lengths)[:-1] - 1]], lengths)
    order = np.argsort(docs, kind="stable")
    docs = docs[order]
    firsts = np.flatnonzero(np.diff(docs, prepend=-1))
    found = frequencies(packed.flatten().to_numpy(), fields)
    sums = {field: smallest(np.add.reduceat(tf[order], firsts, dtype=np.int64)) for field, tf in found.items()}
    return Postings(docs[firsts].astype(np.int32), sums)


def frequencies(packed: Longs, fields: Sequence[str]) -> dict[str, Ints]:
    """The frequencies of those of some fields that occur, in the smallest type, from `tf` as `pack` returns it."""
    found = {}
    beyond = [field for field in fields if FIELD_BITS[field][0]]
    others = np.flatnonzero(packed >= 1 << min(FIELD_BITS[field][0] for field in beyond)) if beyond else _NONE
    for field in fields:
        start = FIELD_BITS[field][0]
        if not start:
            tf = packed.astype(np.uint32)  # without the high bits
            tf &= max_frequency(field)
            if most := int(tf.max(initial=0)):
                found[field] = tf.astype(np.min_scalar_type(most))
        elif len(others) and (most := int((of_others := packed[others] >> start & max_frequency(field)).max())):
            found[field] = np.zeros(len(packed), np.min_scalar_type(most))
            found[field][others] = of_others
    return found


def smallest(numbers: Ints) -> Ints:
    """The same numbers, none of them negative, in the smallest type that holds them."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))), copy=False)


def unite(parts: Sequence[Postings]) -> Postings:
    """The union of postings, with frequencies added up."""
    parts = sorted((part for part in parts if len(part.docs)), key=lambda part: -len(part.docs))
    if len(parts) < 2:
        return parts[0] if parts else NO_POSTINGS
    largest, rest = parts[0], parts[1:]
    if sum(len(part.docs) for part in rest) * _RARE < len(largest.docs):
        return _with_few(largest, unite(rest))
    docs = _union([part.docs for part in parts])
    places = np.empty(docs[-1] + 1, np.int32)  # only the elements of `docs` are used
    places[docs] = np.arange(len(docs), dtype=np.int32)
    sums = {field: np.zeros(len(docs), type_) for field, type_ in _types_of_sums(parts).items()}
    for part in parts:
        _add(sums, places[part.docs], part)
    return Postings(docs, sums)


def _with_few(postings: Postings, few: Postings) -> Postings:
    """The union of postings with few others: those that are new are inserted."""
    places = np.searchsorted(postings.docs, few.docs)
    is_new = postings.docs[np.minimum(places, len(postings.docs) - 1)] != few.docs
    new = places[is_new]
    types = _types_of_sums([postings, few])
    none = np.zeros(len(postings.docs), np.uint8)
    sums = {field: np.insert(postings.frequencies.get(field, none).astype(types[field]), new, 0) for field in types}
    _add(sums, places + np.cumsum(is_new) - is_new, few)
    return Postings(np.insert(postings.docs, new, few.docs[is_new]), sums)


def _types_of_sums(parts: Sequence[Postings]) -> dict[str, np.dtype]:
    """By field, the smallest type for frequencies that are added up."""
    most: Counter[str] = Counter()
    for part in parts:
        most.update({field: int(tf.max(initial=0)) for field, tf in part.frequencies.items()})
    return {field: np.min_scalar_type(sum_) for field, sum_ in most.items()}


def _add(sums: Mapping[str, Ints], places: npt.NDArray[np.signedinteger], part: Postings) -> None:
    """Add the frequencies of postings, whose documents have these places."""
    for field, tf in part.frequencies.items():
        sums[field][places] += tf.astype(sums[field].dtype, copy=False)  # the documents are distinct


def _union(parts: Sequence[Ints]) -> Ints:
    """The distinct numbers of ascending lists that are not empty, ascending."""
    end = max(int(part[-1]) for part in parts) + 1
    if sum(map(len, parts)) * _RARE < end:
        docs = np.sort(np.concatenate(parts), kind="stable")  # which is fast on ascending runs; numpy.unique is not
        return docs[np.flatnonzero(np.diff(docs, prepend=-1))]
    is_in_any = np.zeros(end, bool)  # faster than to sort them, unless they are few
    for part in parts:
        is_in_any[part] = True
    return np.flatnonzero(is_in_any).astype(np.int32)


def shifted(parts: Sequence[Postings], starts: Iterable[int]) -> Postings:
    """The postings of several segments or rows, when the documents of each are numbered from one of `starts` on."""
    if len(parts) == 1 and not any(itertools.islice(starts, 1)):
        return Postings(parts[0].docs, dict(sorted(parts[0].frequencies.items())))
    ends = np.cumsum([len(part.docs) for part in parts], dtype=np.int64).tolist()
    docs = np.empty(ends[-1] if ends else 0, np.int32)
    types: dict[str, list[np.dtype]] = {}
    for part in parts:
        for field, tf in part.frequencies.items():
            types.setdefault(field, []).append(tf.dtype)
    frequencies = {field: np.zeros(len(docs), np.result_type(*types[field])) for field in sorted(types)}
    for part, start, end in zip(parts, starts, ends, strict=False):  # written where they belong: new memory is slow
        place = slice(end - len(part.docs), end)
        np.add(part.docs, np.int32(start), out=docs[place])
        for field, tf in part.frequencies.items():
            frequencies[field][place] = tf
    return Postings(docs, frequencies)


def in_a_row(words: Sequence[Positions]) -> Positions:
    """The positions of the first word where all words follow one another in this order.

    >>> first = Positions(np.array([3, 3, 8]), np.array([0, 7, 2]))
    >>> second = Positions(np.array([3, 8]), np.array([8, 1]))
    >>> [array.tolist() for array in in_a_row([first, second])]
    [[3], [7]]
    """
    # The start of the phrase by each of its words, as document << 32 + position; positions are far below 2**32.
    rarest = min((word.docs for word in words), key=len)
    may_have = np.zeros(max((int(word.docs[-1]) + 1 for word in words if len(word.docs)), default=0), bool)
    may_have[rarest] = True
    begins = []
    for place, word in enumerate(words):
        chosen = may_have[word.docs]
        begin = word.docs[chosen].astype(np.int64)  # then in place: a common word has millions of positions
        begin <<= 32
        begin += word.positions[chosen]
        begin -= place
        begins.append(begin)
    begins.sort(key=len)
    common = begins[0]
    for other in begins[1:]:  # all ascend
        common = common[other.take(other.searchsorted(common), mode="clip") == common]
    return Positions((common >> 32).astype(np.int32), (common & 0xFFFFFFFF).astype(np.int32))
