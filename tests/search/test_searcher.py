"""What comes back from a search: hits, snippets, errors. `test_exact_search` has scores, `test_query` the language."""

import doctest
import random
from datetime import UTC, datetime

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beamtrawl.search.answers import shorter
from beamtrawl.search.answers.answer import read_up_to
from beamtrawl.search.index import postings
from beamtrawl.search.index.postings import Postings
from beamtrawl.search.index.scored import scored
from beamtrawl.search.results import beginnings, snippets, title_endings
from beamtrawl.search.results.hits import as_json
from beamtrawl.search.searcher import Index
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, CrawlDirError, Manifest
from beamtrawl.transforms.indexing.segment_files import VERSION_KEY
from beamtrawl.transforms.indexing.write_segment import DOCS
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


def test_a_page_past_its_last_day_is_not_found(tmp_path):
    rows = [
        {"url": f"http://a.test/{year}", "text": "word", "unavailable_after": year and datetime(year, 1, 1, tzinfo=UTC)}
        for year in (None, 2020, 2500)
    ]
    index = Index.open(indexed(tmp_path, rows))
    assert {hit.url for hit in index.search("word").hits} == {"http://a.test/None", "http://a.test/2500"}
    assert index.stored("http://a.test/2500") and not index.stored("http://a.test/2020")


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
    damage(tmp_path / "index" / "round=000001" / "shard-0" / DOCS)
    with pytest.raises(
        CrawlDirError, match=r"^index/round=000001/shard-0/docs.parquet cannot be read: .*--rebuild-index"
    ):
        Index.open(crawl)


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("99", "it has index version 99, this program reads 3; update Beamtrawl"),
        ("0", "it has index version 0, this program reads 3; rebuild it with: beamtrawl compact DIR --rebuild-index"),
        (None, "it has no index version, this program reads 3; rebuild it with: beamtrawl compact DIR --rebuild-index"),
    ],
)
def test_a_segment_of_another_version_is_named(tmp_path, version, reason):
    crawl = indexed(tmp_path, [{"url": "http://a.test/", "text": "word"}])
    file = tmp_path / "index" / "round=000001" / "shard-0" / DOCS
    table = pq.read_table(file).replace_schema_metadata(version and {VERSION_KEY: version})
    pq.write_table(table, file)
    with pytest.raises(CrawlDirError) as told:
        Index.open(crawl)
    reason = reason.replace("DIR", crawl.root)
    assert str(told.value) == f"index/round=000001/shard-0/docs.parquet cannot be used: {reason}"


@pytest.mark.parametrize("module", [beginnings, postings, shorter, snippets, title_endings])
def test_examples(module):
    result = doctest.testmod(module)
    assert (result.failed, result.attempted >= 1) == (0, True)


def test_weaker_matches_of_a_long_query_follow_where_more_are_asked_for(tmp_path):
    words = [f"w{number}" for number in range(9)]
    rows = [
        {"url": f"http://a.test/{number}", "text": " ".join(words[: 9 if number < 12 else 1]), "language": "en"}
        for number in range(30)
    ]
    index, query = Index.open(indexed(tmp_path, rows)), " ".join(words)
    first, some, all_ = (index.search(query, limit) for limit in (10, 12, 100))
    assert [(found.total, found.weaker, len(found.hits)) for found in (first, some, all_)] == [
        (12, 18, 10),
        (12, 18, 12),
        (12, 18, 30),
    ]
    assert [hit.is_weaker for hit in all_.hits] == [False] * 12 + [True] * 18
    assert all_.hits[:10] == first.hits
    scores = [hit.score for hit in all_.hits]
    assert scores == sorted(scores, reverse=True)
    grouped = index.search(query, 100, per_host=1).hits
    assert [hit.is_weaker for hit in grouped] == [False] * 12 + [True] * 18
    pages, next_ = [], None
    while next_ or not pages:
        pages.append(index.search(query, 7, after=next_))
        next_ = pages[-1].next
    assert [hit for page in pages for hit in page.hits] == all_.hits
    newest = index.search(query, 100, order="date")
    assert (len(newest.hits), newest.weaker) == (12, 0)
    assert "weaker" not in as_json(index.search("w0", 100))


