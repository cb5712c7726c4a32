"""One text, one list of terms: for documents and for queries."""

import doctest
import string
import unicodedata

import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.indexing import analysis
from beamtrawl.transforms.indexing.analysis import (
    STEMMERS,
    identifiers,
    is_further,
    separate_words,
    terms_of_piece,
    tokens,
    word_class,
    word_classes,
)

# Stated here and not imported: a changed limit fails a test.
MAX_TERM_LENGTH = 64

CASES = [  # text, terms separated by spaces
    ("", ""),
    (" \t\n —–… !?", ""),
    ("Hello, World", "hello world"),
    ("foo_bar node.js __init__", "foo bar node js init"),
    ("C++, C# and f#; C, c++11", "c++ c# and f# c c++ 11"),
    ("abc# etc++", "abc etc"),
    (".NET 8, asp.net .network", ".net 8 asp net network"),
    ("—C++ éc++ (.Net) –.NET “c#” c++++ cc++ ++ ,c#c#", "c++ éc .net .net c# c++ cc c# c#"),
    ("3.14 v2", "3 14 v2"),
    ("don't don’t", "don t don t"),
    ("ＦＵＬＬ ﬁne", "full fine"),
    ("STRASSE Straße ΣΊΣΥΦΟΣ", "strasse strasse σίσυφοσ"),
    ("cafe\u0301 café", "café café"),
    ("co\u00adoperate", "cooperate"),
    ("\u200eב\u200fג e\ufe0e\u0301 葛\U000e0100飾", "בג é 葛飾"),  # Unicode Standard Annex 29, WB4
    # The letters that Lucene's Ukrainian analyzer maps to the apostrophe, too.
    ("об\u02bcєкт об’єкт o\u02bbzbek ŉ", "об єкт об єкт o zbek n"),
    ("हिन्दी में", "हिन्दी में"),
    ("\u0dc1\u0dca\u200d\u0dbb\u0dd3", "\u0dc1\u0dca\u0dbb\u0dd3"),  # Sri, with a joiner, which some leave out
    ("\u09b0\u200d\u09cd\u09af\u09be\u09ac_x\u200cy", "\u09b0\u09cd\u09af\u09be\u09ac xy"),  # a Bengali rab
    (
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0647\u200d",
        "\u0645\u06cc \u062e\u0648\u0627\u0647\u0645 \u0647",
    ),
    ("ภาษาไทย", "ภาษา ษาไท ไทย"),
    ("น้ำ", "น้ำ"),
    ("น\u0e49\u0e4d\u0e32 น\u0e4d\u0e49\u0e32", "น้ำ น้ำ"),  # am in two parts, around the tone or behind it
    ("โรงพยาบาล", "โรง งพ พยา ยาบา บาล"),
    ("COVID-19ระบาด ปี๒๕๖๓", "covid 19 ระบา บาด ปี ๒๕๖๓"),
    ("ນ້ຳ ໝາ", "ນ້ຳ ຫມາ"),
    ("ក្រុមហ៊ុន", "ក្រុម មហ៊ុ ហ៊ុន"),
    ("ទឹក\u200bក្រូច", "ទឹក កក្រូ ក្រូច"),  # a space that is not seen makes no difference
    ("မြန်မာ", "မြန် န်မာ"),
    ("ꆈꌠꁱꂷ", "ꆈꌠ ꌠꁱ ꁱꂷ"),
    ("\u0e31ก เเ", "ก เเ"),  # a mark without a letter
    ("བོད་སྐད་", "བོད སྐད"),
    ("全文検索", "全文 文検 検索"),
    ("木", "木"),
    ("검색 엔진은", "검색 엔진 진은"),
    ("ｶﾞﾗｽ", "ガラ ラス"),
    ("Python入門。c++版 日本", "python 入門 c++ 版 日本"),
    ("中文，中文", "中文 中文"),
    ("कि本", "कि 本"),
]


@pytest.mark.parametrize(("text", "terms"), CASES)
def test_terms_of_a_text(text, terms):
    assert tokens(text) == terms.split()


