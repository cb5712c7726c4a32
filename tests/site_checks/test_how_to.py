"""The commands of docs/how-to/check_your_site.md for a build, as a script runs them: what each exit code says."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.command_line import LOOPBACK, Ran, beamtrawl
from tests.support.web import Answer, Page, Web, html
from tests.test_docs import commands

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "check_your_site.md"
GOOD = {"/": html("Home", links=["/a"]), "/a": html("A", links=["/"])}
ELSEWHERE = {"/": html("Elsewhere"), "/there": html("There")}


class Case(NamedTuple):
    """A site, and what a build sees."""

    pages: dict[str, Page]
    checks_external: bool
    crawl: int  # exit code of crawl
    check: int  # of check links --fail-on
    says: str  # a part of a line of either


def linking(path: str) -> dict[str, Page]:
    return GOOD | {"/": html("Home", links=["/a", f"http://elsewhere.test{path}"])}


DEAD = {status: {"/": Answer(status, b"no")} for status in (404, 500, 403)}
CASES = {
    "good": Case(GOOD, False, 0, 0, "2 pages checked, 2 findings"),
    "dead by 404": Case(DEAD[404], False, 4, 3, "no page was checked"),
    "dead by 500": Case(DEAD[500], False, 4, 3, "no page was checked"),
    "dead by 403": Case(DEAD[403], False, 4, 3, "no page was checked"),
    "half dead": Case({"/": html("Home", links=["/a", "/b"]), "/a": html("A")}, False, 0, 3, "gone (1)"),
    "external, not asked for": Case(linking("/gone"), False, 0, 0, "links to other hosts are not checked: 1 target"),
    "external and gone": Case(linking("/gone"), True, 0, 3, "gone (1)"),
    "external and there": Case(linking("/there"), True, 0, 0, "2 pages checked, 2 findings"),
}


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with Web({"elsewhere.test": ELSEWHERE} | {host(name): case.pages for name, case in CASES.items()}) as web:
        yield web


def host(name: str) -> str:
    return f"site{[*CASES].index(name)}.test"


def test_pages_and_targets_of_a_rule_are_counted(tmp_path: Path) -> None:
    """Not by links alone: two targets on three pages are no six broken pages."""
    pages: dict[str, Page] = {f"/{name}": html(name, links=["/a", "/b", "/gone", "/lost"]) for name in ("", "a", "b")}
    same = {f"/{name}": html("Same", "Of lighthouses, keepers and their oil.") for name in "cd"}
    with Web({"a.test": pages | same | {"/": html("Home", links=["/a", "/b", "/c", "/d", "/gone", "/lost"])}}) as web:
        assert beamtrawl("crawl", tmp_path / "site", "--seed", web.url("a.test"), *LOOPBACK).code == 0
    said = beamtrawl("check", "links", tmp_path / "site").out
    assert "gone (6 on 3 pages, 2 targets): links to" in said
    assert "same_title" not in said  # one of the two pages is a copy of the other


def run_build(case: Case, seed: str, folder: Path) -> tuple[Ran, Ran]:
    """Run the first command of the page, which crawls, and the first of those with --fail-on."""
    lines = commands(PAGE)
    crawl = next(words for words in lines if words[0] == "crawl")
    check = next(words for words in lines if "--fail-on" in words and "--since" not in words)
    assert "--check-external" in PAGE.read_text(encoding="utf-8")
    here = {"./site": str(folder / "site"), "https://www.example.org/": seed}
    flags = ["--check-external"] if case.checks_external else []
    first = beamtrawl(*(here.get(word, word) for word in crawl), *flags, *LOOPBACK)
    return first, beamtrawl(*(here.get(word, word) for word in check))


@pytest.mark.parametrize("name", CASES)
def test_a_build_sees_a_dead_site_and_passes_a_good_one(name: str, web: Web, tmp_path: Path) -> None:
    case = CASES[name]
    crawl, check = run_build(case, web.url(host(name)), tmp_path)
    assert (crawl.code, check.code) == (case.crawl, case.check), (crawl, check)
    assert case.says in check.out + check.err
    assert (f"seed {web.url(host(name))}" in crawl.err) == (case.crawl == 4), crawl.err


def test_a_site_that_refuses_connections_is_dead(tmp_path: Path) -> None:
    crawl, check = run_build(CASES["dead by 404"], "http://127.0.0.1:9/", tmp_path)
    assert (crawl.code, check.code) == (4, 3)
    assert "seed http://127.0.0.1:9/" in crawl.err
