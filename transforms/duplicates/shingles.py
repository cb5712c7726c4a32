"""Finds parts of known texts in other texts by shared runs of words (Broder 1997, "containment")."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..indexing.analysis import tokens

WORDS = 8
"""Words of a shingle: shorter runs are often shared by chance."""

_SHARE, _COUNT = 0.2, 40  # either suffices: a fifth of a text, or the shingles of one paragraph


class Contained(NamedTuple):
    """The part of a known text that another text contains."""

    name: str
    share: float  # of the known text's shingles
    runs: int


class Texts:
    """Known texts by name."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._names: dict[int, list[str]] = {}
        self._sizes: dict[str, int] = {}
        for name, text in texts.items():
            found = shingles(text)
            self._sizes[name] = len(found)
            for shingle in found:
                self._names.setdefault(shingle, []).append(name)

    def find(self, text: str) -> Iterator[Contained]:
        """The known texts of which this text contains a fifth, or a paragraph."""
        if not self._sizes:
            return
        shared = self._names.keys() & shingles(text)
        counts = Counter(name for shingle in shared for name in self._names[shingle])
        for name, count in sorted(counts.items()):
            if count >= _COUNT or count >= _SHARE * self._sizes[name]:
                yield Contained(name, count / self._sizes[name], count)


def shingles(text: str) -> set[int]:
    """The hashes of all runs of WORDS words; valid in this process only."""
    words = tokens(text)
    return set(map(hash, zip(*(words[start:] for start in range(WORDS)), strict=False)))
