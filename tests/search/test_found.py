"""What is found beside the exact words, what makes equal pages differ, and what helps who asks."""

import doctest
from datetime import UTC, datetime

import pytest

from beamtrawl.search.answers.results import host_grouping
from beamtrawl.search.answers.results.hits import as_json
from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.query import spelling
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from tests.support.corpus import commit, indexed

FORMS = [
    {"url": "http://a.test/en", "text": "gifts and connected naïve cafés", "language": "en"},
    {"url": "http://a.test/de", "text": "Gifte für Mäuse", "language": "de"},
    {"url": "http://a.test/fr", "text": "les écoles générales", "language": "fr"},
    {"url": "http://a.test/ru", "text": "ещё книги", "language": "ru"},
    {"url": "http://a.test/none", "text": "gifts node.js foo_bar 3.11 C++ .NET naïve", "language": None},
    {"url": "http://a.test/ko", "text": "한국어 검색엔진의 순위", "language": "ko"},
]


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    return Index.open(indexed(tmp_path_factory.mktemp("crawl"), FORMS))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("gift", {"en", "de"}),  # gifts in English, Gifte in German; where there is no stemmer, only gift would do
        ("gifts", {"en", "de", "none"}),
        ('"gift"', set()),
        ('"gifts"', {"en", "none"}),
        ("connection", {"en"}),
        ("cafe", {"en"}),
        ("naive", {"en", "none"}),
        ("maus", {"de"}),
        ("ecole", {"fr"}),
        ("ЕЩЕ", {"ru"}),
        ("книга", {"ru"}),
        ("node", {"none"}),
        ("node.js", {"none"}),
        ('"foo_bar"', {"none"}),
        ("bar", {"none"}),
        ('"3.11"', {"none"}),
        ("c++", {"none"}),
        (".NET", {"none"}),
        ("net", set()),
        ("c", set()),
        ("검색엔진", {"ko"}),
        ("한국", {"ko"}),
        ("lang:de gift", {"de"}),
    ],
)
def test_a_word_is_found_in_its_forms_by_the_language_of_the_document(forms, text, found):
    assert {hit.url.rpartition("/")[2] for hit in forms.search(text).hits} == found


def test_all_forms_are_marked_in_a_snippet(forms):
    hit = forms.search("connect gift cafe lang:en").hits[0]
    assert [piece for piece, is_match in hit.snippet if is_match] == ["gifts", "connected", "cafés"]


def test_what_is_written_in_one_piece_comes_before_its_parts(tmp_path):
    rows = [{"url": f"http://a.test/{n}", "text": "js and node, a node of js"} for n in range(3)]
    rows += [{"url": "http://a.test/z", "text": "a page about node.js, and the like of it"}]
    assert Index.open(indexed(tmp_path, rows)).search("node.js").hits[0].url == "http://a.test/z"


@pytest.mark.parametrize("query", ["window functions", "Window function"])
def test_a_title_with_the_words_in_a_row_comes_first(tmp_path, query):
    titles = {"a": "Functions: the window", "b": "Functions, a window", "z": "Windows and functions"}
    rows = [{"url": f"http://a.test/{name}", "title": title, "text": "a page"} for name, title in titles.items()]
    best, *_ = Index.open(indexed(tmp_path, rows)).search(query, explain=True).hits
    assert best.url == "http://a.test/z"
    assert {(part.text, *part.frequencies.items()) for part in best.explanation.parts if " " in part.text} == {
        (" ".join(query.split()[:2]).lower(), ("title", 1))
    }


def test_an_identifier_as_it_stands_comes_before_its_parts(tmp_path):
    rows = [
        {"url": "http://a.test/parts", "title": "Slots", "text": "slots of replication slots " * 9},
        {"url": "http://a.test/private", "text": "this page is about _slots and slots__"},
        {"url": "http://a.test/exact", "text": "this page is about __slots__ and others"},
        {"url": "http://a.test/separate", "text": "work for mem, work mem and work_memory"},
        {"url": "http://a.test/setting", "text": "a page about WORK_MEM and other things"},
        {"url": "http://a.test/name", "title": "work_mem", "text": "a page about a setting"},
    ]
    index = Index.open(indexed(tmp_path, rows))
    found = {
        query: [hit.url.rpartition("/")[2] for hit in index.search(query).hits] for query in ("__slots__", "work_mem")
    }
    assert found["__slots__"][0] == "exact"
    assert {*found["__slots__"]} == {"parts", "private", "exact"}
    assert {*found["work_mem"][:2]} == {"name", "setting"}
    (exact,) = index.search("__slots__", 1).hits
    assert [piece for piece, is_match in exact.snippet if is_match] == ["__slots__"]


