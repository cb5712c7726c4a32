"""How well main text is told from boilerplate, and what that costs.

    PYTHONPATH=. python benchmarks/main_text.py SITES [--pages N] [--with resiliparse trafilatura]

SITES is a folder that ../shared/realweb/realweb.sh has made, with a folder for each site. Of N pages of each, chosen by
a hash of their names, takes those that mark a content of at least 20 words (tests/support/content.py). Compares the
words of a text with those of the content: the means over pages of precision, recall and F1. `unmarked` takes the same
pages without their <main>, <article> and roles, `unnamed` without all elements, classes and ids that name a part of a
page. `by host` takes the pages of a site as one batch, so that blocks that repeat on them are removed as well. Pages a
second are by CPU time, parsing included.
"""

import argparse
import hashlib
import itertools
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean
from typing import NamedTuple
from urllib.parse import quote

from beamtrawl.transforms.parsing import charsets, html_tree, main_text
from beamtrawl.transforms.parsing.boilerplate import without_boilerplate
from beamtrawl.transforms.parsing.html_page import parse_page
from tests.support.content import CONTENT, content_words, score

_LEAST_WORDS = 20
_NAMES = re.compile(
    r"\s(?:class|id|role|itemprop)=(?:\"[^\"]*\"|'[^']*'|[^\s>]+)|(?<=<)(?:main|article|nav|aside|footer|header)\b"
    r"|(?<=</)(?:main|article|nav|aside|footer|header)\b"
)
_MARKS = re.compile(r"\srole=\"?\w+\"?|\sitemprop=\"?articleBody\"?|(?<=<)(?:main|article)\b|(?<=</)(?:main|article)\b")


class Page(NamedTuple):
    url: str
    html: str
    content: list[str]


def read_pages(sites: Path, site: str, count: int) -> Iterator[Page]:
    for file in itertools.islice(files(sites / site), count):
        html, _ = charsets.decode(body := file.read_bytes(), None, is_html=True)
        if body and len(content := content_words(site, html.encode())) >= _LEAST_WORDS:
            name = quote(file.relative_to(sites / site).as_posix())
            yield Page(f"http://{site}.test/{name}", html, content)


def files(folder: Path) -> list[Path]:
    """The HTML files below a folder, in an order that has nothing to do with their names."""
    found = (file for file in folder.rglob("*.htm*") if file.is_file() and not file.is_symlink())
    return sorted(found, key=lambda file: hashlib.md5(file.relative_to(folder).as_posix().encode()).digest())


def ours(html: str) -> str:
    return main_text.main_text(html_tree.parse(html).root).text


def unmarked(html: str) -> str:
    return ours(_MARKS.sub(lambda match: "" if match[0][0].isspace() else "div", html))


def unnamed(html: str) -> str:
    return _NAMES.sub(lambda match: "" if match[0][0].isspace() else "div", html)


def by_host(pages: list[Page], change: Callable[[str], str] = str) -> list[str]:
    """The texts of pages that are parsed in one batch."""
    parsed = [
        (page.url, parse_page(change(page.html).encode(), page.url, "text/html; charset=utf-8", [], ""))
        for page in pages
    ]
    return [page.text for page in without_boilerplate([(url, page) for url, page in parsed if page])]


def one_by_one(extract: Callable[[str], str]) -> Callable[[list[Page]], list[str]]:
    return lambda pages: [extract(page.html) for page in pages]


def whole(html: str) -> str:
    return " ".join(html_tree.parse(html).root.strings)


def resiliparse(html: str) -> str:
    from resiliparse.extract.html2text import extract_plain_text  # noqa: PLC0415

    return extract_plain_text(html, main_content=True, alt_texts=False)


def trafilatura(html: str) -> str:
    import trafilatura  # noqa: PLC0415

    return trafilatura.extract(html, fast=True) or ""


OTHERS = {"resiliparse": resiliparse, "trafilatura": trafilatura}


def row(extract: Callable[[list[Page]], list[str]], pages: list[Page]) -> str:
    started = time.process_time()
    texts = extract(pages)
    rate = len(pages) / (time.process_time() - started)
    scores = [score(text, page.content) for text, page in zip(texts, pages, strict=True)]
    means = (
        fmean(one.precision for one in scores),
        fmean(one.recall for one in scores),
        fmean(one.f1 for one in scores),
    )
    return " | ".join([*(f"{mean:.3f}" for mean in means), f"{rate:.0f}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, metavar="SITES")
    parser.add_argument("--pages", type=int, default=100, metavar="N")
    parser.add_argument("--with", nargs="*", default=[], choices=OTHERS, dest="others")
    arguments = parser.parse_args()
    extractors: dict[str, Callable[[list[Page]], list[str]]] = {
        "all text": one_by_one(whole),
        "ours": one_by_one(ours),
        "ours, by host": by_host,
        "unmarked": one_by_one(unmarked),
        "unnamed": one_by_one(lambda html: ours(unnamed(html))),
        "unnamed, by host": lambda pages: by_host(pages, unnamed),
        **{name: one_by_one(OTHERS[name]) for name in arguments.others},
    }
    print("| site | pages | text | precision | recall | F1 | pages/s |\n|---|---|---|---|---|---|---|")
    for site in CONTENT:
        pages = list(read_pages(arguments.sites, site, arguments.pages))
        for name, extract in extractors.items() if pages else ():
            print(f"| {site} | {len(pages)} | {name} | {row(extract, pages)} |", flush=True)


if __name__ == "__main__":
    main()
