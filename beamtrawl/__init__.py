"""Beamtrawl: a polite, breadth-first batch web crawler and full-text indexer on Apache Beam.

`crawl` starts or resumes a crawl, `open` reads what it has found: tables, SQL, search, status
(docs/python.md). Plug-ins build on `Source`, `Page`, `Document`, `Alert`, `Through` and others (docs/extending.md).

Importing this package imports nothing else: each name is loaded on first use.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_FOLDER = Path(__file__).parent
if not (_FOLDER / "transforms").exists():  # the folder of a checkout, which Python finds before an installed package
    __path__.append(str(_FOLDER.parent))

_MODULES = {
    "_convert": ["MissingLibraryError"],
    "_crawl": ["Crawl", "Crawls", "QueryResult", "open", "open_crawls"],
    "_hits": ["Hits"],
    "_progress": ["Progress"],
    "_run": ["BeamtrawlWarning", "Report", "crawl"],
    "_tables": ["Table"],
    "runners.state.crawl_status": ["Status"],
    "runners.demo.server": ["demo_web"],
    "runners.terminal.errors": ["LockedError", "StartError"],
    "search.query.lexemes": ["plain_query"],
    "search.answers.results.hits": ["Hit"],
    "transforms.http.client": ["Client"],
    "transforms.http.reply": ["Reply"],
    "transforms.observers.registry": ["Alert", "Document"],
    "transforms.outcomes": ["BeamtrawlError", "Outcome"],
    "transforms.parsing.source": ["Page", "Source"],
    "transforms.plugins": ["PluginError"],
    "transforms.politeness.downloaders": ["Through"],
    "transforms.politeness.host_queue": ["BrowserRules"],
    "transforms.settings": ["Settings", "SettingsError"],
    "transforms.directory.crawl_dir": ["CrawlDirError"],
    "transforms.sql.queries": ["QueryError"],
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

if TYPE_CHECKING:
    from beamtrawl._convert import MissingLibraryError
    from beamtrawl._crawl import Crawl, Crawls, QueryResult, open, open_crawls
    from beamtrawl._hits import Hits
    from beamtrawl._progress import Progress
    from beamtrawl._run import BeamtrawlWarning, Report, crawl
    from beamtrawl._tables import Table
    from beamtrawl.runners.demo.server import demo_web
    from beamtrawl.runners.state.crawl_status import Status
    from beamtrawl.runners.terminal.errors import LockedError, StartError
    from beamtrawl.search.answers.results.hits import Hit
    from beamtrawl.search.query.lexemes import plain_query
    from beamtrawl.transforms.directory.crawl_dir import CrawlDirError
    from beamtrawl.transforms.http.client import Client
    from beamtrawl.transforms.http.reply import Reply
    from beamtrawl.transforms.observers.registry import Alert, Document
    from beamtrawl.transforms.outcomes import BeamtrawlError, Outcome
    from beamtrawl.transforms.parsing.source import Page, Source
    from beamtrawl.transforms.plugins import PluginError
    from beamtrawl.transforms.politeness.downloaders import Through
    from beamtrawl.transforms.politeness.host_queue import BrowserRules
    from beamtrawl.transforms.settings import Settings, SettingsError
    from beamtrawl.transforms.sql.queries import QueryError
else:

    def __getattr__(name):
        if name not in _HOME:
            raise AttributeError(f"module 'beamtrawl' has no attribute {name!r}")
        value = getattr(import_module(f"beamtrawl.{_HOME[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "Alert",
    "BeamtrawlError",
    "BeamtrawlWarning",
    "BrowserRules",
    "Client",
    "Crawl",
    "CrawlDirError",
    "Crawls",
    "Document",
    "Hit",
    "Hits",
    "LockedError",
    "MissingLibraryError",
    "Outcome",
    "Page",
    "PluginError",
    "Progress",
    "QueryError",
    "QueryResult",
    "Reply",
    "Report",
    "Settings",
    "SettingsError",
    "Source",
    "StartError",
    "Status",
    "Table",
    "Through",
    "__version__",
    "crawl",
    "demo_web",
    "open",
    "open_crawls",
    "plain_query",
]
