"""The commands and the Python code of the how-to pages run, in their order, on a small site."""

import contextlib
import io
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from beamtrawl.runners.commands.checks.links import FOUND
from tests.support.command_line import LOOPBACK, Ran, beamtrawl
from tests.support.web import Answer, Page, Web, html, plain
from tests.test_docs import commands

PAGES = sorted((Path(__file__).resolve().parents[1] / "docs" / "how-to").glob("*.md"))

_ROBOT = ["--robot", "MyBot", "--contact", "me@example.org", "--info-url", "https://example.org/mybot"]
_FEWER = {"300": "10", "5000": "40", "20000": "60"}  # pages, of a site of 25
_INSTALLED = "other_engines.md"  # its examples are tested with the format of the index


def site() -> dict[str, Page]:
    names = [f"/docs/{number}.html" for number in range(24)]
    pages: dict[str, Page] = {
        name: html(f"Page {number}", f"Harbour and lighthouse {number}. " * 5, ["/gone"])
        for number, name in enumerate(names)
    }
    urls = "".join(f"<url><loc>{name}</loc></url>" for name in names[:3])
    listed = Answer(200, f"<urlset>{urls}</urlset>".encode(), (("Content-Type", "application/xml"),))
    return pages | {"/": html("Home", links=names), "/sitemap.xml": listed, "/robots.txt": plain("")}


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    with Web({"site": site()}) as web:
        yield web


@pytest.fixture(scope="module")
def crawled(web: Web, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that is under way."""
    directory = tmp_path_factory.mktemp("how_to") / "crawl"
    assert beamtrawl("crawl", directory, "--seed", web.url("site"), "--rounds", 1, *_ROBOT, *LOOPBACK).code == 0
    return directory


@pytest.fixture
def folder(crawled: Path, web: Web, tmp_path: Path) -> Iterator[Path]:
    """A current folder with the crawls and files that the pages begin with."""
    for name in ("DIR", "demo"):
        shutil.copytree(crawled, tmp_path / name)
    (tmp_path / "urls.txt").write_text(f"{web.url('site', '/docs/1.html')}\n{web.url('site', '/missing')}\n")
    with contextlib.chdir(tmp_path):
        yield tmp_path


def here(words: list[str], web: Web) -> list[str]:
    """A command for the site of the test instead of example.org."""
    authority = web.authority("site")
    found = [re.sub(r"https://(www|blog)\.example\.org", f"http://{authority}", word) for word in words]
    found = [re.sub(r"^www\.example\.org", authority, word) for word in found]
    found = [_FEWER.get(word, word) for word in found]
    return [*found, *LOOPBACK] if found[0] == "crawl" and "--delay" not in found else found


@pytest.mark.slow("demo")
@pytest.mark.parametrize("page", [page for page in PAGES if page.name != _INSTALLED], ids=lambda page: page.stem)
def test_the_commands_of_a_page_run(page: Path, folder: Path, web: Web) -> None:
    ran = dict[str, Ran]()
    plain_page = folder / "page.md"  # without the indentation of lists
    plain_page.write_text(re.sub("^   (?=    beamtrawl )", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE))
    for words in commands(plain_page):
        if words[0] == "demo":
            continue  # its crawl is there
        line = " ".join(words)
        ran[line] = beamtrawl(*here(words, web))
        assert ran[line].code == (FOUND if "--fail-on" in line else 0), (line, ran[line])
    assert ran or page.stem == "notebook"
    check = CHECKS.get(page.stem, lambda folder, ran: None)
    check(folder, ran)


def one_site(folder: Path, ran: dict[str, Ran]) -> None:
    assert {file.name for file in folder.iterdir()} >= {"report.html", "urls.csv.gz", "corpus", "archive", "site.log"}
    broken = next(found.out for line, found in ran.items() if "state = 'gone'" in line)
    assert re.search(r"/gone +http://\S+/docs/\d+\.html +/gone", broken), broken
    listed = beamtrawl("sql", folder / "listed", "SELECT count(*) AS pages FROM documents", "--csv").out
    assert listed.split() == ["pages", "3"]


def estimate(folder: Path, ran: dict[str, Ran]) -> None:
    (estimated,) = (found.out for line, found in ran.items() if line.startswith("estimate"))
    assert "pages: " in estimated


CHECKS = {"one_site": one_site, "estimate": estimate}


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != _INSTALLED], ids=lambda page: page.stem)
def test_the_python_code_of_a_page_runs(page: Path, folder: Path) -> None:
    for code in re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, str(page), "exec"), {})
