"""Snippets: passages, marked words, lines of code, and what a page permits."""

import pytest
from hypothesis import given, strategies as st

from beamtrawl.search.answers.results import snippets
from beamtrawl.search.answers.results.form_matches import prepared
from beamtrawl.search.answers.results.snippets import passage, searchable
from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.duplicates import digest
from tests.support.corpus import indexed
from tests.support.tables import each_row


def test_noarchive_text_is_found_and_never_shown(tmp_path):
    rows = [
        {"url": "http://a.test/1", "text": "secret words", "noarchive": True, "description": "About words"},
        {"url": "http://a.test/2", "text": "secret words", "noarchive": True},
    ]
    hits = Index.open(indexed(tmp_path, rows)).search("secret words").hits
    assert [hit.snippet for hit in hits] == [(("About ", False), ("words", True)), ()]


# what a page permits, the snippet of its hit
SNIPPETS = {
    "anything": ({}, "Here are secret words of the harbour."),
    "nothing": ({"max_snippet": 0, "description": "About words"}, ""),
    "a little": ({"max_snippet": 24}, "Here are secret word …"),
    "a little of its description": ({"max_snippet": 9, "noarchive": True, "description": "About words"}, "About …"),
    "not a passage": ({"nosnippet": [9, 16]}, "Here are words of the harbour."),
    "no passage at all": ({"nosnippet": [0, 37]}, ""),
}


@pytest.mark.parametrize(("permits", "shown"), SNIPPETS.values(), ids=SNIPPETS)
def test_a_snippet_shows_what_the_page_permits(tmp_path, permits, shown):
    text = "Here are secret words of the harbour."
    index = Index.open(indexed(tmp_path, [{"url": "http://a.test/1", "text": text} | permits]))
    (hit,) = index.search("secret").hits
    found = "".join(piece for piece, _ in hit.snippet)
    assert len(found) <= permits.get("max_snippet", 220)
    assert (found, hit.noarchive) == (shown, "max_snippet" in permits and shown in ("", "About …"))
    stored = index.stored("http://a.test/1")
    assert "secret" not in stored.text or not (hit.noarchive or "nosnippet" in permits)


def words(*terms):
    """Terms that are forms of themselves."""
    return dict(zip(terms, terms, strict=True))


def marked(pieces):
    return "".join(f"[{piece}]" if is_match else piece for piece, is_match in pieces)


@pytest.mark.parametrize(
    ("text", "terms", "expected"),
    [
        ("", ["a"], ""),
        ("No match at all.", ["x"], "No match at all."),
        ("Cat, CAT; cats and concat", ["cat"], "[Cat], [CAT]; cats and concat"),
        ("In C++ or C#, not C", ["c++", "c#"], "In [C++] or [C#], not C"),
        ("a\n\n  b\tc", ["b"], "a [b] c"),
        ("전문 검색엔진은", ["검색", "색엔", "엔진"], "전문 [검색엔진은]"),
        ("日本語と日本", ["日本", "本語"], "[日本語]と[日本]"),
        ("Python入門", ["python", "入門"], "[Python入門]"),
        ("2.0은 은행", ["은"], "2.0[은] [은행]"),
        ("go go going, agog", ["go"], "[go] [go] going, agog"),
        ("ＦＵＬＬ Çelik", ["full", "çelik"], "[ＦＵＬＬ] [Çelik]"),
        ("<b>bold</b>", ["bold"], "<b>[bold]</b>"),
    ],
)
def test_matches_are_marked(text, terms, expected):
    assert marked(passage(searchable(text), prepared(words(*terms))).snippet) == expected


def test_the_passage_with_the_most_of_the_terms_is_shown():
    text = f"{'start ' * 90}fish here {'middle ' * 90}a red fish there {'end ' * 90}fish"
    part = marked(passage(searchable(text), prepared(words("red", "fish"))).snippet)
    assert "a [red] [fish] there" in part
    assert (part[:2], part[-2:]) == ("… ", " …")
    assert set(part.strip("… ").split()) <= {"middle", "a", "[red]", "[fish]", "there", "end"}  # whole words


def test_a_match_that_is_cut_by_the_end_of_a_passage_is_marked_as_far_as_it_is_shown():
    found = passage(searchable("魚" * 300), prepared({"魚魚": "魚魚"})).snippet
    assert [(len(piece), is_match) for piece, is_match in found] == [(110, True), (2, False)]


