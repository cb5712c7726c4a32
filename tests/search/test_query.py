"""What a query means."""

import doctest

import pytest
from hypothesis import given, strategies as st

from beamtrawl.search.index import patterns
from beamtrawl.search.query import lexemes, pair_weights, parse as parse_module
from beamtrawl.search.query.conditions import AllOf, AnyOf, Filter, Not, Phrase, Word
from beamtrawl.search.query.lexemes import day, plain_query
from beamtrawl.search.query.parse import parse
from beamtrawl.transforms.indexing.analysis import tokens
from tests.support.tables import each_row

# Stated here and not imported: a changed limit fails a test.
MAX_TERMS = 128

A, B, C = Word("a1"), Word("b1"), Word("c1")
AB = Phrase(("a1", "b1"))
NOTHING = AnyOf(())

# Text, words that score, phrases that score, condition.
CASES = {
    "nothing": ("", "", [], NOTHING),
    "words": ("The A1  b1 a1", "a1 b1", [], AnyOf((A, B))),
    "stop words alone": ("to be", "to be", [], AnyOf((Word("to"), Word("be")))),
    "a phrase lets the words be": ('"to be" a1', "a1", [("to", "be")], Phrase(("to", "be"))),
    "an exact form": ('"a1"', "a1", [], Phrase(("a1",))),
    "an open quotation mark": ('a1 "b1', "a1 b1", [], AnyOf((A, B))),
    "empty quotation marks": ('"" "—" a1', "a1", [], A),
    "exclusion": ("a1 -b1", "a1", [], AllOf((Not(B), A))),
    "exclusion of a phrase": ('a1 -"a1 b1"', "a1", [], AllOf((Not(AB), A))),
    "an exclusion alone is text": ("-a1", "a1", [], A),
    "exclusions alone are text": ('-a1 NOT "a1 b1"', "a1 b1", [("a1", "b1")], AB),
    "an exclusion with a filter": ("-a1 lang:ko", "", [], AllOf((Not(A), Filter("lang", "ko")))),
    "excluded twice": ("NOT -a1 b1", "b1", [], AllOf((Not(A), B))),
    "an option of a command": ("a1 --b1", "a1 b1", [], AnyOf((A, B))),
    "required": ("+a1 b1", "a1 b1", [], AllOf((A,))),
    "a phrase required": ('+"a1 b1" c1', "a1 b1 c1", [("a1", "b1")], AllOf((AB,))),
    "a sum": ("a1 + b1", "a1 b1", [], AnyOf((A, B))),
    "stray signs": ("- -- a1", "a1", [], A),
    "NOT": ("a1 NOT b1", "a1", [], AllOf((Not(B), A))),
    "AND": ("a1 AND b1", "a1 b1", [], AllOf((A, B))),
    "OR": ("a1 OR b1 c1", "a1 b1 c1", [], AnyOf((AnyOf((A, B)), C))),
    "AND binds closer": ("a1 AND b1 OR c1", "a1 b1 c1", [], AnyOf((AllOf((A, B)), C))),
    "what must lets the words be": ("a1 AND b1 c1", "a1 b1 c1", [], AllOf((A, B))),
    "a group": ("(a1 OR b1) AND c1", "a1 b1 c1", [], AllOf((AnyOf((A, B)), C))),
    "a group of words": ("(a1 b1)", "a1 b1", [], AnyOf((A, B))),
    "an excluded group": ("c1 -(a1 b1)", "c1", [], AllOf((Not(AnyOf((A, B))), C))),
    "a group of exclusions finds nothing": ("a1 OR (-b1)", "a1", [], AnyOf((A, NOTHING))),
    "an open group": ("(a1 AND (b1", "a1 b1", [], AllOf((A, B))),
    "a group closed twice": ("(a1))", "a1", [], A),
    "a call is no group": ("a1(b1)", "a1 b1", [("a1", "b1")], AnyOf((A, B))),
    "lower-case operators are words": ("a1 and b1", "a1 b1", [], AnyOf((A, B))),
    "operators without operands": ("AND a1 OR", "a1", [], A),
    "an operator alone is a word": ("NOT", "not", [], Word("not")),
    "operators alone": ("AND OR", "and or", [], AnyOf((Word("and"), Word("or")))),
    "an operator after a parenthesis": ("( AND", "and", [], Word("and")),
    "an operator and a dash": ("AND -", "and", [], Word("and")),
    "an exclusion and a dash": ("-a1 —", "a1", [], A),
    "in capitals": ("TO BE OR NOT TO B1", "b1", [], B),
    "in capitals, between all operands": ("A1 AND B1 OR C1", "a1 b1 c1", [], AnyOf((AllOf((A, B)), C))),
    "in capitals, in parentheses": ("(A1 OR B1) C1", "a1 b1 c1", [], AnyOf((AnyOf((A, B)), C))),
    "in capitals, with a filter": ("A1 NOT B1 lang:en", "a1", [], None),
    "in a script without capitals": ("全文 AND 検索", "全文 検索", [], AllOf((Word("全文"), Word("検索")))),
    "curly quotation marks": ("“a1 b1” c1", "a1 b1 c1", [("a1", "b1")], AB),
    "low quotation marks": ("„a1 b1“", "a1 b1", [("a1", "b1")], AB),
    "inches": ('15" a1 13" b1', "15 a1 13 b1", [], AnyOf((Word("15"), A, Word("13"), B))),
    "an exact form with an operator": ('"a1" AND b1', "a1 b1", [], AllOf((Phrase(("a1",)), B))),
    "a pattern": ("Dja*", "dja*", [], Word("dja*")),
    "a pattern in the title, excluded": ("a1 -title:dja*", "a1", [], AllOf((Not(Word("dja*", "title")), A))),
    "a pattern of one letter is none": ("x* a1", "x a1", [], AnyOf((Word("x"), A))),
    "emphasis": ("*a1* b1", "a1 b1", [], AnyOf((A, B))),
    "CJK with an asterisk": ("全文*", "全文", [], Word("全文")),
    "written in one piece": ("a1.b1", "a1 b1", [("a1", "b1")], AnyOf((A, B))),
    "e.g. and i.e.": ("a1, e.g. b1 (i.e., c1)", "a1 b1 c1", [], AnyOf((A, B, C))),
    "in one piece, with an operator": ("a1.b1 AND c1", "a1 b1 c1", [("a1", "b1")], AllOf((AB, C))),
    "in one piece, excluded": ("c1 -a1.b1", "c1", [], AllOf((Not(AB), C))),
    "an apostrophe": ("crawler’s don't", "crawler don", [], AnyOf((Word("crawler"), Word("don")))),
    "an identifier": ("A1_b1", "a1 b1 a1_b1", [("a1", "b1")], AnyOf((A, B))),
    "an identifier of one part": ("__a1__ b1", "a1 __a1__ b1", [], AnyOf((A, B))),
    "an identifier in quotation marks": ('"a1_b1 c1"', "a1 b1 c1 a1_b1", [("a1", "b1", "c1")], None),
    "identifiers in one piece": ("a1_b1.__c1", "a1 b1 c1 a1_b1 __c1", [("a1", "b1", "c1")], None),
    "an identifier excluded": ("c1 -a1_b1", "c1", [], AllOf((Not(AB), C))),
    "an identifier in the title": ("title:a1_b1", "a1 b1 a1_b1", [("a1", "b1")], Phrase(("a1", "b1"), "title")),
    "an identifier and a site": ("site:a_b.org a1_b1", "a1 b1 a1_b1", [("a1", "b1")], None),
    "underscores": ("_ ___ a1", "a1", [], A),
    "an identifier beside CJK": ("全文a1_b1", "全文 a1 b1 a1_b1", [], None),
    "a pattern of identifiers": ("__A1*", "__a1*", [], Word("__a1*")),
    "a pattern of all identifiers is none": ("__* a1", "a1", [], A),
    "a long piece": ("-".join("abcdefghi"), "b c e f g h", [], AnyOf(tuple(map(Word, "bcefgh")))),
    "CJK": ("全文検索", "全文 文検 検索", [], AnyOf(tuple(map(Word, ("全文", "文検", "検索"))))),
    # A word of one character, which is no pair (huangjimmy/pg_cjk_parser#19; Lucene's CJKBigramFilter, outputUnigrams)
    "one character of CJK": ("水", "水*", [], Word("水*")),
    "one character, excluded": ("a1 -水", "a1", [], AllOf((Not(Word("水*")), A))),
    "one character between others": ("a1と 水", "a1 と 水*", [], None),
    "one syllable": ("물", "물", [], Word("물")),
    "one character in quotation marks": ('"水"', "水", [], Phrase(("水",))),
    "one character in the title": ("title:水", "水*", [], Word("水*", "title")),
    "site": ("a1 site:Example.ORG.", "a1", [], AllOf((Filter("site", "example.org"), A))),
    "filters alone": ("lang:ko type:pdf", "", [], AllOf((Filter("lang", "ko"), Filter("type", "pdf")))),
    "dates": ("after:2024 before:2024-02-30", "before 2024 02 30", [("before", "2024", "02", "30")], None),
    "a filter that makes no sense": ("lang:klingon", "lang klingon", [("lang", "klingon")], None),
    "a filter without a value": ("site: a1", "site a1", [], AnyOf((Word("site"), A))),
    "a word among stop words": ("With A1", "a1", [], A),
    "a word among many stop words": ("to be with a1", "a1", [], A),
    "two words among stop words": ("with a1 b1", "a1 b1", [], AnyOf((A, B))),
    "in the title": ("title:a1", "a1", [], Word("a1", "title")),
    "a phrase in the title": ('title:"a1 b1"', "a1 b1", [("a1", "b1")], Phrase(("a1", "b1"), "title")),
    # A field before a group is that of each word (Lucene's classic query parser, "Field Grouping").
    "a field before a group": (
        "title:(a1 OR b1) c1",
        "a1 b1 c1",
        [],
        AnyOf((Word("a1", "title"), Word("b1", "title"))),
    ),
    "a field before a group of words": (
        "title:(a1 b1)",
        "a1 b1",
        [],
        AllOf((Word("a1", "title"), Word("b1", "title"))),
    ),
    "a field before a phrase, signs and a field": (
        'title:("a1 b1" -c1 url:d1)',
        "a1 b1 d1",
        [("a1", "b1")],
        AllOf((Phrase(("a1", "b1"), "title"), Not(Word("c1", "title")), Word("d1", "url"))),
    ),
    "a field before groups in a group": (
        "-title:(a1 OR (b1 AND c1)) d1",
        "d1",
        [],
        AllOf((Not(AnyOf((Word("a1", "title"), AllOf((Word("b1", "title"), Word("c1", "title")))))), Word("d1"))),
    ),
    "a filter before a group": (
        "site:(a1.org OR b1.org) c1",
        "c1",
        [],
        AllOf((AnyOf((Filter("site", "a1.org"), Filter("site", "b1.org"))), C)),
    ),
    "filters joined by OR": (
        "(lang:de OR lang:en) a1",
        "a1",
        [],
        AllOf((AnyOf((Filter("lang", "de"), Filter("lang", "en"))), A)),
    ),
    "filters joined by OR without parentheses": (
        "a1 -lang:ko OR type:pdf",
        "a1",
        [],
        AllOf((AnyOf((Not(Filter("lang", "ko")), Filter("type", "pdf"))), A)),
    ),
    "a filter or a word": ("type:pdf OR a1 b1", "a1 b1", [], AnyOf((AnyOf((Filter("type", "pdf"), A)), B))),
    "a field before an empty group": ("title:() a1", "a1", [], A),
    "a field before a group that is open": ("title:(a1", "a1", [], Word("a1", "title")),
    "in the URL": ("url:a1.b1", "a1 b1", [("a1", "b1")], Phrase(("a1", "b1"), "url")),
    "not a field": ("website:a1", "website a1", [("website", "a1")], AnyOf((Word("website"), A))),
    "a lone surrogate": ("a1 site:\udcff", "a1", [], AllOf((Filter("site", "?"), A))),
}


