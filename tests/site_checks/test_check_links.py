"""`check links` of a crawl of a site that is broken in many ways, through the program."""

import csv
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.runners.engines.direct_worker import worker_map
from beamtrawl.runners.engines.expected import reporting
from beamtrawl.runners.site_checks import gather
from beamtrawl.runners.site_checks.rules import BY_NAME
from beamtrawl.runners.terminal.errors import Failure
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from tests.support.checked_sites import checked
from tests.support.command_line import LOOPBACK, beamtrawl, failure
from tests.support.web import Answer, Page, Web, html, plain, redirect, status

DESCRIBED = '<meta name="description" content="All about it">'
ROBOT = ["--robot", "MyBot", "--contact", "me@example.org", "--info-url", "https://example.org/mybot"]
STYLE = Answer(200, b"p { color: red }", (("Content-Type", "text/css"),))


def site() -> dict[str, Page]:
    def page(title: str, body: str = "", head: str = DESCRIBED) -> str:
        return f"<!doctype html><title>{title}</title>{head}<h1>{title}</h1><p>About {title} alone.</p>{body}"

    entries = "".join(f"<url><loc>{path}</loc></url>" for path in ("/", "/news", "/old", "/gone", "/lost"))
    return {
        "/robots.txt": plain("User-agent: *\nDisallow: /private/\nSitemap: /sitemap.xml"),
        "/sitemap.xml": Answer(200, f"<urlset>{entries}</urlset>".encode(), (("Content-Type", "application/xml"),)),
        "/": page(
            "Home",
            "<a href=/news>News <h2 id=more>More</h2><a href=/gone>Gone <a href=/old>Old <a href=/bad>Bad"
            "<a href=/private/x>Private <a href=/news#later>Later <a href=/other/>Other",
            f"{DESCRIBED}<link rel=stylesheet href=/style.css>",
        ),
        "/news": page("News", "<h1>News</h1><img src=/logo.png>"),
        "/lost": page("Home", "<a href=/>Home"),
        "/other/": html(""),
        "/old": redirect("/news", 301),
        "/bad": status(400),
        "/style.css": STYLE,
    }


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with Web({"site": site()}) as web:
        yield web


