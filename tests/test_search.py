"""Queries over an index give what the plainest reading of the documents gives."""

import doctest
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search import matching, query, ranking, snippets
from search.index import Index
from search.query import Query, parse
from search.results import as_json
from search.snippets import snippet
from tests.corpus import commit, indexed
from transforms.analysis import query_terms, tokens
from transforms.crawl_dir import CrawlDir, CrawlDirError, Manifest
from transforms.index import DOCS, url_text

WORDS = [*"abcdefgh", "naïve", "검색", "엔진이", "全文検索", "全文", "c++"]


def random_rows(seed, count=40):
    """Documents of few words, so that every query meets several; two share each text, for equal scores."""
    words = random.Random(seed)

    def some(most):
        return " ".join(words.choices(WORDS, weights=range(len(WORDS), 0, -1), k=words.randint(0, most)))

    rows = [{"title": some(3), "text": some(40), "headings": [some(2), some(2)]} for _ in range(count // 2)]
    return [{"url": f"http://h{n % 3}.test/{n:03d}"} | rows[n // 2] for n in range(count)]


def bm25f(rows, text):
    """(score, URL) of the documents that have any term of the query, best first: the formula, word by word."""
    fields = [
        {
            "title": tokens(row["title"]),
            "body": tokens(row["text"]),
            "headings": tokens(" ".join(row["headings"])),
            "url": tokens(url_text(row["url"])),
        }
        for row in rows
    ]
    average = {name: sum(len(doc[name]) for doc in fields) / len(fields) for name in ranking.WEIGHTS}
    result = []
    for row, doc in zip(rows, fields, strict=True):
        score = 0.0
        for term in query_terms(text):
            having = sum(any(term in words for words in other.values()) for other in fields)
            frequency = sum(
                weight * doc[name].count(term) / (1 - ranking.B + ranking.B * len(doc[name]) / average[name])
                for name, weight in ranking.WEIGHTS.items()
                if doc[name]
            )
            idf = math.log(1 + (len(rows) - having + 0.5) / (having + 0.5))
            score += idf * frequency * (ranking.K1 + 1) / (ranking.K1 + frequency)
        if score:
            result.append((score, row["url"]))
    return sorted(result, key=lambda pair: (-round(pair[0], 9), pair[1]))


@pytest.mark.parametrize("segments", [1, 3])
@pytest.mark.parametrize("seed", [1, 2])
def test_scores_and_order_are_those_of_the_formula(tmp_path, seed, segments):
    rows = random_rows(seed)
    index = Index.open(indexed(tmp_path, *(rows[n::segments] for n in range(segments))))
    for text in ["a", "h c", "naïve c++", "검색엔진", "全文検索", "全文 a b c d", "missing", "a missing"]:
        expected = bm25f(rows, text)
        found = index.search(text, limit=100)
        assert [hit.url for hit in found.hits] == [url for _, url in expected], text
        assert [hit.score for hit in found.hits] == pytest.approx([score for score, _ in expected], rel=1e-9)
        assert found.total == len(expected)
        pages = [index.search(text, limit=7, offset=offset).hits for offset in range(0, 42, 7)]
        assert [hit for page in pages for hit in page] == found.hits


def has_phrase(row, *words):
    """Whether the words stand in a row in the title or the text."""
    return any(
        tuple(terms[n : n + len(words)]) == words
        for terms in (tokens(row["title"]), tokens(row["text"]))
        for n in range(len(terms))
    )


@pytest.mark.parametrize("segments", [1, 3])
def test_phrases_exclusions_and_sites(tmp_path, segments):
    rows = random_rows(3)
    index = Index.open(indexed(tmp_path, *(rows[n::segments] for n in range(segments))))

    def check(text, expected):
        assert {hit.url for hit in index.search(text, limit=100).hits} == {row["url"] for row in expected}
        assert 0 < len(expected) < len(rows)  # or it shows nothing

    check('"a b"', [row for row in rows if has_phrase(row, "a", "b")])
    check('"b a" "a b" h', [row for row in rows if has_phrase(row, "a", "b") and has_phrase(row, "b", "a")])
    check('"a a"', [row for row in rows if has_phrase(row, "a", "a")])
    check('"全文検索"', [row for row in rows if has_phrase(row, "全文", "文検", "検索")])
    check('"엔진이"', [row for row in rows if has_phrase(row, "엔진", "진이")])
    with_h = [row for row in rows if "h" in tokens(" ".join([row["title"], row["text"], *row["headings"]]))]
    check('h -"a b"', [row for row in with_h if not has_phrase(row, "a", "b")])
    check("site:h1.test", [row for row in rows if "//h1.test/" in row["url"]])


def test_no_phrase_reaches_from_one_field_or_document_into_the_next(tmp_path):
    rows = [
        {"url": "http://a.test/1", "title": "red", "text": "fish", "headings": ["blue sea"]},
        {"url": "http://a.test/2", "title": "fish", "text": "sea red"},
    ]
    index = Index.open(indexed(tmp_path, rows))
    assert [index.search(text).total for text in ('"red fish"', '"fish sea"', '"blue sea"', '"sea red"')] == [
        0,
        0,
        0,
        1,
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Query(())),
        ("the Quick fox", Query(("quick", "fox"))),
        ('"to be" hamlet', Query(("hamlet",), (("to", "be"),))),
        ('say "open end', Query(("say", "open", "end"))),
        ('"" "—" x', Query(("x",))),
        ("- -- x", Query(("x",))),
        ("well-known -foo.bar", Query(("well", "known"), (), (("foo", "bar"),))),
        ('x -"y z"', Query(("x",), (), (("y", "z"),))),
        ("x site:Example.ORG. site:", Query(("x", "site"), (), (), ("example.org",))),
        ("website:x", Query(("website", "x"))),
        ("全文検索", Query(("全文", "文検", "検索"))),
        ("x site:\udcff", Query(("x",), (), (), ("?",))),
    ],
)
def test_what_a_query_means(text, expected):
    assert parse(text) == expected


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return Index.open(indexed(tmp_path_factory.mktemp("crawl"), random_rows(4), random_rows(5)))


@settings(max_examples=200)
@given(st.text() | st.text(alphabet='ab"- :site.h0test\n'))
def test_every_text_is_a_query(index, text):
    results = index.search(text, limit=3)
    assert len(results.hits) == min(3, results.total)


def test_a_book_is_a_query_of_its_first_words(index):
    assert len(parse(" ".join(f"w{n}" for n in range(10_000))).terms) == query.MAX_TERMS
    assert index.search("a " * 100_000).total


def test_hits_say_what_is_needed_to_show_them(tmp_path):
    row = {"url": "http://a.test/x", "title": " A \n title", "text": "Some words.\nMore words.", "language": "ko"}
    results = Index.open(indexed(tmp_path, [row])).search("words")
    assert as_json(results) == {
        "query": "words",
        "total": 1,
        "hits": [
            {
                "url": "http://a.test/x",
                "title": "A title",
                "snippet": "Some words. More words.",
                "score": results.hits[0].score,
                "host": "a.test",
                "language": "ko",
                "round": 1,
                "fetched_at": "2026-01-02T00:00:00+00:00",
            }
        ],
    }


def test_noarchive_text_is_found_and_never_shown(tmp_path):
    rows = [
        {"url": "http://a.test/1", "text": "secret words", "noarchive": True, "description": "About words"},
        {"url": "http://a.test/2", "text": "secret words", "noarchive": True},
    ]
    hits = Index.open(indexed(tmp_path, rows)).search("secret words").hits
    assert [hit.snippet for hit in hits] == [(("About ", False), ("words", True)), ()]


def test_a_page_with_the_words_as_its_title_comes_first(tmp_path):
    rows = [{"url": f"http://a.test/{n}", "title": f"page {n}", "text": "create table " * 2} for n in range(9)]
    rows += [{"url": "http://z.test/", "title": "create table", "text": "how it is done"}]
    assert Index.open(indexed(tmp_path, rows)).search("create table").hits[0].url == "http://z.test/"


def test_an_index_is_of_all_rounds_or_as_of_one(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    crawl.commit(Manifest("seeds", 0, "", (), {}, (), "", ""))
    commit(crawl, 2, [{"url": "http://a.test/", "text": "word"}])
    commit(crawl, 4, [{"url": "http://b.test/", "text": "word"}], [{"url": "http://c.test/", "text": "word"}])
    totals = {as_of: Index.open(crawl, as_of).search("word").total for as_of in (None, 2, 3, 4, 9)}
    assert totals == {None: 3, 2: 1, 3: 1, 4: 3, 9: 3}
    with pytest.raises(CrawlDirError, match="no index as of round 1; ask as of round 2 or later"):
        Index.open(crawl, 1)


def test_an_empty_segment_changes_nothing(tmp_path):
    index = Index.open(indexed(tmp_path, [], [{"url": "http://a.test/", "text": "a word"}]))
    assert [index.search(text).total for text in ("word", '"a word"', "site:a.test", "none")] == [1, 1, 1, 0]


def test_what_cannot_be_searched_is_told_in_one_line_with_a_way_out(tmp_path):
    with pytest.raises(CrawlDirError, match=r"holds no crawl; start one with: beamtrawl crawl .* --seed URL$"):
        Index.open(CrawlDir(str(tmp_path / "nothing")))
    crawl = CrawlDir(str(tmp_path / "begun"))
    crawl.commit(Manifest("seeds", 0, "", (), {}, (), "", ""))
    with pytest.raises(CrawlDirError, match=r"has no index yet; go on with: beamtrawl crawl .*begun$"):
        Index.open(crawl)


@pytest.mark.parametrize("damage", [lambda file: file.unlink(), lambda file: file.write_bytes(b"PAR1")])
def test_a_damaged_segment_is_named(tmp_path, damage):
    crawl = indexed(tmp_path, [{"url": "http://a.test/", "text": "word"}])
    damage(tmp_path / "index" / "round=000001" / "shard-0" / DOCS)
    with pytest.raises(CrawlDirError, match=r"^index/round=000001/shard-0/docs.parquet cannot be read: .*copy$"):
        Index.open(crawl)


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
        ("전문 검색엔진은", ["검색", "색엔", "엔진"], "전문 [검색엔진]은"),
        ("日本語と日本", ["日本", "本語"], "[日本語]と[日本]"),
        ("Python入門", ["python", "入門"], "[Python入門]"),
        ("ＦＵＬＬ Çelik", ["full", "çelik"], "[ＦＵＬＬ] [Çelik]"),
        ("<b>bold</b>", ["bold"], "<b>[bold]</b>"),
    ],
)
def test_matches_are_marked(text, terms, expected):
    assert marked(snippet(text, terms)) == expected


def test_the_passage_with_the_most_of_the_terms_is_shown():
    text = f"{'start ' * 90}fish here {'middle ' * 90}a red fish there {'end ' * 90}fish"
    passage = marked(snippet(text, ["red", "fish"]))
    assert "a [red] [fish] there" in passage
    assert (passage[:2], passage[-2:]) == ("… ", " …")
    assert set(passage.strip("… ").split()) <= {"middle", "a", "[red]", "[fish]", "there", "end"}  # whole words


@given(st.text(alphabet="ab 本語\n"), st.lists(st.sampled_from(["a", "b", "ab", "本語", "語本"]), unique=True))
def test_a_snippet_is_a_bounded_part_of_the_text(text, terms):
    passage = "".join(piece for piece, _ in snippet(text, terms, width=16))
    shown = passage.removeprefix("… ").removesuffix(" …")
    assert shown.strip() in " ".join(text.split())
    assert len(shown) <= 16


@pytest.mark.parametrize("module", [matching, query, snippets])
def test_examples(module):
    assert doctest.testmod(module) == (0, 3 if module is matching else 1)
