"""The words of pages that may be news, as hashes."""

import functools
import re
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .novelty import pack

# A word is a run of letters, digits and underscores; names such as Gtk.Label.get_text, times and dates are one word
# each.
_WORD = re.compile(r"\w+(?:[.:'-]+\w+)*")
_PART = re.compile(r"[^\W_]+")
_DIGITS = re.compile(r"[0-9]+")
_SHARED = 12  # characters; a fast test that precedes a slow one


class PageWords(NamedTuple):
    """The words of a page, as sorted hashes of four bytes each."""

    title: bytes
    text: bytes  # including the title
    own: bytes = b""  # those of the text that are in the page's URL, or in its links to URLs below its folder


def page_words(title: str, text: str, url: str, links: Sequence[str]) -> PageWords:
    """The words of a page that may be news.

    Excludes the numbers of the page's own URL and of neighbouring URLs, because an endless series of dates or pages
    increments them, and from the text all words of these URLs, because a generated page repeats its URL.
    Neighbours are links into the same folder, and to URLs that differ only in numbers.
    """
    near, below = _around(url, links)
    own = _parts(near)
    titled, told = set(_WORD.findall(title.lower())), set(_WORD.findall(text.lower()))
    joined = {word: _PART.findall(word) for word in titled | told if not word.isalnum()}

    def within(words: set[str], names: set[str]) -> set[str]:
        """The words all of whose runs of letters and digits are in `names`."""
        return (words & names).union(word for word, parts in joined.items() if names.issuperset(parts))

    new_title = titled - within(titled, set(filter(str.isdecimal, own)))
    words = (told - titled - within(told, own)) | new_title
    named = words & within(words, own if near == below else _parts(below))
    return PageWords(*(pack(map(hash_of, some)) for some in (new_title, words, named)))


def hash_of(word: str) -> int:
    """The hash of a word, or of a link's URL; 32 bits."""
    return zlib.crc32(word.encode())


def _around(url: str, links: Iterable[str]) -> tuple[list[str], list[str]]:
    """(the URL and its neighbours, the URL and the links below its folder); links into the folder without it."""
    folder, start, shape = url[: url.rfind("/") + 1], url[:_SHARED], ""
    near, below = [url], [url]
    for link in links:
        if link.startswith(folder):
            name = link[len(folder) :]
            below.append(name)
            if "/" not in name:
                near.append(name)
                continue
        if link.startswith(start):
            shape = shape or _DIGITS.sub("#", url)
            if _DIGITS.sub("#", link) == shape:
                near.append(link)
    return near, below


def _parts(urls: Iterable[str]) -> set[str]:
    return set[str]().union(*map(_parts_of, urls))


@functools.lru_cache(1 << 14)
def _parts_of(url: str) -> tuple[str, ...]:
    """The runs of letters and digits of a URL, and its numbers, as in `400x300`; cached, because pages share links."""
    return (*_PART.findall(url.lower()), *_DIGITS.findall(url))