@each_row(CASES)
def test_what_a_query_means(text, words, phrases, condition):
    found = parse(text)
    assert " ".join(found.words) == words
    assert list(found.phrases) == phrases
    assert condition is None or found.condition == condition


PAIRS = {
    "words in a row": ("Signals and slots of Qt", "signals _ slots, slots _ qt"),
    "each once": ("a1 b1 a1 b1", "a1 _ b1, b1 _ a1"),
    "one word": ("a1", ""),
    "stop words": ("to be or not", ""),
    "in quotation marks, in the title, in one piece": ('"a1 b1" title:c1 d1.e1', "a1 _ b1, b1 _ c1, c1 _ d1, d1 _ e1"),
    "an identifier": ("a1_b1 c1", "a1 _ b1, b1 _ c1"),
    "excluded words, filters and patterns have none": ("a1 -b1 site:c.org d1 dja* f1", "a1 _ d1, d1 _ f1"),
    "nor have words of CJK": ("全文検索 a1 b1 검색", "a1 _ b1"),
    "nor has a long query": ("a1 b1 c1 d1 e1 f1 g1 h1 i1", ""),
}


@each_row(PAIRS)
def test_the_pairs_of_a_query(text, pairs):
    found = parse(text)
    assert ", ".join(found.pairs) == pairs
    assert found.scoring == (*found.words, *found.phrases, *found.exact, *found.pairs)


