"""The search gateway: a page with a form, and a JSON API, over the index of a crawl."""

import threading
from typing import Any
from urllib.parse import urlsplit

import flask
from werkzeug.exceptions import HTTPException

from search.index import Index
from search.results import as_json
from transforms.crawl_dir import CrawlDir, CrawlDirError

PAGE = 10
"""Hits on a page of results."""

MAX_LIMIT = 100
"""Hits of one answer of the API."""

MAX_DEPTH = 10_000
"""Hits that can be paged through: nobody reads on, and every page before costs as much as all before it."""

MAX_QUERY = 1_000
"""Characters of a query."""

MAX_FORM = 64 << 10
"""Bytes of a posted form."""

HEADERS = {
    # Crawled text is escaped; should any get through, it still cannot run, load or send anything.
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",  # a query is nobody else's business
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class BadRequest(Exception):
    """A request that cannot be answered; the message tells the user what to change."""


class LatestIndex:
    """The index of a crawl, opened anew when a step has been committed since."""

    def __init__(self, crawl: CrawlDir) -> None:
        self._crawl = crawl
        self._lock = threading.Lock()
        self._manifests: list[str] | None = None
        self._index: Index | None = None

    def get(self) -> Index:
        """CrawlDirError while there is no index."""
        with self._lock:
            manifests = self._crawl.names("manifests", "*.json")
            if self._index is None or manifests != self._manifests:
                self._index, self._manifests = Index.open(self._crawl), manifests
            return self._index


def create_app(crawl: CrawlDir) -> flask.Flask:
    """The WSGI application. `/` is for people, by GET or POST; `/api/search` for programs."""
    app = flask.Flask(__name__)
    app.config["MAX_CONTENT_LENGTH"] = MAX_FORM
    app.json.ensure_ascii = False
    app.jinja_env.tests["web_url"] = is_web_url
    latest = LatestIndex(crawl)

    @app.route("/", methods=["GET", "POST"])
    def page() -> flask.typing.ResponseReturnValue: ...
