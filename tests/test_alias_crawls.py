"""Crawls of sites whose pages have several URLs: they are learned, and nothing is lost where they only seem to be."""

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.alias_sites import LEVELS, ONE_HOST, OTHER_PAGES, PAGES, TWO_HOSTS, alias_web, contents
from tests.crawls import crawl, rows, states
from tests.web import Web
from transforms.alias_states import SAMPLED

# host: the rule that its contents show
RULES = {
    "index.test": ("index_page", "index.html"),
    "case.test": ("case", ""),
    "slash.test": ("trailing_slash", ""),
    "parameter.test": ("parameter", "view"),
    "www.bare.test": ("www", "http://bare.test"),
    "second.test": ("mirror", "http://first.test"),
}


class Crawled(NamedTuple):
    """A crawl of all the sites, and where it is; hosts without their ports."""

    path: Path
    names: dict[str, str]  # by authority
    aliases: list[dict[str, Any]]
    visits: list[dict[str, Any]]
    documents: list[dict[str, Any]]

    def name(self, row: dict[str, Any]) -> str:
        return self.names[row["host"]]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    path, sites = tmp_path_factory.mktemp("aliases"), alias_web()
    with Web(sites, by_name=True) as web:
        crawl(path, [web.url(name) for name in sites], fetch__resolve=web.pins)
        names = {web.authority(name): name for name in sites}
    return Crawled(path, names, rows(path, "aliases"), rows(path, "visits"), rows(path, "documents"))


def test_each_rule_is_learned_within_three_rounds(crawled: Crawled) -> None:
    used = [row for row in crawled.aliases if row["state"] == "used"]
    first = {crawled.name(row): (row["kind"], row["detail"].rpartition(":")[0] or row["detail"]) for row in used}
    assert {name: (kind, detail.replace("http:", "http:")) for name, (kind, detail) in first.items()} == RULES
    assert max(row["since"] for row in used) <= 3


def test_what_is_learned_is_shown_with_its_evidence(crawled: Crawled) -> None:
    (row,) = (row for row in crawled.aliases if crawled.name(row) == "case.test" and row["round"] == 2)
    assert (row["support"], row["contradictions"], row["against"]) == (PAGES, 0, [])
    pair = row["evidence"][0]
    assert pair["url"] != pair["other_url"]
    assert pair["url"].lower() == pair["other_url"].lower()


def test_aliases_are_hardly_fetched_any_more(crawled: Crawled) -> None:
    for names in [[name] for name in ONE_HOST] + [list(pair) for pair in TWO_HOSTS.items()]:
        visits = Counter(visit["round"] for visit in crawled.visits if crawled.name(visit) in names)
        before, after = visits[2] - PAGES, sum(visits[n] - PAGES for n in range(4, LEVELS + 2))
        assert before >= PAGES
        assert after <= 0.1 * before * (LEVELS - 2) or after <= 3 * PAGES * (LEVELS - 2) / SAMPLED


def test_nothing_is_lost(crawled: Crawled) -> None:
    sites = alias_web()
    for name in [*ONE_HOST, OTHER_PAGES]:
        assert len({d["digest"] for d in crawled.documents if crawled.name(d) == name}) == len(contents(sites, name))
    for pair in TWO_HOSTS.items():
        digests = {d["digest"] for d in crawled.documents if crawled.name(d) in pair}
        assert len(digests) == len(contents(sites, pair[0]))


def test_a_pattern_that_does_not_hold_is_given_up_and_holds_nothing_back(crawled: Crawled) -> None:
    (row,) = (row for row in crawled.aliases if crawled.name(row) == OTHER_PAGES)
    assert (row["kind"], row["state"], row["contradictions"]) == ("trailing_slash", "dropped", PAGES // 2)
    held = {crawled.names[row["host"]] for row in states(crawled.path).values() if row["state"] == "alias"}
    assert held == {*ONE_HOST, *TWO_HOSTS, *TWO_HOSTS.values()} - {"bare.test", "first.test"}


def test_every_url_that_was_found_has_a_state(crawled: Crawled) -> None:
    found = {row["target_key"] for row in rows(crawled.path, "links")}
    known = {row["url_key"]: row for row in states(crawled.path).values()}
    assert found <= known.keys()
    held = [row for row in known.values() if row["state"] == "alias"]
    assert held
    assert {known[row["joined_to"]]["state"] for row in held} == {"fetched"}
    assert {row["state"] for row in known.values()} == {"fetched", "alias"}
