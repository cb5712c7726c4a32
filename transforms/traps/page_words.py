"""The words of pages that may be news, as hashes; the texts of many pages are split at once, in Arrow.

Each distinct word is looked at once. What depends on a page is computed for all pages together, on keys of 64 bits that
hold the number of a page and the number of a word.
"""

import functools
import itertools
import re
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..tables.list_offsets import Longs, offsets, ranges

# A word is a run of letters, digits and underscores; names such as Gtk.Label.get_text, times and dates are one word
# each.
_JOINING = ".:'-"
_SEPARATING = bytes(b if b > 127 or chr(b).isalnum() or chr(b) in f"_{_JOINING}" else ord(" ") for b in range(256))
_ALSO_SEPARATING = re.compile(r"[^\w\x00-\x7f]")
_PART = re.compile(r"[^\W_]+")
_DIGITS = re.compile(r"[0-9]+")
_SHARED = 12  # characters; a fast test that precedes a slow one

Flags = npt.NDArray[np.bool_]
Hashes = npt.NDArray[np.uint32]


class Shown(NamedTuple):
    """What is compared of a page."""

    title: str
    text: str
    url: str
    links: Sequence[str]


class PageWords(NamedTuple):
    """The words of a page, as sorted hashes of four bytes each."""

    title: bytes
    text: bytes  # including the title
    own: bytes = b""  # those of the text that are in the page's URL, or in its links to URLs below its folder


def page_words(pages: Sequence[Shown]) -> list[PageWords]:
    """The words of pages that may be news.

    Excludes the numbers of a page's own URL and of neighbouring URLs, because an endless series of dates or pages
    increments them, and from the text all words of these URLs, because a generated page repeats its URL.
    Neighbours are links into the same folder, and to URLs that differ only in numbers.
    """
    around = [_around(page.url, page.links) for page in pages]
    owns = [_parts(near) for near, _ in around]
    names = [own if near == below else _parts(below) for own, (near, below) in zip(owns, around, strict=True)]
    numbers = [set(filter(str.isdecimal, own)) for own in owns]
    words, keys = _split([part for page in pages for part in (page.title, page.text)])
    texts, word_of = keys >> 32, keys & 0xFFFFFFFF
    page_of, is_title = texts >> 1, texts & 1 == 0
    keys = page_of << 32 | word_of
    said = _Said(keys, words)
    is_titled = is_title & ~said.within(numbers)
    is_told = ~is_title & ~said.within(owns) & ~_are_in(keys, keys[is_titled])
    is_word = is_titled | is_told
    hashes = words.hashes[word_of]
    columns = (
        _by_page(page_of[mask], hashes[mask], len(pages)) for mask in (is_titled, is_word, is_word & said.within(names))
    )
    return list(map(PageWords, *columns))


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


class _Words(NamedTuple):
    """Distinct words by number, and the parts of those that have joining characters or underscores.

    A part is a run of letters and digits. All other words are their own only part, with the same number.
    """

    numbered: pa.LargeStringArray  # the words, then the parts that are no words
    hashes: Hashes
    is_joined: Flags
    starts: Longs  # in `parts`, of each word, and the end of the last one
    parts: Longs  # the numbers of the parts of joined words


def _split(texts: Sequence[str]) -> tuple[_Words, Longs]:
    """The distinct words of some texts, and `text << 32 | word` for those of each text, each once, text by text."""
    lists = pc.ascii_split_whitespace(_separated(texts))
    words = pc.ascii_trim(lists.flatten(), characters=_JOINING).dictionary_encode()
    text_of = np.repeat(np.arange(len(texts)), np.diff(lists.offsets.to_numpy()))
    keys = text_of << 32 | words.indices.to_numpy()
    return _described(words.dictionary), pc.unique(pa.array(keys)).to_numpy()


def _separated(texts: Iterable[str]) -> pa.LargeStringArray:
    """The texts in lower case, with spaces for characters that are in no word."""
    lowered = [text if text.isascii() else _ALSO_SEPARATING.sub(" ", text) for text in map(str.lower, texts)]
    array = pa.array(lowered, pa.large_string())
    _, ends, data = array.buffers()
    separated = pa.py_buffer(data.to_pybytes().translate(_SEPARATING) if data else b"")
    return pa.LargeStringArray.from_buffers(len(lowered), ends, separated)


def _described(words: pa.LargeStringArray) -> _Words:
    hashes = np.fromiter(map(zlib.crc32, map(str.encode, words.to_pylist())), np.uint32, len(words))
    is_joined = pc.invert(pc.utf8_is_alnum(words))
    parts = list(map(_PART.findall, words.filter(is_joined).to_pylist()))
    is_joined = is_joined.to_numpy(zero_copy_only=False)
    counts = np.zeros(len(words), np.int64)
    counts[is_joined] = list(map(len, parts))
    flat = pa.array([part for some in parts for part in some], pa.large_string())
    numbered = pc.unique(pa.concat_arrays([words, flat]))
    return _Words(numbered, hashes, is_joined, offsets(counts), _numbers(flat, numbered))


def _numbers(values: pa.LargeStringArray, numbered: pa.LargeStringArray) -> Longs:
    """The numbers of some strings; -1 of those that have none."""
    found: Longs = pc.fill_null(pc.index_in(values, value_set=numbered), -1).to_numpy().astype(np.int64)
    return found


class _Said:
    """Words of pages, `page << 32 | word` each."""

    def __init__(self, keys: Longs, words: _Words) -> None:
        self._keys, self._words = keys, words
        self._joined = np.flatnonzero(words.is_joined[keys & 0xFFFFFFFF])
        pages, joined = keys[self._joined] >> 32, keys[self._joined] & 0xFFFFFFFF
        starts = words.starts[joined]
        self._counts = words.starts[joined + 1] - starts
        self._parts = np.repeat(pages, self._counts) << 32 | words.parts[ranges(starts, self._counts)]

    def within(self, sets: Sequence[set[str]]) -> Flags:
        """Whether all parts of each word are in the set of its page."""
        flat = pa.array([part for parts in sets for part in parts], pa.large_string())
        numbers = _numbers(flat, self._words.numbered)
        known = (np.repeat(np.arange(len(sets)), list(map(len, sets))) << 32 | numbers)[numbers >= 0]
        found = _are_in(self._keys, known)
        others = offsets(~_are_in(self._parts, known))
        ends = np.cumsum(self._counts)
        found[self._joined] = others[ends] == others[ends - self._counts]
        return found


def _are_in(keys: Longs, known: Longs) -> Flags:
    found: Flags = pc.is_in(pa.array(keys), value_set=pa.array(known)).to_numpy(zero_copy_only=False)
    return found.copy()


def _by_page(pages: Longs, hashes: Hashes, count: int) -> list[bytes]:
    """The sorted hashes of each page; `pages` ascend."""
    ends = np.searchsorted(pages, np.arange(count + 1)).tolist()
    parts = [hashes[start:end] for start, end in itertools.pairwise(ends)]
    for part in parts:
        part.sort()
    return [part.tobytes() for part in parts]
