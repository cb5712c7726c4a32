"""The search gateway: a search page and a JSON API over the index of a crawl, as a WSGI application."""

import itertools
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import flask
from flask.typing import ResponseReturnValue
from prometheus_client import CONTENT_TYPE_LATEST

from ...transforms.directory.crawl_dir import CrawlDir
from ..answers.results.render import bounded, is_language, is_web_url, readable
from ..answers.results.snippets import marked
from ..answers.searcher import Index
from ..index.segments import CACHE_BYTES
from .changes import TIME_LIMIT_S, show_changes
from .embedding import share
from .languages import speak
from .limits import guard, limit
from .metrics import Metrics
from .query_log import QueryLog
from .rate_limits import Rate
from .reload import LatestIndex, NoIndexError
from .searches import MAX_QUERY, Clock, answer_searches, query_of_request

MAX_URL = 2_048
"""The most characters of a submitted URL."""

MAX_TEXT = 200_000
"""The most characters of a document's text that are shown."""

SUBMISSIONS = Rate(per_second=0.1, burst=10)
"""The rate of submissions of a client."""

_STATIC_MAX_AGE_S = 3600  # for which browsers cache static files


class Receipt(NamedTuple):
    """The result of a submission: an HTTP status, and a sentence for the submitter."""

    status: int
    message: str


Submit = Callable[[str], Receipt]
"""Handles a submitted URL; it may be any text."""


def create_app(
    crawls: CrawlDir | Mapping[str, CrawlDir],
    rate: Rate | None = None,
    submit: Submit | None = None,
    clock: Clock = time.monotonic,
    hosts: Sequence[str] = (),
    title: str = "Beamtrawl",
    timeout_s: float | None = None,
    cache_bytes: int = CACHE_BYTES,
    changes_timeout_s: float = TIME_LIMIT_S,
    origins: Collection[str] = (),
    query_log: QueryLog | None = None,
    opens: bool = False,
) -> flask.Flask:
    """The WSGI application over a crawl, or several by name; docs/gateway.md lists its endpoints.

    It reloads the index when the crawl has committed another step. `rate` bounds the requests of a client; `submit`
    enables the form for submissions; `hosts` are the names by which it may be requested (all if none are given);
    `title` is shown on each page; a query that takes longer than `timeout_s` has partial
    results, a comparison of `/changes` that takes longer than `changes_timeout_s` is an error; postings take at most
    `cache_bytes` of memory; pages of `origins` (`embedding.as_origin`) may embed the search box and use the API;
    `query_log` is given each query. If it `opens`, the index is opened now, and read ahead (NoIndexError); else by the
    first request. Errors are one sentence, as a page or, for programs, as `{"error": …}`: 4xx for a request that the
    client must change, 503 while there is no index, 500 for failures, whose reason is in the log.
    """
    app = flask.Flask(__name__)
    app.config["SEND_FILE_MAX_AGE_DEFAULT"] = _STATIC_MAX_AGE_S
    app.jinja_env.filters |= {"readable": readable, "bounded": bounded}
    app.jinja_env.tests |= {"web_url": is_web_url, "language": is_language}
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.globals |= {"max_query": MAX_QUERY, "max_url": MAX_URL, "takes_submissions": submit is not None}
    app.jinja_env.globals |= {"name": title}
    latest, metrics = LatestIndex(crawls, clock, cache_bytes), Metrics()
    if opens:
        latest.get()
    guard(app, metrics, rate, clock, hosts)
    speak(app)
    share(app, frozenset(origins))
    answer_searches(app, latest, metrics, clock, timeout_s, query_log)
    _show_texts(app, latest)
    show_changes(app, crawls, latest, title, clock, changes_timeout_s)
    _report(app, latest, metrics, clock)
    if submit:
        _take_submissions(app, submit, clock)
    return app


def _show_texts(app: flask.Flask, latest: LatestIndex) -> None:
    """`/cached`: the text of a page as it was fetched."""

    @app.get("/cached")
    def cached() -> ResponseReturnValue:
        url, query = flask.request.args.get("url", ""), query_of_request()
        crawl = flask.request.args.get("crawl") or None
        found = latest.ask(lambda index: index.stored(url, query, crawl))
        if found is None:
            flask.abort(404, f"No text is stored for {url[:MAX_URL]!r}.")
        if found.noarchive:
            flask.abort(403, f"{url} does not allow cached copies (noarchive).")
        lines = found.text[:MAX_TEXT].splitlines()
        return flask.render_template(
            "cached.html",
            query=query,
            found=found,
            paragraphs=[marked(line, found.forms) for line in lines if line.strip()],
            is_cut=len(found.text) > MAX_TEXT,
        )


def _report(app: flask.Flask, latest: LatestIndex, metrics: Metrics, clock: Clock) -> None:
    """`/healthz` and `/metrics` for monitoring; `/robots.txt`."""
    started = clock()
    searched: list[tuple[float, Index]] = []  # the last one that succeeded
    numbers = itertools.count()

    def probe(index: Index) -> int:
        if not searched or searched[0][1] is not index or clock() - searched[0][0] >= 1:
            index.search(index.title(next(numbers))[:MAX_QUERY], 1)
            searched[:] = [(clock(), index)]
        return index.documents

    @app.get("/healthz")
    def healthz() -> ResponseReturnValue:
        """200 if a search for the title of one document after another succeeds; at most one search a second."""
        return {"status": "ok", "documents": latest.ask(probe)}

    @app.get("/metrics", endpoint="metrics")
    def counts() -> ResponseReturnValue:
        try:
            index = latest.get()
        except NoIndexError:
            index = None
        return app.response_class(metrics.text(clock() - started, index), content_type=CONTENT_TYPE_LATEST)

    @app.get("/robots.txt")
    def robots() -> ResponseReturnValue:
        return app.response_class("User-agent: *\nDisallow: /\n", mimetype="text/plain")


def _take_submissions(app: flask.Flask, submit: Submit, clock: Clock) -> None:
    """`/submit`, a form for URLs. It needs no CSRF token: there are no sessions whose rights a request could misuse."""
    check_rate = limit(SUBMISSIONS, clock)

    @app.get("/submit")
    def submission() -> ResponseReturnValue:
        return flask.render_template("submit.html")

    @app.post("/submit")
    def submitted() -> ResponseReturnValue:
        check_rate()
        url = flask.request.form.get("url", "").strip()
        if len(url) > MAX_URL:
            flask.abort(400, f"The URL has {len(url)} characters; at most {MAX_URL} are allowed.")
        answer = submit(url)
        return flask.render_template("submit.html", url=url, answer=answer), answer.status
