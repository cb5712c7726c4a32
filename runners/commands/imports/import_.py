"""`beamtrawl import`: what others have crawled."""

import argparse

from . import warc as import_warc


def add_arguments(parser: argparse.ArgumentParser) -> None:
    formats = parser.add_subparsers(metavar="FORMAT", required=True)
    import_warc.add_arguments(formats)


def run(arguments: argparse.Namespace) -> int:
    """Make what others have crawled a part of a crawl."""
    code: int = arguments.import_from(arguments)
    return code
