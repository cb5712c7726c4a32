"""The commands of `beamtrawl`, each with its arguments."""

import argparse
from collections.abc import Callable
from typing import NamedTuple

from runners import checking, compacting, crawling, demo, exporting, ranking, reading, serving


class Command(NamedTuple):
    """One word after `beamtrawl`."""

    name: str
    summary: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int | None]


COMMANDS = (
    Command("crawl", "Crawl: start in a new directory, or go on in one.", crawling.crawl_arguments, crawling.crawl),
    Command("seeds", "Add URLs to a crawl.", crawling.seeds_arguments, crawling.seeds),
    Command("status", "Say how a crawl stands.", reading.status_arguments, reading.status),
    Command("rank", "Rank pages and hosts by the links to them.", ranking.rank_arguments, ranking.run),
    Command("compact", "Merge the segments of the index.", compacting.compact_arguments, compacting.run),
    Command("search", "Search the index of a crawl.", reading.search_arguments, reading.search),
    Command("serve", "Serve a search page and a JSON API.", serving.serve_arguments, serving.serve),
    Command("sql", "Ask the tables of a crawl in SQL.", reading.sql_arguments, reading.sql),
    Command("check", "Look into a URL, without a crawl, or into an index.", checking.check_arguments, checking.check),
    Command("export", "Write the index for other engines.", exporting.export_arguments, exporting.export),
    Command("clean", "Remove files that failed attempts left behind.", crawling.clean_arguments, crawling.clean),
    Command("demo", "Crawl and search a small bundled web.", demo.arguments, demo.run),
)
