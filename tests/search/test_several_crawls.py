"""Several crawls in one search: as one crawl of all, with the name of each hit's crawl."""

import contextlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from beamtrawl import open_crawls
from beamtrawl.runners.commands.search import split_words
from beamtrawl.search.answers.opening import packed, unpacked
from beamtrawl.search.answers.results.hits import Results, as_json
from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.gateway.app import create_app
from beamtrawl.search.gateway.reload import LatestIndex
from beamtrawl.search.gateway.suggest import suggestions
from beamtrawl.transforms.blocks.files import add_block
from beamtrawl.transforms.blocks.rules import Block
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, CrawlDirError
from beamtrawl.transforms.directory.named_crawls import named_crawls
from tests.support.command_line import beamtrawl, failure
from tests.support.corpus import commit, indexed
from tests.support.tables import each_row

FISH = [
    {"url": "http://fish.test/", "title": "Fish", "text": "herring cod cod sea", "link_rank": 2.0},
    {
        "url": "http://fish.test/tide",
        "title": "Tides",
        "text": "the tide brings herring to the shore",
        "language": "en",
    },
    {"url": "http://fish.test/eel", "title": "Eels", "text": "eels swim up rivers", "anchors": ["long fish"]},
]
SHIPS = [
    {"url": "http://ships.test/", "title": "Ships", "text": "a ship catches herring", "link_rank": 0.5},
    {"url": "http://ships.test/log", "title": "Log", "text": "tide tide tide and cod", "language": "de"},
]
QUERIES = [
    "herring",
    "tide cod",
    '"the tide"',
    "fish",
    "herring -ship",
    "title:tides",
    "sea OR rivers",
    "ti*",
    "herrnig",
]


def both_in(folder: Path) -> dict[str, CrawlDir]:
    return {"fish": indexed(folder / "fish", FISH), "ships": indexed(folder / "ships", SHIPS)}


@pytest.fixture(scope="module")
def crawls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, CrawlDir]:
    """Two crawls, which tests only read."""
    return both_in(tmp_path_factory.mktemp("crawls"))


@pytest.fixture
def own(tmp_path: Path) -> dict[str, CrawlDir]:
    """The same, for a test that changes them."""
    return both_in(tmp_path)


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, CrawlDir]:
    """Two crawls with a page: OLD in a, NEW in b."""
    folder = tmp_path_factory.mktemp("versions")
    return {"a": indexed(folder / "a", [OLD]), "b": indexed(folder / "b", [NEW])}


def shown(results: Results) -> list[tuple[str, float, str]]:
    return [(hit.url, hit.score, str(hit.snippet)) for hit in results.hits]


def urls(index: Index, query: str) -> list[str]:
    return [hit.url for hit in index.search(query).hits]


def test_the_hits_are_those_of_one_crawl_of_both(crawls: dict[str, CrawlDir], tmp_path: Path) -> None:
    one, two = Index.open(indexed(tmp_path, FISH + SHIPS)), Index.open(crawls)
    for query in QUERIES:
        both, several = one.search(query), two.search(query)
        assert shown(several) == shown(both), query
        assert (several.total, several.suggestion) == (both.total, both.suggestion), query


def test_hits_and_facets_name_the_crawl(crawls: dict[str, CrawlDir]) -> None:
    results = Index.open(crawls).search("herring", facet_values=5)
    assert {hit.url: hit.crawl for hit in results.hits}["http://ships.test/"] == "ships"
    assert as_json(results)["hits"][0]["crawl"] in crawls
    assert [value._asdict() for value in results.facets["crawl"]] == [
        {"value": "fish", "documents": 2, "filter": "crawl:fish"},
        {"value": "ships", "documents": 1, "filter": "crawl:ships"},
    ]


def test_one_crawl_has_no_names(crawls: dict[str, CrawlDir]) -> None:
    results = Index.open(crawls["fish"]).search("crawl:herring", facet_values=5)
    assert results.total == 2
    assert not results.notes
    assert "crawl" not in as_json(results)["hits"][0] | dict(results.facets)


# query, URLs that are found
FILTERS = {
    "one": ("herring crawl:ships", ["http://ships.test/"]),
    "capitals": ("herring crawl:SHIPS", ["http://ships.test/"]),
    "a pattern": ("eels crawl:f*", ["http://fish.test/eel"]),
    "not": ("+herring -crawl:fish", ["http://ships.test/"]),
    "alone": ("crawl:ships", ["http://ships.test/", "http://ships.test/log"]),
}


@pytest.mark.parametrize(("query", "found"), FILTERS.values(), ids=FILTERS)
def test_a_filter_by_crawl(crawls: dict[str, CrawlDir], query: str, found: list[str]) -> None:
    assert sorted(urls(Index.open(crawls), query)) == found


