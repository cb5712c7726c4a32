"""The words of pages that may be news, by the plain definition."""

import re
import zlib

import numpy as np
from hypothesis import given, strategies as st

from beamtrawl.transforms.traps.page_words import PageWords, page_words

_WORD = re.compile(r"\w+(?:[.:'-]+\w+)*")
_PART = re.compile(r"[^\W_]+")

TEXTS = st.text(st.sampled_from("aB1ıİΣß中²_-.:'’–\u00a0\u0301\u2003 \t\x1f\n@é"), max_size=40)
URLS = st.text(st.sampled_from("ab1/-_."), max_size=12).map(lambda path: f"http://a.test/{path}")
PAGES = st.tuples(TEXTS, TEXTS, URLS, st.lists(URLS, max_size=3))


def plainly(title: str, text: str, url: str, links: list[str]) -> PageWords:
    folder = url[: url.rfind("/") + 1]
    below = [link[len(folder) :] for link in links if link.startswith(folder)]
    numbered = [link for link in links if re.sub("[0-9]+", "#", link) == re.sub("[0-9]+", "#", url)]
    near = [url, *(link for link in below if "/" not in link), *numbered]
    urls = (" ".join(some).lower() for some in (near, [url, *below]))
    own, named = ({*_PART.findall(some), *re.findall("[0-9]+", some)} for some in urls)
    numbers = {part for part in own if part.isdecimal()}
    titled = {word for word in _WORD.findall(title.lower()) if not numbers.issuperset(_PART.findall(word))}
    told = {word for word in _WORD.findall(text.lower()) if not own.issuperset(_PART.findall(word))}
    of_urls = {word for word in titled | told if named.issuperset(_PART.findall(word))}
    return PageWords(*(np.sort([*map(zlib.crc32, map(str.encode, words))]).astype(np.uint32).tobytes() for words in (
        titled, titled | told, of_urls)))  # fmt: skip


@given(PAGES)
def test_a_page_has_the_words_of_the_plain_definition(page: tuple[str, str, str, list[str]]) -> None:
    assert page_words(*page) == plainly(*page)
