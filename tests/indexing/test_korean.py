"""Korean words are found by their morphemes, beside bigrams."""

import pytest

from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.indexing.korean import morphemes
from tests.support.corpus import indexed
from tests.support.crawls import crawl
from tests.support.web import Web, html

# Stated here and not imported: a changed limit fails a test.
MAX_WORDS = 20_000

CASES = [
    ("", ""),
    ("no Korean 全文 1", ""),
    ("물을 마신다", "물 마시"),
    ("대학생선교회에서", "대학 선교회"),
    ("검색엔진을 검색엔진은", "검색 엔진 검색 엔진"),
    ("설치하기, 설치된", "설치 설치"),
    ("갔다 먹었습니다", "가 먹"),
    ("걸어서", "걷"),  # whose stem is irregular, VV-I
    ("node.js로 C언어를", "언어"),
    ("가" * 25, ""),  # no word
    ("\u1106\u116e\u11af\u110b\u1173\u11af", "물"),  # in letters
]


@pytest.mark.parametrize(("text", "found"), CASES)
def test_what_tells_what_a_text_is_about(text, found):
    assert [term.removeprefix("ko:") for term in morphemes(text)] == found.split()
    assert all(term.startswith("ko:") for term in morphemes(text))


def test_a_text_without_end_is_taken_apart_as_far_as_it_may():
    assert morphemes("물을 " * (MAX_WORDS + 7)) == ["ko:물"] * MAX_WORDS


TEXTS = {
    "students": "한국대학생선교회의 대학생선교회 소개. 대학생선교회에 오세요",
    "fish": "시장에서 생선을 사서 굽는 방법을 설명합니다 싱싱합니다 좋습니다",
    "water": "매일 물을 마신다",
    "drank": "찬 물도 마셨습니다",
}
PAGES = [{"url": f"http://a.test/{name}", "text": text, "language": "ko"} for name, text in TEXTS.items()]
PAGES.append({"url": "http://a.test/english", "text": "생선 fish"})


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return Index.open(indexed(tmp_path_factory.mktemp("plain"), PAGES))


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    return Index.open(indexed(tmp_path_factory.mktemp("index"), PAGES[:3], PAGES[3:], korean_morphemes=True))


def found(index, query):
    return [hit.url.rpartition("/")[2] for hit in index.search(query).hits]


def test_seams_of_words_are_no_words(plain, index):
    assert found(plain, "생선 lang:ko") == ["students", "fish"]  # by bigrams alone
    assert found(index, "생선 lang:ko") == ["fish", "students"]


def test_a_word_of_one_syllable_is_found_behind_its_particle(plain, index):
    assert found(plain, "물") == []
    assert sorted(found(index, "물은")) == ["drank", "water"]
    assert sorted(found(index, "마시다")) == ["drank", "water"]


QUERIES = {
    "물 AND 마시다": ["drank", "water"],
    "물 AND 찬": ["drank"],
    "물 -매일": ["drank"],
    "물 -마시다": ["drank", "water"],  # the exclusion leaves nothing, so it is read as text
    "물 OR english": ["drank", "english", "water"],
    '"물을"': ["water"],  # exactly these: by bigrams
    '"생선을"': ["fish"],
    "title:물": [],
    "lang:ko AND 생선": ["fish", "students"],
    "생선2 AND 물": [],  # partly in another script: all of it, in a row
}


@pytest.mark.parametrize(("query", "urls"), QUERIES.items(), ids=QUERIES)
def test_operators(index, query, urls):
    assert sorted(found(index, query)) == urls


def test_each_is_a_word_of_its_own_in_the_score(index):
    parts = {part.text: part.frequencies for part in index.search("생선", explain=True).hits[0].explanation.parts}
    assert parts == {"생선": {"body": 1}, "ko:생선": {"body": 1}}


def test_an_index_without_morphemes_is_asked_for_none(plain):
    explained = plain.search("생선", explain=True).hits
    assert {part.text for hit in explained for part in hit.explanation.parts} == {"생선"}


def test_a_crawl_indexes_them_if_the_settings_say_so(tmp_path):
    text = "이 문서는 데비안을 설치하는 방법과 매일 물을 마시는 방법을 설명합니다. " * 4
    with Web({"a.test": {"/": html("안내", text, head='<meta http-equiv="content-language" content="ko">')}}) as web:
        crawl(tmp_path, [web.url("a.test")], documents__korean_morphemes=True)
    assert Index.open(CrawlDir(str(tmp_path))).search("물").total == 1
