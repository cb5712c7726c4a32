"""Matches of forms in a text are those that a search form by form and letter by letter finds."""

import itertools
import unicodedata

import pytest
from hypothesis import given, strategies as st

from beamtrawl.search.answers.results.form_matches import SIGN, UNEVEN, Text, fold, matches_of, prepared
from beamtrawl.search.answers.results.snippets import marked, passage, searchable
from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.indexing.analysis import clusters, is_overlapping, tokens
from tests.support.corpus import indexed

FORMS = {
    "go": "go",
    "going": "go",
    "gone": "go",
    "got": "get",
    "gothic": "gothic",
    "c": "c",
    "c++": "c++",
    "全文": "全文",
}
TEXTS = st.lists(st.sampled_from([*FORMS, "goin", "G", "Go", "+", " ", "\n", "全", "é", "9", "_"]), max_size=30).map(
    "".join
)


def is_of_words(character: str) -> bool:
    return character.isalnum() and character not in "全文"


def naive(text: str) -> list[tuple[int, int, str]]:
    """The matches of FORMS, one form and one place at a time."""
    folded = "".join(map(fold, text))
    found = []
    for form, word in FORMS.items():
        for start in range(len(text)):
            end = start + len(form)
            is_whole = not is_of_words(folded[start - 1 : start]) and not is_of_words(folded[end : end + 1])
            if folded[start:end] == form and (is_whole or form == "全文"):
                found.append((start, end, word))
    return sorted(found)


@given(text=TEXTS)
def test_forms_that_begin_alike_match_as_each_alone(text):
    probes = prepared(FORMS).probes
    assert len(probes) < len(FORMS)
    assert sorted(matches_of(Text(text), probes, 0, len(text))) == naive(text)


@given(text=TEXTS, begin=st.integers(0, 40))
def test_matches_from_a_place_on_are_those_of_all_that_begin_there(text, begin):
    for probe in prepared(FORMS).probes:
        matches = matches_of(Text(text), [probe], 0, len(text))
        assert matches_of(Text(text), [probe], begin, len(text)) == [match for match in matches if match[0] >= begin]


@given(text=st.text())
def test_a_text_is_folded_letter_by_letter(text):
    assert fold(text) == "".join(map(fold, text.encode(errors="replace").decode()))


@pytest.mark.parametrize(
    ("letter", "folded"),
    [("A", "a"), ("É", "é"), ("Σ", "σ"), ("ς", "σ"), ("İ", "i"), ("ẞ", "ß"), ("ﬁ", "ﬁ"), ("Ａ", "a"), ("\u00a0", " ")],
)
def test_letters_are_folded_one_to_one(letter, folded):
    assert fold(letter) == folded


@given(text=st.text(), begin=st.integers(0, 40))
def test_a_text_made_in_parts_is_that_made_at_once(text, begin):
    """Letters not of scripts without spaces are folded in their places, one to the right; others are spaces."""
    in_parts = Text(text)
    in_parts.words(begin), in_parts.folded(begin)
    folded = zip(text, fold(text), strict=True)
    letters = (SIGN if UNEVEN.match(s) else c if is_of_words(c) and not is_overlapping(c) else " " for s, c in folded)
    assert in_parts.words(len(text)) == f" {''.join(letters)} "
    assert in_parts.folded(len(text)) == fold(text)


DIVIDED_AT = (2_220, 2_440, 10_220, 10_440, 49_780, 50_000, 50_220, 59_780, 60_000, 60_220)
"""Parts that are searched end two widths of a snippet after 2,000, 10,000, 50,000 and 60,000 characters."""

WORDS = ("fog", "fogs", "fogg", "foggfog", "안개", "안개가", "안개가안개", "밤안개")


def joined(pieces):
    return "".join(f"<{piece}>" if is_match else piece for piece, is_match in pieces)


def test_marks_are_right_where_the_search_of_a_text_was_divided():
    forms = {"fog": "fog", "fogs": "fog", "안개": "안개", "never": "never"}
    expected, found = {}, {}
    for case in itertools.product(WORDS, range(12), DIVIDED_AT):
        word, before, divided_at = case
        text = f"{'fog 안개 fog ':.>{divided_at - before}}{word} fog 안개 fog{'.' * 300}"
        expected[case] = joined(marked(text, forms)).strip(".")
        found[case] = joined(passage(searchable(text), prepared(forms)).snippet).strip(" ….")
    assert found == expected


def test_matches_where_the_search_of_a_text_was_divided_count_once():
    text = f"{'fog fog':.>2425}{'fog fog fog':.>2000}{'.' * 500}"
    found = passage(searchable(text), prepared({"fog": "fog", "never": "never"})).snippet
    assert sum(is_match for _, is_match in found) == 3


def test_a_snippet_that_is_kept_is_shown_for_the_same_words_alone(tmp_path):
    text = "A fog signal sounds. The signals of a lighthouse are seen."
    index = Index.open(indexed(tmp_path, [{"url": "http://a.test/", "title": "Coast", "text": text}]))
    expected = {
        "fog signal": ["fog", "signal", "signals"],
        "lighthouse": ["lighthouse"],
        "signal": ["signal", "signals"],
    }
    for query in [*expected, *expected]:
        (hit,) = index.search(query).hits
        assert [piece for piece, is_match in hit.snippet if is_match] == expected[query]


