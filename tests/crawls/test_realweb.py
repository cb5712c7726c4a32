"""A crawl of real documentation sites that nobody here wrote, against an independent walk and the server's log.

The sites come from Debian packages, served by nginx on loopback (../shared/realweb). Without them the tests are
skipped, and say why; in CI they fail instead.
"""

import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import pytest

from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.indexing.analysis import tokens
from tests.support import access_log
from tests.support.content import content_words, score
from tests.support.crawls import crawl, rows
from tests.support.prerequisites import SHARED, lacks
from tests.support.walk import walk

pytestmark = pytest.mark.slow("real sites")

SCRIPT = SHARED / "realweb" / "realweb.sh"
SITES = {"python": "127.0.1.1", "postgresql": "127.0.1.2", "debref": "127.0.1.7", "sqlite": "127.0.1.21"}
ROBOT = {
    "robot__name": "reader/1.0",
    "robot__contact": "reader@example.org",
    "robot__info_url": "https://example.org/reader",
}
DEPTH = 2

QUERIES = {  # what one would type, and how the URL ends that one wants
    "pathlib": "/library/pathlib.html",
    "json encoder and decoder": "/library/json.html",
    "regular expression howto": "/howto/regex.html",
    "argparse tutorial": "/howto/argparse.html",
    "unicode howto": "/howto/unicode.html",
    "pg_dump": "/app-pgdump.html",
    "create trigger postgresql": "/sql-createtrigger.html",
    "sqlite write-ahead logging": "/wal.html",
    "sqlite foreign key support": "/foreignkeys.html",
    "Debian パッケージ管理": "/ch02.ja.html",
    "Debian の文書 チュートリアル": "/ch01.ja.html",
}


class Crawled(NamedTuple):
    """A finished crawl, its seeds, and the lines that the server wrote meanwhile."""

    path: Path
    seeds: list[str]
    log: list[access_log.Request]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    if missing := _missing():
        lacks(missing)
    # The sites are kept for the next run; the server, its port and its log are this run's own.
    sites = Path(tempfile.gettempdir()) / "beamtrawl-realweb"
    web = Path(tempfile.mkdtemp(prefix="beamtrawl-realweb-"))
    web.chmod(0o755)  # nginx reads it as a user of its own
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = os.environ | {"ONLY": " ".join(SITES), "LOG": "1"}

    def control(command: str, place: Path = web) -> None:
        subprocess.run(["bash", SCRIPT, place, str(port), command], env=environment, check=True, capture_output=True)

    control("build", sites)
    for site in SITES:
        (web / site).symlink_to(sites / site)
    control("start")
    try:
        seeds = [f"http://{address}:{port}/index.html" for address in SITES.values() if address != "127.0.1.7"]
        seeds.append(f"http://127.0.1.7:{port}/")
        path = tmp_path_factory.mktemp("realweb") / "crawl"
        crawl(path, seeds, scope__depth=DEPTH, documents__kinds=["html", "text"], **ROBOT)
        control("stop")  # the log is written
        log = access_log.parse_nginx((web / ".run" / "access.log").read_text(errors="replace").splitlines())
        control("start")  # for the walk
        yield Crawled(path, seeds, log)
    finally:
        control("stop")
        shutil.rmtree(web)


def _missing() -> str | None:
    if not SCRIPT.exists():
        return f"the real sites are not here: no {SCRIPT}"
    tools = [tool for tool in ("bash", "nginx", "apt-get", "dpkg") if not shutil.which(tool)]
    return f"the real sites need {', '.join(tools)}; on Debian: apt-get install nginx-light" if tools else None


def test_the_pages_are_those_that_an_independent_walk_finds(crawled: Crawled) -> None:
    documents = rows(crawled.path, "documents")
    walked = walk(crawled.seeds, DEPTH)
    assert len(documents) > 1000
    assert {row["url"] for row in documents} == set(walked)
    url_of = {row["url_key"]: row["url"] for row in documents}
    duplicates = {row["url"]: url_of[row["duplicate_of"]] for row in documents if row["duplicate_of"]}
    assert duplicates == {url: first for url, first in walked.items() if first}


def test_the_tables_agree_with_each_other(crawled: Crawled) -> None:
    documents, visits = rows(crawled.path, "documents"), rows(crawled.path, "visits")
    assert all(visit["outcome"] for visit in visits)
    assert len({visit["url_key"] for visit in visits}) == len(visits)
    assert len({row["url_key"] for row in documents}) == len(documents)
    found: dict[bytes, int] = {}
    for link in rows(crawled.path, "links"):
        found[link["target_key"]] = min(link["round"], found.get(link["target_key"], link["round"]))
    seeds = set(crawled.seeds)
    orphans = [row["url"] for row in documents if row["url"] not in seeds and found[row["url_key"]] >= row["round"]]
    assert orphans == []


def test_the_server_saw_a_polite_robot(crawled: Crawled) -> None:
    robots = {row["host"].partition(":")[0]: (row["body"] or b"").decode() for row in rows(crawled.path, "robots")}
    assert set(robots) == set(SITES.values())
    assert (
        access_log.violations(
            crawled.log, access_log.Manners(lambda host: 0.0, robots_of=robots, required=("user-agent",))
        )
        == []
    )
    assert access_log.connection_returns(crawled.log) == []


@pytest.mark.parametrize("site", ["python", "postgresql"])
def test_the_text_is_what_the_site_marks_as_content(crawled: Crawled, site: str) -> None:
    pages = [page for page in _html_pages(crawled) if page["host"].startswith(f"{SITES[site]}:") and page["text"]]
    pages = sorted(pages, key=lambda page: page["url_key"])[:100]
    contents = [content_words(site, page["body"]) for page in pages]
    scores = [score(page["text"], words) for page, words in zip(pages, contents, strict=True) if len(words) >= 20]
    assert len(scores) > 50
    assert fmean(one.f1 for one in scores) > 0.98


def test_nearly_all_documents_have_a_title_a_text_and_a_language(crawled: Crawled) -> None:
    pages = [page for page in _html_pages(crawled) if not page["duplicate_of"]]
    shares = {name: fmean(bool(page[name]) for page in pages) for name in ("title", "text", "language")}
    assert min(shares.values()) >= 0.99, shares


def test_translated_pages_have_their_language(crawled: Crawled) -> None:
    pages = {page["url"]: page for page in _html_pages(crawled) if len(page["text"] or "") > 200}
    found = []
    for url, page in pages.items():
        if suffix := re.search(r"\.(\w\w)(?:-\w+)?\.html$", url):
            english = pages.get(f"{url[: suffix.start()]}.en.html", page)
            # Much is not translated yet; of a page that is half English, either language is right.
            common = score(page["text"], tokens(english["text"])).precision
            found.append(page["language"] == suffix[1] or (common > 0.4 and page["language"] == "en"))
    assert len(found) > 80
    assert fmean(found) >= 0.97


def _html_pages(crawled: Crawled) -> list[dict]:
    """The documents that were HTML, with their bodies."""
    bodies = {visit["url_key"]: visit["body"] for visit in rows(crawled.path, "visits")}
    pages = [row for row in rows(crawled.path, "documents") if row["media_type"] == "text/html"]
    return [page | {"body": bodies[page["url_key"]]} for page in pages]


@pytest.mark.parametrize(("query", "path"), QUERIES.items(), ids=QUERIES)
def test_the_obvious_page_is_where_it_should_be(crawled: Crawled, query: str, path: str) -> None:
    hits = Index.open(CrawlDir(str(crawled.path))).search(query, limit=3).hits
    assert hits[0].url.endswith(path), [hit.url for hit in hits]
