"""The commands of `beamtrawl`: names, summaries and modules. A module is imported when its command is chosen."""

import argparse
import importlib
from typing import NamedTuple, Protocol, cast


class CommandModule(Protocol):
    """What the module of a command defines."""

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None: ...

    def run(self, arguments: argparse.Namespace, /) -> int | None: ...


class Command(NamedTuple):
    """One word after `beamtrawl`."""

    name: str
    summary: str
    module: str  # below this package

    def load(self) -> CommandModule:
        """The module, imported."""
        return cast(CommandModule, importlib.import_module(f".{self.module}", __package__))


COMMANDS = (
    Command("crawl", "Crawl: start in a new directory, or go on in one.", "crawl"),
    Command("seeds", "Add URLs to a crawl.", "seeds"),
    Command("status", "Show the state of a crawl.", "status"),
    Command("watch", "Show a crawl in a browser while it runs.", "serving.watch"),
    Command("report", "Write a report of a crawl as one HTML file.", "report"),
    Command("release", "Release URLs that are held as traps or aliases.", "release"),
    Command("block", "Request nothing of a host or URLs any more.", "blocking.block"),
    Command("unblock", "Undo a block.", "blocking.unblock"),
    Command("blocks", "List the blocks of a crawl.", "blocking.blocks"),
    Command("rank", "Rank pages and hosts by the links to them.", "rank"),
    Command("estimate", "Estimate a crawl before it.", "estimate"),
    Command("compact", "Merge the segments of the index and the files of tables.", "compact"),
    Command("search", "Search the index of a crawl.", "search"),
    Command("serve", "Serve a search page and a JSON API.", "serving.serve"),
    Command("mcp", "Serve a crawl to assistants, by the Model Context Protocol.", "mcp"),
    Command("sql", "Query the tables of a crawl in SQL.", "sql"),
    Command("explain", "Explain a URL or a host of a crawl.", "explain"),
    Command("changes", "Show which pages are new, changed, moved or gone.", "changes"),
    Command("check", "Check a URL, a robots.txt, a page, a site or a crawl.", "checks.check"),
    Command("export", "Write a web archive, texts, tables or the index for other programs.", "exports.export"),
    Command("import", "Import web archives that others have made.", "import_warc"),
    Command("clean", "Remove files that failed attempts left behind.", "clean"),
    Command("policy", "Write the robot's information page for webmasters.", "blocking.policy"),
    Command("completion", "Print a script that completes command lines in a shell.", "completion"),
    Command("demo", "Crawl and search a small bundled web.", "demo"),
)
