"""Commands in random order beside a running crawl: no error, and nothing is lost.

`--operations N` sets their number; the default takes about a minute.
"""

import itertools
import json
import random
import subprocess
import threading
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from werkzeug.test import Client

from beamtrawl.pipeline.seeds import Seed, add_seeds
from beamtrawl.runners.commands.serving.submissions import open_submissions
from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.gateway.app import create_app
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.settings import render
from beamtrawl.transforms.sql.queries import query
from tests.support.command_line import PROGRAM, beamtrawl
from tests.support.crawls import crawl, rows, settings, states
from tests.support.web import Web, html

LINKS = 3


def site(seeds: int) -> dict:
    """Pages /0, /1, … that seeds name, each with links to three pages of its own."""
    pages = {}
    for n in range(seeds):
        children = [f"/{n}/{m}" for m in range(LINKS)]
        pages[f"/{n}"] = html(f"Page {n}", f"What page {n} says about fish number{n}, at some length.", children)
        pages |= {path: html(f"Leaf {path}", f"What leaf {path} says of fish leaf{path}.", ["/0"]) for path in children}
    return pages


class Crawling:
    """A process that crawls round by round, again and again, until it is told to end."""

    def __init__(self, path: Path) -> None:
        self._words = [*PROGRAM, "crawl", str(path), "--rounds", "2", "--workers", "1"]
        self._end = threading.Event()
        self.failures: list[str] = []
        self.runs = 0
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._end.is_set():
            ran = subprocess.run(self._words, capture_output=True, text=True, check=False)
            self.runs += 1
            if ran.returncode and " is in use by process " not in ran.stderr:
                self.failures.append(ran.stderr)

    def end(self) -> None:
        self._end.set()
        self._thread.join()


class Beside:
    """What is done beside the crawl; counts what was refused because of the lock."""

    def __init__(self, path: Path, web: Web) -> None:
        self.path, self.crawl = path, CrawlDir(str(path))
        self.added: list[str] = []
        self.done: Counter[str] = Counter()
        self._web = web
        hours = itertools.count(step=3600.0)  # so that no submission is one too many, and the index is always new
        app = create_app(self.crawl, submit=open_submissions(self.crawl), clock=lambda: next(hours))
        self._page: Client = app.test_client()

    def _next(self) -> str:
        self.added.append(self._web.url("a.test", f"/{len(self.added) + 1}"))
        return self.added[-1]

    def seeds_add(self) -> None:
        assert add_seeds(self.crawl, [Seed(self._next())], "", datetime.now(UTC)).new == 1

    def submit(self) -> None:
        assert self._page.post("/submit", data={"url": self._next()}).status_code == 202

    def serve(self) -> None:
        assert self._page.get("/?q=fish").status_code == 200

    def search(self) -> None:
        assert Index.open(self.crawl).search("fish").total > 0

    def sql(self) -> None:
        _, ((count,),) = query(self.crawl, "SELECT count(*) FROM documents JOIN urls USING (url_key)")
        assert count > 0

    def status(self) -> None:
        assert json.loads(self._say("status", self.path, "--json"))["rounds"] > 0

    def explain(self) -> None:
        assert self._say("explain", self.path, self._web.url("a.test", "/0"))

    def check(self) -> None:
        assert self._say("check", "crawl", self.path).endswith(": no fault\n")

    def block(self) -> None:
        """And unblock: of a host of which the crawl has no page."""
        self._say("block", self.path, "other.test")
        self._say("unblock", self.path, "other.test")

    def export(self) -> None:
        kind = ("warc", "cdxj", "ciff", "corpus", "documents", "links")[self.done["export"] % 6]
        out = self.path.parent / f"export-{self.done['export']}"
        self._say("export", kind, self.path, out if kind in ("warc", "corpus") else f"{out}.csv.gz")

    def clean(self) -> None:
        self._say("clean", self.path)

    def compact(self) -> None:
        self._say("compact", self.path, "--workers", 1)

    def _say(self, *words: object) -> str:
        """What a command prints, which must succeed or be refused because of the lock."""
        ran = beamtrawl(*words)
        refused = " is in use by process " in ran.err or " was taken by another process just now" in ran.err
        self.done["refused"] += refused
        assert ran.code == 0 or refused, ran.err
        return ran.out


SHARES = {"seeds_add": 3, "submit": 1, "serve": 5, "search": 5, "sql": 3, "clean": 5, "compact": 3}
SHARES |= {"status": 3, "explain": 3, "check": 1, "block": 2, "export": 3}


@pytest.mark.slow("commands beside a crawl")
def test_nothing_is_lost_beside_a_running_crawl(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    count = request.config.getoption("--operations")
    choose = random.Random(count)
    path = tmp_path / "crawl"
    with Web({"a.test": site(count)}) as web:
        crawl(path, [web.url("a.test", "/0")], rounds=1)
        (path / "crawl.toml").write_text(render(settings()))
        beside = Beside(path, web)
        crawling = Crawling(path)
        try:
            for name in choose.choices(list(SHARES), list(SHARES.values()), k=count):
                getattr(beside, name)()
                beside.done[name] += 1
        finally:
            crawling.end()
        assert crawling.failures == []
        assert beamtrawl("crawl", path, "--workers", "1").code == 0
        expected = {web.url("a.test", "/0"), *beside.added}
        expected |= {f"{url}/{m}" for url in expected for m in range(LINKS)}
    found = {url for url, row in states(path).items() if row["state"] == "done"}
    assert beamtrawl("check", "crawl", path).out.endswith(": no fault\n")
    visited = Counter(row["url"] for row in rows(path, "documents"))
    assert (set(visited) ^ expected, [url for url, times in visited.items() if times > 1]) == (set(), [])
    assert found >= expected or found == set()
    hits = Index.open(CrawlDir(str(path))).search("fish", limit=10 * count)
    assert hits.total == len(expected)
    print(crawling.runs, dict(beside.done))
