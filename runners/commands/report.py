"""`beamtrawl report`: write a report of a crawl as one HTML file."""

import argparse
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from ...transforms.directory.crawl_dir import CrawlDir
from ...transforms.directory.crawl_settings import stored_settings
from ...transforms.sql.queries import QueryError
from ..exports.output import STDOUT, require_file
from ..report.collect import collect
from ..report.page import render_report
from ..terminal.errors import Failure, Usage
from ..terminal.units import size


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("-o", "--output", metavar="FILE", help="the HTML file to write (standard output)")


def run(arguments: argparse.Namespace) -> None:
    """Write the report; Failure if a file of the crawl or the output fails."""
    crawl = CrawlDir(arguments.dir)
    crawl.require_manifests()
    if arguments.output == STDOUT:
        arguments.output = None
    if arguments.output is None and sys.stdout.isatty():
        raise Usage("a report is a page of HTML, and no text for a terminal; name a file: -o report.html")
    if arguments.output is not None:
        require_file(arguments.output)
    try:
        page = render_report(collect(crawl, stored_settings(crawl), datetime.now(UTC)))
    except QueryError as error:
        raise Failure(str(error)) from error
    if arguments.output is None:
        sys.stdout.write(page)
        return
    try:
        _replace(Path(arguments.output), page)
        print(f"report: {arguments.output} ({size(len(page.encode()))})")
    except OSError as error:
        raise Failure(f"cannot write {arguments.output}: {error.strerror}") from error


def _replace(target: Path, page: str) -> None:
    """Write a file so that a reader sees the old one or the whole new one."""
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        draft.write_text(page, encoding="utf-8")
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
