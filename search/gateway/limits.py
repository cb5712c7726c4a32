"""Request limits, response headers and error pages of the gateway."""

import re
from collections.abc import Callable, Sequence

import flask
from werkzeug.exceptions import HTTPException, TooManyRequests

from ...transforms.directory.crawl_dir import CrawlDirError
from .metrics import Metrics
from .rate_limits import Rate, RateLimiter
from .reload import NoIndexError

MAX_FORM_BYTES = 64 << 10
"""The largest form in a POST request."""

HEADERS = {
    # Crawled text is always escaped; should some not be, it can neither run nor load anything.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; "
    "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # do not send queries to the sites of results; own forms have an Origin
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

OWN_POLICY = {"Content-Security-Policy": "frame-ancestors 'none'"}
"""The header of a page that states the rest of its policy itself; both hold."""

_CACHE_S = 60  # for which a browser may show a page again: going back costs no search

_PAGES = ("page", "api", "suggest", "cached", "help", "changes", "changes_feed")
_APART = ("static", "box", "healthz", "metrics")  # parts of a page, or requested by monitoring: limited by themselves


def guard(
    app: flask.Flask, metrics: Metrics, rate: Rate | None, clock: Callable[[], float], hosts: Sequence[str]
) -> None:
    """Add limits, headers, counters and error handlers to an application.

    `hosts` are the names by which it may be requested; any if there are none. A page of another site whose name
    resolves to this gateway's address (DNS rebinding) has another name.
    """
    app.config["MAX_CONTENT_LENGTH"] = MAX_FORM_BYTES
    if rate:
        check, check_apart = limit(rate, clock), limit(rate, clock)
        app.before_request(lambda: check_apart() if flask.request.endpoint in _APART else check())

    @app.before_request
    def check_origin() -> None:
        if hosts and not is_named(flask.request.host, hosts):
            flask.abort(400, f"This gateway is not {flask.request.host[:100]!r}; see serve --allow-host.")
        if flask.request.method == "POST" and not _is_from_here():
            flask.abort(403, "Forms of another site are refused.")

    @app.after_request
    def finish(response: flask.Response) -> flask.Response:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if response.cache_control.max_age is None:
            is_page = response.status_code == 200 and flask.request.endpoint in _PAGES
            response.headers["Cache-Control"] = f"private, max-age={_CACHE_S}" if is_page else "no-store"
        metrics.requests.labels(flask.request.endpoint or "other", response.status_code).inc()
        return response

    @app.errorhandler(HTTPException)
    def refused(error: HTTPException) -> flask.Response:
        response = _error_response(error.code or 500, error.description or error.name)
        response.headers.extend((name, value) for name, value in error.get_headers() if name != "Content-Type")
        return response

    @app.errorhandler(NoIndexError)
    def without_index(error: NoIndexError) -> flask.Response:
        app.logger.error("%s", error)  # for the operator only: it has paths
        return _error_response(503, "There is no index yet. The first finished round of the crawl creates it.")

    @app.errorhandler(Exception)
    def failed(error: Exception) -> flask.Response:
        metrics.errors.labels(type(error).__name__).inc()
        is_expected = isinstance(error, CrawlDirError)  # a file that cannot be read; the message has its name
        app.logger.error("%r failed: %s", flask.request.full_path, error, exc_info=not is_expected)
        return _error_response(500, "The request failed. The reason is in the log of the gateway.")


def is_named(host: str, names: Sequence[str]) -> bool:
    """Whether a Host header has one of the names, with any port; a name that begins with a dot has subdomains, too.

    >>> is_named("Search.test:8000", ["search.test"]), is_named("my.search.test", [".search.test"])
    (True, True)
    >>> is_named("other.test", ["search.test"]), is_named("[::1]:8000", ["[::1]"])
    (False, True)
    """
    name = re.sub(r":\d*$", "", host.lower()).rstrip(".")
    lowered = [allowed.lower() for allowed in names]
    return name in lowered or any(allowed.startswith(".") and f".{name}".endswith(allowed) for allowed in lowered)


def _is_from_here() -> bool:
    """Whether a browser sent the request from a page of this gateway, or it is no browser's.

    Browsers state the origin of each POST (Fetch standard, 3.2), and newer ones how it relates to the target.
    """
    origin = flask.request.headers.get("Origin")
    if origin is not None and origin != flask.request.host_url.rstrip("/"):
        return False
    return flask.request.headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin")


def limit(rate: Rate, clock: Callable[[], float]) -> Callable[[], None]:
    """A function that raises 429 for requests of a client beyond the rate."""
    limiter = RateLimiter(rate)

    def check() -> None:
        if seconds := limiter.wait(flask.request.remote_addr or "", clock()):
            wait = int(seconds) + 1
            raise TooManyRequests(f"Too many requests. Try again in {wait} s.", retry_after=wait)

    return check


def _error_response(status: int, message: str) -> flask.Response:
    if flask.request.path.startswith(("/api/", "/healthz", "/metrics")):
        return flask.make_response({"error": message}, status)
    query = flask.request.args.get("q", "")  # stays in the search field
    return flask.make_response(flask.render_template("error.html", status=status, message=message, query=query), status)