def test_a_crawl_that_is_not_there_is_named(crawls: dict[str, CrawlDir]) -> None:
    results = Index.open(crawls).search("herring crawl:birds")
    assert (results.total, results.notes) == (0, ("crawl:birds finds nothing: the crawls are fish, ships",))


def test_suggestions_are_of_all(crawls: dict[str, CrawlDir]) -> None:
    found = [s.text for s in suggestions(Index.open(crawls), "herring")]
    assert {"Fish", "Ships"} <= set(found)


PAGE = "http://both.test/"
OLD = {"url": PAGE, "title": "Old", "text": "walrus seen", "fetched_at": datetime(2026, 1, 1, tzinfo=UTC)}
NEW = {"url": PAGE, "title": "New", "text": "seal seen", "fetched_at": datetime(2026, 3, 1, tzinfo=UTC)}

# query, titles
VERSIONS = {
    "the newest counts": ("seen", ["New"]),
    "an older text is not found": ("walrus", []),
    "unless its crawl is named": ("walrus crawl:a", ["Old"]),
    "by its name": ("seen crawl:a", ["Old"]),
    "both named": ("seen (crawl:a OR crawl:b)", ["New"]),
    "without the newer crawl": ("+seen -crawl:b", ["Old"]),
}


@pytest.mark.parametrize("order", [["a", "b"], ["b", "a"]], ids=str)
@pytest.mark.parametrize(("query", "titles"), VERSIONS.values(), ids=VERSIONS)
def test_of_a_url_in_two_crawls_the_newest_counts(
    versions: dict[str, CrawlDir], order: list[str], query: str, titles: list[str]
) -> None:
    index = Index.open({name: versions[name] for name in order})
    assert [hit.title for hit in index.search(query).hits] == titles
    stored = [index.stored(PAGE), index.stored(PAGE, crawl="a"), index.stored(PAGE, crawl="c")]
    assert [found and found.title for found in stored] == ["New", "Old", None]


def test_a_block_holds_for_its_own_crawl(tmp_path: Path) -> None:
    crawls = {"a": indexed(tmp_path / "a", [OLD]), "b": indexed(tmp_path / "b", [NEW])}
    add_block(crawls["b"], Block("both.test", "2026-04-01"))
    assert [hit.title for hit in Index.open(crawls).search("seen").hits] == ["Old"]
    add_block(crawls["a"], Block("both.test", "2026-04-01"))
    assert Index.open(crawls).search("seen").total == 0


def test_pages_follow_each_other_while_a_crawl_goes_on(own: dict[str, CrawlDir]) -> None:
    latest = LatestIndex(own, iter(range(100)).__next__, start=lambda call: None)
    first = latest.ask(lambda index: index.search("herring", 1))
    commit(own["ships"], 2, [{"url": "http://ships.test/new", "title": "Herring", "text": "herring " * 9}])
    assert latest.ask(lambda index: index.search("herring")).total == 4
    as_of = packed([1, 1])
    second = latest.ask_as_of(as_of, lambda index: index.search("herring", 9, after=first.next))
    assert second.total == 3
    assert len(second.hits) == 2


def test_rounds_as_one_number() -> None:
    assert unpacked(packed([5, 0, 70_000]), 3) == [5, 0, 70_000]


def test_a_crawl_that_vanishes_is_left_out_with_a_note(own: dict[str, CrawlDir]) -> None:
    latest = LatestIndex(own, iter(range(100)).__next__, start=lambda call: None)
    assert latest.get().search("herring").total == 3
    Path(own["ships"].root).rename(f"{own['ships'].root}-moved")
    results = latest.ask(lambda index: index.search("herring"))
    assert results.total == 2
    (note,) = results.notes
    assert note.startswith("the pages of crawl ships are not searched: ")
    Path(f"{own['ships'].root}-moved").rename(own["ships"].root)
    back = latest.ask(lambda index: index.search("herring"))
    assert (back.total, back.notes) == (3, ())


def test_a_crawl_without_an_index_is_refused_at_first(crawls: dict[str, CrawlDir], tmp_path: Path) -> None:
    with pytest.raises(CrawlDirError, match="holds no crawl"):
        Index.open(crawls | {"none": CrawlDir(str(tmp_path / "none"))})


def test_names() -> None:
    found = named_crawls(["/srv/My docs", "Wiki=/srv/wiki", "/srv/a.b_c-1/", "s3://bucket/shop"])
    assert {name: crawl.root for name, crawl in found.items()} == {
        "my-docs": "/srv/My docs",
        "wiki": "/srv/wiki",
        "a.b_c-1": "/srv/a.b_c-1",
        "shop": "s3://bucket/shop",
    }


