"""Crawls with given answers, as a crawl stores them, and what a check of them finds. No request is sent."""

from collections.abc import Iterable, Mapping, Sequence
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


def checked(crawl: CrawlDir, **options: Any) -> tuple[list[Finding], list[str]]:
    """All that a check finds, and what it says that it could not know."""
    with check_site(crawl, crawl.manifests(), Settings(), **options) as checked:
        return [finding for count in checked.counts() for finding in checked.findings(count.rule)], checked.notes


def found(crawl: CrawlDir, **options: Any) -> list[tuple[str, str, str | None]]:
    """(rule, page, target) of each finding."""
    return [(each.rule, each.page, each.target) for each in checked(crawl, **options)[0]]


class Together:
    """A crawl of several sites, each with the answers of its rounds on a.test: here each has a host of its own.

    The first URL of each is a seed, and so are `seeds`.
    """

    def __init__(self, root: Path, sites: Mapping[str, Sequence[Mapping[str, Said]]], **seeds: str) -> None:
        self.hosts = {name: f"site-{number}.test" for number, name in enumerate(sites)}
        rounds: list[dict[str, Said]] = [{} for _ in range(max(map(len, sites.values())))]
        for name, given in sites.items():
            for of_all, answers in zip(rounds, given, strict=False):
                of_all |= {self.there(name, url): self._said(name, said) for url, said in answers.items()}
        first = [self.there(name, next(iter(given[0]))) for name, given in sites.items()]
        more = [self.there(name, url) for name, url in seeds.items()]
        self.crawl = crawled(root, *rounds, seeds=[*first, *more])

    def there(self, name: str, text: str) -> str:
        """A text of a site, as it is in this crawl."""
        return text.replace("a.test", self.hosts[name])

    def _said(self, name: str, said: Said) -> Said:
        body, target = (text and self.there(name, text) for text in (said.body, said.redirect_to))
        return said._replace(body=body, redirect_to=target)

    def checked(self, **options: Any) -> tuple[dict[str, list[Finding]], list[str]]:
        """What a check of the crawl finds of each site, as if it was on a.test, and what it could not know."""
        by_site: dict[str, list[Finding]] = {name: [] for name in self.hosts}
        all_, notes = checked(self.crawl, **options)
        for finding in all_:
            ((name, host),) = (item for item in self.hosts.items() if f"{item[1]}/" in finding.page)
            texts = {
                key: value.replace(host, "a.test") for key, value in finding._asdict().items() if isinstance(value, str)
            }
            by_site[name].append(finding._replace(**texts))
        return by_site, notes
