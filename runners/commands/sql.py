"""`beamtrawl sql`: query the tables of a crawl."""

import argparse
import csv
import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from ...transforms.directory.crawl_dir import CrawlDir
from ...transforms.sql.queries import QueryError, query
from ..terminal.errors import Usage

FIRST = (
    ("documents", "version of a page", "url, title, text, language, fetched_at, duplicate_of"),
    ("urls", "URL that was found", "url, state, reason, depth, last_status, discovered_from"),
    ("visits", "visit", "url, fetched_at, outcome, status, elapsed_ms, error"),
    ("links", "link on a page", "source_url, target_url, anchor, kind"),
    ("hosts", "host", "host, requests, fetched, failures, latency_p50_ms"),
    ("rejections", "rule and host", "reason, host, count, samples"),
)
"""(table, what a row is, columns) of those that most questions need."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument(
        "query",
        metavar="QUERY",
        nargs="?",
        help=f"SQL of DuckDB over its tables, such as {', '.join(name for name, *_ in FIRST)}; else from stdin",
    )
    parser.add_argument("-f", dest="file", metavar="FILE", help="the query in this file")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print a JSON array of rows")
    form.add_argument("--jsonl", action="store_true", help="print one JSON object a line")
    form.add_argument("--csv", action="store_true", help="print CSV")
    parser.add_argument("--unsafe", action="store_true", help="allow other files to be read, and files to be written")


def run(arguments: argparse.Namespace) -> None:
    """Print what a query over the tables of a crawl gives; without a query, that of each one on stdin."""
    crawl = CrawlDir(arguments.dir)
    if arguments.query is not None and arguments.file:
        raise Usage("give a QUERY or -f FILE, not both")
    if arguments.query is None and not arguments.file:
        crawl.require_manifests()
        _converse(crawl, arguments, sys.stdin)
        return
    _answer(crawl, arguments, _read(arguments.file) if arguments.file else arguments.query)


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Usage(f"cannot read the query in {path}: {getattr(error, 'strerror', None) or error}") from error


def _converse(crawl: CrawlDir, arguments: argparse.Namespace, stream: TextIO) -> None:
    """Answer the queries in a stream; on a terminal, with a prompt, and an error does not end it."""
    is_terminal = stream.isatty()
    if is_terminal:
        import readline  # noqa: F401, PLC0415  # `input` edits lines with it

        print("SQL of DuckDB, ended by ; (Ctrl-D ends). SHOW TABLES; names all tables; of these one begins with:")
        print(table(("table", "a row for each", "columns"), FIRST))
    for text in statements(_typed() if is_terminal else stream):
        try:
            _answer(crawl, arguments, text)
        except QueryError as error:
            if not is_terminal:
                raise
            print(error, file=sys.stderr)


def _typed() -> Iterator[str]:
    while True:
        try:
            yield input("sql> ")
        except EOFError:
            print()
            return


def statements(lines: Iterable[str]) -> Iterator[str]:
    """Yield the statements in lines of text: each ends with a line that ends with a semicolon, or with the text.

    >>> list(statements(["SELECT 1;", "SELECT", "  2;", "", "SELECT 3"]))
    ['SELECT 1;', 'SELECT\\n  2;', 'SELECT 3']
    """
    found: list[str] = []
    for line in lines:
        text = line.rstrip()
        if text or found:
            found.append(text)
        if text.endswith(";"):
            yield "\n".join(found)
            found = []
    if any(found):
        yield "\n".join(found)


def _answer(crawl: CrawlDir, arguments: argparse.Namespace, text: str) -> None:
    names, rows = query(crawl, text, arguments.unsafe)
    cells = [[value.hex() if isinstance(value, bytes) else value for value in row] for row in rows]  # keys are bytes
    objects = (dict(zip(names, row, strict=True)) for row in cells)
    if arguments.json:
        print(json.dumps(list(objects), indent=1, ensure_ascii=False, default=str))
    elif arguments.jsonl:
        for row in objects:
            print(json.dumps(row, ensure_ascii=False, default=str))
    elif arguments.csv:
        csv.writer(sys.stdout, lineterminator="\n").writerows([names, *cells])
    else:
        print(table(names, cells, columns_of(sys.stdout)))


def columns_of(stream: TextIO) -> int | None:
    """The width of a terminal in columns; None: the stream is no terminal."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def table(names: Sequence[str], rows: Iterable[Sequence[Any]], columns: int | None = None) -> str:
    """Rows as aligned text, long values cut; if they are wider than `columns`, a line for each value."""
    lines = [list(names)] + [[_cut("" if value is None else str(value)) for value in row] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(names))]
    if len(lines) > 1 and columns is not None and sum(widths) + 2 * (len(names) - 1) > columns:
        longest = max(map(len, names))
        records = (zip(names, line, strict=True) for line in lines[1:])
        each = ("\n".join(f"{name.ljust(longest)}  {cell}".rstrip() for name, cell in record) for record in records)
        return "\n\n".join(each)
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([text[0], "  ".join("-" * width for width in widths), *text[1:]])


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:79] + "…"
