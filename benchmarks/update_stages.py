"""What an update step spends its time on, page by page.

    PYTHONPATH=. python benchmarks/update_stages.py DIRECTORY… [--pages N]

Takes the pages in the HTML files below the directories, each a site, N of each by a hash of their names. Every stage is
timed by itself, one core, CPU time, the best of three runs, on what the stage before it gave; `whole step` is an update
step over the same pages, engine, tables and files included.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parent))

from links import Page, update
from main_text import files

from beamtrawl.runners.process.garbage import collect_rarely
from beamtrawl.transforms.documents.found_links import links_column
from beamtrawl.transforms.documents.page_yield import yield_rows
from beamtrawl.transforms.documents.parse_visits import judged
from beamtrawl.transforms.indexing.write_segment import write_segment
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.parsing import charsets, html_links, html_metadata, html_tree, main_text, source
from beamtrawl.transforms.parsing.boilerplate import without_boilerplate
from beamtrawl.transforms.parsing.html_page import parse_page
from beamtrawl.transforms.parsing.language.detect import choose_language
from beamtrawl.transforms.settings import Scope
from beamtrawl.transforms.tables.schemas import DOCUMENTS, VISITS
from beamtrawl.transforms.traps.news import Duplicates
from beamtrawl.transforms.traps.watch_host import watch_host
from beamtrawl.transforms.urls.canonical import canonicalize, host as host_of, url_key
from beamtrawl.transforms.urls.filters import UrlFilter

_RUNS = 3
_ROW_GROUP = 200  # pages that are parsed together, as in `update`


def timed(name: str, action: Callable[..., Any], *columns: Iterable[Any]) -> list[Any]:
    """What the action gives for each row of the columns; prints what a row takes."""
    rows, seconds, found = list(zip(*columns, strict=True)), [], []
    for _ in range(_RUNS):
        started = time.process_time()
        found = [action(*row) for row in rows]
        seconds.append(time.process_time() - started)
    report(name, min(seconds), len(rows))
    return found


def timed_together(name: str, action: Callable[[list[Any]], list[Any]], rows: list[Any]) -> list[Any]:
    """The same of an action that takes all rows at once."""
    seconds = []
    for _ in range(_RUNS):
        started = time.process_time()
        found = action(rows)
        seconds.append(time.process_time() - started)
    report(name, min(seconds), len(rows))
    return found


def report(name: str, seconds: float, pages: int) -> None:
    figures[f"{name}, µs a page"] = seconds / pages * 1e6
    print(f"| {name} | {figures[f'{name}, µs a page']:,.0f} |", flush=True)


figures: dict[str, float] = {}


def facts(root: html_tree.Element, elements: html_tree.Elements, base: str) -> Any:
    meta = html_metadata.meta(elements)
    html_metadata.description(meta), html_metadata.keywords(meta), html_metadata.canonical_url(elements, base)
    return html_metadata.title(elements, meta), html_metadata.published_at(root, elements, meta)


def extract_main_text(html: str) -> main_text.Text:
    return main_text.main_text(html_tree.parse(html).root)  # of a fresh tree, which it changes


def visit_of(url: str) -> Any:
    visit = dict.fromkeys(VISITS.names) | {"url": url, "url_key": url_key(url), "outcome": Outcome.FETCHED}
    return visit | {"depth": 1, "redirects": 0, "priority": 1.0, "links_without_news": False, "foreign": False}


def first_yields(pages: list[Any]) -> list[Any]:
    """The rows of pages that were visited for the first time, in batches of the size of a row group."""
    return [row for start in range(0, len(pages), _ROW_GROUP) for row in yield_rows(pages[start : start + _ROW_GROUP])]


def judge_templates(rows: list[Any]) -> None:
    """All pages of a site in one round, of which nothing is known before."""
    by_host: dict[str, list[Any]] = {}
    for row in rows:
        by_host.setdefault(host_of(row["url"]), []).append(row)
    started = time.process_time()
    for host, own in by_host.items():
        watch_host(host, own, Duplicates({}, {}), (), (), {}, lambda url: False, 1, b"key")
    report("judgement of templates", time.process_time() - started, len(rows))


def stages(pages: list[Page]) -> None:
    addresses, bodies = [page.url for page in pages], [page.body for page in pages]
    texts = timed("decode", lambda body: charsets.decode(body, None, is_html=True)[0], bodies)
    timed(
        "parse", lambda html: bool(html_tree.parse(html)), texts
    )  # trees that are kept would take twice as long to make
    roots = [html_tree.parse(text).root for text in texts]
    elements = timed("elements of links and facts", html_tree.elements, roots)
    bases = timed("base", html_links.base_url, elements, addresses)
    found = timed("links: canonicalize", html_links.links, elements, addresses, bases)
    timed("facts", facts, roots, elements, bases)
    mains = timed("text (and parse)", extract_main_text, texts)
    timed("language", lambda main: choose_language((), main.text), mains)
    timed("digest", lambda main, body: source.content_digest("", main.text, body), mains, bodies)
    parsed = timed("all of parse_page", lambda url, body: parse_page(body, url, "text/html", [], ""), addresses, bodies)
    started = time.process_time()
    without_boilerplate(list(zip(addresses, parsed, strict=True)))
    report("boilerplate of the hosts", time.process_time() - started, len(pages))
    timed("quality and signature", lambda url, page: judged(url, page, near=True), addresses, parsed)
    visited = [(visit_of(url), page) for url, page in zip(addresses, parsed, strict=True)]
    judge_templates(timed_together("words that may be news", first_yields, visited))
    url_filter = UrlFilter(Scope(), frozenset(host_of(url) for url in addresses))
    visit = {"depth": 0, "redirects": 0}
    rows = [(visit, page, links) for page, links in zip(parsed, found, strict=True)]
    groups = [rows[start : start + _ROW_GROUP] for start in range(0, len(rows), _ROW_GROUP)]
    column = "links: filter, key, convert to a column"
    timed_together(column, lambda _: [links_column(group, url_filter) for group in groups], rows)
    documents = [
        {"url": url, "host": host_of(url), "title": page.title, "text": page.text, "headings": page.headings}
        for url, page in zip(addresses, parsed, strict=True)
    ]
    table = pa.Table.from_pylist(documents, schema=DOCUMENTS)
    with TemporaryDirectory() as root:
        started = time.process_time()
        write_segment(root, "segment", table)
        report("index", time.process_time() - started, len(pages))
    report("whole step", min(update(pages) for _ in range(_RUNS)), len(pages))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="+", type=Path, metavar="DIRECTORY")
    parser.add_argument("--pages", type=int, default=60, metavar="N")
    parser.add_argument("--json", action="store_true", help="print the figures as one line of JSON at the end")
    arguments = parser.parse_args()
    collect_rarely()  # as the program does
    pages = [
        Page(canonicalize(f"http://site-{number}.test/{file.relative_to(folder).as_posix()}") or "", body, [])
        for number, folder in enumerate(arguments.directories)
        for file in files(folder)[: arguments.pages]
        if (body := file.read_bytes())
    ]
    pages = list({page.url: page for page in pages}.values())
    print(f"{len(pages)} pages, {sum(len(page.body) for page in pages) / len(pages) / 1000:.0f} kB each\n")
    print("| | µs a page |\n|---|---|")
    stages(pages)
    if arguments.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
