"""One text, one list of terms: for documents and for queries."""

import doctest
import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamtrawl.transforms.indexing import analysis
from beamtrawl.transforms.indexing.analysis import STEMMERS, tokens, word_class, word_classes

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
    ("हिन्दी में ภาษาไทย", "हिन्दी में ภาษาไทย"),
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


@pytest.mark.parametrize(
    ("language", "forms", "found"),
    [
        ("en", "connect connects connected connection", "connect"),
        ("de", "Häuser Hauses Haus", "haus"),
        ("fr", "éducation education éducations", "educ"),
        ("ru", "книга книги книгу", "книг"),
        ("el", "θάλασσα θαλασσα", "θαλασσ"),
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


def test_examples():
    assert doctest.testmod(analysis) == (0, 2)
