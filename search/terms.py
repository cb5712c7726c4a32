"""The terms of an index folder: who has them, how often, and where they stand."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from search.files import Files
from transforms.index import FORMS, POSITIONS, POSTINGS, undo_gaps
from transforms.index_invert import PHRASE_FIELDS

Ints = npt.NDArray[np.int32]
_NONE = np.empty(0, np.int32)


class Postings(NamedTuple):
    """The documents that have something, rising, and parallel to them how often, by field."""

    docs: Ints
    frequencies: Mapping[str, Ints]

    def only(self, chosen: npt.NDArray[np.bool_]) -> "Postings":
        """Some of them, by a mask over `docs`."""
        return Postings(self.docs[chosen], {field: tf[chosen] for field, tf in self.frequencies.items()})


class Positions(NamedTuple):
    """Where a term stands: parallel arrays, sorted by document and then position."""

    docs: Ints
    positions: Ints


NO_POSTINGS = Postings(_NONE, {})
NO_POSITIONS = Positions(_NONE, _NONE)


class Terms:
    """The files of an index folder that are sorted by term."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def postings(self, terms: Collection[str]) -> dict[str, Postings]:
        """The postings of exact forms; those that no document has are left out."""
        return {term: _postings(row) for term, row in self._files.find(POSTINGS, terms)}

    def positions(self, terms: Collection[str]) -> dict[str, Positions]:
        """Where exact forms stand in the PHRASE_FIELDS; those that no document has are left out."""
        postings = self.postings(terms)
        return {term: _positions(row, postings[term]) for term, row in self._files.find(POSITIONS, postings)}

    def forms(self, word_classes: Collection[str]) -> dict[tuple[str, str], list[str]]:
        """The forms of words by class and language; a class without a row has itself as its form."""
        found = [row.to_pylist()[0] for _, row in self._files.find(FORMS, word_classes)]
        return {(row["class"], row["language"]): row["forms"] for row in found}

    def frequencies(self) -> pa.Table:
        """All terms with `df`, in how many documents they are."""
        return self._files.read(POSTINGS, ["term", "df"])

    def inverted(self) -> tuple[list[str], Ints, Postings]:
        """All terms, how many postings each has, and the postings, one term's after another's."""
        rows = self._files.read(POSTINGS).combine_chunks()
        counts = rows["df"].to_numpy().astype(np.int32)
        flat = {name: pc.list_flatten(rows[name]).to_numpy() for name in rows.column_names[3:]}
        docs = undo_gaps(flat.pop("docs"), counts)
        return rows["term"].to_pylist(), counts, Postings(docs, {n.removeprefix("tf_"): tf for n, tf in flat.items()})


def unite(parts: Sequence[Postings]) -> Postings:
    """The documents that any of the parts has, with the frequencies added up."""
    parts = [part for part in parts if len(part.docs)]
    if len(parts) < 2:
        return parts[0] if parts else NO_POSTINGS
    docs, places = np.unique(np.concatenate([part.docs for part in parts]), return_inverse=True)
    frequencies = {field: np.zeros(len(docs), np.int32) for part in parts for field in part.frequencies}
    start = 0
    for part in parts:
        place = places[start : start + len(part.docs)]
        for field, frequency in part.frequencies.items():
            frequencies[field][place] += frequency  # a part has a document once
        start += len(part.docs)
    return Postings(docs, frequencies)


def _postings(row: pa.Table) -> Postings:
    docs = np.cumsum(row["docs"][0].values.to_numpy(), dtype=np.int32)
    # Copied, or what is kept of one term would hold on to its whole row group.
    fields = [name for name in row.column_names if name.startswith("tf_")]
    return Postings(docs, {name.removeprefix("tf_"): row[name][0].values.to_numpy().copy() for name in fields})


def _positions(row: pa.Table, postings: Postings) -> Positions:
    counts = np.add.reduce([postings.frequencies[field] for field in PHRASE_FIELDS])
    positions = undo_gaps(row["positions"][0].values.to_numpy(), counts)
    return Positions(np.repeat(postings.docs, counts), positions)
