"""Commands that only read: status, search, sql."""

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from ...search.results.hits import Explanation, as_json
from ...search.searcher import Index
from ...transforms.storage.crawl_dir import CrawlDir
from ...transforms.storage.sql import QueryError, query
from ..errors import Failure, Usage
from . import status as crawl_status


def status_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("--json", action="store_true", help="print JSON")


def status(arguments: argparse.Namespace) -> None:
    """Say how a crawl stands."""
    found = crawl_status.summarize(CrawlDir(arguments.dir), datetime.now(UTC))
    print(json.dumps(found, indent=2, ensure_ascii=False) if arguments.json else crawl_status.render(found))


def search_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("query", metavar="QUERY", nargs="+")
    parser.add_argument("--limit", type=int, default=10, metavar="N", help="hits to show (10)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--as-of", type=int, metavar="ROUND", help="the index as it was after this round")
    parser.add_argument("--per-host", type=int, metavar="N", help="after N hits of a host, those of others come first")
    parser.add_argument("--explain", action="store_true", help="say how each score comes about")


def search(arguments: argparse.Namespace) -> None:
    """Search the index of a crawl."""
    if arguments.limit < 1:
        raise Usage(f"--limit {arguments.limit}: must be at least 1")
    if arguments.per_host is not None and arguments.per_host < 1:
        raise Usage(f"--per-host {arguments.per_host}: must be at least 1")
    results = Index.open(CrawlDir(arguments.dir), arguments.as_of).search(
        " ".join(arguments.query), arguments.limit, per_host=arguments.per_host, explain=arguments.explain
    )
    if arguments.json:
        print(json.dumps(as_json(results), indent=2, ensure_ascii=False))
        return
    print(f"{results.total} documents")
    if results.suggestion:
        print(f"did you mean: {results.suggestion}")
    for number, (hit, shown) in enumerate(zip(results.hits, as_json(results)["hits"], strict=True), 1):
        print(f"\n{number}. {hit.title or hit.url}\n   {hit.url}")
        if hit.snippet:
            print(f"   {shown['snippet']}")
        if hit.explanation:
            print("\n".join(f"   {line}" for line in explain(hit.score, hit.explanation)))


def explain(score: float, explanation: Explanation) -> Iterator[str]:
    """How a score comes about, in lines."""
    yield f"score {score:.3f} = sum of"
    for part in explanation.parts:
        places = ", ".join(f"{field} {count}" for field, count in part.frequencies.items())
        yield f"  {part.score:.3f} {part.text} ({places}; in {part.documents} documents)"
    yield (
        f"  times {explanation.links:.3f} for links, {explanation.quality:.3f} for quality,"
        f" {explanation.freshness:.3f} for freshness"
    )


def sql_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("query", metavar="QUERY", help="SQL of DuckDB over the tables of the crawl")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print a JSON array of rows")
    form.add_argument("--csv", action="store_true", help="print CSV")


def sql(arguments: argparse.Namespace) -> None:
    """Ask the tables of a crawl in SQL."""
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