def test_identifiers_are_found_by_their_parts_where_they_were_not_indexed(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    commit(crawl, 1, [{"url": "http://a.test/old", "text": "of foo bar"}])  # as foo_bar was indexed
    for rows in ([], [{"url": "http://a.test/new", "text": "of foo_bar", "round": 2}]):
        if rows:
            commit(crawl, 2, rows)
        index = Index.open(crawl)
        for query in ("foo_bar", '"foo_bar"', "foo AND bar", "+foo_bar", '"of foo_bar"'):
            assert {hit.url for hit in index.search(query).hits} >= {"http://a.test/old", *(row["url"] for row in rows)}
    assert index.search("foo_bar").hits[0].url == "http://a.test/new"


def test_an_identifier_that_no_page_has_is_not_replaced(tmp_path):
    index = Index.open(indexed(tmp_path, [{"url": "http://a.test/", "text": "foo_bars and foo bar, foobar"}]))
    results = index.search("foo_bar")
    assert (results.total, results.suggestion) == (1, None)


def test_anchors_name_a_page_that_does_not_have_the_words(tmp_path):
    rows = [
        {"url": "http://a.test/1", "text": "a page", "anchors": ["the old lighthouses"]},
        {"url": "http://a.test/2", "text": "another page"},
    ]
    (hit,) = Index.open(indexed(tmp_path, rows)).search("lighthouse", explain=True).hits
    assert (hit.url, hit.explanation.parts[0].frequencies) == ("http://a.test/1", {"anchors": 1})


@pytest.mark.parametrize(
    "better",
    [{"link_rank": 50.0}, {"spam_score": 0.0}, {"published_at": datetime(2026, 1, 1, tzinfo=UTC)}],
    ids=lambda better: next(iter(better)),
)
def test_of_equal_pages_the_one_of_better_standing_comes_first(tmp_path, better):
    worse = {"spam_score": 0.5, "published_at": datetime(2020, 1, 1, tzinfo=UTC), "link_rank": 1.0}
    rows = [{"url": f"http://a.test/{n}", "text": "some words"} | worse for n in range(3)]
    rows[2] |= better
    hits = Index.open(indexed(tmp_path, rows)).search("words").hits
    assert [hit.url[-1] for hit in hits] == ["2", "0", "1"]
    assert hits[1].score == hits[2].score < hits[0].score < 2 * hits[1].score


def test_hosts_take_turns_when_asked_to(tmp_path):
    rows = [{"url": f"http://a.test/{n}", "title": "word", "text": "x"} for n in range(5)]
    rows += [{"url": "http://b.test/", "title": "word", "text": "and a text that is longer"}]
    index = Index.open(indexed(tmp_path, rows))
    urls = [hit.url for hit in index.search("word").hits]
    turns = [hit.url for hit in index.search("word", per_host=2).hits]
    assert urls[-1] == "http://b.test/"
    assert turns == [*urls[:2], "http://b.test/", *urls[2:5]]
    assert [hit.url for hit in index.search("word", limit=2, offset=2, per_host=2).hits] == turns[2:4]


def test_hosts_do_not_give_way_to_hits_that_are_far_below(tmp_path):
    rows = [{"url": f"http://a.test/{n}", "title": "asyncio gather", "text": "x"} for n in range(5)]
    rows += [{"url": "http://b.test/", "title": "gather", "text": "x"}]
    hits = Index.open(indexed(tmp_path, rows)).search("asyncio.gather", per_host=2).hits
    assert [hit.host for hit in hits] == ["a.test"] * 5 + ["b.test"]


def test_exact_forms_of_short_queries_count(tmp_path):
    texts = ["decorated and decorated decorations", "decorators are functions of a decorator"]
    rows = [{"url": f"http://a.test/{n}", "title": "", "text": text} for n, text in enumerate(texts)]
    hits = Index.open(indexed(tmp_path, rows)).search("decorator").hits
    assert str(hits[0].snippet).startswith("decorators are") and len(hits) == 2


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("lihgthouse", "lighthouse"),
        ("Old LIGHTHUOSE -musuem site:a.test", "Old lighthouse -musuem site:a.test"),
        ("lighthouse", None),
        ("lighthouses", None),  # a form that no page has, of a word that one has
        ("xyzzyx", None),
        ("검색엔징", None),
        ("oold", "old"),
        ("odl", None),  # too short to tell
    ],
)
def test_help_with_spelling(tmp_path, text, suggestion):
    rows = [{"url": "http://a.test/", "text": "an old lighthouse"}, {"url": "http://a.test/2", "text": "lightmouse"}]
    more = [{"url": "http://a.test/3", "text": "lighthouse"}]
    assert Index.open(indexed(tmp_path, rows, more)).search(text).suggestion == suggestion


@pytest.mark.parametrize(("module", "examples"), [(host_grouping, 1), (spelling, 4)])
def test_examples(module, examples):
    assert doctest.testmod(module) == (0, examples)


