"""Crawls of sites where a rule holds in part: no page is lost, and pages with two URLs are mostly fetched once."""

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.alias_cases import TWICE, honest, saving
from tests.support.crawls import crawl, rows, states
from tests.support.web import Answer, Page, Web

pytestmark = pytest.mark.slow("whole crawls")


class Crawled(NamedTuple):
    """A crawl of some sites: rows by the name of the host."""

    path: Path
    sites: dict[str, dict[str, Page]]
    visits: dict[str, list[dict[str, Any]]]
    documents: dict[str, list[dict[str, Any]]]


def crawl_all(path: Path, sites: dict[str, dict[str, Page]]) -> Crawled:
    with Web(sites, by_name=True) as web:
        crawl(path, [web.url(name) for name in sites], fetch__resolve=web.pins)
        names = {web.authority(name): name for name in sites}
    found: list[dict[str, list[dict[str, Any]]]] = []
    for table in ("visits", "documents"):
        found.append({name: [] for name in sites})
        for row in rows(path, table):
            found[-1][names[row["host"]]].append(row)
    return Crawled(path, sites, *found)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    return crawl_all(tmp_path_factory.mktemp("cases"), honest())


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    return crawl_all(tmp_path_factory.mktemp("saving"), saving())


def bodies(site: dict[str, Page]) -> set[bytes]:
    return {page.body for page in site.values() if isinstance(page, Answer)}


def test_every_page_of_a_site_is_fetched(crawled: Crawled) -> None:
    """Links to other hosts in bodies have ports, so contents are counted by digest."""
    names = crawled.sites.keys() - {"part.test", "www.part.test", "twin.test", "www.twin.test"}
    found = {name: len({row["digest"] for row in crawled.documents[name]}) for name in names}
    assert found == {name: len(bodies(crawled.sites[name])) for name in names}


def test_every_page_of_two_names_that_differ_in_a_folder_is_fetched(crawled: Crawled) -> None:
    found = {
        name: {row["url"].rpartition("/news/")[2] for row in crawled.documents[name]} for name in crawled.documents
    }
    assert all({str(n) for n in range(48)} <= found[name] for name in ("part.test", "www.part.test"))


def test_every_page_of_two_names_that_share_a_few_is_fetched(crawled: Crawled) -> None:
    for name in ("twin.test", "www.twin.test"):
        assert {f"/p/{n}" for n in range(103)} <= {"/" + row["url"].split("/", 3)[3] for row in crawled.visits[name]}


def test_the_pages_of_a_copier_are_shown_as_copies(crawled: Crawled) -> None:
    copied = [row for name in ("victim.test", "copier.test", "proxy.test") for row in crawled.documents[name]]
    contents = Counter(row["digest"] for row in copied)
    assert {n: list(contents.values()).count(n) for n in (3, 2)} == {3: 22 + 3, 2: 42}  # 3: front page and doors
    assert sum(bool(row["same_content_as"]) for row in copied) >= len(copied) - len(contents)
    assert {row["duplicate_of"] for row in copied} == {None}


def test_no_rule_leads_to_another_host(crawled: Crawled) -> None:
    kinds = {row["kind"] for row in rows(crawled.path, "aliases")}
    assert "mirror" not in kinds and "www" in kinds
    assert {row["host"].partition(":")[0] for row in states(crawled.path).values() if row["state"] == "alias"} <= {
        *(
            "menu.test",
            "lang.test",
            "case.test",
            "slash.test",
            "users.test",
            "part.test",
            "www.part.test",
            "twin.test",
            "www.twin.test",
        )
    }


@pytest.mark.parametrize("names", [["index.test"], ["noise.test"], ["twice.test", "www.twice.test"]], ids=str)
def test_pages_with_two_urls_are_mostly_fetched_once(saved: Crawled, names: list[str]) -> None:
    digests = {row["digest"] for name in names for row in saved.documents[name]}
    visits = sum(len(saved.visits[name]) for name in names)
    assert len(digests) == TWICE + 3
    # The pages, those that teach the rule, the sample, and on two hosts the front page and the doors.
    assert TWICE + 3 + 15 <= visits <= TWICE + 3 + 10 + 20 + 3 * (len(names) - 1)


def test_what_is_held_and_sampled_is_counted(saved: Crawled) -> None:
    held, sampled = Counter[str](), Counter[str]()
    for row in newest(rows(saved.path, "alias_counts")):
        name = row["origin"].partition("://")[2].partition(":")[0]
        held[name] += row["held"]
        sampled[name] += row["sampled"]
    aliases = [row for row in states(saved.path).values() if row["state"] == "alias" and row["discovered_from"]]
    assert held == Counter(row["host"].partition(":")[0] for row in aliases)
    assert sampled == dict.fromkeys(("index.test", "noise.test", "www.twice.test"), 20)


def newest(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    keys = ("origin", "kind", "detail", "template")
    return list({tuple(row[key] for key in keys): row for row in sorted(found, key=lambda row: row["round"])}.values())
