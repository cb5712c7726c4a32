"""`beamtrawl report`: write a report of a crawl as one HTML file."""

import argparse
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from ...transforms.directory.crawl_dir import CrawlDir
from ...transforms.directory.crawl_settings import stored_settings
from ...transforms.sql.queries import QueryError
from ..estimate.plan import Estimate
from ..estimate.saved import SAVED, parse_estimate
from ..exports.output import STDOUT, require_file
from ..report.collect import collect
from ..report.page import render_report
from ..report.query_counts import QueryCounts, read_query_log
from ..report.sections import queries, site_check
from ..site_checks.check import check_site
from ..terminal.errors import Failure, Usage
from ..terminal.units import size


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR")
    parser.add_argument("-o", "--output", metavar="FILE", help="the HTML file to write (standard output)")
    parser.add_argument(
        "--estimate", metavar="FILE", help="compare with what estimate --json has printed (else with estimate --save)"
    )
    parser.add_argument(
        "--query-log", type=Path, metavar="FILE", help="show what people look for, from the file of serve --query-log"
    )
    parser.add_argument(
        "--check-links", action="store_true", help="show what is broken on the site, as check links finds it"
    )


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
    asked = _asked(arguments.query_log)
    settings = stored_settings(crawl)
    try:
        report = collect(crawl, settings, _estimate(crawl, arguments.estimate), datetime.now(UTC))
        if arguments.check_links:
            with check_site(crawl, crawl.require_manifests(), settings) as checked:
                report = report._replace(sections=[*report.sections, site_check.section(checked)])
    except QueryError as error:
        raise Failure(str(error)) from error
    if asked:
        report = report._replace(sections=[*report.sections, queries.section(asked)])
    page = render_report(report)
    if arguments.output is None:
        sys.stdout.write(page)
        return
    try:
        _replace(Path(arguments.output), page)
        print(f"report: {arguments.output} ({size(len(page.encode()))})")
    except OSError as error:
        raise Failure(f"cannot write {arguments.output}: {error.strerror}") from error


def _estimate(crawl: CrawlDir, path: str | None) -> Estimate | None:
    """The estimate in a file, or the one saved in the crawl directory, if any."""
    if path is None:
        return parse_estimate(crawl.read_text(SAVED), crawl.path(SAVED)) if crawl.exists(SAVED) else None
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Usage(f"--estimate {path}: {getattr(error, 'strerror', None) or error}") from error
    return parse_estimate(text, path)


def _asked(path: Path | None) -> QueryCounts | None:
    try:
        return read_query_log(path) if path else None
    except OSError as error:
        raise Usage(f"--query-log {path}: {error.strerror}") from error


def _replace(target: Path, page: str) -> None:
    """Write a file so that a reader sees the old one or the whole new one."""
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        draft.write_text(page, encoding="utf-8")
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
