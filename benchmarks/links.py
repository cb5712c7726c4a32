"""What a link costs: from a reference on a page to its URL, the verdict of the scope, and its key.

    python benchmarks/links.py [DIRECTORY…] [--pages N]

Takes the pages in the HTML files below the directories, each a site (a shop is made up if there are none), at most N of
each. `links a second` is by the CPU time of resolving, canonicalizing, filtering and keying each distinct reference of
each page: without caches, and with caches of the size that the update step has; the best of five runs. `share` is that
part of the CPU time of a whole update step over the same pages, on one core.
"""

import argparse
import functools
import itertools
import random
import resource
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import lxml.html

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.pipeline.control import StopSignal
from beamtrawl.pipeline.crawl import run_crawl
from beamtrawl.pipeline.seeds import Seed, add_seeds
from beamtrawl.runners.engines.direct import DirectEngine
from beamtrawl.runners.process.garbage import collect_rarely
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest, iso
from beamtrawl.transforms.settings import Scope, Settings
from beamtrawl.transforms.tables.table_files import TableWriter
from beamtrawl.transforms.urls.canonical import canonicalize, host, url_key
from beamtrawl.transforms.urls.filters import UrlFilter
from tests.support.crawls import Silent

_RUNS, _ROWS = 5, 200
Resolve = Callable[[str, str], str | None]


class Page(NamedTuple):
    url: str
    body: bytes
    references: list[str]  # each once, as page_links looks at them: without fragments


def page(url: str, body: bytes) -> Page:
    root = lxml.html.document_fromstring(body)
    hrefs = (str(href).partition("#")[0] for href in root.xpath("//a/@href|//link/@href|//img/@src"))
    return Page(url, body, list(dict.fromkeys(filter(None, hrefs))))


def read_pages(directories: Iterable[str], count: int) -> Iterator[Page]:
    for number, directory in enumerate(directories):
        files = (file for file in sorted(Path(directory).rglob("*.htm*")) if file.is_file() and file.stat().st_size)
        for file in itertools.islice(files, count):
            url = canonicalize(f"http://site-{number}.test/{file.relative_to(directory).as_posix()}")
            yield page(url or "", file.read_bytes())


def made_up(count: int) -> Iterator[Page]:
    """Pages of a shop: a menu that all share, and links of their own, a third of them with a query."""
    chance = random.Random(1)
    menu = [*(f"/shop/category-{n}/" for n in range(40)), "/", "/about.html#team", "https://elsewhere.test/", "a.png"]
    for number in range(count):
        own = [f"../item/{chance.randrange(100_000)}.html" for _ in range(40)]
        own += [f"list?sort=price&page={chance.randrange(1000)}&utm_source=menu" for _ in range(20)]
        links = "".join(f"<li><a href='{reference}'>{reference}</a>" for reference in (*menu, *own))
        text = " ".join(chance.choice(["herring", "cod", "hake", "sprat", "ling"]) for _ in range(400))
        body = f"<title>{number}</title><ul>{links}</ul><p>{number} {text}"
        yield page(f"http://site-0.test/shop/page-{number}.html", body.encode())


def follow(pages: Iterable[Page], resolve: Resolve, reject: Callable[..., object], key: Callable[[str], bytes]) -> None:
    for url, _, references in pages:
        for reference in references:
            if target := resolve(reference, url):
                reject(target)
                key(target)


def seconds(action: Callable[[], object]) -> float:
    """Of CPU time, with all that the action's child processes take."""

    def used() -> float:
        each = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(usage.ru_utime + usage.ru_stime for usage in each)

    started = used()
    action()
    return used() - started


def update(pages: list[Page]) -> float:
    """CPU seconds of an update step over visits of these pages."""
    with tempfile.TemporaryDirectory() as root:
        crawl, now = CrawlDir(root), datetime.now(UTC)
        add_seeds(crawl, [Seed(one.url) for one in pages], "", now)
        writer = TableWriter(root, "visits", 1)
        for start in range(0, len(pages), _ROWS):
            writer.write_rows([_visit(one, now) for one in pages[start : start + _ROWS]])
        file = writer.close()
        crawl.commit(Manifest("fetch", 1, "", (file,), {}, (), iso(now), iso(now)))
        return seconds(lambda: run_crawl(crawl, Settings(), DirectEngine(1), Silent(), StopSignal(), rounds=0))


def _visit(one: Page, now: datetime) -> dict:
    row = {"url_key": url_key(one.url), "url": one.url, "host": host(one.url), "round": 1, "fetched_at": now}
    row |= {"outcome": "fetched", "status": 200, "media_type": "text/html", "headers": [], "body": one.body, "depth": 0}
    return row | {"priority": 1.0, "redirects": 0, "attempt": 1, "discovered_round": 0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="*", metavar="DIRECTORY")
    parser.add_argument("--pages", type=int, default=1000, metavar="N")
    arguments = parser.parse_args()
    collect_rarely()  # as the program does
    pages = list(
        read_pages(arguments.directories, arguments.pages) if arguments.directories else made_up(arguments.pages)
    )
    count = sum(len(one.references) for one in pages)
    url_filter = UrlFilter(Scope(), frozenset(host(one.url) for one in pages))
    print(f"{len(pages)} pages, {count} distinct references, {sum(len(one.body) for one in pages) / 1e6:.0f} MB")

    def plain() -> None:
        follow(pages, canonicalize, url_filter.reject_url, url_key)

    def cached() -> None:
        remember = functools.lru_cache(maxsize=2**15)
        follow(pages, remember(canonicalize), remember(url_filter.reject_url), remember(url_key))

    without, with_caches = (min(seconds(way) for _ in range(_RUNS)) for way in (plain, cached))
    print(f"links a second: {count / without:,.0f} without caches, {count / with_caches:,.0f} with")
    whole = update(pages)
    print(f"share of an update step: {with_caches / whole:.1%} of {whole:.1f} s")


if __name__ == "__main__":
    main()