def test_two_forms_of_a_word_are_less_than_two_words():
    text = f"{'start ' * 90}fish fishes fished {'middle ' * 90}a red fish there"
    assert "a [red] [fish] there" in marked(
        passage(searchable(text), prepared(words("red", "fish") | {"fishes": "fish", "fished": "fish"})).snippet
    )


# Words of a long text, the passage that its snippet shows. Texts are searched in parts of 2,000, 10,000 and 50,000.
FILLER = "nothing here " * 400


PASSAGES = {
    "with all words at the beginning": (f"red fish {FILLER} red red fish fish", "[red] [fish] nothing"),
    "with all words far below": (f"red {FILLER} a red fish {FILLER}", "a [red] [fish] nothing"),
    "across the end of a part": (f"{'x ' * 996}about red fish", "about [red] [fish]"),
    "with a letter in a row of others": (f"{'redd ' * 3000} red", "redd [red]"),
}


@each_row(PASSAGES)
def test_a_passage_of_a_long_text_has_as_many_words_as_any(text, shown):
    assert shown in marked(passage(searchable(text), prepared(words("red", "fish"))).snippet)


# A text with code, what a snippet shows of it.
CODE = {
    "lines with their indentation": ("\tdef red():\n\t    fish()", "def [red]():\n    [fish]()"),
    "prose around it": ("A red\nline:\n\tfish()\n\tred\nis\nthis.", "A [red] line:\n[fish]()\n[red]\nis this."),
    "no more than eight lines": ("\n".join(f"\t  {n}" for n in range(10)), "\n  ".join("01234567") + " 8 9"),
    "the end of a line that begins before the snippet": (
        f"A\n\t{'x ' * 200}red\nfish",
        f"… {'x ' * 106}[red]\n[fish]",
    ),
    "space within a line": ("\ta  b\u3000c", "a b c"),
}


@each_row(CODE)
def test_a_snippet_keeps_the_lines_of_code(text, shown):
    assert marked(passage(searchable(text), prepared(words("red", "fish"))).snippet) == shown


def test_code_is_marked_as_the_parser_marks_it():
    assert snippets.CODE == digest.CODE


def test_a_single_letter_is_marked_only_by_itself():
    assert marked(passage(searchable("C, c99 and Cc: c_c, 한c글 c-c .c"), prepared(words("c"))).snippet) == (
        "[C], c99 and Cc: [c]_[c], 한[c]글 [c]-[c] .[c]"
    )


@given(st.text(alphabet="ab 本語\n"), st.lists(st.sampled_from(["a", "b", "ab", "本語", "語本"]), unique=True))
def test_a_snippet_is_a_bounded_part_of_the_text(text, terms):
    part = "".join(piece for piece, _ in passage(searchable(text), prepared(words(*terms)), width=16).snippet)
    shown = part.removeprefix("… ").removesuffix(" …")
    assert shown.strip() in " ".join(text.split())
    assert len(shown) <= 16


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Harbour\nBoats and fish.", "Boats and fish."),
        ("Harbour – The Port\nBoats and fish.", "Boats and fish."),
        ("the  PORT\nBoats and fish.", "Boats and fish."),
        ("Port\nBoats and fish.", "Boats and fish."),
        ("Har\nBoats and fish.", "Har Boats and fish."),
        ("The\nBoats and fish.", "The Boats and fish."),
        ("Harbour", "Harbour"),
        ("Harbour\n\n", "Harbour"),
        ("Harbour lights\nBoats and fish.", "Harbour lights Boats and fish."),
    ],
)
def test_a_snippet_does_not_begin_with_the_title(tmp_path, text, shown):
    row = {"url": "http://a.test/", "title": "Harbour – The Port", "text": text, "headings": "word"}
    (hit,) = Index.open(indexed(tmp_path, [row])).search("port").hits
    assert str(hit.snippet) == shown


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("빠른 검색엔진을 만든다", "검색", ["검색엔진을"]),
        ("빠른 검색엔진을 만든다", "엔진", ["검색엔진을"]),
        ("검색 검색엔진", "검색", ["검색", "검색엔진"]),
        ("全文検索エンジン", "検索", ["検索"]),  # no spaces: the match alone
        ("가" * 11 + "검색" + "나" * 11, "검색", ["가" * 10 + "검색" + "나" * 10]),
    ],
)
def test_a_korean_word_is_marked_whole(tmp_path, text, query, marked):
    (hit,) = Index.open(indexed(tmp_path, [{"url": "http://a.test/1", "text": text}])).search(query).hits
    assert [piece for piece, is_match in hit.snippet if is_match] == marked
