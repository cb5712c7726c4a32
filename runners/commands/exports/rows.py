"""`beamtrawl export urls`, `documents` and `links`: the rows of a table as one stream."""

import argparse

from ....transforms.directory.crawl_dir import CrawlDir
from ....transforms.sql.queries import QueryError, query_batches
from ...exports.output import STDOUT, whole_file
from ...exports.rows import BATCH, FORMATS, format_of, write_rows
from ...terminal.errors import Failure, Usage
from ...terminal.units import counted

_TABLES = {
    "urls": "the state of every URL",
    "documents": "every page, with its text",
    "links": "every link",
}


def add_arguments(formats: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    for table, summary in _TABLES.items():
        parser = formats.add_parser(table, help=f"{summary}, as Parquet, CSV or JSON lines", allow_abbrev=False)
        parser.add_argument("dir", metavar="DIR")
        parser.add_argument("out", metavar="OUT", help="a file, or - for standard output; its ending says the format")
        parser.add_argument("--where", metavar="SQL", default="true", help="condition on the columns of the table")
        parser.add_argument("--format", choices=FORMATS, help="default for -: jsonl")
        parser.set_defaults(export=export_rows, table=table)


def export_rows(arguments: argparse.Namespace) -> None:
    """Write the rows of a table for which a condition holds; none is no error."""
    table, out = arguments.table, arguments.out
    format_ = arguments.format or ("jsonl" if out == STDOUT else format_of(out))
    if format_ is None:
        raise Usage(f"{out}: name a file that ends in .jsonl, .csv or .parquet, or give --format")
    if format_ == "parquet" and out.endswith(".gz"):
        raise Usage(f"{out}: Parquet is compressed already; drop .gz")
    try:
        crawl, query = CrawlDir(arguments.dir), where(table, arguments.where)
        with query_batches(crawl, query, BATCH) as batches, whole_file(out) as sink:
            count = write_rows(batches, format_, sink)
    except QueryError as error:
        raise Failure(f"--where {arguments.where}: {error}") from error
    if out != STDOUT:
        print(f"{counted(count, 'row')}: {out}")


def where(table: str, condition: str) -> str:
    """The query for the rows of a table for which a condition holds."""
    return f"SELECT * FROM {table} WHERE ({condition}\n)"
