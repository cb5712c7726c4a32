"""Detects news on a page: words, names and numbers that no earlier page of its family contains."""

import re
import zlib
from collections.abc import Iterable, Set
from itertools import filterfalse
from typing import NamedTuple

import numpy as np

_WORD = re.compile(r"\w+(?:[.:'-]+\w+)*")  # names such as Gtk.Label.get_text, times and dates are one word each
_PART = re.compile(r"[^\W_]+")
_DIGITS = re.compile(r"[0-9]+")
_ENOUGH = 2  # minimum new words of a text; of a title one suffices
_TELLING = 10  # minimum new words of a page that is not a variation of others
_MOST = 200_000  # maximum number of stored words of a family


class PageWords(NamedTuple):
    """The words of a page, as sorted hashes of four bytes each."""

    title: bytes
    text: bytes  # including the title
    own: bytes = b""  # those of the text that are in the page's URL, or in its links to URLs below its folder


def page_words(title: str, text: str, url: str, links: Iterable[str]) -> PageWords:
    """The words of a page that may be news.

    Excludes the numbers of its own URL and of neighbouring URLs, because an endless series of dates or pages increments
    them, and from the text all words of these URLs, because a generated page repeats its URL.
    Neighbours are links into the same folder, and to URLs that differ only in numbers.
    """
    folder, shape = url[: url.rfind("/") + 1], _DIGITS.sub("#", url)
    near, below = [url], [url]
    for link in links:
        if link.startswith(folder):
            below.append(link[len(folder) :])
        if link.startswith(folder) and "/" not in link[len(folder) :]:
            near.append(link[len(folder) :])
        elif link[:_SHARED] == url[:_SHARED] and _DIGITS.sub("#", link) == shape:
            near.append(link)
    own = _parts(near)
    named = own if near == below else _parts(below)
    numbers = set(filter(str.isdecimal, own))
    titled = {word for word in _WORD.findall(title.lower()) if not numbers.issuperset(_PART.findall(word))}
    said = set(_WORD.findall(text.lower())).difference(own, titled)
    compounds = {word for word in said if not word.isalnum()}
    words = titled | said.difference(word for word in compounds if own.issuperset(_PART.findall(word)))
    joined = (compounds & words) | {word for word in titled if not word.isalnum()}
    own_words = (words & named) | {word for word in joined if named.issuperset(_PART.findall(word))}
    return PageWords(_hashes(titled), _hashes(words), _hashes(own_words))


def _parts(urls: Iterable[str]) -> set[str]:
    return set(_PART.findall(" ".join(urls).lower()))


_SHARED = 12  # characters; a fast test that precedes a slow one


def _hashes(words: Iterable[str]) -> bytes:
    return pack(map(zlib.crc32, map(str.encode, words)))


class Family:
    """The known words of the pages of a family."""

    def __init__(self, seen: Iterable[bytes] = ()) -> None:
        self.seen = set[int]().union(*map(unpack, seen))
        self.added: list[int] = []

    def take(self, words: PageWords, elsewhere: Set[int] = frozenset()) -> "Novelty":
        """Adds the words of a page and returns their novelty. Words `elsewhere` are known, too."""
        text = set(filterfalse(self.seen.__contains__, memoryview(words.text).cast("I").tolist()))
        title = text.intersection(unpack(words.title))  # whose words are among those of the text
        if len(self.seen) < _MOST:
            self.seen |= text
            self.added += text
        new_title, new = title - elsewhere, text - elsewhere
        is_news = bool(new_title) or len(new) >= _ENOUGH
        is_named = is_news and new_title <= (own := unpack(words.own)) and len(new - own) < _ENOUGH
        return Novelty(bool(new_title), is_news, is_named, len(new) >= _TELLING, text)


class Novelty(NamedTuple):
    """The novelty of a page within its family."""

    has_new_title: bool  # at least one new word in the title
    is_news: bool
    is_named: bool  # and all of it is in the page's own URL and its links below its folder
    is_telling: bool
    words: Set[int]  # of the text, that no page of the family had


def form_hash(form: str) -> int:
    return zlib.crc32(form.encode())


def pack(hashes: Iterable[int]) -> bytes:
    array = np.fromiter(hashes, np.uint32)
    array.sort()
    return array.tobytes()


def unpack(data: bytes | None) -> set[int]:
    return set(memoryview(data).cast("I")) if data else set()
