"""`beamtrawl report`: write a report of a crawl as one HTML file."""

import argparse
import sys
from datetime import UTC, datetime

from ...transforms.directory.crawl_dir import CrawlDir
from ...transforms.directory.crawl_settings import stored_settings
from ..exports.output import STDOUT, require_file, write_text
from ..report.collect import collect
from ..report.page import render_report
from ..terminal.errors import Usage
from ..terminal.units import size


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("-o", "--output", metavar="FILE", default=STDOUT, help="the HTML file (standard output)")


def run(arguments: argparse.Namespace) -> None:
    """Write the report; a reader of the file sees the old one or the whole new one."""
    crawl = CrawlDir(arguments.dir)
    crawl.require_manifests()
    if arguments.output == STDOUT and sys.stdout.isatty():
        raise Usage("a report is a page of HTML, and no text for a terminal; name a file: -o report.html")
    require_file(arguments.output)
    page = render_report(collect(crawl, stored_settings(crawl), datetime.now(UTC)))
    write_text(arguments.output, page)
    if arguments.output != STDOUT:
        print(f"report: {arguments.output} ({size(len(page.encode()))})")
