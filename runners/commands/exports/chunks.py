"""`beamtrawl export chunks`: passages of documents for a vector store."""

import argparse
import itertools
import sys
from collections.abc import Iterable, Iterator

import pyarrow as pa

from ...exports.chunks import CHUNKS, Chunks, chunks_query
from ...exports.output import STDOUT, whole_file
from ...exports.passages import LIMITS, Limits
from ...exports.rows import format_of, write_rows
from ...exports.selection import OVERRIDES, last_round, left_out
from ...terminal.errors import Usage
from ...terminal.numbers import whole
from ...terminal.units import counted
from .options import Formats, add_format, add_since, opened, selected

_BATCH = 64  # documents in memory
_ROWS = 1024  # chunks in memory
_FORMATS = ("jsonl", "parquet")
_LEAST_TOKENS = 16


def add_arguments(formats: "Formats[argparse.ArgumentParser]") -> None:
    summary = "passages for a vector store, cut at headings"
    out = "a file that ends in .jsonl or .parquet; - for standard output"
    parser = add_format(formats, "chunks", summary, out, export_chunks, include=(*OVERRIDES, "nosnippet"))
    add_since(parser)
    parser.add_argument("--tokens", type=whole(_LEAST_TOKENS), default=LIMITS.tokens, metavar="N", help="size (400)")
    parser.add_argument("--overlap", type=whole(), default=LIMITS.overlap, metavar="N", help="of two, in tokens (40)")
    parser.add_argument("--format", choices=_FORMATS, help="default for -: jsonl")


def export_chunks(arguments: argparse.Namespace) -> None:
    """Write the chunks of all pages that models may be given, or what has changed since a round."""
    out, since, include = arguments.out, arguments.since, arguments.include
    limits = Limits(arguments.tokens, arguments.overlap)
    if limits.overlap * 2 > limits.tokens:
        raise Usage(f"--tokens {limits.tokens}: give at least twice the --overlap")
    format_ = format_of(out, arguments.format, _FORMATS)
    crawl = opened(arguments)
    last, rights = last_round(crawl.manifests, since), crawl.rights()
    query = chunks_query(arguments.where, include, since)
    with selected(arguments, query, _BATCH) as batches, whole_file(out) as sink:
        chunks = Chunks(batches, rights, include, since, limits)
        write_rows(pa.RecordBatchReader.from_batches(CHUNKS, _batches(chunks)), format_, sink)
    deleted = f" and {counted(chunks.deleted, 'deletion')}" if since is not None else ""
    what = f"{counted(chunks.chunks, 'chunk')}{deleted} of {counted(chunks.pages, 'page')}"
    line = f"{what} as of round {last}{left_out(chunks.left_out, 'pages ')}: {out}"
    print(line, file=sys.stderr if out == STDOUT else sys.stdout)


def _batches(rows: Iterable[object]) -> Iterator[pa.RecordBatch]:
    iterator = iter(rows)
    while some := list(itertools.islice(iterator, _ROWS)):
        yield pa.RecordBatch.from_pylist(some, schema=CHUNKS)
