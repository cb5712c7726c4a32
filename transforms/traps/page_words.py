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
    titled, told = (set(_WORD.findall(" ".join({*of.lower().split()}))) for of in (title, text))  # each word once
    named = own if near == below else _parts(below)
    of_urls, some = own | named, [word for word in titled | told if not word.isalnum()]
    joined = {word: _PART.findall(word) for word in some if (part := _PART.search(word)) is None or part[0] in of_urls}

    def within(words: set[str], names: set[str]) -> set[str]:
        """The words all of whose runs of letters and digits are in `names`."""
        return (words & names).union(word for word, parts in joined.items() if names.issuperset(parts))

    new_title = titled - within(titled, set(filter(str.isdecimal, own)))
    words = (told - within(told, own)) | new_title
    return PageWords(*map(hashes, (new_title, words, words & within(words, named))))


def hashes(words: Iterable[str]) -> bytes:
    """The sorted hashes of words, or of links' URLs, without line breaks; 32 bits each."""
    text = "\n".join(words).encode()
    return pack(map(zlib.crc32, text.split(b"\n"))) if text else b""


def _around(url: str, links: Iterable[str]) -> tuple[list[str], list[str]]:
    """(the URL and its neighbours, the URL and the links below its folder); links into the folder without it."""
    folder, numbered = url[: url.rfind("/") + 1], _DIGITS.search(url, url.find("/", url.find("//") + 2))
    start, shape = url[: numbered.start()] if numbered else url, _DIGITS.sub("#", url)
    near, below = [url], [url]
    for link in links:
        if link.startswith(folder):
            name = link[len(folder) :]
            below.append(name)
            if "/" not in name:
                near.append(name)
                continue
        if numbered and link.startswith(start) and _DIGITS.sub("#", link) == shape:
            near.append(link)
    return near, below


def _parts(urls: Iterable[str]) -> set[str]:
    return set[str]().union(*map(_parts_of, urls))


@functools.lru_cache(1 << 14)
def _parts_of(url: str) -> tuple[str, ...]:
    """The runs of letters and digits of a URL, and its numbers, as in `400x300`; cached, because pages share links."""
    return (*_PART.findall(url.lower()), *_DIGITS.findall(url))
