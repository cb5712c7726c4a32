"""Compares a crawl with an independent breadth-first walk of the same site: lost contents, rounds, requests.

    python benchmarks/against_walk.py walk http://127.0.1.13:8088/ gtk4.jsonl
    beamtrawl crawl gtk4 --seed http://127.0.1.13:8088/ --allow-address 127.0.0.0/8 --delay 0
    python benchmarks/against_walk.py compare gtk4.jsonl gtk4

The walk shares no code with the crawler, and obeys nothing but the scope: the host of the seed, HTML and plain text.
It ignores robots.txt, robots directives, rel=nofollow and every judgement. README.md has the method and the results.
"""

import argparse
import hashlib
import json
import re
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

import lxml.html
import requests

from beamtrawl.transforms.directory.crawl_dir import CrawlDir, files_of
from beamtrawl.transforms.outcomes import REQUESTED
from beamtrawl.transforms.settings import Settings
from beamtrawl.transforms.tables.schemas import URLS, VISITS
from beamtrawl.transforms.tables.table_files import read_table
from beamtrawl.transforms.urls.canonical import canonicalize, url_key
from beamtrawl.transforms.urls.filters import UrlFilter

_DOCUMENTS = ("text/html", "application/xhtml+xml", "text/plain")
_LINKS = "//a/@href|//area/@href|//frame/@src|//iframe/@src|//link[@rel]/@href"
_LINK_RELATIONS = {"alternate", "next", "prev", "canonical"}
_UNENDORSED = {"nofollow", "ugc", "sponsored"}
_THREADS = 4
_MOST_BYTES = 1 << 24
_MOST_SOURCES = 50  # that are kept for a URL
_SAMPLES = 3
_local = threading.local()


class Walked(NamedTuple):
    """A URL of the walk."""

    url: str
    level: int  # the seed has 1; a redirect leads to the next level
    status: int
    digest: str | None  # SHA-256 of a document's body
    links: list[str]
    nofollow: list[str]  # of the links, those that only rel=nofollow or a directive nofollow leads to


def walk(seed: str, most: int) -> Iterator[Walked]:
    """All URLs that the seed leads to, level by level; at most `most`."""
    found, due, level = {seed}, [seed], 0
    with ThreadPoolExecutor(_THREADS) as pool:
        while due and len(found) < most:
            level += 1
            targets: dict[str, None] = {}
            for walked in pool.map(lambda url, level=level: _fetch(url, level), due):
                yield walked
                targets |= dict.fromkeys(walked.links)
            due = [url for url in targets if url not in found]
            found.update(due)


def _fetch(url: str, level: int) -> Walked:
    if not hasattr(_local, "session"):
        _local.session = requests.Session()
        _local.session.trust_env = False
    with _local.session.get(url, allow_redirects=False, stream=True, timeout=60) as response:
        if response.is_redirect:
            targets = _in_scope(url, [response.headers["location"]])
            return Walked(url, level, response.status_code, None, targets, [])
        declared = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code != 200 or declared not in _DOCUMENTS:
            return Walked(url, level, response.status_code, None, [], [])
        body = response.raw.read(_MOST_BYTES, decode_content=True)
        response.raw.drain_conn()
    followed, others = ([], []) if declared == "text/plain" else map(_in_scope, [url] * 2, _references(url, body))
    nofollow = [target for target in others if target not in followed]
    return Walked(url, level, 200, hashlib.sha256(body).hexdigest(), followed + nofollow, nofollow)


def _references(url: str, body: bytes) -> tuple[list[str], list[str]]:
    """What a page refers to: (links that robots follow, links that they do not)."""
    try:
        root = lxml.html.document_fromstring(body, base_url=url)
    except (lxml.etree.ParserError, ValueError):  # an empty page
        return [], []
    base = next(iter(root.xpath("//base/@href")), "")
    directives = " ".join(root.xpath("//meta[translate(@name, 'ROBTS', 'robts') = 'robots']/@content")).lower()
    is_nofollow = "nofollow" in directives or "none" in directives
    found: tuple[list[str], list[str]] = [], []
    for value in root.xpath(_LINKS):
        element = value.getparent()
        relations = set((element.get("rel") or "").lower().split())
        if element.tag != "link" or (_LINK_RELATIONS & relations and "stylesheet" not in relations):
            found[is_nofollow or bool(_UNENDORSED & relations)].append(value)
    for meta in root.xpath("//meta[@http-equiv and @content]"):
        if meta.get("http-equiv").lower() == "refresh":
            found[is_nofollow].extend(re.findall(r"url\s*=\s*['\"]?([^'\">]+)", meta.get("content"), re.IGNORECASE))
    followed, others = ([urljoin(base, reference.strip()) for reference in references] for references in found)
    return followed, others


def _in_scope(url: str, references: list[str]) -> list[str]:
    """The http URLs of the same host, without fragments, dot segments and characters that URLs must not have."""
    found: dict[str, None] = {}
    for reference in references:
        try:
            parts = urlsplit(urljoin(url, reference))
        except ValueError:
            continue
        if parts.scheme == "http" and parts.netloc == urlsplit(url).netloc:
            path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
            query = quote(parts.query, safe="/%:@!$&'()*+,;=~-._?")
            found[urlunsplit((parts.scheme, parts.netloc, path, query, ""))] = None
    return list(found)


