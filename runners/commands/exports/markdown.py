"""`beamtrawl export markdown`: pages as a tree of Markdown files."""

import argparse
import functools
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence

from ....transforms.aliases.secret import name_key
from ....transforms.directory.crawl_dir import CrawlDir
from ....transforms.directory.crawl_settings import stored_settings
from ....transforms.http.request_headers import Identity
from ....transforms.parsing.page_rules import page_rules
from ....transforms.settings import Extract, MainText
from ....transforms.sql.queries import QueryError, query_batches
from ...engines.pool import worker_map
from ...exports.bodies import Stored, stored_pages
from ...exports.markdown import front, render
from ...exports.output import whole_tree
from ...exports.page_names import PageNames
from ...exports.selection import OVERRIDES, REASONS, Rights, Selected, query
from ...terminal.errors import Failure
from ...terminal.units import counted

_BATCH = 4096  # rows in memory, without texts
_PAGES = 16  # that a worker gets at once
_SECONDS = 0.008  # of computing per page, roughly

_REASONS = REASONS | {"duplicate": "duplicate_of IS NOT NULL"}
"""A near duplicate is a page of its own, to which others link."""


def add_arguments(formats: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = formats.add_parser("markdown", help="pages as a tree of Markdown files", allow_abbrev=False)
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("out", metavar="OUT", help="a new or empty local folder")
    parser.add_argument("--where", metavar="SQL", default="true", help="condition on the columns of documents")
    add_include(parser)
    parser.set_defaults(export=export_markdown)


def add_include(parser: argparse.ArgumentParser, *more: str) -> None:
    names = (*OVERRIDES, *more)
    parser.add_argument(
        "--include", action="append", choices=names, default=[], help="pages left out otherwise; repeatable"
    )


def export_markdown(arguments: argparse.Namespace) -> None:
    """Write the main content of each page that may be given to models."""
    from ...crawling.console import telling, text_output  # noqa: PLC0415 - it imports Beam

    crawl, include = CrawlDir(arguments.dir), arguments.include
    manifests = crawl.require_manifests()
    settings = stored_settings(crawl)
    rights = Rights.read(crawl, manifests, Identity.of(settings.robot).token)
    try:
        with query_batches(crawl, query([], arguments.where, include, _REASONS), _BATCH) as batches:
            selected = Selected(batches, rights, include)
            names = PageNames((row["url"] for row in selected), name_key(crawl))
    except QueryError as error:
        raise Failure(f"--where {arguments.where}: {error}") from error
    left = f" (left out: {selected.left})" if selected.left else ""
    count = 0
    with whole_tree(arguments.out) as tree, telling("writing pages", text_output(sys.stderr)) as tell:
        chosen = (stored for stored in stored_pages(crawl, manifests) if stored.document["url"] in names)
        write = functools.partial(_files, names, settings.extract, settings.main)
        with worker_map(selected.count * _SECONDS) as map_:
            for name, data in itertools.chain.from_iterable(map_(write, _together(chosen))):
                tree.write(name, data)
                count += 1
                tell(f"{count:,}")
    print(f"{counted(count, 'page')}{left}: {arguments.out}")


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