WEIGHTS = {
    "words, as often as they occur": ("a1 b1 A1", {"a1": 2, "b1": 1}),
    "one pair": ("全文 검색 ไทย a1", {"全文": 1, "검색": 1, "ไทย": 1, "a1": 1}),
    "two pairs": ("全文書", {"全文": 2**-0.5, "文書": 2**-0.5}),
    "three clusters": ("ក្រុមហ៊ុ", {"ក្រុម": 2**-0.5, "មហ៊ុ": 2**-0.5}),
    "no less than a half": ("甲乙丙丁戊己庚", dict.fromkeys(["甲乙", "乙丙", "丙丁", "丁戊", "戊己", "己庚"], 0.5)),
    "each run for itself": ("全文書 文書 a1", {"全文": 2**-0.5, "文書": 2**-0.5 + 1, "a1": 1}),
    "between words, too": ("a1全文書b1", {"a1": 1, "全文": 2**-0.5, "文書": 2**-0.5, "b1": 1}),
    "each script of a run": (
        "日本語のリンク",
        {"日本": 2**-0.5, "本語": 2**-0.5, "語の": 1 / 3, "のリ": 1 / 3, "リン": 2**-0.5, "ンク": 2**-0.5},
    ),
    "in forms of another width": ("ﾘﾝｸＡ1", {"リン": 2**-0.5, "ンク": 2**-0.5, "a1": 1}),
    "in quotation marks, and an identifier": (
        '"全文書" 甲乙丙_x',
        {"全文": 2**-0.5, "文書": 2**-0.5, "甲乙": 2**-0.5, "乙丙": 2**-0.5, "x": 1, "_x": 1},
    ),
    "not of what is excluded": ("全文 -甲乙丙", {"全文": 1}),
}


