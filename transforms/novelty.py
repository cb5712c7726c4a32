"""What a page says that its host has not said before: the measure by which traps are told from content.

A digest knows copies. A calendar without events, a listing under other filters, or a maze says on each page the same
with other numbers and names. So what counts are the words of a page, without those that have digits and those of its
own URL, that the host's earlier pages did not have.
"""

import dataclasses
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from transforms.analysis import tokens

_LOOKED_AT = 4000  # characters of a text; what is said is said there
_LEAST = 2  # words
# By Heaps' law a text in a natural language goes on bringing new words, ever fewer: on page n some n ** -0.4 of them.
# Of 3,379 pages of real documentation all but near copies bring more than an eighth of that (docs/traps.md).
_SHARE, _EXPONENT = 0.12, -0.4
_TOO_FEW = 8  # words, to tell anything, once only a sample is known
_MOST_WORDS = 1 << 16
_ALL = 1 << 32


def page_words(title: str, text: str, url: str) -> bytes:
    """The words of a page that may be news, as hashes of four bytes each."""
    found = {word for word in tokens(f"{title} {text[:_LOOKED_AT]}") if word.isalpha()} - set(tokens(url))
    return np.fromiter((zlib.crc32(word.encode()) for word in found), np.uint32, len(found)).tobytes()


def form_hash(form: str) -> int:
    return zlib.crc32(form.encode())


@dataclasses.dataclass
class Vocabulary:
    """What a host has said so far. Beyond 65,536 words only those are kept whose hash is `below` a bound."""

    pages: int = 0  # with news
    below: int = _ALL
    words: set[int] = dataclasses.field(default_factory=set)
    forms: set[int] = dataclasses.field(default_factory=set)  # of the URLs with opaque tokens that were visited

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> "Vocabulary":
        """Rows of table vocabulary, one a round, hold what each round has added."""
        known = cls()
        for row in rows:
            known.pages, known.below = max(known.pages, row["pages"]), min(known.below, row["below"])
            known.words.update(hashes(row["words"]))
            known.forms.update(hashes(row["forms"]))
        return known

    def copy(self) -> "Vocabulary":
        return dataclasses.replace(self, words=set(self.words), forms=set(self.forms))

    def learn(self, words: bytes) -> bool:
        """Take in the words of a page; whether they are news."""
        said = {word for word in hashes(words) if word < self.below}
        new = said - self.words
        self.words |= new
        is_fresh = len(new) >= max(_LEAST, _SHARE * (self.pages + 1) ** _EXPONENT * len(said))
        if self.below < _ALL and len(said) < _TOO_FEW:
            is_fresh = True
        self.pages += is_fresh
        while len(self.words) > _MOST_WORDS:
            self.below //= 2
            self.words = {word for word in self.words if word < self.below}
        return is_fresh

    def row(self, host: str, round_: int, before: "Vocabulary") -> dict[str, Any]:
        """The row of table vocabulary for a round that began with what was known `before`."""
        added = {name: _bytes(getattr(self, name) - getattr(before, name)) for name in ("words", "forms")}
        return {"host": host, "round": round_, "pages": self.pages, "below": self.below, **added}


def hashes(data: bytes | None) -> list[int]:
    """The hashes in a column of table vocabulary."""
    return np.frombuffer(data or b"", np.uint32).tolist()


def _bytes(hashes: set[int]) -> bytes:
    return np.array(sorted(hashes), np.uint32).tobytes()
