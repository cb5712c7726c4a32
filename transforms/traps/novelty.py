"""Whether a page holds anything new: words, names and numbers that no page of its family has shown before."""

import re
import zlib
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

_WORD = re.compile(r"\w(?:[\w.:'-]*\w)?")  # names such as Gtk.Label.get_text, times and dates are one word each
_PART = re.compile(r"[^\W_]+")
_DIGITS = re.compile(r"[0-9]+")
_ENOUGH = 2  # new words of a text; of a title one is enough
_TELLING = 10  # new words; a page with as many is no variation of others
_MOST = 200_000  # words of a family that are remembered


class PageWords(NamedTuple):
    """The words of a page, as sorted hashes of four bytes each."""

    title: bytes
    text: bytes  # and the title


def page_words(title: str, text: str, url: str, links: Iterable[str]) -> PageWords:
    """The words of a page that may be news.

    Left out are numbers of its own URL and of its neighbours', for an endless series of dates or pages counts on in
    these, and in the text all words of these URLs, for a page that is made up repeats what it was asked for.
    Neighbours are links into the same folder, and to URLs that differ in numbers alone.
    """
    folder, shape = url[: url.rfind("/") + 1], _DIGITS.sub("#", url)
    near = [url]
    for link in links:
        if link.startswith(folder) and "/" not in link[len(folder) :]:
            near.append(link[len(folder) :])
        elif link[:_SHARED] == url[:_SHARED] and _DIGITS.sub("#", link) == shape:
            near.append(link)
    own = set(_PART.findall(" ".join(near).lower()))
    numbers = {part for part in own if part.isdecimal()}
    titled = {word for word in _WORD.findall(title.lower()) if not numbers.issuperset(_PART.findall(word))}
    said = {word for word in _WORD.findall(text.lower()) if word not in own}
    told = {word for word in said.difference(titled) if not own.issuperset(_PART.findall(word))}
    return PageWords(_hashes(titled), _hashes(titled | told))


_SHARED = 12  # characters; a fast test before a slow one


def _hashes(words: Iterable[str]) -> bytes:
    return pack(zlib.crc32(word.encode()) for word in words)


class Family:
    """The words that the pages of a family have shown."""

    def __init__(self, seen: Iterable[bytes] = ()) -> None:
        self._seen = set[int]().union(*map(unpack, seen))
        self.added: list[int] = []

    def take(self, words: PageWords) -> "Novelty":
        """What a page adds."""
        title, text = unpack(words.title) - self._seen, unpack(words.text) - self._seen
        if len(self._seen) < _MOST:
            self._seen |= text
            self.added += sorted(text)
        return Novelty(bool(title), bool(title) or len(text) >= _ENOUGH, len(text) >= _TELLING)


class Novelty(NamedTuple):
    """What a page adds to its family."""

    has_new_title: bool  # a word of it
    is_news: bool
    is_telling: bool


def form_hash(form: str) -> int:
    return zlib.crc32(form.encode())


def pack(hashes: Iterable[int]) -> bytes:
    return np.array(sorted(hashes), np.uint32).tobytes()


def unpack(data: bytes | None) -> set[int]:
    return set(np.frombuffer(data or b"", np.uint32).tolist())
