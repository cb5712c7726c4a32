"""`beamtrawl sql`: query the tables of a crawl."""

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from ...transforms.storage.crawl_dir import CrawlDir
from ...transforms.storage.sql import QueryError, query
from ..errors import Failure


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("query", metavar="QUERY", help="SQL of DuckDB over the tables of the crawl")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print a JSON array of rows")
    form.add_argument("--csv", action="store_true", help="print CSV")


def run(arguments: argparse.Namespace) -> None:
    """Print what a query over the tables of a crawl gives."""
    try:
        names, rows = query(CrawlDir(arguments.dir), arguments.query)
    except QueryError as error:
        raise Failure(str(error)) from error
    cells = [[_plain(value) for value in row] for row in rows]
    if arguments.json:
        print(
            json.dumps([dict(zip(names, row, strict=True)) for row in cells], indent=1, ensure_ascii=False, default=str)
        )
    elif arguments.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(cells)
    else:
        print(table(names, cells))


def table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows as aligned text, long values cut."""
    lines = [list(names)] + [[_cut("" if value is None else str(value)) for value in row] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(names))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([text[0], "  ".join("-" * width for width in widths), *text[1:]])


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:79] + "…"


def _plain(value: Any) -> Any:
    """Keys are bytes: shown in hexadecimal."""
    return value.hex() if isinstance(value, bytes) else value
