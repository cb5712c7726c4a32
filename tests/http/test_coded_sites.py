"""Sites in each content coding: the same tables, whatever the coding, and hostile bodies within bounds."""

import gzip
from collections.abc import Callable, Mapping
from pathlib import Path

import brotli
import pytest

from beamtrawl.transforms.http.content_coding import zstd
from tests.support.crawls import crawl, rows
from tests.support.web import Answer, Page, Web, html

CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
    "br, gzip": lambda body: gzip.compress(brotli.compress(body)),
}
TEXT = "The lighthouse keeper counts herring gulls, and writes their number into a book. " * 20
SITE = {
    "/": html("Home", TEXT, ["/a", "/b", "/missing"]),
    "/a": html("A", TEXT + "First.", ["/", "/b"]),
    "/b": Answer(body=b"Plain text about herring. " * 50, headers=(("Content-Type", "text/plain"),)),
}
OF_THE_PLACE = {"url_key", "source_key", "target_key", "host", "domain", "address", "near_key"}
OF_THE_TIME = {"fetched_at", "robots_at", "elapsed_ms"}
OF_COPIES = {"duplicate_of", "near_duplicate_of", "same_content_as", "from_duplicate"}  # all are copies of one site
NOT_COMPARED = OF_THE_PLACE | OF_THE_TIME | OF_COPIES


def coded(coding: str) -> dict[str, Page]:
    """The site in one coding, which it sends only to those that accept it."""

    def page(answer: Answer) -> Page:
        def said(headers: Mapping[str, str]) -> Answer:
            assert set(coding.split(", ")) <= set(headers["accept-encoding"].split(", "))
            body = CODINGS[coding](answer.body)
            return Answer(body=body, headers=(*answer.headers, ("Content-Encoding", coding)))

        return said

    return {path: page(answer) for path, answer in SITE.items()}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """One crawl of the site in all codings, and the host of each in the crawl."""
    sites: dict[str, Mapping[str, Page]] = {"plain": SITE, **{coding: coded(coding) for coding in CODINGS}}
    with Web({name.replace(", ", "."): pages for name, pages in sites.items()}) as web:
        seeds = {name: web.url(name.replace(", ", ".")) for name in sites}
        path = tmp_path_factory.mktemp("crawl") / "crawl"
        crawl(path, list(seeds.values()), rounds=2)
    return path, seeds


def of_site(path: Path, table: str, seed: str) -> list[str]:
    """What a table has of the site with a seed, without its address, its times and its coding."""
    root, found = seed.removesuffix("/"), []
    for row in rows(path, table):
        if str(row.get("url") or row["source_url"]).startswith(seed):
            if "headers" in row:
                row["headers"] = [
                    pair for pair in row["headers"] if pair["name"] not in ("Content-Encoding", "Content-Length")
                ]
            kept = {name: value for name, value in row.items() if name not in NOT_COMPARED}
            found.append(repr(kept).replace(root, ""))
    return sorted(found)


@pytest.mark.parametrize("table", ["visits", "documents", "links"])
@pytest.mark.parametrize("coding", CODINGS)
def test_a_site_gives_the_same_tables_in_each_coding(
    crawled: tuple[Path, dict[str, str]], coding: str, table: str
) -> None:
    path, seeds = crawled
    found = of_site(path, table, seeds[coding])
    assert len(found) >= 3
    assert found == of_site(path, table, seeds["plain"])


def test_the_headers_say_how_it_came(crawled: tuple[Path, dict[str, str]]) -> None:
    path, seeds = crawled
    for coding in CODINGS:
        home = next(row for row in rows(path, "visits") if row["url"] == seeds[coding])
        assert {"name": "Content-Encoding", "value": coding} in home["headers"]
        assert home["body"] == SITE["/"].body
