"""No trap holds us: seven rounds of a crawl of trap sites, and what the operator sees of it (docs/traps.md).

All trap sites, without HTTP and Beam: test_rounds.py.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from beamtrawl.runners.commands.status import render
from beamtrawl.runners.state.crawl_status import summarize
from beamtrawl.runners.state.crawl_traps import trap_line
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from tests.support.crawls import crawl, frontier, rows, states
from tests.support.honest_sites import story
from tests.support.trap_answers import own_words
from tests.support.trap_sites import (
    COMMON_WORDS,
    Maze,
    Site,
    calendar,
    facets,
    loop,
    query_sessions,
    soft_404,
    with_articles,
)
from tests.support.web import OTHERWISE, Page, Web, html

NOW = datetime(2026, 11, 20, tzinfo=UTC)
MOST = 300  # useless fetches of a site

ARTICLES = 80  # of each site, about as many as visits of a trap; with more, without HTTP and Beam: test_rounds.py
KINDS: dict[str, Callable[[], Site]] = {
    "loop2.test": lambda: loop(2, ARTICLES),
    "calendar.test": lambda: calendar(ARTICLES),
    "facets.test": lambda: facets(ARTICLES),
    "query-sessions.test": lambda: query_sessions(ARTICLES),
    "maze.test": lambda: with_articles(Maze(200), "/maze/", articles=ARTICLES),
    "soft-404.test": lambda: soft_404(ARTICLES),
    "own-words.test": lambda: own_words(ARTICLES),
}
"""A trap site of each kind."""

SAME = "Every page of this site has been made by one program, which was not told to write anything else."
PATHS = ["/", *(f"/page{number}" for number in range(1, 85))]
ALIKE = {path: html("Page", f"{n} {SAME}", PATHS[4 * n + 1 : 4 * n + 5]) for n, path in enumerate(PATHS)}

NEWS = [f"/news/{number}" for number in range(120)]
ONE_TITLE: dict[str, Page] = {
    "/": html("Acme", "Welcome.", ["/news/"]),
    "/news/": html("Acme", "What is new.", NEWS[:3]),
    **{path: html("Acme", f"{story(n)} {story(n, 1)}", NEWS[3 * n + 3 : 3 * n + 6]) for n, path in enumerate(NEWS)},
    OTHERWISE: html("Acme", "The page that you were looking for does not exist, please use the menu.", NEWS[:3]),
}
"""Pages that lead to older ones, with the title and the frame of all of the site, also of what it does not find."""


class Crawled(NamedTuple):
    """Seven rounds of all trap sites, and what each of them was asked for."""

    path: Path
    web: Web
    sites: dict[str, Site]
    asked: dict[str, list[str]]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    path = tmp_path_factory.mktemp("traps") / "crawl"
    sites = {name: make() for name, make in KINDS.items()}
    honest = {"alike.test": ALIKE, "one-title.test": ONE_TITLE}
    with Web(sites | honest) as web:
        crawl(path, map(web.url, [*sites, *honest]), rounds=7)
        asked: dict[str, list[str]] = {name: [] for name in [*sites, *honest]}
        for request in web.requests:
            if request.path != "/robots.txt":
                asked[request.host].append(request.path)
        yield Crawled(path, web, sites, asked)


@pytest.mark.slow("traps")
@pytest.mark.parametrize("name", KINDS)
def test_every_page_worth_reading_is_found_and_hardly_any_other_asked_for(crawled: Crawled, name: str) -> None:
    asked, site = crawled.asked[name], crawled.sites[name]
    useful = {site.useful(path) for path in asked} - {None}
    assert len(useful) == site.count
    assert len(asked) - len(useful) > 0, "the trap was not even tried"
    assert len(asked) - len(useful) <= MOST


@pytest.mark.slow("traps")
@pytest.mark.parametrize("name", KINDS)
def test_the_status_names_each_trap(crawled: Crawled, name: str) -> None:
    found = summarize(CrawlDir(str(crawled.path)), NOW)
    host = crawled.web.authority(name)
    mine = [trap for trap in found.traps if trap["host"] == host]
    assert {trap["state"] for trap in mine} <= {"throttled", "trapped"}
    assert mine
    useless = [sample for trap in mine for sample in trap["samples"]]
    site = crawled.sites[name]
    seen = Counter(site.useful(path) for path in crawled.asked[name])
    paths = [sample.removeprefix(f"http://{host}") for sample in useless]
    assert paths
    assert all(site.useful(path) is None or seen[site.useful(path)] > 1 for path in paths)
    told = [trap_line(trap, str(crawled.path)) for trap in mine]
    assert all(line.startswith(host) and ("had anything new" in line or "gave no page" in line) for line in told)
    lines = render(found).splitlines()
    assert any(f"alarm: {line}" in lines for line in told) or any("more traps: " in line for line in lines)


@pytest.mark.slow("traps")
def test_a_host_that_answers_anything_is_asked_twice_a_family(crawled: Crawled) -> None:
    origin = crawled.web.url("own-words.test", "")
    found = {url: row for url, row in states(crawled.path).items() if url.startswith(origin)}
    probed = [url for url, row in found.items() if row["state"] == "probed"]
    assert 0 < len(probed) <= 2 * 8, "two for each of two endings in four sections"
    assert {found[url]["kind"] for url in probed} == {"probe"}
    assert not {row["url"] for row in rows(crawled.path, "documents")} & set(probed)
    host = crawled.web.authority("own-words.test")
    assert "same" in {row["answer"] for row in rows(crawled.path, "trap_samples") if row["host"] == host}


@pytest.mark.slow("traps")
def test_a_site_with_one_title_for_all_also_for_what_it_does_not_find_is_whole(crawled: Crawled) -> None:
    found = {url: row for url, row in states(crawled.path).items() if url.startswith(crawled.web.url("one-title.test"))}
    kept = {urlsplit(url).path for url, row in found.items() if row["state"] == "fetched"}
    assert kept == ONE_TITLE.keys() - {OTHERWISE}
    probed = [url for url, row in found.items() if row["state"] == "probed"]
    assert 0 < len(probed) == len(found) - len(kept) <= 2


def test_the_pages_of_a_small_trap_are_found_and_the_rest_is_held(tmp_path: Path) -> None:
    site = loop(2, 60)
    with Web({"loop.test": site, "own-words.test": own_words(24)}) as web:
        crawl(tmp_path, [web.url("loop.test"), web.url("own-words.test")], rounds=9)
        asked = [r.path for r in web.requests if r.host == "loop.test" and r.path != "/robots.txt"]
        hosts = {web.authority("loop.test"), web.authority("own-words.test")}
    useful = {site.useful(path) for path in asked} - {None}
    assert len(useful) == site.count
    assert len(asked) < 3 * site.count
    assert {row["state"] for row in rows(tmp_path, "traps")} >= {"throttled", "trapped"}
    assert {row["host"] for row in rows(tmp_path, "trap_queues")} == hosts
    assert "probed" in {row["state"] for row in states(tmp_path).values()}  # what cannot exist
    gone = {url for url, row in states(tmp_path).items() if row["reason"] == "gone_by_content"}
    assert len(gone) > 5
    assert {states(tmp_path)[url]["state"] for url in gone} == {"gone"}
    assert not gone & {row["url"] for row in rows(tmp_path, "documents")}
    assert not gone & {row["source_url"] for row in rows(tmp_path, "links")}, "its links are followed"
    assert summarize(CrawlDir(str(tmp_path)), NOW).outcomes["gone_by_content"] == len(gone)


def waiting(path: Path) -> set[str]:
    return {row["url"] for row in frontier(path)}


def visited(path: Path) -> set[str]:
    return {row["url"] for row in rows(path, "visits")}


def held(path: Path) -> set[str]:
    return {url for url, row in states(path).items() if row["state"] == "trapped"}


ESSAYS = {f"/essay{n}": html(f"Essay {n}", " ".join(f"{w}{'xyzuv'[n]}" for w in COMMON_WORDS[:20])) for n in range(5)}


def mirror(path: str) -> Page | None:
    """Pages that all say the same, and lead to two more each, beside a few essays."""
    if not (found := re.fullmatch(r"/(?:page(\d+))?", path)):
        return ESSAYS.get(path)
    number = int(found[1] or 0)
    links = range(1, 13) if path == "/" else (number * 2 + 11, number * 2 + 12)
    more = ESSAYS if path == "/" else ()
    text = "Whoever looks into this old mirror of ours sees just another mirror with nobody around."
    return html("Mirror", f"{path} {text}", [*(f"/page{link}" for link in links), *more])


MIRROR = Site(mirror, lambda path: None, 0)


@pytest.mark.slow("whole crawls")
def test_what_a_trap_holds_is_kept_and_let_go_when_the_operator_says_so(tmp_path: Path) -> None:
    with Web({"mirror.test": MIRROR}) as web:
        crawl(tmp_path, [web.url("mirror.test")], rounds=14)
        trapped = held(tmp_path)
        assert len(trapped) > 10
        assert not trapped & waiting(tmp_path)
        assert {states(tmp_path)[url]["reason"] for url in trapped} == {"trap"}
        assert not trapped & visited(tmp_path)

        allowed = {url for url in trapped if url.endswith("1")}
        assert allowed
        crawl(tmp_path, rounds=1, traps__allow=[f"{web.authority('mirror.test')}/page*1"])
        assert allowed <= visited(tmp_path)
        assert {states(tmp_path)[url]["state"] for url in allowed} == {"fetched"}
        assert held(tmp_path) >= trapped - allowed

        for _ in range(2):  # what waits already is not let go again
            crawl(tmp_path, rounds=0, traps__detect=False)
            assert held(tmp_path) <= waiting(tmp_path)
            assert len(frontier(tmp_path)) == len(waiting(tmp_path))


@pytest.mark.slow("whole crawls")
def test_without_detection_a_round_visits_all_that_is_due(tmp_path: Path) -> None:
    with Web({"mirror.test": MIRROR}) as web:
        crawl(tmp_path, [web.url("mirror.test")], rounds=3, traps__detect=False)
    assert rows(tmp_path, "traps") == rows(tmp_path, "trap_samples") == []
    assert Counter(row["round"] for row in rows(tmp_path, "visits")) == {1: 1, 2: 12 + 5, 3: 24}


@pytest.mark.slow("traps")
def test_a_site_that_is_all_alike_is_no_trap(crawled: Crawled) -> None:
    """There is no telling its pages apart, and no end of small sites like this."""
    assert sorted(crawled.asked["alike.test"]) == sorted(ALIKE)
    assert not {url for url in held(crawled.path) if url.startswith(crawled.web.url("alike.test"))}
