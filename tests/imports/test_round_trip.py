"""`beamtrawl import warc`, through the program: what our own archive gives, a second time, and after kills."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.pipeline.imports.read_before import known_of
from beamtrawl.transforms.tables.schemas import URLS
from tests.imports.test_bad_input import imported as read_in, record
from tests.support.command_line import LOOPBACK, beamtrawl, failure, success
from tests.support.crawls import frontier, rows, states
from tests.support.web import Answer, Web, html

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TEXT = " ".join(f"word{number}" for number in range(60))
SITE = {
    "/robots.txt": Answer(body=b"User-agent: *\nDisallow: /private\n", headers=(("Content-Type", "text/plain"),)),
    "/": html("Home", "Start here.", ["/a", "/copy", "/near", "/gone", "/moved", "/deep", "/hidden"]),
    "/a": html("A", f"The same text. {TEXT}"),
    "/copy": html("A", f"The same text. {TEXT}"),
    "/near": html("A", f"The same text. {TEXT} almost"),
    "/moved": Answer(301, b"", (("Location", "/a"),)),
    "/deep": html("Deep", "One further.", ["/deeper"]),
    "/deeper": html("Deeper", "The end.", ["/a", "https://elsewhere.example/"]),
    "/hidden": html("Hidden", "Not for searches.", head='<meta name="robots" content="noindex">'),
}


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawl") / "crawl"
    with Web({"a.test": SITE}) as web:
        success("crawl", folder, "--seed", web.url("a.test"), *LOOPBACK)
    return folder


@pytest.fixture(scope="module")
def archive(crawl: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("archive") / "warc"
    success("export", "warc", crawl, out)
    return out


@pytest.fixture(scope="module")
def imported(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("imported") / "crawl"
    success("import", "warc", folder, archive / "part-*.warc.gz", "--workers", 1)
    return folder


def named(folder: Path, table: str, key: str, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name] for name in (key, *columns)) for row in rows(folder, table))


DOCUMENT = (
    *("title", "text", "digest", "duplicate_of", "noindex", "language", "media_type", "outlinks", "canonical_url"),
    *("spam_score", "depth", "fetched_at", "headings", "description"),
)


RANK = ("link_rank", "links", "link_hosts", "anchors")


def test_documents_links_duplicates_and_ranks_are_those_of_the_crawl(crawl: Path, imported: Path) -> None:
    assert named(imported, "documents", "url", *DOCUMENT) == named(crawl, "documents", "url", *DOCUMENT)
    link = ("target_url", "anchor", "rel", "kind")
    assert named(imported, "links", "source_url", *link) == named(crawl, "links", "source_url", *link)
    assert named(imported, "near", "url_key", "signature") == named(crawl, "near", "url_key", "signature")
    assert named(imported, "ranks", "url_key", *RANK) == named(crawl, "ranks", "url_key", *RANK)
    robots = ("verdict", "body", "fetched_at", "host")
    assert named(imported, "robots", "origin", *robots) == named(crawl, "robots", "origin", *robots)


def test_urls_and_visits_are_those_of_the_crawl_but_for_what_an_archive_does_not_hold(
    crawl: Path, imported: Path
) -> None:
    columns = ("state", "depth", "last_status", "last_fetched_at", "digest")
    ours, theirs = states(imported), states(crawl)
    assert {url: [ours[url][name] for name in columns] for url in ours} == {
        url: [row[name] for name in columns] for url, row in theirs.items() if row["state"] != "probed"
    }
    visit = ("outcome", "status", "body", "redirect_to", "media_type", "truncated", "referrer")
    found = named(imported, "visits", "url", *visit)
    assert found == [row for row in named(crawl, "visits", "url", *visit) if row[0] in ours]


def test_searches_find_the_same(crawl: Path, imported: Path) -> None:
    for query in ("same text", "further", "hidden", "word7 almost"):
        found = [json.loads(beamtrawl("search", folder, query, "--json").out) for folder in (crawl, imported)]
        hits = [[(hit["url"], hit["title"], round(hit["score"], 6)) for hit in one["hits"]] for one in found]
        assert hits[0] == hits[1]


def test_nothing_waits_and_the_same_files_add_nothing(imported: Path, archive: Path) -> None:
    before = sorted((imported / "manifests").iterdir())
    ran = beamtrawl("import", "warc", imported, archive / "part-*.warc.gz", "--workers", 1, "--json")
    said = json.loads(ran.out.splitlines()[-1])
    assert (said["visits"], said["robots"], said["rounds"], said["troubles"]) == (0, 0, 0, [])
    assert said["skipped"]["known"] == len(rows(imported, "visits")) + len(rows(imported, "robots"))
    assert sorted((imported / "manifests").iterdir()) == before
    assert list((imported / "attempts").iterdir()) == []
    assert {row["state"] for row in states(imported).values()} <= {"fetched", "gone", "redirected"}


def test_status_tells_imported_visits_from_requests(imported: Path) -> None:
    said = beamtrawl("status", imported).out
    assert f"imported: {len(rows(imported, 'visits'))} visits" in said and "fetching:" not in said


def test_stored_bodies_are_read_anew_by_other_rules(crawl: Path, archive: Path, tmp_path: Path) -> None:
    """The recipe of docs/import.md."""
    folder, before = tmp_path / "new", tmp_path / "before.csv"
    folder.mkdir()
    (folder / "crawl.toml").write_text("[[extract]]\nmatch = '/deep'\nfield = 'named'\ncss = 'h1'\n")
    query = "SELECT url, length(text) AS characters, outlinks, cardinality(facts) AS facts FROM documents"
    before.write_text(beamtrawl("sql", crawl, query, "--csv").out)
    success("import", "warc", folder, archive / "part-*.warc.gz", "--frontier", "--workers", 1)
    found = beamtrawl("sql", folder, f"{query} EXCEPT FROM '{before}' ORDER BY url", "--unsafe", "--json").out
    read_more = [(row["url"].rpartition("/")[2], int(row["facts"])) for row in json.loads(found)]
    assert read_more == [("deep", 1), ("deeper", 1)]
    assert len(rows(folder, "documents")) == len(rows(crawl, "documents"))
    assert frontier(folder) == []


@pytest.mark.slow("whole crawls")
def test_with_the_frontier_an_archive_is_continued_live(tmp_path: Path) -> None:
    first, out, folder = tmp_path / "first", tmp_path / "warc", tmp_path / "crawl"
    with Web({"a.test": SITE}) as web:
        seed = web.url("a.test")
        assert beamtrawl("crawl", first, "--seed", seed, "--rounds", 1, *LOOPBACK).code == 0
        assert beamtrawl("export", "warc", first, out).code == 0
        words = ("import", "warc", folder, out / "part-*.warc.gz", "--frontier", "--workers", 1)
        assert (ran := beamtrawl(*words)).code == 0, ran.err
        assert [row["url"] for row in rows(folder, "seeds")] == [seed]
        waiting = {row["url"] for row in frontier(folder)}
        assert waiting == {f"{seed}{name}" for name in ("a", "copy", "near", "gone", "moved", "deep", "hidden")}
        assert (ran := beamtrawl("crawl", folder, *LOOPBACK)).code == 0, ran.err
    assert {row["url"].removeprefix(seed) for row in rows(folder, "documents")} == {
        *("", "a", "copy", "near", "deep", "deeper", "hidden")
    }


def test_pages_of_an_archive_that_link_each_other_do_not_wait(tmp_path: Path) -> None:
    pages = record("", '<title>A</title><a href="/b">b</a>') + record("b", '<title>B</title><a href="/">home</a>')
    (tmp_path / "a.warc.gz").write_bytes(pages)
    said = read_in(tmp_path / "c", tmp_path / "a.warc.gz", "--frontier")
    assert said["visits"] == 2
    assert frontier(tmp_path / "c") == []
    assert {url: (row["state"], row["fetches"]) for url, row in states(tmp_path / "c").items()} == {
        "http://a.test/": ("fetched", 1),
        "http://a.test/b": ("fetched", 1),
    }
    assert read_in(tmp_path / "c", tmp_path / "a.warc.gz")["skipped"] == {"known": 2}


def test_the_hosts_of_all_parts_are_the_scope_of_the_next_import(tmp_path: Path) -> None:
    hosts = ("a.test", "b.test", "c.test")
    for number, host in enumerate(hosts):
        (tmp_path / f"{number}.warc.gz").write_bytes(record("", **{"Target-URI": f"http://{host}/"}))
    assert read_in(tmp_path / "c", tmp_path / "[01].warc.gz", "--frontier", "--part", 1)["rounds"] == 2
    assert [row["host"] for row in rows(tmp_path / "c", "seeds")] == ["a.test", "b.test"]
    assert read_in(tmp_path / "c", tmp_path / "2.warc.gz")["skipped"] == {"scope": 1}


@pytest.mark.parametrize(
    ("changes", "at"),
    [
        ({}, None),
        ({"last_status": 200}, NOW),
        ({"last_status": 503, "failures": 3}, NOW),
        ({"digest": b"d" * 16}, NOW),  # a page, and then time-outs
        ({"failures": 1}, NOW),  # gone, and then a time-out
    ],
)
def test_a_page_that_was_answered_before_its_last_time_out_is_known(changes: dict[str, Any], at: datetime) -> None:
    row = dict.fromkeys(URLS.names) | {"fetches": 3, "failures": 3, "last_fetched_at": NOW, "state": "failed"}
    assert known_of(row | changes)["fetched_at"] == at


def test_parts_are_rounds(archive: Path, imported: Path, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    ran = beamtrawl("import", "warc", folder, archive / "part-*.warc.gz", "--part", 4, "--workers", 1)
    assert ran.code == 0, ran.err
    visits = rows(folder, "visits")
    assert {row["round"] for row in visits} == set(range(1, -(-(len(visits) + 1) // 4) + 1))
    assert {row["url"] for row in visits} == {row["url"] for row in rows(imported, "visits")}


def test_wrong_words_are_told(tmp_path: Path) -> None:
    assert failure("import", "warc", tmp_path / "c", tmp_path / "no.warc") == (2, f"{tmp_path}/no.warc is no file")
    assert failure("import", "warc", tmp_path / "c", tmp_path / "*.warc") == (2, f"{tmp_path}/*.warc matches no file")
    code, line = failure("import", "warc", tmp_path / "c", tmp_path)
    assert code == 2 and line.startswith(f"{tmp_path} is a folder; name its files")