@pytest.mark.parametrize(
    ("query", "text", "matches"),
    [
        ("โรงพยาบาล", "เขาไปโรงพยาบาลเพราะพยายาม", ["โรงพยาบาล"]),  # what is common with another word is chance
        (
            "น้ำ",
            "ดื่มน\u0e4d\u0e49\u0e32และน้ำผึ้ง น\u0e49\u0e4d\u0e32ตาล",
            ["น\u0e4d\u0e49\u0e32", "น้ำ", "น\u0e49\u0e4d\u0e32"],
        ),
        ("กรุง", "กรุ่งกรุง", ["กรุง"]),  # whole clusters
        ("งาน", "เงานก", []),  # the vowel before the consonant is of its cluster
        ("งาน", "เงานก และงานดี", ["งาน"]),
        ("ปลา ทะเลลึก", "ปลาในทะเลลึก", ["ปลา", "ทะเลลึก"]),
        ("ទឹកក្រូច", "ផឹក\u200bទឹក\u200bក្រូច ទឹក", ["ទឹក\u200bក្រូច"]),
        ("ໝາ", "ໝາ ຫມາ", ["ໝາ", "ຫມາ"]),
        ("covid19ระบาด", "COVID19ระบาดใน", ["COVID19ระบาด"]),
    ],
)
def test_matches_in_scripts_without_spaces(query, text, matches):
    assert [piece for piece, is_match in marked(text, {term: term for term in tokens(query)}) if is_match] == matches


def test_snippets_begin_and_end_with_whole_clusters():
    text = "กำกิ่กี้" * 400
    for width in range(40, 60):
        shown = str(passage(searchable(text), prepared({}), width).snippet).removesuffix(" …")
        assert "".join(clusters(shown)) == shown and shown.endswith(("กำ", "กิ่", "กี้"))


def test_forms_match_with_joiners_beside_a_virama_and_without():
    form = "\u0dc1\u0dca\u0dbb\u0dd3"
    text = f"{form} \u0dc1\u0dca\u200d\u0dbb\u0dd3 \u0dc1\u200c\u0dca\u0dbb\u0dd3, {form}\u0d9a \u0dc1\u0dca\u0d9a"
    matches = matches_of(Text(text), prepared({form: "sri"}).probes, 0, len(text))
    assert matches == [(0, 4, "sri"), (5, 10, "sri"), (11, 16, "sri")]


@pytest.mark.parametrize(
    ("query", "text", "matches"),
    [
        ("Grösse", "Die Größe, die GRÖSSE, die Grösse. Größer", ["Größe", "GRÖSSE", "Grösse"]),
        ("größe", "GRÖẞE, Gro\u0308ße", ["GRÖẞE", "Gro\u0308ße"]),
        ("Schlossstraße", "Schlossstraße, Schloßstraße", ["Schlossstraße", "Schloßstraße"]),
        ("Donaudampfschiff", "(Donau\u00addampf\u00adschiff)", ["Donau\u00addampf\u00adschiff"]),
        ("İstanbul", "İstanbul'da, İSTANBUL", ["İstanbul", "İSTANBUL"]),
        ("Երևան", "Երևան, Երեւան", ["Երևան", "Երեւան"]),
        ("Μα\u0390ου", "1 Μα\u0390ου", ["Μα\u0390ου"]),
        ("τῷ τῶν", "ἐν τῷ τῶν ΤῶΝ", ["τῷ", "τῶν", "ΤῶΝ"]),
        ("Việt", f"a {unicodedata.normalize('NFD', 'Việt')}.", [unicodedata.normalize("NFD", "Việt")]),
        ("file office", "\ufb01le, o\ufb03ce", ["\ufb01le", "o\ufb03ce"]),
        ("لا", "قال \ufefb", ["\ufefb"]),
        ("می خواهم", "نمی‌خواهم، می\u200cخواهم", ["خواهم", "می", "خواهم"]),
    ],
)
def test_letters_that_terms_have_otherwise_are_matched(query, text, matches):
    assert [piece for piece, is_match in marked(text, {term: term for term in tokens(query)}) if is_match] == matches


WITH_UNEVEN = st.lists(st.sampled_from(["ß", "Go", "ﬁ", "o\u0308", "\u00ad", " ", "g", "全", "é"]), max_size=12).map(
    "".join
)


@given(text=WITH_UNEVEN)
def test_matches_in_uneven_texts_are_their_words(text):
    words = {"go", "ss", "fi", "ö", "goss", "ssö", "gofi", "fig", "é"}
    probes = prepared({word: word for word in words}).probes
    matches = matches_of(Text(text), probes, 0, len(text))
    assert sorted(word for *_, word in matches) == sorted(word for word in tokens(text) if word in words)
    assert all(word in tokens(text[start:end]) for start, end, word in matches)
