"""What comes back from a search: hits, snippets, errors. `test_exact_search` has scores, `test_query` the language."""

import doctest
import random
from datetime import UTC, datetime

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from beamtrawl.search.answers.results import beginnings, snippets, title_endings
from beamtrawl.search.answers.results.hits import as_json
from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.gateway import shorter
from beamtrawl.search.index import postings
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, CrawlDirError, Manifest
from beamtrawl.transforms.indexing.segment_files import VERSION_KEY
from beamtrawl.transforms.indexing.write_segment import DOCS
from beamtrawl.transforms.urls.canonical import url_key
from tests.support.assistants import UNSEEN
from tests.support.corpus import commit, indexed


def random_rows(seed, count=40):
    """Documents of a few words."""
    pick = random.Random(seed)
    return [
        {
            "url": f"http://h{number % 3}.test/{seed}/{number:03d}",
            "title": " ".join(pick.choices("abcdefgh", k=pick.randint(0, 3))),
            "text": " ".join(pick.choices("abcdefgh", k=pick.randint(0, 40))),
        }
        for number in range(count)
    ]


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


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return Index.open(indexed(tmp_path_factory.mktemp("crawl"), random_rows(4), random_rows(5)))


@settings(max_examples=200)
@given(st.text() | st.text(alphabet='ab"- :site.h0test\n'))
def test_every_text_is_a_query(index, text):
    results = index.search(text, limit=3)
    assert len(results.hits) == min(3, results.total + results.weaker)


def test_pages_of_hits_are_parts_of_one_order(index):
    for text in ("a b", "site:h1.test", '"a b" c'):
        hits = index.search(text, limit=100).hits
        pages = [index.search(text, limit=12, offset=offset).hits for offset in range(0, 84, 12)]
        assert [hit for page in pages for hit in page] == hits


def test_a_book_is_a_query(index):
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
                "media_type": None,
                "noarchive": False,
                "round": 1,
                "fetched_at": "2026-01-02T00:00:00+00:00",
                "published_at": None,
            }
        ],
    }


def test_hits_and_stored_texts_have_nothing_that_only_models_see(tmp_path):
    text = f"Some {UNSEEN} words \u2764\ufe0f\U000e0173\U000e0165."
    index = Index.open(indexed(tmp_path, [{"url": "http://a.test/x", "title": f"A{UNSEEN} title", "text": text}]))
    (hit,), stored = index.search("words").hits, index.stored("http://a.test/x")
    assert (hit.title, str(hit.snippet)) == ("A title", "Some  words \u2764\ufe0f.")
    assert (stored.title, stored.text) == ("A title", "Some  words \u2764\ufe0f.")


def test_a_page_past_its_last_day_is_not_found(tmp_path):
    rows = [
        {"url": f"http://a.test/{year}", "text": "word", "unavailable_after": year and datetime(year, 1, 1, tzinfo=UTC)}
        for year in (None, 2020, 2500)
    ]
    index = Index.open(indexed(tmp_path, rows))
    assert {hit.url for hit in index.search("word").hits} == {"http://a.test/None", "http://a.test/2500"}
    assert index.stored("http://a.test/2500") and not index.stored("http://a.test/2020")


def test_what_is_excluded_is_not_found_and_a_day_before_ends_before_it(tmp_path):
    rows = [
        {"url": f"http://a.test/{number}", "text": text, "published_at": datetime(2024, 5, 5 + number, tzinfo=UTC)}
        for number, text in enumerate(["fog signal", "fog horn", "fog horn signal"])
    ]
    index = Index.open(indexed(tmp_path, rows))
    queries = {"fog": "012", "fog -signal": "1", "fog NOT horn": "0", "fog before:2024-05-06": "0"}
    queries |= {"fog after:2024-05-06": "12", "fog --horn": "012", "horn OR signal": "012", "horn AND signal": "2"}
    assert {q: "".join(sorted(hit.url[-1] for hit in index.search(q).hits)) for q in queries} == queries


def test_of_copies_on_several_sites_one_is_found_and_each_by_its_site(tmp_path):
    copied = {"text": "herring gull", "same_content_as": url_key("http://a.test/")}
    rows = [{"url": "http://a.test/", "text": "herring gull"}, copied | {"url": "http://b.test/"}]
    index = Index.open(indexed(tmp_path, rows))
    found = {query: [hit.url for hit in index.search(query).hits] for query in ("gull", "gull site:b.test")}
    assert found == {"gull": ["http://a.test/"], "gull site:b.test": ["http://b.test/"]}


