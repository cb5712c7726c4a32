"""Near duplicates over whole crawls: one of them is indexed, in whatever round it was found."""

import random
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import apache_beam as beam
import pytest

from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from tests.support.crawls import InProcess, crawl, rows, states
from tests.support.web import Answer, Page, Web, html, status


class Divided:
    """Runs steps in this process, in as many partitions and shards as those of many workers have."""

    workers = 64

    def run(self, build: Callable[[beam.Pipeline], None], seconds: float) -> None:
        InProcess().run(build, seconds)


WORDS = ("tide", "harbour", "lamp", "boat", "rope", "gull", "stone", "wind", "salt", "pier", "wave", "net", "crew")


def story(seed: int) -> list[str]:
    """Words of a text that is like no other."""
    chosen = random.Random(seed)
    return [f"{chosen.choice(WORDS)}{chosen.randrange(40)}of{seed}" for _ in range(300)]


def edited(words: list[str], *places: int) -> str:
    """The text with other words in some places."""
    return " ".join(f"edited{place}" if place in places else word for place, word in enumerate(words))


FIRST, SECOND, THIRD = story(1), story(2), story(3)


def found(path: Path, word: str) -> list[str]:
    """The paths of the pages that search finds, with the host."""
    return [hit.url.split("/", 2)[2] for hit in Index.open(CrawlDir(str(path))).search(word).hits]


