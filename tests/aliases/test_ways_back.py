"""What a person does to have aliases fetched, through the command line: each is requested in the next round."""

import re
import shlex
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from beamtrawl.transforms.settings import render
from tests.support.alias_cases import twice, www_twice
from tests.support.command_line import beamtrawl
from tests.support.crawls import crawl, frontier, rows, settings, states
from tests.support.web import Web

ROBOT = {"robot__name": "t", "robot__contact": "t@example.org", "robot__info_url": "http://example.org/"}
NAMES = ("twice.test", "www.twice.test")


class Crawled(NamedTuple):
    """A crawl that has ended, and the web, which goes on."""

    path: Path
    web: Web


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    path = tmp_path_factory.mktemp("ways") / "crawl"
    sites = {"noise.test": twice("/a/{}/?ref=1", count=50)} | www_twice("twice.test", count=50)
    with Web(sites, by_name=True) as web:
        chosen = {"fetch__resolve": web.pins, "traps__detect": False} | ROBOT  # each of these URLs is a copy
        crawl(path, [web.url(name) for name in sites], **chosen)
        (path / "crawl.toml").write_text(render(settings(**chosen)))
        yield Crawled(path, web)


@pytest.fixture
def crawled(ended: Crawled, tmp_path: Path) -> Crawled:
    return Crawled(Path(shutil.copytree(ended.path, tmp_path / "crawl")), ended.web)


def aliases(crawled: Crawled, *names: str) -> set[str]:
    """The URLs of some hosts that are held back."""
    hosts = [crawled.web.authority(name) for name in names]
    rows = states(crawled.path).values()
    return {row["url"] for row in rows if row["state"] == "alias" and row["discovered_from"] and row["host"] in hosts}


def assert_requested(crawled: Crawled, *of_rules: set[str]) -> None:
    """All of the URLs that rules held back are requested in the next round, and no alias any more."""
    assert all(len(held) in (20, 21) for held in of_rules)  # of two hosts, a door is in the sample
    urls = {url for held in of_rules for url in held}
    assert urls <= {row["url"] for row in frontier(crawled.path)}
    ran = beamtrawl("crawl", crawled.path, "--workers", 1, "--rounds", "1")
    assert (ran.code, urls - {row["url"] for row in rows(crawled.path, "visits")}) == (0, set())
    assert {states(crawled.path)[url]["state"] for url in urls} == {"fetched"}


@pytest.mark.slow("whole crawls")
def test_commands_release_what_a_rule_holds_for_good(crawled: Crawled) -> None:
    """One of them is named by status; a pattern of either name releases what a rule between two names holds."""
    held, others = aliases(crawled, "noise.test"), aliases(crawled, *NAMES)
    lines = [line for line in beamtrawl("status", crawled.path).out.splitlines() if line.startswith("alias rule: ")]
    (line,) = (line for line in lines if crawled.web.url("noise.test", "") in line)
    assert "parameter ref in /a/#/ (" in line and ", 20 held back, 20 others fetched to verify it)" in line
    ran = beamtrawl(*shlex.split(line.partition("to release them: beamtrawl ")[2]))
    assert (ran.code, ran.out.split(" ")[0]) == (0, "20")
    assert aliases(crawled, *NAMES) == others
    assert beamtrawl("release", crawled.path, f"{crawled.web.authority('twice.test')}/*").code == 0
    assert_requested(crawled, held, others)
    ran = beamtrawl("release", crawled.path, f"{crawled.web.authority('noise.test')}/a/*")
    assert (ran.code, "no URL that is held or waits matches" in ran.err) == (2, True)
    checked = beamtrawl("explain", crawled.path, crawled.web.url("noise.test", "/a/99/?ref=2"))
    assert "alias by" not in checked.out


def test_without_learning_all_aliases_are_requested(crawled: Crawled) -> None:
    held = aliases(crawled, "noise.test", *NAMES)
    file = crawled.path / "crawl.toml"
    file.write_text(re.sub("learn = true", "learn = false", file.read_text()))
    assert beamtrawl("crawl", crawled.path, "--workers", 1, "--rounds", "1").code == 0
    assert len(held) in (40, 41)
    assert held <= {row["url"] for row in rows(crawled.path, "visits")}


def test_an_alias_that_is_added_as_a_seed_is_requested(crawled: Crawled) -> None:
    url = min(aliases(crawled, "noise.test"))
    ran = beamtrawl("seeds", "add", crawled.path, url)
    assert (ran.code, "1" in ran.err) == (0, True)
    assert [row["url"] for row in frontier(crawled.path)] == [url]
    assert "waits in the frontier (a seed" in beamtrawl("explain", crawled.path, url).out.splitlines()[0]
    assert beamtrawl("seeds", "add", crawled.path, url).code == 0
    assert [row["url"] for row in frontier(crawled.path)] == [url]
    beamtrawl("crawl", crawled.path, "--workers", 1, "--rounds", "1")
    assert states(crawled.path)[url]["state"] == "fetched"


@pytest.mark.slow("whole crawls")
def test_what_a_blocked_host_stood_for_is_requested(crawled: Crawled) -> None:
    held = aliases(crawled, *NAMES)
    (stands,) = set(NAMES) - {name for name in NAMES if aliases(crawled, name)}
    ran = beamtrawl("block", crawled.path, crawled.web.authority(stands))
    assert (ran.code, f"; {len(held)} URLs that its pages stood for are requested instead" in ran.out) == (0, True)
    assert_requested(crawled, held)


def test_explain_names_rule_evidence_sample_and_release(crawled: Crawled) -> None:
    url = min(aliases(crawled, "noise.test"))
    said = beamtrawl("explain", crawled.path, url).out
    host = crawled.web.authority("noise.test")
    assert f"not fetched: an alias of {url.partition('?')[0]}" in said
    assert "alias by parameter ref: " in said
    assert re.search(r"in /a/#/: \d+ pages with the same content under two such URLs, such as http\S+ and http", said)
    assert "20 URLs are held back, and 20 others were fetched to verify the rule" in said
    assert f"to release them: beamtrawl release DIR '{host}/a/*'" in said


def test_the_secret_is_in_its_file_alone(ended: Crawled) -> None:
    file = ended.path / "secret"
    secret = file.read_text()
    assert (len(secret), stat.S_IMODE(file.stat().st_mode)) == (64, 0o600)
    for other in ended.path.rglob("*"):
        if other.is_file() and other != file:
            data = other.read_bytes()
            assert secret.encode() not in data and bytes.fromhex(secret) not in data
