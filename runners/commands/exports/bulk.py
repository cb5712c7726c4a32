"""`beamtrawl export bulk`: documents for another search engine."""

import argparse
import re

from ....transforms.urls.index_scope import IndexScope
from ...exports.bulk import BULK_OVERRIDES, FORMATS, Bulk, bulk_query
from ...exports.output import whole_folder
from ...exports.selection import last_round, left_out
from ...terminal.units import counted
from .options import FOLDER, Formats, add_format, add_since, opened, selected

_BATCH = 64  # documents in memory


def add_arguments(formats: "Formats[argparse.ArgumentParser]") -> None:
    summary = "documents for another search engine"
    parser = add_format(formats, "bulk", summary, FOLDER, export_bulk, include=BULK_OVERRIDES)
    parser.add_argument("--for", dest="engine", choices=FORMATS, required=True, help="the engine")
    parser.add_argument("--index", type=_name, default="pages", metavar="NAME", help="of the engine; default: pages")
    add_since(parser)


def export_bulk(arguments: argparse.Namespace) -> None:
    """Write the documents that searches may find, or what has changed since a round."""
    crawl, since, include = opened(arguments), arguments.since, arguments.include
    last = last_round(crawl.manifests, since)
    rights, scope = crawl.rights()._replace(tdm_rules={}), IndexScope.of(crawl.settings.index)
    query = bulk_query(arguments.where, include, since)
    with selected(arguments, query, _BATCH) as batches, whole_folder(arguments.out) as out:
        bulk = Bulk(out, FORMATS[arguments.engine], arguments.index)
        bulk.write(batches, rights, scope, include, since)
    left = left_out(bulk.left_out)
    deleted = f" and {counted(bulk.deletions, 'deletion')}" if since is not None else ""
    print(f"{counted(bulk.documents, 'document')}{deleted} as of round {last}{left}: {arguments.out}")


def _name(text: str) -> str:
    if re.fullmatch("[a-z0-9][a-z0-9_-]{0,199}", text):
        return text
    raise argparse.ArgumentTypeError(f"{text}: must be lower-case letters, digits, _ and -")
