"""A page has the language that its text shows, else the one that it states."""

import doctest

from beamtrawl.transforms.parsing.html_page import parse_page
from beamtrawl.transforms.parsing.language import detect as language_module
from beamtrawl.transforms.parsing.language.detect import choose_language
from tests.support.tables import each_row

ENGLISH = "This is a text in a language that nobody has declared, so that it has to be told by its words alone. "
GERMAN = "Das ist ein Text in einer Sprache, die niemand angegeben hat, so dass man sie an den Wörtern erkennen muss. "
DUTCH = "Dit is een tekst in een taal die we had of was over het land, en is in de was of men had we die al over is. "
KOREAN = "이 글은 아무도 언어를 밝히지 않은 한국어 문장입니다. "
JAPANESE = "これは誰も言語を宣言していない日本語の文章です。"
CHINESE = "这是一篇没有人声明语言的中文文章，只能从文字本身看出来。"
CROATIAN = "Ovo je tekst na jeziku koji nitko nije naveo, pa se mora prepoznati samo po riječima koje sadrži. "
CODE = "0x7f 0x45 0x4c 0x46 => [1] {2} (3); 17 18 19 20 = 21 22 23 24; // 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 "

LANGUAGES = {
    "stated": (["pt-BR"], "", "pt"),
    "stated, in capitals": (["JA"], "", "ja"),
    "stated for none": (["und", "zxx"], "", ""),
    "stated for several": (["de, fr", "nl"], "", "nl"),
    "not a language": (["english please"], "", ""),
    "the first that is one": (["", "fr", "de"], "", "fr"),
    "guessed English": ([], ENGLISH, "en"),
    "guessed German": ([], GERMAN, "de"),
    "guessed Korean": ([], KOREAN * 3, "ko"),
    "guessed Japanese": ([], JAPANESE * 3, "ja"),
    "guessed Chinese": ([], CHINESE * 3, "zh"),
    "too short to guess": ([], "This is short.", ""),
    "no words to guess by": ([], CODE * 4, ""),
    "stated, and nothing else to go by": (["en"], CODE * 4, "en"),
    "stated wrongly": (["en"], GERMAN * 2, "de"),
    "stated rightly": (["en"], ENGLISH * 3, "en"),
    "stated wrongly, in a language like English": (["en"], DUTCH * 3, "nl"),
    "stated wrongly, in another script": (["en-US"], KOREAN * 10, "ko"),
    "too short to outweigh what is stated": (["en"], GERMAN, "en"),
    "stated, and hard to tell from another": (["bs"], CROATIAN * 3, "bs"),
    "stated, and not to be guessed": (["nds"], GERMAN * 3, "nds"),
    "begins in English": ([], ENGLISH + GERMAN * 8, "de"),
}


@each_row(LANGUAGES)
def test_language(stated, text, language):
    assert choose_language(stated, text) == language


STATED = {
    "element": ("<html lang=pt-BR><p>x", "pt"),
    "XHTML": ("<html xml:lang=JA><p>x", "ja"),
    "meta": ("<meta http-equiv=content-language content=ko>", "ko"),
    "header": ("<p>x", "de"),
    "the page before the header": ("<html lang=fr><p>x", "fr"),
    "an element that says nothing": ("<html lang=und><p>x", "de"),
}


@each_row(STATED)
def test_where_a_language_is_stated(html, language):
    page = parse_page(html.encode(), "http://a.org/", "text/html", [("Content-Language", "de")], "reader")
    assert page is not None
    assert page.language == language


def test_plain_text_has_a_language():
    page = parse_page(KOREAN.encode() * 10, "http://a.org/", "text/plain", [("Content-Language", "de")], "reader")
    assert page is not None
    assert page.language == "ko"


def test_examples_in_docstrings():
    assert doctest.testmod(language_module) == (0, 2)
