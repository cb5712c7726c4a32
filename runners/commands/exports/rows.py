"""`beamtrawl export urls`, `documents` and `links`: the rows of a table as one stream."""

import argparse

from ...exports.output import STDOUT, whole_file
from ...exports.rows import BATCH, FORMATS, format_of, write_rows
from ...terminal.units import counted
from .options import Formats, add_format, selected

_TABLES = {"urls": "the state of every URL", "documents": "every page, with its text", "links": "every link"}


def add_arguments(formats: "Formats[argparse.ArgumentParser]") -> None:
    for table, summary in _TABLES.items():
        about = f"{summary}, as Parquet, CSV or JSON lines"
        out = "a file, whose ending says the format; - for standard output"
        parser = add_format(formats, table, about, out, export_rows, where="the table")
        parser.add_argument("--format", choices=FORMATS, help="default for -: jsonl")
        parser.set_defaults(table=table)


def export_rows(arguments: argparse.Namespace) -> None:
    """Write the rows of a table for which a condition holds; none is no error."""
    table, out = arguments.table, arguments.out
    format_ = format_of(out, arguments.format)
    with selected(arguments, where(table, arguments.where), BATCH) as batches, whole_file(out) as sink:
        count = write_rows(batches, format_, sink)
    if out != STDOUT:
        print(f"{counted(count, 'row')}: {out}")


def where(table: str, condition: str) -> str:
    """The query for the rows of a table for which a condition holds."""
    return f"SELECT * FROM {table} WHERE ({condition}\n)"
