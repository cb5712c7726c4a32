"""Crawls with given answers, as a crawl stores them, and what a check of them finds. No request is sent."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from beamtrawl.runners.site_checks.check import check_site
from beamtrawl.runners.site_checks.rules import Finding
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.parsing.html_page import parse_page
from beamtrawl.transforms.settings import Settings
from beamtrawl.transforms.urls.canonical import host, url_key
from tests.support.committed import commit_rows

START = datetime(2026, 1, 1, tzinfo=UTC)  # each round takes a day
DESCRIBED = '<meta name="description" content="All about it">'


class Said(NamedTuple):
    """What a URL answers."""

    body: str | None = None
    outcome: str = Outcome.FETCHED
    status: int | None = 200
    redirect_to: str | None = None
    media_type: str = "text/html; charset=utf-8"
    kind: str | None = None
    elapsed_ms: float = 10.0
    headers: tuple[tuple[str, str], ...] = ()
    truncated: bool = False
    body_removed: bool = False


def page(title: str, body: str = "", head: str = DESCRIBED) -> Said:
    return Said(f"<!doctype html><title>{title}</title>{head}<h1>{title}</h1>{body}")


def sitemap(*urls: str) -> Said:
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return Said(f"<urlset>{entries}</urlset>", media_type="application/xml", kind="sitemap")


def moved(target: str, status: int = 301) -> Said:
    return Said(None, Outcome.REDIRECTED, status, target)


GONE = Said(None, Outcome.GONE, 404)
FAILED = Said(None, Outcome.SERVER_ERROR, 500)
NOT_MODIFIED = Said(None, Outcome.NOT_MODIFIED, 304)
DENIED = Said(None, Outcome.DENIED_ROBOTS, None)


def of_host(name: str, answers: Mapping[str, Said]) -> dict[str, Said]:
    """The same answers on another host than a.test, so that several sites may share a crawl."""

    def there(text: str | None) -> str | None:
        return text and text.replace("a.test", name)

    return {
        url.replace("a.test", name): said._replace(body=there(said.body), redirect_to=there(said.redirect_to))
        for url, said in answers.items()
    }


def crawled(root: Path, *rounds: Mapping[str, Said], seeds: Iterable[str] = ()) -> CrawlDir:
    """A crawl whose rounds had these answers. The first URL of the first round is a seed."""
    crawl = commit_rows(root, "fetch", 1, _visits(rounds[0], 1) | {"seeds": _seeds([next(iter(rounds[0])), *seeds])})
    for number, answers in enumerate(rounds, 1):
        if number > 1:
            commit_rows(root, "fetch", number, _visits(answers, number))
        commit_rows(root, "update", number, _parsed(answers, number))
    return crawl


def _seeds(seeds: Iterable[str]) -> list[dict[str, Any]]:
    return [{"url": url, "host": host(url)} for url in seeds]


def _visits(answers: Mapping[str, Said], round_: int) -> dict[str, list[dict[str, Any]]]:
    rows = []
    for url, said in answers.items():
        row = said._asdict() | {"url": url, "host": host(url), "fetched_at": START + timedelta(days=round_)}
        row["body"] = None if said.body is None or said.body_removed else said.body.encode()
        row["headers"] = [{"name": name, "value": value} for name, value in said.headers]
        rows.append(row)
    return {"visits": rows}


def _parsed(answers: Mapping[str, Said], round_: int) -> dict[str, list[dict[str, Any]]]:
    """The rows of documents and links, as the update step writes them."""
    documents, links = [], []
    for url, said in answers.items():
        if said.kind is not None or said.body is None:
            continue
        found = parse_page(said.body.encode(), url, said.media_type, said.headers, "bot")
        if found is not None:
            documents.append({"url": url, "host": host(url), "fetched_at": START + timedelta(days=round_)})
            links += [
                {
                    "source_key": url_key(url),
                    "source_url": url,
                    "target_key": url_key(link.url),
                    "target_url": link.url,
                    "anchor": link.anchor,
                    "rel": link.rel,
                    "kind": link.kind,
                }
                for link in found.links
            ]
    return {"documents": documents, "links": links}


def findings(crawl: CrawlDir, **options: Any) -> list[Finding]:
    """All that a check finds."""
    with check_site(crawl, crawl.manifests(), Settings(), **options) as checked:
        return [finding for count in checked.counts() for finding in checked.findings(count.rule)]


def found(crawl: CrawlDir, **options: Any) -> list[tuple[str, str, str | None]]:
    """(rule, page, target) of each finding."""
    return [(each.rule, each.page, each.target) for each in findings(crawl, **options)]


def notes(crawl: CrawlDir) -> list[str]:
    with check_site(crawl, crawl.manifests(), Settings()) as checked:
        return checked.notes
