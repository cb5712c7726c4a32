"""Templates of URLs, names that no person has given, and the news of a page."""

import zlib
from typing import Any

import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.traps.novelty import Family
from beamtrawl.transforms.traps.page_words import page_words
from beamtrawl.transforms.urls.templates import family, form, is_opaque, template
from tests.support.tables import each_row

# path and query: template
TEMPLATES = {
    "/": "/",
    "/about": "/*",
    "/docs/": "/docs/",
    "/docs/intro.html": "/docs/*.html",
    "/docs/a/b/c.HTML": "/docs/*/*/*.html",
    "/3.11/library/": "/#/*/",
    "/python3/x": "/python#/*",
    "/calendar/2026/11": "/calendar/#/#",
    "/calendar/2026-11-05": "/calendar/#",
    "/item/12345.html": "/item/#.html",
    "/item/0fb2c58e91a7d3": "/item/~",
    "/550e8400-e29b-41d4-a716-446655440000/x": "/~/*",
    "/shop?size=m&colour=red&size=l": "/shop?colour&size".replace("/shop", "/*"),
    "/list/?filter1=a&filter20=b": "/list/?filter#",
    "/?": "/?",
    "/a?b": "/*?b",
}


@pytest.mark.parametrize(("target", "expected"), TEMPLATES.items())
def test_templates(target: str, expected: str) -> None:
    assert template(target) == expected


@given(st.text() | st.from_regex(r"/[a-z0-9/._-]{0,40}(\?[a-z0-9=&]{0,20})?", fullmatch=True))
def test_a_template_is_its_own_template_and_nothing_raises(text: str) -> None:
    assert template(template(text)) == template(text)
    form(text), family(template(text))


@given(st.text())
def test_a_form_is_final(text: str) -> None:
    bare = form(text)
    assert bare is None or form(bare) is None


OPAQUE = [
    "4f9a02c7",
    "1731999999",
    "c0ffee00c0ffee",
    "4706ce4165169653",
    "a1b2c3d4",
    "dQw4w9WgXcQ9",
    "lit3py55t21z5v55vlm25s55",
    "k3Jh2lq9ZpX0vB7w",
]


NAMED = ["python311", "sha256sum", "QAbstractItemModel", "20261105", "deadbeef", "postgresql15", "Model3D", "550"]


NAMED += [
    "QuadCurve2D",
    "avx512vbmi2",
    "ch01s02s03",
    "apbs01s02s04",
    "uint8x16x4",
    "R8G8B8A8",
    "IPv4ToIPv6",
    "utf8mb4general",
]


@pytest.mark.parametrize("token", OPAQUE)
def test_what_no_person_has_named(token: str) -> None:
    assert is_opaque(token)


@pytest.mark.parametrize("token", NAMED)
def test_what_a_person_has_named(token: str) -> None:
    assert not is_opaque(token)


def row_of(title: str, text: str, url: str = "http://a.test/", links: tuple = ()) -> Any:
    """What a family reads of the row of a page."""
    words = page_words(title, text, url, links)
    return {"words": words.text, "title_words": words.title, "own_words": words.own}


def novelty(family_: Family, title: str, text: str = "", url: str = "http://a.test/x/1", links: tuple = ()) -> tuple:
    return tuple(family_.take(row_of(title, text, url, links)))[:2]


NEXT = ("http://a.test/7/2032", "http://a.test/7/2033")


# title, text, URL, links of a page after one with the title "Old tin" and the text "red shoes": (new title, news)
NOVELTIES = {
    "the same": ("Old tin", "red shoes", "http://a.test/x/1", (), (False, False)),
    "a new name in the title": ("Old cod", "red shoes", "http://a.test/x/1", (), (True, True)),
    "a name that its URL has too": ("Old cod", "", "http://a.test/x/old-cod", (), (True, True)),
    "one new word": ("Old tin", "red herring", "http://a.test/x/1", (), (False, False)),
    "two new words": ("Old tin", "blue herring", "http://a.test/x/1", (), (False, True)),
    "two new numbers": ("Old tin", "12.40 euros", "http://a.test/x/1", (), (False, True)),
    "words that its URL has": ("Old tin", "blue herring", "http://a.test/x/blue-herring", (), (False, False)),
    "of a neighbour's URL": ("Old tin", "blue cod", "http://a.test/x/1", ("http://a.test/x/blue-cod",), (False, False)),
    "of another folder's": ("Old tin", "blue cod", "http://a.test/x/1", ("http://a.test/y/blue-cod",), (False, True)),
    "numbers of its URL": ("Old tin 2031", "2031-06", "http://a.test/x/2031/06", (), (False, False)),
    "numbers of the next page": ("Old tin", "6/2032 7/2033", "http://a.test/6/2031", NEXT, (False, False)),
}  # fmt: skip


@each_row(NOVELTIES)
def test_what_a_page_adds_to_its_family(title: str, text: str, url: str, links: tuple, expected: tuple) -> None:
    seen = Family()
    assert novelty(seen, "Old tin", "red shoes") == (True, True)
    assert novelty(Family([b"".join([])]), "Old tin") == (True, True)
    assert novelty(seen, title, text, url, links) == expected


def test_words_of_other_pages_are_no_news() -> None:
    row = row_of("Old tin", "red shoes")
    everywhere = Family().take(row).words
    assert tuple(Family().take(row, everywhere))[:2] == (False, False)
    assert tuple(Family().take(row, everywhere - {zlib.crc32(b"tin")}))[:2] == (True, True)


def test_words_of_earlier_rounds_are_known() -> None:
    row = row_of("Old tin", "red shoes")
    assert tuple(Family([row["words"]]).take(row)) == (False, False, False, set())
