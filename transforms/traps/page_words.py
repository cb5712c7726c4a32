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
    heading: bytes = b""  # those of the title that are not in the page's URL


def page_words(title: str, text: str, url: str, links: Sequence[str]) -> PageWords:
    """The words of a page that may be news.

    Excludes the numbers of the page's own URL and of neighbouring URLs, because an endless series of dates or pages
    increments them, and from the text all words of these URLs, because a generated page repeats its URL.
    Neighbours are links into the same folder, and to URLs that differ only in numbers.
    """
    own = _parts(_neighbours(url, links))
    titled, told = set(_WORD.findall(title.lower())), set(_WORD.findall(text.lower()))
    some = [word for word in titled | told if not word.isalnum()]
    joined = {word: _PART.findall(word) for word in some if (part := _PART.search(word)) is None or part[0] in own}

    def within(words: set[str], names: set[str]) -> set[str]:
        """The words all of whose runs of letters and digits are in `names`."""
        return (words & names).union(word for word, parts in joined.items() if names.issuperset(parts))

    new_title = titled - within(titled, set(filter(str.isdecimal, own)))
    words = (told - within(told, own)) | new_title
    return PageWords(*map(hashes, (new_title, words, titled - within(titled, set(_parts_of(url))))))


def hashes(words: Iterable[str]) -> bytes:
    """The sorted hashes of words, or of links' URLs, without line breaks; 32 bits each."""
    text = "\n".join(words).encode()
    return pack(map(zlib.crc32, text.split(b"\n"))) if text else b""


def _neighbours(url: str, links: Iterable[str]) -> list[str]:
    """A URL, the names of the links into its folder, and the links that differ from it only in numbers."""
    folder, numbered = url[: url.rfind("/") + 1], _DIGITS.search(url, url.find("/", url.find("//") + 2))
    start, shape = url[: numbered.start()] if numbered else url, _DIGITS.sub("#", url)
    near = [url]
    for link in links:
        if link.startswith(folder) and "/" not in (name := link[len(folder) :]):
            near.append(name)
        elif numbered and link.startswith(start) and _DIGITS.sub("#", link) == shape:
            near.append(link)
    return near


def _parts(urls: Iterable[str]) -> set[str]:
    return set[str]().union(*map(_parts_of, urls))


@functools.lru_cache(1 << 14)
def _parts_of(url: str) -> tuple[str, ...]:
    """The runs of letters and digits of a URL, and its numbers, as in `400x300`; cached, because pages share links."""
    return (*_PART.findall(url.lower()), *_DIGITS.findall(url))