IDENTIFIERS = [  # piece of a text, its terms, its identifiers with the number of terms before their parts
    ("foo_bar", "foo bar", [(0, "foo_bar")]),
    ("__init__", "init", [(0, "__init__")]),
    ("_x", "x", [(0, "_x")]),
    ("x_", "x", [(0, "x_")]),
    ("1_000", "1 000", [(0, "1_000")]),
    ("_", "", []),
    ("_" * 10_000, "", []),
    ("plain", "plain", []),
    ("a_b" + "_c" * 1_000, "a b" + " c" * 1_000, []),  # too long for a term
    ("x" * 500 + "_y", "x" * 64 + " y", []),
    ("x" * 62 + "_y", "x" * 62 + " y", [(0, "x" * 62 + "_y")]),
    ("“foo_bar”", "foo bar", [(0, "foo_bar")]),
    ("é—foo_bar—x—_y_z", "é foo bar x y z", [(1, "foo_bar"), (4, "_y_z")]),
    ("foo＿bar", "foo bar", [(0, "foo_bar")]),
    ("ÉTÉ_x", "été x", [(0, "été_x")]),
    ("max_\u200bfiles", "max files", [(0, "max_files")]),  # a place for a line break
    ("使用foo_bar函数名", "使用 foo bar 函数 数名", [(1, "foo_bar")]),
    ("변수_이름", "변수 이름", []),  # of a script without identifiers
    ("변수명_x_y는", "변수 수명 x y 는", [(2, "_x_y")]),
    ("日本語_a", "日本 本語 a", [(2, "_a")]),
    ("foo_c++", "foo c++", [(0, "foo_c")]),
    ("é_" * 30_000, " ".join("é" * 30_000), []),
    ("é—" + "a_b—" * 20_000, "é" + " a b" * 20_000, [(1 + 2 * n, "a_b") for n in range(20_000)]),
]


@pytest.mark.parametrize(
    ("piece", "terms", "identifiers"), IDENTIFIERS, ids=[piece[:20] for piece, _, _ in IDENTIFIERS]
)
def test_identifiers_are_further_terms_where_their_parts_begin(piece, terms, identifiers):
    (separated,) = separate_words(piece.encode()).decode().split()
    assert terms_of_piece(separated) == (terms.split(), identifiers)


def test_an_identifier_has_one_form():
    names = ["max_connections", "__files__", "é_x", "häuser_"]
    assert word_classes(names, "en") == word_classes(names, "de") == word_classes(names, "") == names


@pytest.mark.parametrize(
    ("language", "forms", "found"),
    [
        ("en", "connect connects connected connection", "connect"),
        ("de", "Häuser Hauses Haus", "haus"),
        ("fr", "éducation education éducations", "educ"),
        ("ru", "книга книги книгу", "книг"),
        ("el", "θάλασσα θαλασσα", "θαλασσ"),
        ("el", "προϊόν προιον", "προιον"),
        ("en", "résumé resume resumes", "resum"),
        ("en", "Beyoncé Beyonce", "beyonc"),
        ("", "café Cafe cafe\u0301", "cafe"),
        ("", "smørrebrød smorrebrod", "smorrebrod"),
        ("pl", "łódź lodz", "lodz"),
        ("en", "c++", "c++"),
        ("ko", "검색", "검색"),
        ("", "हिन्दी", "हिन्दी"),  # its marks are vowels
        ("", "й", "й"),
    ],
)
def test_forms_of_a_word_are_of_one_class(language, forms, found):
    assert set(word_classes([term for form in forms.split() for term in tokens(form)], language)) == {found}


def test_forms_of_other_words_or_languages_are_not():
    assert word_class("gifts", "en") != word_class("gifted", "fr")
    assert word_class("connect", "en") != word_class("correct", "en")
    assert word_class("running", "") == "running"


@pytest.mark.parametrize("language", STEMMERS)
def test_every_language_has_its_stemmer(language):
    assert word_class("word", language)


@given(st.text())
def test_every_term_has_a_class(text):
    assert all(word_class(term, "fr") for term in tokens(text))


@given(st.text(), st.sampled_from(["fr", "ar", ""]))
def test_the_class_of_a_word_does_not_depend_on_the_terms_beside_it(text, language):
    words = tokens(text) + tokens("Ελλάδα naïveté")
    assert word_classes([*words, "max_connections"], language)[:-1] == word_classes(words, language)


@pytest.mark.parametrize("end", ["", " é", " 木"])
def test_a_long_word_is_cut_and_found_by_its_whole_form(end):
    word = "x" * 10_000
    assert tokens(f"a {word} b{end}")[:3] == ["a", "x" * MAX_TERM_LENGTH, "b"]
    assert tokens(word) == ["x" * MAX_TERM_LENGTH]


@given(st.text(alphabet=string.printable))
def test_the_terms_of_a_text_do_not_depend_on_what_follows(text):
    assert tokens(text + " é") == [*tokens(text), "é"]
    assert tokens(text + " 木") == [*tokens(text), "木"]


@given(st.text())
def test_any_text_has_terms_of_bounded_length_whatever_its_form(text):
    assert all(0 < len(term) <= MAX_TERM_LENGTH for term in tokens(text))
    assert tokens(unicodedata.normalize("NFKC", text)) == tokens(text)
    assert not any(map(is_further, tokens(text)))


@given(st.text(alphabet="aé_＿ 本가\u0301.—") | st.text())
def test_identifiers_of_any_text_have_its_letters_and_bounded_length(text):
    found = identifiers(text)
    assert all(is_further(name) and len(name) <= MAX_TERM_LENGTH for name in found)
    parts = {part for name in found for part in tokens(name)}
    assert parts <= {*tokens(text)}
    assert identifiers(unicodedata.normalize("NFKC", text)) == found


def test_examples():
    assert doctest.testmod(analysis) == (0, 10)
