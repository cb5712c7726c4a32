"""Detects news on a page: words, names and numbers that no earlier page of its family contains."""

import re
import zlib
from collections.abc import Iterable, Set
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
    own = set(_PART.findall(" ".join(near).lower()))
    numbers = {part for part in own if part.isdecimal()}
    titled = {word for word in _WORD.findall(title.lower()) if not numbers.issuperset(_PART.findall(word))}
    said = {word for word in _WORD.findall(text.lower()) if word not in own}
    told = {word for word in said.difference(titled) if word.isalnum() or not own.issuperset(_PART.findall(word))}
    named = set(_PART.findall(" ".join(below).lower()))
    own_words = {word for word in titled | told if named.issuperset(_PART.findall(word))}
    return PageWords(_hashes(titled), _hashes(titled | told), _hashes(own_words))


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
        title, text = unpack(words.title) - self.seen, unpack(words.text) - self.seen
        if len(self.seen) < _MOST:
            self.seen |= text
            self.added += sorted(text)
        title, text = title - elsewhere, text - elsewhere
        own = unpack(words.own)
        is_news = bool(title) or len(text) >= _ENOUGH
        is_named = is_news and title <= own and len(text - own) < _ENOUGH
        return Novelty(bool(title), is_news, is_named, len(text) >= _TELLING)


class Novelty(NamedTuple):
    """The novelty of a page within its family."""

    has_new_title: bool  # at least one new word in the title
    is_news: bool
    is_named: bool  # and all of it is in the page's own URL and its links below its folder
    is_telling: bool


def form_hash(form: str) -> int:
    return zlib.crc32(form.encode())


def pack(hashes: Iterable[int]) -> bytes:
    array = np.fromiter(hashes, np.uint32)
    array.sort()
    return array.tobytes()


def unpack(data: bytes | None) -> set[int]:
    return set(np.frombuffer(data or b"", np.uint32).tolist())
