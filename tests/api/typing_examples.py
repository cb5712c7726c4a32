"""What type checkers see of the Python API: `mypy` reads this file (tests/check.py), and it is not run."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, assert_type

import beamtrawl
from beamtrawl import Alert, Document, Page, PluginError, Reply, Settings, Source, Through


def start() -> None:
    report = beamtrawl.crawl(Path("crawl"), ["https://a.test/"], delay=2, scope="domain", progress=watch)
    assert_type(report, beamtrawl.Report)
    assert_type(report.due_at, datetime | None)
    assert_type(report.rounds, int)
    beamtrawl.crawl("crawl", scope="planet")  # type: ignore[arg-type]
    beamtrawl.crawl("crawl", dealy=1)  # type: ignore[call-arg]
    beamtrawl.craw1("crawl")  # type: ignore[attr-defined]


def watch(progress: beamtrawl.Progress) -> None:
    assert_type(progress.done, int)


def read(crawl: beamtrawl.Crawl) -> None:
    assert_type(beamtrawl.open("crawl"), beamtrawl.Crawl)
    assert_type(crawl.documents, beamtrawl.Table)
    assert_type(crawl.documents.select(["url"]).history, beamtrawl.Table)
    assert_type(len(crawl.urls), int)
    assert_type(crawl.urls.to_pylist(), list[dict[str, Any]])
    assert_type(crawl.sql("SELECT 1", [1]).fetchall(), list[tuple[Any, ...]])
    crawl.document  # type: ignore[attr-defined]  # noqa: B018


def search(crawl: beamtrawl.Crawl) -> None:
    hits = crawl.search("fish", limit=3, as_of=2)
    assert_type(hits, beamtrawl.Hits)
    assert_type([hit.url for hit in hits], list[str])
    assert_type(hits[0], beamtrawl.Hit)
    assert_type(hits[:2], Sequence[beamtrawl.Hit])
    assert_type(str(hits[0].snippet), str)
    assert_type(crawl.status().frontier, dict[str, int])
    assert_type(crawl.explain("http://fish.test/"), dict[str, Any])
    assert_type(crawl.settings.politeness.delay, float)


class Parser:
    media_types = frozenset({"text/fish"})
    extensions = frozenset({"fish"})

    def parse(self, source: Source) -> Page | None:
        text, charset = source.decode()
        return source.page(text, charset=charset)


class Observer:
    def __init__(self, settings: Settings) -> None:
        if not settings.robot.name:
            raise PluginError("no name")

    def observe(self, document: Document) -> list[Alert]:
        return [Alert("fish", document.page.title)]


class Downloader(Through):
    def fetch(self, url: str) -> Reply:
        return self.client.get(url, {"Accept-Language": "ko"})
