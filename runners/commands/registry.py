"""The commands of `beamtrawl`, each with its arguments."""

import argparse
from collections.abc import Callable
from typing import NamedTuple

from . import check, compact, crawl, demo, export, rank, read, serve


class Command(NamedTuple):
    """One word after `beamtrawl`."""

    name: str
    summary: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int | None]


COMMANDS = (
    Command("crawl", "Crawl: start in a new directory, or go on in one.", crawl.crawl_arguments, crawl.crawl),
    Command("seeds", "Add URLs to a crawl.", crawl.seeds_arguments, crawl.seeds),
    Command("status", "Say how a crawl stands.", read.status_arguments, read.status),
    Command("rank", "Rank pages and hosts by the links to them.", rank.rank_arguments, rank.run),
    Command("compact", "Merge the segments of the index.", compact.compact_arguments, compact.run),
    Command("search", "Search the index of a crawl.", read.search_arguments, read.search),
    Command("serve", "Serve a search page and a JSON API.", serve.serve_arguments, serve.serve),
    Command("sql", "Ask the tables of a crawl in SQL.", read.sql_arguments, read.sql),
    Command("check", "Look into a URL, without a crawl, or into an index.", check.check_arguments, check.check),
    Command("export", "Write the index for other engines.", export.export_arguments, export.export),
    Command("clean", "Remove files that failed attempts left behind.", crawl.clean_arguments, crawl.clean),
    Command("demo", "Crawl and search a small bundled web.", demo.arguments, demo.run),
)