# words, the line
REFUSED = {
    "one name": (["/a/docs", "/b/docs"], "/a/docs and /b/docs are both named docs; name one of them: NAME=/b/docs"),
    "twice": (["/a/docs", "x=/a/docs/"], "x=/a/docs/: this crawl is there twice; name it once"),
}


@each_row(REFUSED)
def test_names_that_are_refused(words: list[str], line: str) -> None:
    with pytest.raises(CrawlDirError) as error:
        named_crawls(words)
    assert str(error.value) == line


# the words before and behind the first directory, the crawls, the query
WORDS = {
    "one": (["fish", "herring"], ["fish"], "herring"),
    "a query of several words": (["fish", "old", "herring"], ["fish"], "old herring"),
    "two": (["fish", "ships", "herring"], ["fish", "ships"], "herring"),
    "two and several words": (["fish", "ships", "old", "fish"], ["fish", "ships"], "old fish"),
    "the last word is no directory": (["fish", "ships"], ["fish"], "ships"),
    "named": (["a=fish", "b=ships", "herring"], ["a=fish", "b=ships"], "herring"),
    "on a store": (["fish", "s3://bucket/ships", "herring"], ["fish", "s3://bucket/ships"], "herring"),
    "a URL is a word": (["fish", "http://ships.test/", "herring"], ["fish"], "http://ships.test/ herring"),
    "a word with an equals sign": (["fish", "a=b", "herring"], ["fish"], "a=b herring"),
    "a folder without a crawl": (["fish", "./empty", "herring"], ["fish", "./empty"], "herring"),
    "a path that is not there": (["fish", "/api/fish", "herring"], ["fish"], "/api/fish herring"),
}


@pytest.mark.parametrize(("words", "directories", "query"), WORDS.values(), ids=WORDS)
def test_words_of_a_command_line(tmp_path: Path, words: list[str], directories: list[str], query: str) -> None:
    for name in ("fish/manifests", "ships/manifests", "empty"):
        (tmp_path / name).mkdir(parents=True)
    with contextlib.chdir(tmp_path):
        found, rest = split_words(words[0], words[1:])
    assert (found, " ".join(rest)) == (directories, query)


def test_the_command_names_crawls_and_what_it_takes_as_the_query(crawls: dict[str, CrawlDir]) -> None:
    fish, ships = (crawl.root for crawl in crawls.values())
    found = beamtrawl("search", fish, f"boats={ships}", "herring")
    assert found.out.startswith("3 documents in fish, boats\n")
    assert "\n   http://ships.test/ (boats)\n" in found.out
    assert beamtrawl("search", fish, "herring").out.startswith("2 documents\n")
    unclear = beamtrawl("search", fish, ships)
    assert unclear.err == f"{ships} is taken as the query; to search this crawl, too, give a query behind it\n"
    assert failure("search", fish, ships, "herring", "--as-of", 1) == (
        2,
        "--as-of 1: a round is of one crawl, and these are 2; name one",
    )
    assert failure("serve", fish, ships, "--submissions")[0] == 2
    assert failure("search", fish, f"x={fish}-none/", "herring")[1].startswith(f"{fish}-none holds no crawl")


def test_the_gateway_has_all(crawls: dict[str, CrawlDir]) -> None:
    client = create_app(crawls, clock=iter(range(1_000)).__next__).test_client()
    found = client.get("/api/search?q=herring&facets=3").json
    assert {hit["crawl"] for hit in found["hits"]} == {"fish", "ships"}
    page = client.get("/?q=herring").text
    assert "herring+crawl:ships" in page
    assert "crawl=ships" in page
    assert client.get("/cached?url=http://ships.test/&crawl=ships").status_code == 200
    assert client.get("/cached?url=http://ships.test/&crawl=fish").status_code == 404
    assert client.get("/changes?crawl=birds").status_code == 400


def test_the_python_api(crawls: dict[str, CrawlDir]) -> None:
    opened = open_crawls({name: crawl.root for name, crawl in crawls.items()})
    assert [hit.crawl for hit in opened.search("herring crawl:ships")] == ["ships"]
    assert opened.search("herring").to_arrow()["crawl"].to_pylist().count("fish") == 2
    assert (list(opened), opened["fish"].directory) == (["fish", "ships"], crawls["fish"].root)
    with pytest.raises(ValueError, match="a round is of one crawl"):
        opened.search("herring", as_of=1)
    with pytest.raises(CrawlDirError, match="holds no crawl"):
        open_crawls(["/nosuch"])