def near(documents: list[dict[str, Any]], round_: int) -> dict[str, str]:
    """{path: path of its representative} among a round's documents."""
    paths = {row["url_key"]: "/" + row["url"].split("/", 3)[3] for row in documents}
    return {
        paths[row["url_key"]]: paths[row["near_duplicate_of"]]
        for row in documents
        if row["round"] == round_ and row["near_duplicate_of"]
    }


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Near duplicates in a round, of an earlier round and on another host; what is short, exact or has its own name."""
    path = tmp_path_factory.mktemp("near")
    site: dict[str, Page] = {
        "/story": html("Story", edited(FIRST)),
        "/edited": html("Story", edited(FIRST, 5, 100, 200), links=["/later", "http://b.test/"]),
        "/other": html("Story", edited(SECOND)),
        "/named": html("Another name", edited(FIRST, 7)),
        "/exact-copy": html("Story", edited(FIRST)),
        "/short1": html("Story", "Only a few words about the harbour, one of them the first."),
        "/short2": html("Story", "Only a few words about the harbour, one of them the second."),
        "/later": html("Story", edited(SECOND, 30), links=["/last"]),
        "/last": html("Story", edited(THIRD)),
    }
    with Web({"a.test": site, "b.test": {"/": html("Story", edited(FIRST, 50))}}, one_address=True) as web:
        seeds = [web.url("a.test", path) for path in site if path not in ("/later", "/last")]
        crawl(path, seeds, engine=Divided(), scope__mode="any")
    return path


def test_of_a_round_the_first_document_represents(crawled):
    assert near(rows(crawled, "documents"), 1) == {"/edited": "/story"}


def test_a_document_is_near_one_of_an_earlier_round_of_its_site(crawled):
    assert near(rows(crawled, "documents"), 2) == {"/later": "/other"}


def test_the_links_of_a_near_duplicate_are_followed(crawled):
    assert near(rows(crawled, "documents"), 3) == {}
    assert any(row["url"].endswith("/last") for row in rows(crawled, "documents"))


def test_a_near_duplicate_keeps_its_text_and_an_exact_one_does_not(crawled):
    by_path = {row["url"].split("/", 3)[3]: row for row in rows(crawled, "documents") if row["round"] == 1}
    assert "edited100" in by_path["edited"]["text"]
    assert by_path["exact-copy"]["text"] is None
    assert by_path["exact-copy"]["near_duplicate_of"] is by_path["story"]["near_duplicate_of"] is None


def test_one_of_a_cluster_is_found(crawled):
    assert len(found(crawled, FIRST[20])) == 3  # the story, the one with a name of its own, and that of another site
    assert len(found(crawled, SECOND[20])) == 1
    assert len(found(crawled, "edited100")) == 0
    assert len(found(crawled, "harbour")) == 2


def test_a_cluster_has_a_key(crawled):
    documents = [row for row in rows(crawled, "documents") if not row["duplicate_of"]]
    keys = {row["url"].split("/", 3)[3] + str(row["round"]): row["near_key"] for row in documents}
    assert len({keys["edited1"], keys["2"], keys["other1"]}) == 3
    assert keys["other1"] == keys["later2"]
    assert keys["short11"] is None


def test_with_the_setting_off_all_are_indexed(tmp_path):
    site = {"/story": html("Story", edited(FIRST)), "/edited": html("Story", edited(FIRST, 5))}
    with Web({"a.test": site}) as web:
        crawl(tmp_path, [web.url("a.test", path) for path in site], documents__near_duplicates=False)
    assert near(rows(tmp_path, "documents"), 1) == {}
    assert len(found(tmp_path, FIRST[20])) == 2


def test_a_near_duplicate_takes_the_place_of_a_representative_that_changes_or_goes(tmp_path):
    texts: dict[str, dict[str, str | None]] = {
        host: {"/story": edited(words), "/one": edited(words, 5), "/two": edited(words, 6)}
        for host, words in {"changes.test": FIRST, "goes.test": SECOND}.items()
    }

    def page(host: str, path: str) -> Page:
        def answer(headers: Mapping[str, str]) -> Answer:
            text = texts[host][path]
            if text is None:
                return status(404)
            if headers.get("if-none-match") == '"1"' and path != "/one":
                return status(304)
            return Answer(body=html("Story", text).body, headers=(("Content-Type", "text/html"), ("ETag", '"1"')))

        return answer

    def of_host(rows_: Iterable[dict[str, Any]], host: str) -> list[dict[str, Any]]:
        return [row for row in rows_ if row["host"] == web.authority(host)]

    with Web({host: {path: page(host, path) for path in of} for host, of in texts.items()}) as web:
        crawl(tmp_path, [web.url(host, path) for host, of in texts.items() for path in of], engine=Divided())
        for host in texts:
            assert near(of_host(rows(tmp_path, "documents"), host), 1) == {"/story": "/one", "/two": "/one"}
        texts["changes.test"]["/one"], texts["goes.test"]["/one"] = edited(THIRD), None
        crawl(tmp_path, rounds=1, engine=Divided(), recrawl__after=0.0)
    for host in texts:
        assert near(of_host(rows(tmp_path, "documents"), host), 2) == {"/story": "/two"}
        last = of_host(states(tmp_path).values(), host)
        is_near = {urlsplit(row["url"]).path: row["near_duplicate_of"] is not None for row in last}
        assert is_near == {"/one": False, "/two": False, "/story": True}
    assert [len(found(tmp_path, words[20])) for words in (FIRST, SECOND, THIRD)] == [1, 1, 1]


def test_a_document_is_near_the_newest_content_of_another(tmp_path):
    """Both contents of the other are in table near."""
    texts = {"/one": html("Story", edited(FIRST)), "/two": html("Story", edited(SECOND, 5))}

    def one(headers: Mapping[str, str]) -> Answer:
        return texts["/one"]

    with Web({"a.test": {"/one": one, "/two": texts["/two"]}}) as web:
        crawl(tmp_path, [web.url("a.test", "/one")], engine=Divided())
        texts["/one"] = html("Story", edited(SECOND), links=["/two"])
        crawl(tmp_path, rounds=2, engine=Divided(), recrawl__after=0.0)
    assert near(rows(tmp_path, "documents"), 3) == {"/two": "/one"}


SYMBOLS = [f"{of}_{does}" for of in ("tide", "lamp", "boat", "rope", "gull") for does in WORDS] + [
    f"{of.title()}{does.title()}" for of in ("tide", "lamp", "boat", "rope", "gull") for does in WORDS[:12]
]


@pytest.mark.slow("whole crawls")
def test_pages_that_differ_in_one_symbol_are_each_found_by_it(tmp_path: Path) -> None:
    """Reference pages of one title, such as those of a method and of its implementations."""
    assert len(SYMBOLS) == 125
    site: dict[str, Page] = {f"/{symbol}": html("Reference", f"{symbol} {edited(FIRST)}") for symbol in SYMBOLS}
    site |= {f"/titled/{symbol}": html(f"Class {symbol}", f"{symbol} {edited(SECOND)}") for symbol in SYMBOLS}
    with Web({"a.test": site}) as web:
        crawl(tmp_path, [web.url("a.test", path) for path in site])
    index = Index.open(CrawlDir(str(tmp_path)))
    hits = {symbol: {urlsplit(hit.url).path for hit in index.search(symbol).hits} for symbol in SYMBOLS}
    lost = {symbol: {f"/{symbol}", f"/titled/{symbol}"} - found for symbol, found in hits.items()}
    assert {symbol: paths for symbol, paths in lost.items() if paths} == {}
    assert len(near(rows(tmp_path, "documents"), 1)) == 124
    assert len(found(tmp_path, "reference")) == len(found(tmp_path, FIRST[20])) == 1