def test_documents_with_common_words_alone_fill_a_list_that_asks_for_more(tmp_path):
    texts = {
        **{f"strong{number}": "the fog signal of a lighthouse" for number in range(3)},
        **{f"common{number}": "the keeper" + " of birds" * number for number in range(14)},
        "neither": "birds alone",
        "excluded": "the museum of birds",
    }
    rows = [
        {"url": f"http://{'b' if number % 2 else 'a'}.test/{name}", "text": text, "language": "en"}
        for number, (name, text) in enumerate(texts.items())
    ]
    index = Index.open(indexed(tmp_path, rows))

    def told(query, limit, **options):
        found = index.search(query, limit, **options)
        strong = sum("strong" in hit.url for hit in found.hits)
        assert [hit.is_weaker for hit in found.hits] == [False] * strong + [True] * (len(found.hits) - strong)
        assert not any("excluded" in hit.url or "neither" in hit.url for hit in found.hits)
        return found.total, found.weaker, len(found.hits)

    query = "the signal of lighthouse -museum"
    assert told(query, 10) == (3, 0, 3)  # a first page never
    assert told(query, 11) == (3, 14, 11)
    assert told(query, 100) == (3, 14, 17)
    assert told(f"{query} site:a.test", 100) == (2, 7, 9)
    assert told(f"title:missing {query}", 100) == (0, 0, 0)
    assert told("the xylophone", 100) == (0, 0, 0)  # nothing matches, so there is no list to be filled
    assert told('the "fog signal" of -museum', 100) == told("+signal the of -museum", 100) == (3, 0, 3)
    assert told("of signal -museum", 2) == (3, 0, 2)
    assert told("NOT (the museum) signal of lighthouse", 100) == (3, 13, 16)
    without_phrase = index.search('signal of "signal fog" -museum', 100)
    assert (without_phrase.total, without_phrase.weaker) == (0, 16)
    hits = index.search(query, 100, explain=True).hits
    for hit in hits:
        words = {part.text.strip('"') for part in hit.explanation.parts}
        assert words == ({"the", "of"} if "common" in hit.url else {"signal", "lighthouse"}) or "common0" in hit.url
        assert hit.score == pytest.approx(sum(part.score for part in hit.explanation.parts))
    assert [hit.score for hit in hits[3:]] == sorted((hit.score for hit in hits[3:]), reverse=True)
    assert [hit.url for hit in pages_of(index, query)] == [hit.url for hit in hits]
    assert index.search(query, 100, order="date").weaker == 0


def pages_of(index, query):
    """The hits of eleven and then of two at a time."""
    shown, after = [], None
    while after or not shown:
        page = index.search(query, 2 if after else 11, after=after)
        shown += page.hits
        after = page.next
    return shown


def test_a_place_among_the_last_is_none_among_weaker_matches_of_lower_scores(tmp_path):
    rows = [{"title": "", "text": "signal" + " rock" * 400}] * 6 + [{"title": "Of", "text": ""}] * 8
    rows += [{"title": "", "text": "rock"}] * 26
    rows = [row | {"url": f"http://a.test/{number:02}", "language": "en"} for number, row in enumerate(rows)]
    index = Index.open(indexed(tmp_path, rows))
    query = 'signal of of of "signal fog"'
    hits = index.search(query, 100).hits
    assert [hit.url[-2:] for hit in hits] == [f"{number:02}" for number in range(14)]
    assert hits[5].score < hits[6].score
    assert pages_of(index, query) == hits


def test_common_words_are_read_until_there_are_enough_postings():
    sizes, read = {"the": 5, "of": 4, "to": 3}, []

    def read_word(words):
        read.extend(words)
        docs = np.arange(sizes[words[0]], dtype=np.int32)
        return {words[0]: scored(Postings(docs, {}), np.ones(len(docs), np.float32), 10)}

    for most, count in ((1, 1), (5, 1), (6, 2), (9, 2), (10, 3), (100, 3)):
        read.clear()
        found = read_up_to(most, list(sizes), read_word)
        assert read == list(sizes)[:count]
        assert [len(of.scores) for of in found.values()] == [size * (word in read) for word, size in sizes.items()]


def test_few_that_match_enough_are_followed_by_others_on_the_first_page(tmp_path):
    words = [f"w{number}" for number in range(9)]
    rows = [
        {"url": f"http://a.test/{number}", "text": " ".join(words[: 9 if number < 2 else 1]), "language": "en"}
        for number in range(30)
    ]
    found = Index.open(indexed(tmp_path, rows)).search(" ".join(words), 10)
    assert (found.total, found.weaker, len(found.hits), bool(found.next)) == (2, 28, 10, True)
    assert [hit.is_weaker for hit in found.hits] == [False] * 2 + [True] * 8


def test_pages_without_a_phrase_are_weaker_matches_where_no_page_has_it(tmp_path):
    texts = {
        "phrase": "a long text on the coast, where a fog signal was heard",
        **{f"words{number}": "signal, fog and herring, herring, herring" for number in range(3)},
        "neither": "a lighthouse",
        "excluded": "fog museum",
    }
    rows = [{"url": f"http://a.test/{name}", "text": text, "language": "en"} for name, text in texts.items()]
    index = Index.open(indexed(tmp_path, rows))

    def told(query, **options):
        found = index.search(query, **options)
        return found.total, found.weaker, [(hit.url.rpartition("/")[2], hit.is_weaker) for hit in found.hits]

    with_words = [(f"words{number}", True) for number in range(3)]
    query = 'herring "herring fog" -museum'
    assert told(query) == (0, 4, [*with_words, ("phrase", True)])
    assert told(query, limit=2, offset=2) == (0, 4, [with_words[2], ("phrase", True)])
    (note,) = index.search(query).notes
    assert note.startswith("no page has the phrases in quotation marks")
    for size in (1, 2, 3, 4):
        shown, after = [], None
        while after or not shown:
            page = index.search(query, size, after=after)
            shown += page.hits
            after = page.next
        assert shown == index.search(query).hits
    assert index.search('herring "fog signal"').notes == ()
    assert told('herring "fog signal"') == told('"fog signal"') == (1, 0, [("phrase", False)])
    assert told('"herring fog"') == told('herring +"herring fog"') == told('"herring fog" AND herring') == (0, 0, [])
    assert told('herring "herring fog"', order="date") == (0, 0, [])
    assert index.search(query, facet_values=1).facets["lang"] == []


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
