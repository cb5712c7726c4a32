"""How much is read of a page, and what is enough to tell something of it: where each limit lies shows in a result."""

import pytest

from beamtrawl.transforms.http.link_header import parse_link
from beamtrawl.transforms.parsing.charsets import decode
from beamtrawl.transforms.parsing.dates import parse_date
from beamtrawl.transforms.parsing.html_page import Page, parse_page
from beamtrawl.transforms.parsing.language.detect import choose_language
from tests.support.tables import each_row

URL = "http://a.test/page"
GERMAN = "Das ist ein Text in einer Sprache, die niemand angegeben hat, so dass man sie an den Wörtern erkennen muss. "


def page(html: str) -> Page:
    found = parse_page(html.encode(), URL, "text/html", [], "x")
    assert found is not None
    return found


@pytest.mark.parametrize(("before", "charset"), [(65_000, "windows-1251"), (66_000, "utf-8")])
def test_a_page_declares_its_charset_in_the_first_64_kib(before, charset):
    html = b"<!--" + b" " * before + b"--><meta charset=windows-1251>"
    assert decode(html, None, True)[1] == charset


@pytest.mark.parametrize(("stated", "length", "language"), [([], 49, ""), ([], 50, "de"), (["en"], 199, "en")])
def test_a_language_is_detected_from_50_characters_on(stated, length, language):
    assert choose_language(stated, (GERMAN * 2)[:length]) == language


def test_200_characters_outweigh_the_language_that_is_stated():
    assert choose_language(["en"], (GERMAN * 2)[:200]) == "de"


def test_an_anchor_has_200_characters():
    (link,) = page(f"<a href=/x>{'a' * 300}</a>").links
    assert link.anchor == "a" * 200


def test_title_and_description_have_2000_characters():
    found = page(f"<title>{'t' * 3_000}</title><meta name=description content='{'d' * 3_000}'>")
    assert (found.title, found.description) == ("t" * 2_000, "d" * 2_000)


def test_500_headings_of_500_characters_are_kept():
    headings = page("".join(f"<h2>{number} {'h' * 600}</h2>" for number in range(501))).headings
    assert len(headings) == 500
    assert {len(heading) for heading in headings} == {500}


@pytest.mark.parametrize(("tags", "description"), [(999, "it"), (1_000, "")])
def test_a_thousand_meta_tags_are_read(tags, description):
    assert page("<meta name=a content=b>" * tags + "<meta name=description content=it>").description == description


@pytest.mark.parametrize(("titles", "title"), [(9, "it"), (10, "")])
def test_ten_titles_are_read(titles, title):
    assert page("<title></title>" * titles + "<title>it</title>").title == title


@pytest.mark.parametrize(("year", "is_date"), [(1899, False), (1900, True), (2100, True), (2101, False)])
def test_dates_are_of_the_years_1900_to_2100(year, is_date):
    assert (parse_date(f"{year}-06-01") is not None) is is_date


# words of three languages by chance: the probability of the best guess, what is stated, the language
GUESSES = {
    "0.40": ("erkennen was Das Sprache, in is. declared, nobody nobody", [], ""),
    "0.64": ("Sprache, die has muss. een den had in has has we einer of", [], "nl"),
    "0.71": (
        "de de land, to Sprache, angegeben we einer This it ein that a so it in Das in man has land, of sie erkennen "
        "told die declared, This was het muss. to that has that Sprache, erkennen This erkennen is en",
        ["en"],
        "en",
    ),
    "0.93": (
        "we is muss. niemand text nobody Das een het it tekst Das that land, we has einer its declared, text man to "
        "over over erkennen over has het al in hat, het nobody angegeben niemand al that Das is text land,",
        ["en"],
        "nl",
    ),
}


@each_row(GUESSES)
def test_a_guess_counts_from_a_half_on_and_against_what_is_stated_from_nine_tenths_on(text, stated, language):
    assert choose_language(stated, text) == language


@pytest.mark.parametrize("before", [0, 12_000, 100_000])
def test_a_charset_is_detected_from_16_kib_around_the_first_foreign_letter(before):
    korean = "검색 엔진은 무엇인가. 이 문서는 한국어로 되어 있습니다. ".encode("euc-kr")
    russian = "Съешь ещё этих мягких французских булок, да выпей чаю. ".encode("cp1251")
    body = b"a " * (before // 2) + korean + b"a " * 8_200 + russian * 1_000
    assert decode(body, None, True)[1] == "euc-kr"


@pytest.mark.parametrize(("before", "found"), [(16_300, ["/x"]), (16_384, [])])
def test_a_link_header_is_read_up_to_16_kib(before, found):
    value = ("<" + "a" * before)[: before - 2] + ">,"
    assert [link.target for link in parse_link(value + "</x>; rel=canonical")][1:] == found


@pytest.mark.parametrize(("length", "is_prose"), [(60, False), (61, True)])
def test_a_line_of_more_than_60_characters_above_the_heading_is_prose(length, is_prose):
    text = page(f"<p>{'b' * length}</p><h1>A heading</h1><p>{'Some words of the page. ' * 20}").text
    assert text.startswith("b" * length) is is_prose