@each_row(WEIGHTS)
def test_the_weights_of_the_words_of_a_query(text, weights):
    assert parse(text).weights == pytest.approx(weights)


EXACT = {
    "one word": ("Decorators", "decorators"),
    "up to three": ("a1 the b1 c1", "a1 b1 c1"),
    "of five": ("a1 b1 c1 d1 e1", "a1 b1 c1 d1 e1"),
    "none of six": ("a1 b1 c1 d1 e1 f1", ""),
    "none that a phrase has": ("ALLOWED_HOSTS setting", "setting"),
    "neither patterns nor identifiers": ("dja* a1_b1", ""),
    "nor CJK": ("全文", ""),
}


@each_row(EXACT)
def test_the_exact_forms_of_a_query(text, exact):
    assert " ".join(form for (form,) in parse(text).exact) == exact


WORDS = [f"w{number}" for number in range(9)]
NINE, EIGHT = " ".join(WORDS), " ".join(WORDS[:8])
SOME = AnyOf(tuple(map(Word, WORDS)))

# A query of more than eight words outside quotation marks; phrases that score, condition.
LONG_CASES = {
    "any of the words": (NINE, [], SOME),
    "eight are not many": (EIGHT, [], AnyOf(tuple(map(Word, WORDS[:8])))),
    "dashes are no words": (f"{EIGHT} – - —", [], AnyOf(tuple(map(Word, WORDS[:8])))),
    "a phrase lifts": (f'"a1 b1" {NINE}', [("a1", "b1")], AnyOf((A, B, *map(Word, WORDS)))),
    "a phrase of a short query filters": (f'"a1 b1" {EIGHT}', [("a1", "b1")], AB),
    "a phrase filters if it is required": (f'+"a1 b1" {NINE}', [("a1", "b1")], AllOf((AB,))),
    "a long phrase alone filters": (f'"{NINE}"', [tuple(WORDS)], Phrase(tuple(WORDS))),
    "a minus in it": (f"-a1 {NINE}", [], AnyOf((A, *map(Word, WORDS)))),
    "a minus at its end": (f"{NINE} -a1", [], AllOf((Not(A), SOME))),
    "a minus before a filter": (f"{NINE} -a1 lang:en", [], AllOf((Not(A), Filter("lang", "en"), SOME))),
    "operators": (f"{NINE} AND a1 NOT b1", [], AnyOf((*map(Word, WORDS), A, B))),
    "operators between all": (" OR ".join(WORDS), [], AnyOf(tuple(map(Word, WORDS)))),
    "operators in parentheses": (f"(a1 OR b1) AND c1 {NINE}", [], AllOf((AnyOf((A, B)), C))),
    "operators in parentheses of a text in capitals": (
        f"{NINE} (a1 AND b1)".upper(),
        [],
        AnyOf((*map(Word, WORDS), A, B)),
    ),
    "parentheses": (f"{NINE} (a1 b1)", [], AnyOf((*map(Word, WORDS), A, B))),
    "a filter": (f"{NINE} lang:en", [], AllOf((Filter("lang", "en"), SOME))),
    "a pattern is text": (f"{NINE} foot*", [], AnyOf((*map(Word, WORDS), Word("foot")))),
}