class Crawl:
    """The tables of a crawl that the comparison uses."""

    def __init__(self, folder: str, seed: str) -> None:
        directory = CrawlDir(folder)
        manifests = directory.require_manifests()

        def rows(table: str, schema: Any, columns: list[str]) -> list[dict[str, Any]]:
            paths = [file.path for file in files_of(manifests, table)]
            return read_table(directory.root, paths, schema, columns).to_pylist()

        self.digests: dict[str, str] = {}  # of contents, with one of their URLs
        self.requests, self.rounds = 0, 0
        self.fetched: dict[bytes, int] = {}  # the first round of each document
        for file in files_of(manifests, "visits"):
            table = read_table(directory.root, [file.path], VISITS, ["url_key", "url", "round", "outcome", "body"])
            for row in table.to_pylist():
                self.requests += row["outcome"] in REQUESTED
                self.rounds = max(self.rounds, row["round"])
                if row["outcome"] == "fetched":
                    self.digests.setdefault(hashlib.sha256(row["body"]).hexdigest(), row["url"])
                    self.fetched.setdefault(row["url_key"], row["round"])
        columns = ["url_key", "round", "state", "reason", "last_status"]
        self.urls = {row["url_key"]: row for row in sorted(rows("urls", URLS, columns), key=lambda row: row["round"])}
        self.states = Counter(row["state"] for row in self.urls.values())
        self._rules = UrlFilter(Settings().scope, frozenset([urlsplit(seed).netloc]))

    def reason(self, url: str) -> str | None:
        """Why the crawl has not fetched a URL: its state, or the rule that rejects it; None: nothing is known."""
        canonical = canonicalize(url)
        if canonical is None:
            return "no canonical form"
        if row := self.urls.get(url_key(canonical)):
            return f"{row['state']} ({row['reason'] or row['last_status']})"
        if rule := self._rules.reject(canonical, 1, 0):
            return f"rule {rule}"
        return None


def compare(walked: list[Walked], crawl: Crawl) -> None:
    sources: dict[str, list[Walked]] = defaultdict(list)
    contents: dict[str, list[Walked]] = defaultdict(list)
    for page in walked:
        for link in page.links:
            if len(sources[link]) < _MOST_SOURCES:
                sources[link].append(page)
        if page.digest:
            contents[page.digest].append(page)
    levels = max(page.level for page in walked)
    print(f"walk: {len(walked)} requests, {levels} levels, {len(contents)} contents")
    print(
        f"crawl: {crawl.requests} requests, {crawl.rounds} rounds, {len(crawl.digests)} contents, {dict(crawl.states)}"
    )
    late = Counter(
        crawl.fetched[key] - page.level for page in walked if page.digest and (key := _key(page.url)) in crawl.fetched
    )
    print("rounds after the walk, pages:", dict(sorted(late.items())))
    lost = {digest: pages for digest, pages in contents.items() if digest not in crawl.digests}
    _show("lost", [(_why(pages, crawl, sources, lost), pages[0].url) for pages in lost.values()])
    _show("extra", [("", url) for digest, url in crawl.digests.items() if digest not in contents])


def _key(url: str) -> bytes:
    return url_key(canonicalize(url) or url)


def _why(pages: list[Walked], crawl: Crawl, sources: dict[str, list[Walked]], lost: dict[str, list[Walked]]) -> str:
    if known := next(filter(None, (crawl.reason(page.url) for page in pages)), None):
        return known
    linking = [(source, page.url) for page in pages for source in sources[page.url] if source.digest not in lost]
    if not linking:
        return "linked by lost pages only"
    return "rel=nofollow" if all(url in source.nofollow for source, url in linking) else "link not followed"


def _show(what: str, found: list[tuple[str, str]]) -> None:
    print(f"{what}: {len(found)}")
    classes: dict[tuple[str, str], list[str]] = defaultdict(list)
    for why, url in found:
        parts = urlsplit(url)
        folder, _, name = parts.path.rpartition("/")
        classes[why, f"{folder.partition('/')[2].partition('/')[0]}/**.{name.rpartition('.')[2]}"].append(url)
    for (why, shape), urls in sorted(classes.items(), key=lambda item: -len(item[1])):
        print(f"  {len(urls)} {why}: {shape}, such as {' '.join(urls[:_SAMPLES])}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    walking = commands.add_parser("walk", help="walk a site and write what was found")
    walking.add_argument("seed")
    walking.add_argument("file", type=Path)
    walking.add_argument("--most", type=int, default=100_000, help="URLs (default: %(default)s)")
    comparing = commands.add_parser("compare", help="compare a walk with a crawl")
    comparing.add_argument("file", type=Path)
    comparing.add_argument("dir")
    arguments = parser.parse_args()
    if arguments.command == "walk":
        with arguments.file.open("w") as file:
            file.writelines(json.dumps(page) + "\n" for page in walk(arguments.seed, arguments.most))
    else:
        with arguments.file.open() as file:
            walked = [Walked(*json.loads(line)) for line in file]
        compare(walked, Crawl(arguments.dir, walked[0].url))


if __name__ == "__main__":
    main()
