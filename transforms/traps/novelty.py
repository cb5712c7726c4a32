"""Detects news on a page: words, names and numbers that no earlier page of its family contains."""

from collections.abc import Iterable, Set
from itertools import filterfalse
from typing import NamedTuple

import numpy as np

from ..batches.batch_schemas import YieldRow

_ENOUGH = 2  # minimum new words of a text; of a title one suffices
_TELLING = 10  # minimum new words of a page that is not a variation of others
_MOST = 200_000  # maximum number of stored words of a family


class Family:
    """The known words of the pages of a family."""

    def __init__(self, seen: Iterable[bytes] = ()) -> None:
        self.seen = set[int]().union(*map(unpack, seen))
        self.added: list[int] = []
        self.telling = 0  # pages of this round with many new words

    def take(self, page: YieldRow, elsewhere: Set[int] = frozenset()) -> "Novelty":
        """Adds the words of a page and returns their novelty. Words `elsewhere` are known, too."""
        words = memoryview(page["words"] or b"").cast("I").tolist()
        text = set(filterfalse(self.seen.__contains__, words))
        if len(self.seen) < _MOST:
            self.seen |= text
            self.added += text
        new, own = text - elsewhere, unpack(page["own_words"])
        title = new.intersection(unpack(page["title_words"]))  # whose words are among those of the text
        is_news = bool(title) or len(new) >= _ENOUGH
        self.telling += len(new) >= _TELLING
        return Novelty(bool(title), is_news, is_news and title <= own and len(new - own) < _ENOUGH, text)


class Novelty(NamedTuple):
    """The novelty of a page within its family."""

    has_new_title: bool  # at least one new word in the title
    is_news: bool
    is_named: bool  # and all of it is in the page's own URL and its links below its folder
    words: Set[int]  # of the text, that no page of the family had


def pack(hashes: Iterable[int]) -> bytes:
    array = np.fromiter(hashes, np.uint32)
    array.sort()
    return array.tobytes()


def unpack(data: bytes | None) -> set[int]:
    return set(memoryview(data).cast("I")) if data else set()