def test_a_rare_word_near_a_far_more_frequent_one_has_a_suggestion_and_its_pages(tmp_path):
    rows = [{"url": f"http://a.test/{n}", "text": "separate" if n else "seperate v.push_back"} for n in range(30)]
    index = Index.open(indexed(tmp_path, rows))
    found = index.search("seperate")
    assert (found.total, found.suggestion) == (1, "separate")
    assert index.search("separate").suggestion is None
    joined = index.search("pushback")
    assert ([hit.url for hit in joined.hits], joined.suggestion) == (["http://a.test/0"], "push_back")


def test_the_name_of_a_filter_is_not_respelled(tmp_path):
    index = Index.open(indexed(tmp_path, [{"url": "http://a.test/", "text": "side"}]))
    assert index.search("site: side").suggestion is None
    assert index.search("site").suggestion == "side"


def test_an_empty_query_is_said_to_be_empty(tmp_path):
    index = Index.open(indexed(tmp_path, [{"url": "http://a.test/", "text": "side"}]))
    assert index.search(" ").notes == ("the query is empty: give words, or a filter such as lang:en",)
    for query in ('"', "()", "*", "-", "\0"):
        assert index.search(query).notes == (
            "the query searches for nothing: give a word, or a filter such as lang:en",
        )
    assert index.search("lang:en").notes == ()


def test_exclusions_alone_are_said_to_be_words(tmp_path):
    index = Index.open(indexed(tmp_path, [{"url": "http://a.test/", "text": "side"}]))
    said = "exclusions alone are searched for as words: give a word or a filter, such as lang:en, beside them"
    for query in ("-side", "NOT side", "-side -odd"):
        found = index.search(query)
        assert (found.total, found.notes, as_json(found)["notes"]) == (1, (said,), [said])
    for query in ("side", "side -odd", "-side lang:en", "+side", "--side", "TO BE OR NOT TO BE side"):
        assert said not in index.search(query).notes


@pytest.mark.parametrize(
    ("query", "note"),
    [("operator<=", "<="), ("a operator[]", "[]"), ("operator==", "=="), ("C++", ""), ("side!!", ""), ("a – b", "")],
)
def test_signs_that_are_not_searched_are_said(tmp_path, query, note):
    index = Index.open(indexed(tmp_path, [{"url": "http://a.test/", "text": "operator side"}]))
    said = f"{note} is not searched: an index has words, without signs"
    assert index.search(query).notes == ((said,) if note else ())


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("site:a.test/docs", "/Docs /docs/1 /docs?x"),
        ("site:http://a.test/docs/", "/Docs /docs/1 /docs?x"),
        ("site:a.test/docs/1", "/docs/1"),
        ("site:a.test/", "/ /Docs /docs/1 /docs2 /docs?x"),
        ("site:b.test/docs", ""),
        ("site:*.a.test/docs/1", "/docs/1"),
        ("-site:a.test/docs two", "/docs2"),
    ],
)
def test_a_site_with_a_path_has_the_pages_below_it(tmp_path, query, found):
    paths = ("/", "/Docs", "/docs/1", "/docs?x", "/docs2")
    texts = [f"http://a.test{path}" for path in paths]
    rows = [{"url": url, "text": "two" if url.endswith("2") else url} for url in texts]
    urls = [hit.url for hit in Index.open(indexed(tmp_path, rows)).search(query).hits]
    assert sorted(url.removeprefix("http://a.test") for url in urls) == found.split()


@pytest.mark.parametrize(
    ("query", "first"), [("lighthouse", "named"), ("keeper", "said")], ids=["in a title", "in a text"]
)
def test_a_page_that_has_the_word_comes_before_those_that_have_it_in_the_url_alone(tmp_path, query, first):
    rows = [
        {"url": f"http://a.test/lighthouse/keeper/{n}", "title": "등대", "text": "불빛", "language": "ko"}
        for n in range(3)
    ]
    rows += [{"url": "http://a.test/named", "title": "Lighthouses", "text": "Four lights stand around the island."}]
    rows += [{"url": "http://a.test/said", "title": "Life", "text": "How the keepers lived. " + "other words " * 20}]
    assert Index.open(indexed(tmp_path, rows)).search(query).hits[0].url.endswith(first)


def test_a_query_that_is_one_identifier_has_the_page_that_is_about_it_first(tmp_path):
    rows = [{"url": "http://a.test/settings", "title": "Settings", "text": "ALLOWED_HOSTS lists names of hosts. " * 3}]
    rows += [{"url": f"http://a.test/{n}", "title": "Allowed hosts", "text": "allowed hosts allowed"} for n in range(3)]
    hits = Index.open(indexed(tmp_path, rows)).search("ALLOWED_HOSTS", explain=True).hits
    assert not [part for hit in hits for part in hit.explanation.parts if part.text in ('"allowed"', '"hosts"')]
