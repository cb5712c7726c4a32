"""Request limits, response headers and error pages of the gateway."""

from collections.abc import Callable

import flask
from werkzeug.exceptions import HTTPException, TooManyRequests

from ...transforms.storage.crawl_dir import CrawlDirError
from .metrics import Metrics
from .rate_limits import Rate, RateLimiter
from .reload import NoIndexError

MAX_FORM_BYTES = 64 << 10
"""The largest form in a POST request."""

HEADERS = {
    # Crawled text is always escaped; should some not be, it can neither run nor load anything.
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",  # do not send queries to the sites of results
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_UNLIMITED = ("static", "healthz", "metrics")  # cheap, or requested by monitoring


def guard(app: flask.Flask, metrics: Metrics, rate: Rate | None, clock: Callable[[], float]) -> None:
    """Add limits, headers, counters and error handlers to an application."""
    app.config["MAX_CONTENT_LENGTH"] = MAX_FORM_BYTES
    if rate:
        check = limit(rate, clock)
        app.before_request(lambda: None if flask.request.endpoint in _UNLIMITED else check())

    @app.after_request
    def finish(response: flask.Response) -> flask.Response:
        response.headers.update(HEADERS)
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
    return flask.make_response(flask.render_template("error.html", status=status, message=message), status)
