"""Whether a page holds anything new: the measure by which traps are told from content.

A digest knows copies. A month without events, a listing under other filters, or a room of a maze says what its
neighbours say, with other numbers and names. So a page is compared with a few others of its template, its trap_samples:
if these have most of its words, it brings no news. Words with digits and those of its own URL do not count.
"""

import itertools
import zlib
from collections import Counter, deque
from collections.abc import Iterable

import numpy as np

from ..indexing.analysis import tokens

_LOOKED_AT = 2000  # characters of a text
_LINKS, _ENOUGH = 200, 12  # links that are looked at, and words that make up a text without them
_KEPT = 8  # trap_samples, from round to round
_SKETCH = 8  # least hashes of a page; two pages that are alike share most of them
_LISTED, _COMPARED = 32, 4  # trap_samples that share one of them, and those that share most, that are looked at
# Of 13,533 pages of five real sites, 93 % of four and half of the fifth (the reference of a class library) differ by
# more from all trap_samples; a month without events and a room of a maze do not (docs/traps.md).
_ALIKE = 0.75  # of a page's words
_TELLING = 10  # words; a page with fewer says too little to be called different


def page_words(title: str, text: str, url: str, links: Iterable[str]) -> bytes:
    """The words of a page that may be news, as hashes of four bytes each, sorted.

    Those that its links are named by are left out too, unless the page has hardly any others.
    """
    words = {word for word in tokens(f"{title} {text[:_LOOKED_AT]}") if word.isalpha()}.difference(tokens(url))
    names = " ".join("/".join(link.rsplit("/", 2)[1:]) for link in itertools.islice(links, _LINKS))
    own = words.difference(tokens(names))
    return pack(zlib.crc32(word.encode()) for word in (own if len(own) >= _ENOUGH else words))


class TrapSamples:
    """Pages of one family, to compare others with."""

    def __init__(self, words: Iterable[bytes] = ()) -> None:
        self._pages = list[bytes]()
        self._said = list[set[int]]()
        self._alike = dict[int, None]()  # those that others were like, the last of them last
        self._by_least = dict[int, deque[int]]()
        self.telling = 0  # of them, those with more than a few words
        for each in words:
            self._add(each, unpack(each))

    def is_news(self, words: bytes) -> bool:
        """Whether a page says something else than each of them; if so, it becomes one."""
        said = unpack(words)
        shared = Counter(number for least in _least(words) for number in self._by_least.get(least, ()))
        for number, _ in shared.most_common(_COMPARED):
            if len(said & self._said[number]) >= _ALIKE * len(said):
                self._alike.pop(number, None)
                self._alike[number] = None
                return False
        self._add(words, said)
        return bool(said)

    def kept(self) -> list[bytes]:
        """Those that are worth keeping, eight at most: what others were like, then what came last."""
        numbers = dict.fromkeys([*reversed(self._alike), *reversed(range(len(self._pages)))])
        return [self._pages[number] for number in numbers][:_KEPT][::-1]

    def _add(self, words: bytes, said: set[int]) -> None:
        for least in _least(words):
            self._by_least.setdefault(least, deque(maxlen=_LISTED)).append(len(self._pages))
        self._pages.append(words)
        self._said.append(said)
        self.telling += len(said) >= _TELLING


def _least(words: bytes) -> list[int]:
    """A sketch of a page: the bottom-k hashes of Cohen and Kaplan (2007)."""
    return np.frombuffer(words[: 4 * _SKETCH], np.uint32).tolist()


def form_hash(form: str) -> int:
    return zlib.crc32(form.encode())


def pack(hashes: Iterable[int]) -> bytes:
    return np.array(sorted(hashes), np.uint32).tobytes()


def unpack(data: bytes | None) -> set[int]:
    return set(np.frombuffer(data or b"", np.uint32).tolist())