@each_row(LONG_CASES)
def test_what_a_long_query_means(text, phrases, condition):
    found = parse(text)
    assert list(found.phrases) == phrases
    assert found.condition == condition


@pytest.mark.parametrize(
    ("text", "wider"),
    [
        ('a1 "b1 c1"', AnyOf((A, B, Word("c1")))),
        ('a1 "b1"', AnyOf((A, B))),
        ('a1 ("b1 c1")', AnyOf((A, AnyOf((B, Word("c1")))))),
        (
            'a1 "b1 c1" -"d1 e1" lang:en',
            AllOf((Not(Phrase(("d1", "e1"))), Filter("lang", "en"), AnyOf((A, B, Word("c1"))))),
        ),
        ('+a1 "b1 c1" d1', AllOf((A,))),
        ('"b1 c1" "a1"', None),  # nothing but phrases: they are meant
        ('"b1 c1" -a1', None),
        ('+"b1 c1" a1', None),
        ('"b1 c1" AND a1', None),
        ('title:"b1 c1" a1', None),
        (f'{NINE} "b1 c1"', None),  # optional in any case
    ],
)
def test_what_matches_where_nothing_has_a_phrase(text, wider):
    found = parse(text)
    assert found.wider == (wider or found.condition)
    assert (found.wider == found.condition) == (wider is None)


def test_exact_forms_weigh_less_the_more_words_a_query_has():
    found = [parse(" ".join(WORDS[:number])) for number in (3, 4, 5, 6)]
    assert [len(query.exact) for query in found] == [3, 4, 5, 0]
    assert [query.weight(("w0",)) for query in found] == pytest.approx([1, 2 / 3, 1 / 3, 0])


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("a1 -b1", AnyOf((A, B))),
        ('"a1 b1" NOT a1', AnyOf((A, B))),
        ("+a1 lang:en", AllOf((Filter("lang", "en"), A))),
        ("-(a1 b1)", AnyOf((A, B))),
    ],
)
def test_as_text_a_query_has_filters_alone(text, condition):
    assert parse(text, is_text=True).condition == condition


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2024", (2024, 1, 1)), ("2024-5", (2024, 5, 1)), ("2024-05-31", (2024, 5, 31)), ("24", None), ("2024-00", None)],
)
def test_days(text, expected):
    found = day(text)
    assert (found and (found.year, found.month, found.day)) == expected


DATES = "a date is a year, a month or a day, such as 2024, 2024-05 or 2024-05-31"


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("a1 after:2024 lang:en type:odd", []),
        ("after:2024-13 a1 after:2024-13", [f"after:2024-13 is taken as words: {DATES}"]),
        (
            "lang:klingon before:soon",
            [
                "lang:klingon is taken as words: a language is a code of two or three letters, such as en",
                f"before:soon is taken as words: {DATES}",
            ],
        ),
    ],
)
def test_a_value_that_cannot_be_used_is_named(text, notes):
    assert list(parse(text).notes) == notes


