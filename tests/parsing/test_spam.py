"""What speaks against a page, and what does not."""

import doctest
import random

import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.parsing import spam
from beamtrawl.transforms.parsing.html_page import parse_page
from beamtrawl.transforms.parsing.spam import Quality
from tests.support.tables import each_row

PROSE = (
    "The ferry to the island leaves from the northern pier at nine, and takes about an hour if the sea is calm. Bring "
    "a coat, for even in summer the wind on deck is cold. Tickets are sold on board by the mate, who likes coins. From "
    "the landing a path climbs through heather to the lighthouse, where the keeper shows visitors the lamp on Sundays. "
)
CHANCE = random.Random(1)
WORDS = " ".join("".join(CHANCE.choices("aeioubdgklmnprst", k=7)) for _ in range(800))
LETTERS = " ".join("".join(CHANCE.choices("abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH", k=9)) for _ in range(400))


def judged(html: str, url: str = "http://a.test/page") -> Quality:
    page = parse_page(html.encode(), url, "text/html", [], "x")
    assert page is not None
    return spam.quality_of(url, page.title, page.headings, page.text, page.links, page.traits)


def links(hosts: int, anchor: str = "site {}", path: str = "/x{}") -> str:
    places = ((f"http://h{n}.test{path.format(n)}", anchor.format(n)) for n in range(hosts))
    return "".join(f"<li><a href='{url}'>{text}</a>" for url, text in places)


# a page, and its reasons
PAGES = {
    "prose": (f"<title>Ferries</title><p>{PROSE}", []),
    "nothing": ("", []),
    "one word over and over": ("<p>" + "cheap boots here " * 40, ["keyword_stuffing"]),
    "prose that repeats itself": ("<p>" + PROSE * 60, ["repetition"]),
    "random letters": (f"<p>{LETTERS}", ["gibberish"]),
    "hidden text": (f"<p>Boots.<div style='color: red; Display: NONE'>{PROSE * 3}</div>", ["hidden_text"]),
    "text beyond the edge": (
        f"<p>Boots.<div style='position:absolute;left:-9999px'>{PROSE * 3}</div>",
        ["hidden_text"],
    ),
    "a closed menu": (f"<p>{PROSE}<div style='display:none'>Home Search Help</div>", []),
    "links to everywhere": (f"<ul>{links(100)}</ul>", ["link_farm"]),
    "a list of links with a word on each": (
        f"<ul>{''.join(links(1, WORDS[n * 60 : n * 60 + 60], f'/{n}') for n in range(100))}</ul>",
        [],
    ),
    "a contents page": ("<ul>" + "".join(f"<li><a href='/{n}'>Chapter {n}</a>" for n in range(100)), []),
    "one anchor for all": (
        f"<p>{PROSE * 3}<ul>{links(80, 'cheap boots')}{links(30, 'a site {}', '/b')}</ul>",
        ["link_farm", "repeated_anchor"],
    ),
    "a parked domain": ("<title>a.test</title><p>This domain is for sale. Buy this domain today!", ["parked"]),
    "a story about one": (f"<p>{PROSE * 3} He read: this domain is for sale.", []),
    "led away by a script": ("<p>Boots<script>window.location.href = 'http://b.test/';</script>", ["doorway"]),
    "led away at once": ("<meta http-equiv=refresh content='0;url=http://b.test/'><p>Boots", ["doorway"]),
    "moved within the site": ("<meta http-equiv=refresh content='0;url=/new'><p>Moved", []),
    "no such page": ("<title>Page not found | A shop</title><p>Sorry!", ["soft_404"]),
    "404": ("<title>404</title><p>Sorry!", ["soft_404"]),
    "by its heading": ("<title>A shop</title><h1>Error 404: Not Found</h1>", ["soft_404"]),
    "in German": ("<title>Seite nicht gefunden – Laden</title>", ["soft_404"]),
    "in Korean": ("<title>페이지를 찾을 수 없습니다</title>", ["soft_404"]),
    "in Japanese": ("<title>ページが見つかりません</title>", ["soft_404"]),
    "a page about status 404": (f"<title>404 Not Found</title><p>{PROSE * 4}", []),
    "a number": ("<title>Room 404 is free</title><p>Come in.", []),
    "something else is not found": ("<title>Lost and not found keys</title><p>Keys.", []),
}


@each_row(PAGES)
def test_reasons(html, reasons):
    found = judged(html)
    assert found.reasons == reasons
    assert (found.score > 0) is bool(reasons)


def test_two_reasons_speak_louder_than_one():
    one, other = "<title>404</title>", "<script>location.replace('http://b.test/')</script>"
    both = judged(one + other)
    assert both.reasons == ["soft_404", "doorway"]
    assert 1 > both.score > max(judged(one).score, judged(other).score)


def test_a_signal_grows_within_its_range():
    scores = [judged(f"<p>{'boots ' * count}{WORDS[: 200 * 8]}").score for count in (25, 100, 200)]
    assert scores == [0, pytest.approx(0.333, abs=0.01), 0.8]


@given(st.text(), st.text(), st.lists(st.text(), max_size=2))
def test_any_text_has_a_score(title, text, headings):
    found = spam.quality_of("http://a.test/", title, headings, text, [], spam.Traits())
    assert 0 <= found.score <= 1


def test_examples():
    assert doctest.testmod(spam).failed == 0
