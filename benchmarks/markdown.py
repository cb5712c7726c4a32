"""How much of a page's structure `export markdown` keeps, and what that costs.

    PYTHONPATH=. python benchmarks/markdown.py DIR [--pages N] [--with trafilatura html-to-markdown]

Takes N HTML pages of a crawl, chosen by a hash of their URLs, and the main content of each as HTML. Each contestant
converts this HTML to Markdown, markdown-it-py (CommonMark, with tables) renders that, and the elements of both are
compared: headings by level and text, code blocks by text, tables by rows and first cell, list items by their own text,
links by text and target. `found` is the share of the elements of the main content that the rendered Markdown has,
`extra` the share of its elements that the main content does not have. Elements without text do not count, nor what
Markdown cannot hold: lists and code within cells of tables, and links within code blocks. Tables with tables or
headings in them, and those of one row or column, are layout. Pages a second are by CPU time, for our own with the
choice of the main content.
"""

import argparse
import hashlib
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote, urljoin

import lxml.html
from markdown_it import MarkdownIt

from beamtrawl.runners.exports.bodies import Stored, stored_pages
from beamtrawl.runners.exports.page_markdown.content import Content, content, markdown
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.http import media_types

KINDS = ("headings", "code blocks", "tables", "list items", "links")
_HEADINGS = "self::h1 or self::h2 or self::h3 or self::h4 or self::h5 or self::h6"
_LISTS = ("ul", "ol", "menu", "dir", "pre", "table")

Elements = dict[str, Counter[Any]]


def chosen(crawl: CrawlDir, count: int) -> list[Stored]:
    """The pages, in an order that has nothing to do with their URLs."""
    found: list[tuple[bytes, Stored]] = []
    for stored in stored_pages(crawl, crawl.require_manifests()):
        document = stored.document
        if stored.body and document["text"] and document["media_type"] in media_types.HTML:
            found.append((hashlib.md5(document["url"].encode()).digest(), stored))
    return [stored for _, stored in sorted(found, key=lambda each: each[0])[:count]]


def main_html(found: Content) -> str:
    """The main content as HTML."""
    return found.root.html


def elements_of(html: str, base: str) -> Elements:
    """The elements of each kind in an HTML text."""
    found: Elements = {kind: Counter() for kind in KINDS}
    if not html.strip():
        return found
    root = lxml.html.document_fromstring(f"<div>{html}</div>" if "<html" not in html else html)
    inside = set[Any]()
    for table in root.iter("table"):
        if rows := _data_rows(table):
            found["tables"][len(rows), _letters(" ".join(rows[0][0].itertext()))[:200]] += 1
            inside.update(table.iter())
    for pre in root.iter("pre"):
        inside.update(pre.iterdescendants())
    for element in root.xpath(f"//*[{_HEADINGS}]"):
        if text := _letters(element.text_content()):
            found["headings"][element.tag, text] += 1
    for element in root.iter("pre", "li"):
        if element not in inside and (
            text := _letters("".join(_own(element) if element.tag == "li" else element.itertext()))
        ):
            found["list items" if element.tag == "li" else "code blocks"][text] += 1
    for element in root.iter("a"):
        href, text = element.get("href"), _letters(element.text_content())
        if (
            href
            and text
            and next(element.iterancestors("pre"), None) is None
            and _leads(target := urljoin(base, href.strip()))
        ):
            found["links"][text, _letters(unquote(target))] += 1
    return found


def _data_rows(table: Any) -> list[list[Any]]:
    if table.xpath(f".//table|.//*[{_HEADINGS}]") or table.get("role") in ("presentation", "none"):
        return []
    rows = [[cell for cell in row if cell.tag in ("td", "th")] for row in table.iter("tr")]
    rows = [row for row in rows if any(_letters(cell.text_content()) for cell in row)]
    return rows if len(rows) > 1 and max(map(len, rows)) > 1 else []


def _own(element: Any) -> Iterator[str]:
    """The text of an item without that of lists, code and tables in it."""
    yield element.text or ""
    for child in element:
        if child.tag not in _LISTS and isinstance(child.tag, str):
            yield from _own(child)
        yield child.tail or ""


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text)


def _leads(url: str) -> bool:
    return url.partition(":")[0] in ("http", "https", "mailto", "ftp", "tel")


def ours(stored: Stored, _: str) -> str:
    return markdown(_content(stored))


def _content(stored: Stored) -> Content:
    return content(stored.body or b"", stored.content_type, stored.document["url"], stored.document["text"])


def contestant(name: str) -> Callable[[Stored, str], str]:
    if name == "trafilatura":
        from trafilatura import extract  # noqa: PLC0415

        return lambda stored, html: (
            extract(html, output_format="markdown", include_links=True, include_formatting=True, favor_recall=True)
            or ""
        )
    from html_to_markdown import convert  # noqa: PLC0415

    return lambda stored, html: getattr(found := convert(html), "content", found) or ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir")
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--with", dest="others", nargs="*", default=[], choices=("trafilatura", "html-to-markdown"))
    arguments = parser.parse_args()
    pages = chosen(CrawlDir(arguments.dir), arguments.pages)
    contestants = {"ours": ours} | {name: contestant(name) for name in arguments.others}
    renderer = MarkdownIt("commonmark").enable("table")
    totals: dict[str, Counter[str]] = {name: Counter() for name in contestants}
    seconds = Counter[str]()
    for stored in pages:
        base = stored.document["url"]
        html = main_html(_content(stored))
        wanted = elements_of(html, base)
        for name, convert in contestants.items():
            started = time.process_time()
            text = convert(stored, html)
            seconds[name] += time.process_time() - started
            made = elements_of(renderer.render(text), base)
            for kind in KINDS:
                both = (wanted[kind] & made[kind]).total()
                totals[name].update(
                    {f"{kind} both": both, f"{kind} wanted": wanted[kind].total(), f"{kind} made": made[kind].total()}
                )
    print(f"{len(pages)} pages\n\n| | elements | {' | '.join(f'{name}: found | extra' for name in contestants)} |")
    print(f"|---|{'---|' * (1 + 2 * len(contestants))}")
    for kind in KINDS:
        cells = []
        for name in contestants:
            both, all_, made = (totals[name][f"{kind} {part}"] for part in ("both", "wanted", "made"))
            cells.append(f"{both / max(1, all_):.1%} | {(made - both) / max(1, made):.1%}")
        print(f"| {kind} | {totals['ours'][f'{kind} wanted']} | {' | '.join(cells)} |")
    print(f"| pages/s | | {' | '.join(f'{len(pages) / seconds[name]:.0f} |' for name in contestants)} |")


if __name__ == "__main__":
    main()
