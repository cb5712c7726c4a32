"""Arguments that several commands have."""

import argparse

from ..terminal.numbers import whole


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add the runner of Beam and its workers."""
    from ..engines.choose import RUNNERS  # noqa: PLC0415 - it imports Beam, which other commands do without

    parser.add_argument("--runner", choices=RUNNERS, default="direct")
    parser.add_argument("--workers", type=whole(), metavar="N", help="worker processes, at most; else one a core")
    parser.epilog = "What comes after -- goes to Beam."


def add_repeatable(parser: argparse.ArgumentParser, flag: str, metavar: str, help: str) -> None:
    """Add a flag that may be repeated; its value is a list."""
    parser.add_argument(flag, action="append", default=[], metavar=metavar, help=f"{help} (may be repeated)")