def test_what_is_joined_by_operators_has_no_shorter_query():
    queries = ("tide", "tide reef", "tide OR reef", "tide AND reef", "(tide reef) fog")
    assert [len(shorter.shorter(query)) for query in queries] == [0, 2, 0, 0, 0]


def test_the_newest_first(tmp_path):
    rows = [
        {"url": f"http://a.test/{number}", "text": "word " * number, "published_at": date}
        for number, date in enumerate([datetime(2020, 1, 1, tzinfo=UTC), datetime(2024, 5, 6, 7, tzinfo=UTC)] * 2, 1)
    ]
    index = Index.open(indexed(tmp_path, rows))
    hits = index.search("word", order="date").hits
    assert [hit.url[-1] for hit in hits] == ["2", "4", "1", "3"]
    scores = {hit.url: hit.score for hit in index.search("word").hits}
    assert {hit.url: hit.score for hit in hits} == scores
    assert [hit.url[-1] for hit in index.search("word", 2, 1, order="date").hits] == ["4", "1"]


def test_a_date_after_the_fetch_is_none(tmp_path):
    """A page of 2100 is neither the newest, nor fresher than one of the day before its fetch."""
    dates = {"a": datetime(2100, 1, 1, tzinfo=UTC), "b": datetime(2026, 1, 2, 20, tzinfo=UTC), "c": None}
    rows = [{"url": f"http://a.test/{n}", "text": "word", "published_at": date} for n, date in dates.items()]
    index = Index.open(indexed(tmp_path, rows))
    assert [hit.url[-1] for hit in index.search("word", order="date").hits] == ["b", "a", "c"]
    assert [hit.url[-1] for hit in index.search("word after:2027").hits] == []
    scores = {hit.url[-1]: hit.score for hit in index.search("word").hits}
    assert scores["a"] == scores["c"] < scores["b"]


@pytest.mark.parametrize(
    ("site", "found"),
    [
        ("a.test", ["a.test:80", "a.test:8080", "b.a.test:80"]),
        ("a.test:80", ["a.test:80", "b.a.test:80"]),
        ("b.a.test", ["b.a.test:80"]),
        ("test", ["a.test:80", "a.test:8080", "b.a.test:80", "ba.test:80"]),
    ],
)
def test_a_site_has_all_ports_unless_one_is_named(tmp_path, site, found):
    hosts = ["a.test:80", "a.test:8080", "b.a.test:80", "ba.test:80"]
    index = Index.open(indexed(tmp_path, [{"url": f"http://{host}/", "host": host, "text": "word"} for host in hosts]))
    assert sorted(hit.host for hit in index.search(f"word site:{site}").hits) == found


def test_a_page_with_the_words_as_its_title_comes_first(tmp_path):
    rows = [{"url": f"http://a.test/{n}", "title": f"page {n}", "text": "create table " * 2} for n in range(9)]
    rows += [{"url": "http://z.test/", "title": "create table", "text": "how it is done"}]
    assert Index.open(indexed(tmp_path, rows)).search("create table").hits[0].url == "http://z.test/"


