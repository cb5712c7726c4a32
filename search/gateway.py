"""The search gateway: a page with a form, and a JSON API, over the index of a crawl."""

import threading
from urllib.parse import urlsplit

import flask
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException

from search.index import Index
from search.results import as_json
from transforms.crawl_dir import CrawlDir, CrawlDirError

PAGE_HITS = 10
"""Hits on a page of results."""

MAX_LIMIT = 100
"""Hits in one answer of the API."""

MAX_OFFSET = 10_000
"""How far down the hits one can page: finding the last page costs as much as finding all before it."""

MAX_QUERY = 1_000
"""Characters of a query."""

MAX_FORM = 64 << 10
"""Bytes of a posted form."""

HEADERS = {
    # Crawled text is always escaped; should any slip through, it still cannot run, load or send anything.
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",  # what somebody asked is not the found site's business
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class LatestIndex:
    """The index of a crawl, opened anew once another step has been committed."""

    def __init__(self, crawl: CrawlDir) -> None:
        self._crawl = crawl
        self._lock = threading.Lock()
        self._opened: tuple[list[str], Index] | None = None

    def get(self) -> Index:
        """CrawlDirError while there is none. While nothing changes, it costs a listing of the manifests."""
        with self._lock:
            manifests = self._crawl.names("manifests", "*.json")
            if self._opened is None or self._opened[0] != manifests:
                self._opened = manifests, Index.open(self._crawl)
            return self._opened[1]


def create_app(crawl: CrawlDir) -> flask.Flask:
    """The WSGI application: `/` for people, by GET or POST, and `/api/search` for programs.

    It follows the crawl: what another round has indexed is found without a restart. What goes wrong is told
    in one line, as a page or, from the API, as `{"error": …}`: 400 for a request that must be changed, 503
    while there is no index.
    """
    app = flask.Flask(__name__)
    app.config["MAX_CONTENT_LENGTH"] = MAX_FORM
    app.jinja_env.tests["web_url"] = is_web_url
    app.jinja_env.globals["max_query"] = MAX_QUERY
    latest = LatestIndex(crawl)

    @app.route("/", methods=["GET", "POST"])
    def page() -> ResponseReturnValue:
        query, number = _query(), _number("page", 1, 1, MAX_OFFSET // PAGE_HITS)
        index = latest.get()
        results = index.search(query, PAGE_HITS, (number - 1) * PAGE_HITS) if query else None
        pages = -(-min(results.total, MAX_OFFSET) // PAGE_HITS) if results else 0
        return flask.render_template(
            "search.html", query=query, results=results, page=number, pages=pages, documents=index.documents
        )

    @app.get("/api/search")
    def api() -> ResponseReturnValue:
        query = _query() or flask.abort(400, "q is missing: name what to search for, as in /api/search?q=robot")
        limit, offset = _number("limit", PAGE_HITS, 1, MAX_LIMIT), _number("offset", 0, 0, MAX_OFFSET)
        return as_json(latest.get().search(query, limit, offset))

    @app.errorhandler(HTTPException)
    def refused(error: HTTPException) -> ResponseReturnValue:
        return _error(error.code or 500, error.description or error.name)

    @app.errorhandler(CrawlDirError)
    def unusable(error: CrawlDirError) -> ResponseReturnValue:
        app.logger.error("%s", error)  # it names paths, which are for the operator alone
        return _error(503, "There is no index to search. It comes with the first finished round of the crawl.")

    @app.after_request
    def secure(response: flask.Response) -> flask.Response:
        response.headers.update(HEADERS)
        return response

    return app


def is_web_url(url: str) -> bool:
    """Whether a URL may become a link: nothing but http and https does.

    >>> is_web_url("https://example.org/"), is_web_url("javascript:alert(1)"), is_web_url("//[")
    (True, False, False)
    """
    try:
        return urlsplit(url).scheme in ("http", "https")
    except ValueError:
        return False


def _query() -> str:
    query = flask.request.values.get("q", "").strip()
    if len(query) > MAX_QUERY:
        flask.abort(400, f"The query has {len(query)} characters; at most {MAX_QUERY} are allowed.")
    return query


def _number(name: str, default: int, least: int, most: int) -> int:
    """A whole number that the request gives."""
    text = flask.request.values.get(name, str(default))
    if not (text.isdecimal() and len(text) <= 9 and least <= int(text) <= most):
        flask.abort(400, f"{name} must be a whole number from {least} to {most}, not {text[:20]!r}.")
    return int(text)


def _error(status: int, message: str) -> ResponseReturnValue:
    if flask.request.path.startswith("/api/"):
        return {"error": message}, status
    return flask.render_template("error.html", status=status, message=message), status
