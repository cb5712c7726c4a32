"""`beamtrawl export chunks`: passages of documents for a vector store."""

import argparse
import itertools
import sys
from collections.abc import Iterable, Iterator

import pyarrow as pa

from ....transforms.directory.crawl_dir import CrawlDir
from ....transforms.directory.crawl_settings import stored_settings
from ....transforms.http.request_headers import Identity
from ....transforms.sql.queries import QueryError, query_batches
from ...exports.chunks import CHUNKS, Chunks, chunks_query
from ...exports.output import STDOUT, whole_file
from ...exports.passages import LIMITS, Limits
from ...exports.rows import format_of, write_rows
from ...exports.selection import Rights, last_round, listed
from ...terminal.errors import Failure, Usage
from ...terminal.units import counted
from .markdown import add_include

_BATCH = 64  # documents in memory
_ROWS = 1024  # chunks in memory
_FORMATS = ("jsonl", "parquet")
_LEAST_TOKENS = 16


def add_arguments(formats: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = formats.add_parser("chunks", help="passages for a vector store, cut at headings", allow_abbrev=False)
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("out", metavar="OUT", help="a file that ends in .jsonl or .parquet, or - for standard output")
    parser.add_argument("--where", metavar="SQL", default="true", help="condition on the columns of documents")
    parser.add_argument(
        "--since", type=_number, metavar="ROUND", help="only what differs from an export as of this round"
    )
    parser.add_argument("--tokens", type=_number, default=LIMITS.tokens, metavar="N", help="size; default: 400")
    parser.add_argument("--overlap", type=_number, default=LIMITS.overlap, metavar="N", help="default: 40 tokens")
    parser.add_argument("--format", choices=_FORMATS, help="default for -: jsonl")
    add_include(parser, "nosnippet")
    parser.set_defaults(export=export_chunks)


def export_chunks(arguments: argparse.Namespace) -> None:
    """Write the chunks of all pages that models may be given, or what has changed since a round."""
    out, where, since, include = arguments.out, arguments.where, arguments.since, arguments.include
    limits = Limits(arguments.tokens, arguments.overlap)
    if limits.tokens < _LEAST_TOKENS or limits.overlap * 2 > limits.tokens:
        raise Usage(f"--tokens {limits.tokens}: give {_LEAST_TOKENS} or more, and at least twice the --overlap")
    format_ = arguments.format or ("jsonl" if out == STDOUT else format_of(out))
    if format_ is None or format_ not in _FORMATS or (format_ == "parquet" and out.endswith(".gz")):
        raise Usage(f"{out}: name a file that ends in .jsonl, .jsonl.gz or .parquet, or give --format")
    crawl = CrawlDir(arguments.dir)
    manifests = crawl.require_manifests()
    last = last_round(manifests, since)
    rights = Rights.read(crawl, manifests, Identity.of(stored_settings(crawl).robot).token)
    try:
        with (
            query_batches(crawl, chunks_query(where, include, since), _BATCH) as batches,
            whole_file(out) as sink,
        ):
            chunks = Chunks(batches, rights, include, since, limits)
            write_rows(pa.RecordBatchReader.from_batches(CHUNKS, _batches(chunks)), format_, sink)
            left = listed(chunks.left_out)
            left = f" (pages left out: {left})" if left else ""
    except QueryError as error:
        raise Failure(f"--where {where}: {error}") from error
    what = counted(chunks.chunks, "chunk") + (
        f" and {counted(chunks.deleted, 'deletion')}" if since is not None else ""
    )
    line = f"{what} of {counted(chunks.pages, 'page')} as of round {last}{left}: {out}"
    print(line, file=sys.stderr if out == STDOUT else sys.stdout)


def _batches(rows: Iterable[object]) -> Iterator[pa.RecordBatch]:
    iterator = iter(rows)
    while some := list(itertools.islice(iterator, _ROWS)):
        yield pa.RecordBatch.from_pylist(some, schema=CHUNKS)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 7):
        raise argparse.ArgumentTypeError(f"{text}: not a number, 0 or more")
    return int(text)