def test_an_index_is_of_all_rounds_or_as_of_one(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    crawl.commit(Manifest("seeds", 0, "", (), {}, (), "", ""))
    commit(crawl, 2, [{"url": "http://a.test/", "text": "word"}])
    commit(crawl, 4, [{"url": "http://b.test/", "text": "word"}], [{"url": "http://c.test/", "text": "word"}])
    totals = {as_of: Index.open(crawl, as_of).search("word").total for as_of in (None, 2, 3, 4)}
    assert totals == {None: 3, 2: 1, 3: 1, 4: 3}
    with pytest.raises(CrawlDirError, match="no index as of round 1; ask as of round 2 or later"):
        Index.open(crawl, 1)
    with pytest.raises(CrawlDirError, match=r"has no round 5 yet; the last one is round 4$"):
        Index.open(crawl, 5)


def test_a_word_counts_as_often_as_it_is_asked_for(tmp_path):
    rows = [{"url": f"http://a.test/{word}", "text": f"{word} and other words"} for word in ("fish", "sea")]
    index = Index.open(indexed(tmp_path, rows))
    found = {}
    for query in ("fish sea", "fish sea sea", "fish fish sea", "sea the sea SEA the the"):
        parts = {hit.url.rpartition("/")[2]: hit for hit in index.search(query, explain=True).hits}
        found[query] = {name: hit.explanation.parts[0].score for name, hit in parts.items()}
    once = found["fish sea"]["fish"]
    assert found == {
        "fish sea": {"fish": once, "sea": once},
        "fish sea sea": {"sea": 2 * once, "fish": once},
        "fish fish sea": {"fish": 2 * once, "sea": once},
        "sea the sea SEA the the": {"sea": 3 * once},
    }
    assert list(found["fish sea sea"]) == ["sea", "fish"]


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


def test_an_index_that_is_opened_again_shares_the_segments_that_stay(tmp_path):
    crawl = CrawlDir(str(tmp_path))
    commit(crawl, 1, [{"url": "http://a.test/1", "text": "old"}], [{"url": "http://a.test/2", "text": "old"}])
    before = Index.open(crawl)
    commit(crawl, 2, [{"url": "http://a.test/1", "text": "new"}], [{"url": "http://a.test/3", "text": "old"}])
    after = Index.open(crawl, previous=before)
    assert [hit.url[-1] for hit in after.search("old").hits] == ["2", "3"]
    assert after.search("old") == Index.open(crawl).search("old")
    assert before.search("old").total == 2
    shared = {segment for segment, _ in before.parts()} & {segment for segment, _ in after.parts()}
    assert (len(shared), before.segments, after.segments) == (2, 2, 4)


@pytest.mark.parametrize("damage", [lambda file: file.unlink(), lambda file: file.write_bytes(b"PAR1")])
def test_a_damaged_segment_is_named(tmp_path, damage):
    crawl = indexed(tmp_path, [{"url": "http://a.test/", "text": "word"}])
    damage(tmp_path / "index" / "round=000001" / "shard-0000-0000000000000000" / DOCS)
    with pytest.raises(
        CrawlDirError,
        match=r"^index/round=000001/shard-0000-0000000000000000/docs.parquet cannot be read: .*--rebuild-index",
    ):
        Index.open(crawl)


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("99", "it has index version 99, this program reads 4; update Beamtrawl"),
        ("0", "it has index version 0, this program reads 4; rebuild it with: beamtrawl compact DIR --rebuild-index"),
        (None, "it has no index version, this program reads 4; rebuild it with: beamtrawl compact DIR --rebuild-index"),
    ],
)
def test_a_segment_of_another_version_is_named(tmp_path, version, reason):
    crawl = indexed(tmp_path, [{"url": "http://a.test/", "text": "word"}])
    file = tmp_path / "index" / "round=000001" / "shard-0000-0000000000000000" / DOCS
    table = pq.read_table(file).replace_schema_metadata(version and {VERSION_KEY: version})
    pq.write_table(table, file)
    with pytest.raises(CrawlDirError) as told:
        Index.open(crawl)
    reason = reason.replace("DIR", crawl.root)
    assert str(told.value) == f"index/round=000001/shard-0000-0000000000000000/docs.parquet cannot be used: {reason}"


@pytest.mark.parametrize("module", [beginnings, postings, shorter, snippets, title_endings])
def test_examples(module):
    result = doctest.testmod(module)
    assert (result.failed, result.attempted >= 1) == (0, True)


def test_words_of_scripts_without_spaces_and_of_vietnamese(tmp_path):
    texts = {
        "hospital": "เขาไปโรงพยาบาลเมื่อวาน",
        "effort": "เธอพยายามมาก",
        "water": "ดื่มน้ำมากๆ",
        "ghost": "con ma",
        "mother": "má tôi",
    }
    rows = [{"url": f"http://a.test/{name}", "text": text, "title": text} for name, text in texts.items()]
    index = Index.open(indexed(tmp_path, rows))

    def found(query):
        return [hit.url.rpartition("/")[2] for hit in index.search(query).hits]

    assert found("โรงพยาบาล")[0] == "hospital"
    assert found('"โรงพยาบาล"') == ["hospital"]
    assert found("น้ำ") == found("title:น้ำ") == ["water"]
    assert found("ฟหก") == []
    assert [piece for piece, is_match in index.search("โรงพยาบาล").hits[0].snippet if is_match] == ["โรงพยาบาล"]
    assert found("má tôi ở đâu")[0] == "mother"
    assert set(found("ma")) == {"ghost", "mother"}