@pytest.fixture(scope="module")
def crawled(web: Web, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("links") / "crawl"
    assert beamtrawl("crawl", directory, "--seed", web.url("site"), *ROBOT, *LOOPBACK).code == 0
    return directory


FOUND = [
    ("gone", "/", "/gone"),
    ("failed", "/", "/bad"),
    ("blocked", "/", "/private/x"),
    ("moved", "/", "/old"),
    ("fragment", "/", "/news#later"),
    ("no_title", "/other/", None),
    ("same_title", "/", "/lost"),
    ("same_title", "/lost", "/"),
    ("no_description", "/other/", None),
    ("several_h1", "/news", None),
    ("no_alt", "/news", "/logo.png"),
    ("sitemap_gone", "/sitemap.xml", "/gone"),
    ("sitemap_moved", "/sitemap.xml", "/old"),
    ("not_in_sitemap", "/other/", None),
]


def test_all_forms_have_the_same_findings(web: Web, crawled: Path) -> None:
    code, out, err = beamtrawl("check", "links", crawled, "--json", "--fail-on", "slow,hreflang")
    assert (code, err) == (0, "")
    found = json.loads(out)
    start = web.url("site", "")
    at = [(row["rule"], row["page"], row["target"]) for row in found["findings"]]
    assert at == [(rule, start + page, target and start + target) for rule, page, target in FOUND]
    assert found["pages"] == 4
    assert found["counts"] == {name: sum(rule == name for rule, _, _ in FOUND) for name in BY_NAME}
    assert found["notes"] == [
        f"orphan: not decided, because pages may have further links: 1 blocked (such as {start}/private/x),"
        f" 1 failed (such as {start}/bad)"
    ]
    code, out, err = beamtrawl("check", "links", crawled, "--csv", "--fail-on", "all")
    assert (code, err) == (3, "")
    rows = list(csv.DictReader(out.splitlines()))
    kept = [{name: "" if value is None else str(value) for name, value in row.items()} for row in found["findings"]]
    assert [row | {"severity": BY_NAME[row["rule"]].severity} for row in rows] == kept


def test_workers_find_what_one_process_finds_and_name_a_damaged_file(crawled: Path, tmp_path: Path) -> None:
    """Enough work for workers, which read the bodies; the files are whole until these do."""
    crawl = CrawlDir(str(shutil.copytree(crawled, tmp_path / "crawl")))
    with worker_map(100.0, gather.__name__) as map_:
        assert checked(crawl, map_=map_) == checked(crawl)

        def map_damaged(function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
            items = list(items)
            for path in tmp_path.glob("crawl/visits/*/*.parquet"):
                path.write_bytes(path.read_bytes()[:-9])
            return map_(function, items)

        with pytest.raises(Failure, match=r"^visits/\S+ cannot be read: "), reporting():
            checked(crawl, map_=map_damaged)


def test_text(web: Web, crawled: Path) -> None:
    code, out, _ = beamtrawl("check", "links", crawled, "--rule", "moved,gone", "--fail-on", "gone")
    start = web.url("site", "")
    assert (code, out.splitlines()) == (
        3,
        [
            "gone (1): links to pages that are gone (404, 410)",
            f"  {start}/#more “Gone” -> {start}/gone (404, since round 2)",
            "moved (1): links to pages that have moved for good (301, 308)",
            f"  {start}/#more “Old” -> {start}/old -> {start}/news (301, since round 2)",
            "4 pages checked, 2 findings",
        ],
    )


def test_only_the_first_findings_of_a_rule_are_shown(tmp_path: Path) -> None:
    many = {f"/{n}": html(f"Page {n}", f"Number {n}. " * 9) for n in range(11)}
    with Web({"site": {"/": html("Home", "Start", list(many), DESCRIBED)} | many}) as web:
        beamtrawl("crawl", tmp_path / "crawl", "--seed", web.url("site"), *ROBOT, *LOOPBACK)
    code, out, _ = beamtrawl("check", "links", tmp_path / "crawl", "--fail-on", "error")
    lines = out.splitlines()
    assert code == 0, "it has notices only"
    assert lines[0] == "no_description (11): pages without description"
    assert lines[10:] == [lines[10], "  … 1 more: --rule no_description", "12 pages checked, 11 findings"]
    code, out, _ = beamtrawl(
        "check", "links", tmp_path / "crawl", "--rule", "no_description,slow", "--fail-on", "slow,no_description"
    )
    assert (code, len(out.splitlines())) == (3, 13)


def test_nothing_is_new_since_the_last_round(crawled: Path) -> None:
    code, out, _ = beamtrawl("check", "links", crawled, "--since", 3, "--fail-on", "all")
    assert (code, out.splitlines()[-1]) == (0, "4 pages checked, 0 findings")


_HELP = "; see: beamtrawl check links --help"
WRONG = {
    ("--since", "9"): "--since 9: the rounds of the crawl are 1 to 3; name one of them",
    ("--since", "0"): f"argument --since: 0: must be a whole number of at least 1{_HELP}",
    ("--slow", "0"): f"argument --slow: 0: must be a number of more than 0, and at most 1e+12{_HELP}",
    ("--slow", "nan"): f"argument --slow: nan: must be a number of more than 0, and at most 1e+12{_HELP}",
    ("--slow", "inf"): f"argument --slow: inf: must be a number of more than 0, and at most 1e+12{_HELP}",
    ("--slow=-1",): f"argument --slow: -1: must be a number of more than 0, and at most 1e+12{_HELP}",
    ("--rule", "gone", "--fail-on", "moved"): "--fail-on moved: --rule leaves it out",
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_arguments(words: tuple[str, ...], crawled: Path) -> None:
    assert failure("check", "links", crawled, *words) == (2, WRONG[words])


@pytest.mark.parametrize("flag", ["--rule", "--fail-on"])
@pytest.mark.parametrize(("rules", "named"), {"gone,broken": "broken", "": "''", " , ": "' , '"}.items())
def test_a_rule_that_there_is_not(flag: str, rules: str, named: str, crawled: Path) -> None:
    code, _, err = beamtrawl("check", "links", crawled, flag, rules)
    assert code == 2
    assert f"{flag}: {named}: no rule; rules are {', '.join(BY_NAME)}" in err
