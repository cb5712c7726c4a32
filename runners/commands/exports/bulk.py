"""`beamtrawl export bulk`: documents for another search engine."""

import argparse
import re

from ....transforms.blocks.files import BlockFiles
from ....transforms.directory.crawl_dir import CrawlDir
from ....transforms.directory.crawl_settings import stored_settings
from ....transforms.http.request_headers import Identity
from ....transforms.robots.stored_signals import read_signals
from ....transforms.sql.queries import QueryError, query_batches
from ....transforms.urls.index_scope import IndexScope
from ...exports.bulk import BULK_OVERRIDES, FORMATS, Bulk, bulk_query
from ...exports.output import whole_folder
from ...exports.selection import Rights, last_round, listed
from ...terminal.errors import Failure
from ...terminal.units import counted

_BATCH = 64  # documents in memory


def add_arguments(formats: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = formats.add_parser("bulk", help="documents for another search engine", allow_abbrev=False)
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("out", metavar="OUT", help="a new or empty folder")
    parser.add_argument("--for", dest="engine", choices=FORMATS, required=True, help="the engine")
    parser.add_argument("--index", type=_name, default="pages", metavar="NAME", help="of the engine; default: pages")
    parser.add_argument("--where", metavar="SQL", default="true", help="condition on the columns of documents")
    parser.add_argument(
        "--since", type=_round, metavar="ROUND", help="only what differs from an export as of this round"
    )
    parser.add_argument(
        "--include", action="append", choices=BULK_OVERRIDES, default=[], help="pages left out otherwise; repeatable"
    )
    parser.set_defaults(export=export_bulk)


def export_bulk(arguments: argparse.Namespace) -> None:
    """Write the documents that searches may find, or what has changed since a round."""
    crawl, where, since, include = CrawlDir(arguments.dir), arguments.where, arguments.since, arguments.include
    manifests = crawl.require_manifests()
    last = last_round(manifests, since)
    settings = stored_settings(crawl)
    signals = read_signals(crawl, manifests, Identity.of(settings.robot).token)
    rights, scope = Rights(BlockFiles(crawl).read(), signals=signals), IndexScope.of(settings.index)
    try:
        with (
            query_batches(crawl, bulk_query(where, include, since), _BATCH) as batches,
            whole_folder(arguments.out) as out,
        ):
            bulk = Bulk(out, FORMATS[arguments.engine], arguments.index)
            bulk.write(batches, rights, scope, include, since)
            left = listed(bulk.left_out)
            left = f" (left out: {left})" if left else ""
    except QueryError as error:
        raise Failure(f"--where {where}: {error}") from error
    deleted = f" and {counted(bulk.deletions, 'deletion')}" if since is not None else ""
    print(f"{counted(bulk.documents, 'document')}{deleted} as of round {last}{left}: {arguments.out}")


def _name(text: str) -> str:
    if re.fullmatch("[a-z0-9][a-z0-9_-]{0,199}", text):
        return text
    raise argparse.ArgumentTypeError(f"{text}: must be lower-case letters, digits, _ and -")


def _round(text: str) -> int:
    if text.isascii() and text.isdecimal() and len(text) < 7:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text}: must be the number of a round")
