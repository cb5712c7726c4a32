"""`beamtrawl export markdown`: pages as a tree of Markdown files."""

import argparse
import functools
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence

from ....transforms.aliases.secret import name_key
from ....transforms.parsing.page_rules import page_rules
from ....transforms.settings import Extract, MainText
from ...engines.direct_worker import worker_map
from ...exports.bodies import Stored, stored_pages
from ...exports.markdown import front, render
from ...exports.output import whole_tree
from ...exports.page_names import PageNames
from ...exports.selection import OVERRIDES, REASONS, Selected, left_out, query
from ...terminal.units import counted
from .options import Formats, add_format, opened, selected

_BATCH = 4096  # rows in memory, without texts
_PAGES = 16  # that a worker gets at once
_SECONDS = 0.008  # of computing per page, roughly

_REASONS = REASONS | {"duplicate": "duplicate_of IS NOT NULL"}
"""A near duplicate is a page of its own, to which others link."""


def add_arguments(formats: "Formats[argparse.ArgumentParser]") -> None:
    summary, out = "pages as a tree of Markdown files", "a new or empty local folder"
    add_format(formats, "markdown", summary, out, export_markdown, include=OVERRIDES)


def export_markdown(arguments: argparse.Namespace) -> None:
    """Write the main content of each page that may be given to models."""
    from ...crawling.console import telling, text_output  # noqa: PLC0415 - other exports do without

    crawl, include, count = opened(arguments), arguments.include, 0
    with selected(arguments, query([], arguments.where, include, _REASONS), _BATCH) as batches:
        pages = Selected(batches, crawl.rights(), include)
        names = PageNames((row["url"] for row in pages), name_key(crawl.crawl))
    chosen = (stored for stored in stored_pages(crawl.crawl, crawl.manifests) if stored.document["url"] in names)
    write = functools.partial(_files, names, crawl.settings.extract, crawl.settings.main)
    show, workers = telling("writing pages", text_output(sys.stderr)), worker_map(pages.count * _SECONDS, __name__)
    with workers as map_, whole_tree(arguments.out) as tree, show as tell:  # in this order: `show` starts a thread
        for name, data in itertools.chain.from_iterable(map_(write, _together(chosen))):
            tree.write(name, data)
            count += 1
            tell(f"{count:,}")
    print(f"{counted(count, 'page')}{left_out(pages.left_out)}: {arguments.out}")


def _together(pages: Iterator[Stored]) -> Iterator[list[Stored]]:
    while some := list(itertools.islice(pages, _PAGES)):
        yield some


def _files(
    names: PageNames, extract: Sequence[Extract], main: Sequence[MainText], pages: Iterable[Stored]
) -> list[tuple[str, bytes]]:
    """The names and contents of the files of some pages."""
    rules, files = page_rules(extract, main), []
    for stored in pages:
        name = names.name(stored.document["url"])
        text = render(stored, rules, functools.partial(names.link, name))
        text = f"{front(stored.document)}\n{text}\n"
        files.append((name, text.encode("utf-8", "replace")))
    return files
