"""Common parts of exports: their arguments, the crawl that they read, and its documents for which `--where` holds."""

import argparse
import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from ....transforms.directory.crawl_dir import CrawlDir, Manifest
from ....transforms.directory.crawl_settings import stored_settings
from ....transforms.http.request_headers import Identity
from ....transforms.settings import Settings
from ....transforms.sql.queries import QueryError, query_batches
from ...exports.selection import Rights
from ...terminal.errors import Failure
from ...terminal.numbers import LAST_ROUND, whole

Formats = argparse._SubParsersAction  # of parsers, one for each format

FOLDER = "a new or empty folder"
FILE = "a file, compressed if it ends in .gz; - for standard output"


def add_format(
    formats: "Formats[argparse.ArgumentParser]",
    name: str,
    summary: str,
    out: str,
    export: Callable[[argparse.Namespace], None],
    where: str = "documents",
    include: Sequence[str] = (),
) -> argparse.ArgumentParser:
    """Add a format with the arguments DIR and OUT; `where` is the table of its condition, if it takes one."""
    parser = formats.add_parser(name, help=summary, allow_abbrev=False)
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("out", metavar="OUT", help=out)
    if where:
        parser.add_argument("--where", metavar="SQL", default="true", help=f"condition on the columns of {where}")
    if include:
        about = "pages left out otherwise; repeatable"
        parser.add_argument("--include", action="append", choices=include, default=[], help=about)
    parser.set_defaults(export=export)
    return parser


def add_since(parser: argparse.ArgumentParser) -> None:
    """Add the round of an earlier export."""
    about = "only what differs from an export as of this round"
    parser.add_argument("--since", type=whole(0, LAST_ROUND), metavar="ROUND", help=about)


class Opened(NamedTuple):
    """A crawl that is exported."""

    crawl: CrawlDir
    manifests: Sequence[Manifest]
    settings: Settings

    @property
    def token(self) -> str:
        """The product token of the robot."""
        return Identity.of(self.settings.robot).token

    def rights(self) -> Rights:
        """What is known of the uses of its documents, read anew."""
        return Rights.read(self.crawl, self.manifests, self.token)


def opened(arguments: argparse.Namespace) -> Opened:
    """Return the crawl of a command line; CrawlDirError if there is none."""
    crawl = CrawlDir(arguments.dir)
    return Opened(crawl, crawl.require_manifests(), stored_settings(crawl))


@contextlib.contextmanager
def selected(arguments: argparse.Namespace, query: str, rows: int) -> Iterator[pa.RecordBatchReader]:
    """The rows of a query with the condition --where, so many in a batch; Failure if the condition is none."""
    try:
        with query_batches(CrawlDir(arguments.dir), query, rows) as batches:
            yield batches
    except QueryError as error:
        raise Failure(f"--where {arguments.where}: {error}") from error
