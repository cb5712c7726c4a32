"""The facts of the documents of a segment, as filters of queries and as hits show them."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

COLUMN = "facts"
"""The column of `docs` that has them, a map; only segments with facts have it."""


class _Values(NamedTuple):
    docs: npt.NDArray[np.int64]  # each document that has it
    values: list[list[str]]  # of each of these, in small letters


class PageFacts:
    """The facts by name; a fact has one value or more, separated by line breaks."""

    def __init__(self, docs: pa.Table) -> None:
        """`docs` is the table of a segment."""
        self._documents = docs.num_rows
        self._column: Any = docs[COLUMN].combine_chunks() if COLUMN in docs.column_names else None
        self._of_name = functools.lru_cache(64)(self._read)

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """The names that any document has, as queries can have them: in small letters."""
        found = [] if self._column is None else pc.unique(self._column.keys).to_pylist()
        return frozenset(name for name in found if name == name.lower())

    def of(self, doc: int) -> dict[str, list[str]]:
        """The facts of a document."""
        if self._column is None:
            return {}
        return {name: value.split("\n") for name, value in self._column[doc].as_py() or ()}

    def having(self, name: str, value: str) -> npt.NDArray[np.bool_]:
        """Whether each document has a value of a fact; `value` is in small letters, * in it is any characters."""
        mask = np.zeros(self._documents, bool)
        if name in self.names:
            docs, values = self._of_name(name)
            parts = value.split("*")
            mask[docs[[any(is_like(each, parts) for each in of_doc) for of_doc in values]]] = True
        return mask

    def _read(self, name: str) -> _Values:
        column = self._column
        is_named = pc.equal(column.keys, name)
        docs = np.repeat(np.arange(self._documents), np.diff(column.offsets.to_numpy()))
        values = [text.casefold().split("\n") for text in column.items.filter(is_named).to_pylist()]
        return _Values(docs[is_named.to_numpy(zero_copy_only=False)], values)


def is_like(text: str, parts: Sequence[str]) -> bool:
    """Whether a text consists of some parts, in order, with any characters between them; in linear time.

    >>> is_like("3.12.1", ["3.", ""]), is_like("3.12", ["3", "2", "2"]), is_like("3", ["3"])
    (True, False, True)
    """
    first, *others = parts
    if not others:
        return text == first
    if not text.startswith(first):
        return False
    place = len(first)
    for part in others[:-1]:
        found = text.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return len(text) - place >= len(others[-1]) and text.endswith(others[-1])