# What is silently taken as words reads like an answer to what was asked (michellefitz/planningsearch#62,
# codelibs/fess-docs#445 of wildcards, igniterealtime/openfire-monitoring-plugin#84 of fields).
OTHERS = {
    "of another engine": ("filetype:pdf a1", "filetype: is searched for as a word; to filter, write type:VALUE"),
    "excluded": ("a1 -InTitle:b1", "intitle: is searched for as a word; to filter, write title:VALUE"),
    "of all words": ("allinurl:a1", "allinurl: is searched for as a word; to filter, write url:VALUE"),
    "with a blank": ("site: a.org", "site: is searched for as a word; to filter, write site:VALUE"),
    "of code": ("std::vec a1:b1 10:30 http://a.org/title:x", None),
    "in quotation marks": ('"filetype:pdf"', None),
    "in a pasted text": ("filetype:pdf *a b1 b2 b3 b4 b5 b6 b7 b8 b9", None),
    "a pattern": ("dja* py*on", None),
    "an end alone": ("*ango", "*ango is no pattern: one has two letters or digits before an asterisk, as li*se"),
    "a letter": ("a1 d*", "d* is no pattern: one has two letters or digits before an asterisk, as li*se"),
    "any letter": ("dj?ngo", "dj?ngo is no pattern: one has two letters or digits before an asterisk, as li*se"),
    "in a phrase": ('"py* on"', "py* is no pattern: one has two letters or digits before an asterisk, as li*se"),
    "a question, and a query": ("what? http://a.org/b?c", None),
}


@each_row(OTHERS)
def test_what_is_no_operator_here_is_said(text, note):
    assert list(parse(text).notes) == ([note] if note else [])


PLAIN = {
    "words": ("A1,  b1?", "A1, b1?"),
    "quotation marks": ('"a1 b1" „c1“ d1" “e1”', "a1 b1 c1 d1 e1"),
    "signs": ("+a1 -b1 --c1 d1-e1 f1 - g1", "a1 b1 c1 d1-e1 f1 g1"),
    "operators": ("a1 AND b1 OR NOT c1 Not ANDY", "a1 and b1 or not c1 Not ANDY"),
    "a group": ("(a1 (OR) b1)", "a1 or b1"),
    "patterns": ("dja* *args a*b", "dja args a b"),
    "names": ("title:a1 -lang:ko (price:10) std::vec at 12:30:15", "title/a1 lang/ko price/10 std/vec at 12/30:15"),
    "a name before quotation marks": ('title:"a1 b1"', "title/ a1 b1"),
    "names of things": ("C++ .NET node.js foo_bar http://a.org/b:c", "C++ .NET node.js foo_bar http///a.org/b:c"),
    "nothing": (' "-" ', ""),
}


@each_row(PLAIN)
def test_the_query_for_a_text(text, query):
    assert plain_query(text) == query


@given(st.text() | st.text(alphabet='ab"“„*+- :.()ANDORNOTpricetle\n', max_size=200))
def test_a_plain_query_has_the_words_of_the_text_and_no_query_language(text):
    query = plain_query(text)
    assert tokens(query) == tokens(text)
    parts = lexemes.lexemes(query, frozenset({"price"})).parts
    assert {(part.kind, part.is_quoted) for part in parts} <= {("word", False)}
    assert not any(patterns.pattern(part.text) for part in parts)


@given(st.text() | st.text(alphabet='ab"- :.()ANDORtitle\n', max_size=200))
def test_every_text_is_a_query(text):
    found = parse(text)
    assert len(found.words) <= MAX_TERMS


@pytest.mark.parametrize("text", ["(" * 10_000, "a AND " * 10_000, "-" * 10_000, '"a" ' * 10_000, "(a) " * 10_000])
def test_a_monstrous_query_is_cut(text):
    assert len(parse(text).words) <= 1


def test_a_book_is_a_query_of_its_first_words():
    assert len(parse(" ".join(f"w{n}" for n in range(10_000))).words) == MAX_TERMS


def test_examples():
    assert not any(doctest.testmod(module).failed for module in (parse_module, lexemes, pair_weights, patterns))


def test_exact_forms_of_vietnamese_count_in_queries_of_any_length():
    found = parse("con ma má của tôi ở đâu")
    assert found.exact == tuple((word,) for word in found.words)
    assert (found.weight("má"), found.weight(("má",))) == (1, 2)
    assert parse("être là où était café").weight(("où",)) < 1
    assert parse("con ma").weight(("ma",)) == 1


def test_conditions_of_different_kinds_are_not_equal():
    parts = (Word("cod"), Word("tide"))
    assert AnyOf(parts) != AllOf(parts) and Word("lang", "en") != Filter("lang", "en")
    assert AnyOf(parts) == AnyOf(tuple(parts)) and len({AnyOf(parts), AllOf(parts), AnyOf(parts)}) == 2
