"""The search gateway: a search page and a JSON API over the index of a crawl, as a WSGI application."""

import itertools
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import flask
from flask.typing import ResponseReturnValue
from prometheus_client import CONTENT_TYPE_LATEST

from ...transforms.directory.crawl_dir import CrawlDir
from ..answers.cursor import CursorError, decode
from ..answers.shorter import shorter
from ..index.segments import CACHE_BYTES
from ..results.hits import Results, as_json
from ..results.render import bounded, is_language, is_web_url, narrowing, readable, shown
from ..results.snippets import marked
from ..searcher import AFTER_ALONE, ORDERS, Index
from ..suggest import suggestions
from .changes import TIME_LIMIT_S, show_changes
from .languages import speak
from .limits import guard, limit
from .metrics import Metrics
from .rate_limits import Rate
from .reload import LatestIndex, NoIndexError

PAGE_HITS = 10
"""Hits on a page of results."""

PAGE_FACET_VALUES = 6
"""Values of each facet on a page of results."""

PAGE_PER_HOST = 2
"""Hits of a host on a page of results before those of other hosts follow."""

SUGGESTIONS_SHOWN = 8
"""Suggestions in one response."""

MAX_LIMIT = 100
"""The most hits in one response of the API."""

MAX_OFFSET = 10_000
"""The largest offset: a page costs as much as all pages before it."""

MAX_QUERY = 300
"""The most characters of a query: its cost grows with its words."""

MAX_URL = 2_048
"""The most characters of a submitted URL."""

MAX_TEXT = 200_000
"""The most characters of a document's text that are shown."""

SUBMISSIONS = Rate(per_second=0.1, burst=10)
"""The rate of submissions of a client."""

_STATIC_MAX_AGE_S = 3600  # for which browsers cache static files

Clock = Callable[[], float]
"""A monotonic clock, in seconds."""


class Answer(NamedTuple):
    """The result of a submission: an HTTP status, and a sentence for the submitter."""

    status: int
    message: str


Submit = Callable[[str], Answer]
"""Handles a submitted URL; it may be any text."""


def create_app(
    crawl: CrawlDir,
    rate: Rate | None = None,
    submit: Submit | None = None,
    clock: Clock = time.monotonic,
    hosts: Sequence[str] = (),
    title: str = "Beamtrawl",
    logo: Path | None = None,
    timeout_s: float | None = None,
    cache_bytes: int = CACHE_BYTES,
    changes_timeout_s: float = TIME_LIMIT_S,
) -> flask.Flask:
    """The WSGI application; docs/gateway.md lists its endpoints.

    It reloads the index when the crawl has committed another step. `rate` bounds the requests of a client; `submit`
    enables the form for submissions; `hosts` are the names by which it may be requested (all if none are given);
    `title` and `logo`, an image file, are shown on each page; a query that takes longer than `timeout_s` has partial
    results, a comparison of `/changes` that takes longer than `changes_timeout_s` is an error; postings take at most
    `cache_bytes` of memory. Errors are one sentence, as a page or, for programs, as
    `{"error": …}`: 4xx for a request that the client must change, 503 while there is no index, 500 for failures, whose
    reason is in the log.
    """
    app = flask.Flask(__name__)
    app.config["SEND_FILE_MAX_AGE_DEFAULT"] = _STATIC_MAX_AGE_S
    app.jinja_env.filters |= {"readable": readable, "bounded": bounded}
    app.jinja_env.tests |= {"web_url": is_web_url, "language": is_language}
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.globals |= {"max_query": MAX_QUERY, "max_url": MAX_URL, "takes_submissions": submit is not None}
    app.jinja_env.globals |= {"name": title, "has_logo": logo is not None}
    latest, metrics = LatestIndex(crawl, clock, cache_bytes), Metrics()
    guard(app, metrics, rate, clock, hosts)
    speak(app)
    if logo:
        _show_logo(app, logo)
    _answer_searches(app, latest, metrics, clock, timeout_s)
    _show_texts(app, latest)
    show_changes(app, crawl, latest, title, clock, changes_timeout_s)
    _report(app, latest, metrics, clock)
    if submit:
        _take_submissions(app, submit, clock)
    return app


def _answer_searches(
    app: flask.Flask, latest: LatestIndex, metrics: Metrics, clock: Clock, timeout_s: float | None
) -> None:
    """`/`, the search page, by GET or POST; `/help`; `/api/search`; `/api/suggest`; `/opensearch.xml`."""

    def search(
        query: str,
        limit: int,
        offset: int,
        per_host: int | None,
        explain: bool,
        order: str,
        facets: int,
        after: str | None = None,
    ) -> Results:
        def question(index: Index) -> Results:
            return index.search(query, limit, offset, per_host, explain, order, facets, timeout_s, after)

        with metrics.queries.time():
            if after is None:
                return latest.ask(question)
            try:
                return latest.ask_as_of(decode(after, query, order).round, question)
            except CursorError as error:
                flask.abort(400, f"after: {error}.")

    def total(query: str) -> int:
        return search(query, 1, 0, None, False, ORDERS[0], 0).total

    @app.route("/", methods=["GET", "POST"])
    def page() -> ResponseReturnValue:
        query, number = _query(), _number("page", 1, 1, MAX_OFFSET // PAGE_HITS)
        if not query:
            return flask.render_template("home.html", documents=latest.get().documents)
        begin, offset, order = clock(), (number - 1) * PAGE_HITS, _order()
        per_host = PAGE_PER_HOST if order == "score" else None
        results = search(query, PAGE_HITS, offset, per_host, False, order, PAGE_FACET_VALUES)
        titles = latest.ask(lambda index: index.short_titles(results.hits))
        return flask.render_template(
            "results.html",
            query=query,
            results=results,
            hits=list(shown(results.hits, titles, query, PAGE_PER_HOST)),
            shorter=[offered for offered in shorter(query) if total(offered.query)] if not results.total else [],
            facets=narrowing(results.facets, query, MAX_QUERY),
            first=offset + 1,
            sort=None if order == "score" else order,
            page=number,
            pages=-(-min(results.total, MAX_OFFSET) // PAGE_HITS),
            seconds=clock() - begin,
        )

    @app.get("/api/search")
    def api() -> ResponseReturnValue:
        query = _query() or flask.abort(400, "q is missing: give a query, as in /api/search?q=robot")
        limit, offset = _number("limit", PAGE_HITS, 1, MAX_LIMIT), _number("offset", 0, 0, MAX_OFFSET)
        per_host, explain = _number("per_host", 0, 0, MAX_LIMIT), _number("explain", 0, 0, 1)
        facets = _number("facets", 0, 0, MAX_LIMIT)
        after = flask.request.values.get("after")
        if after is not None and (offset or per_host):
            flask.abort(400, f"after: {AFTER_ALONE}.")
        return as_json(search(query, limit, offset, per_host or None, bool(explain), _order(), facets, after))

    @app.get("/api/suggest")
    def suggest() -> ResponseReturnValue:
        query, most = flask.request.values.get("q", "")[:MAX_QUERY], _number("limit", SUGGESTIONS_SHOWN, 1, MAX_LIMIT)
        found = latest.ask(lambda index: suggestions(index, query, most))
        columns = [s.text for s in found], ["" for _ in found], [s.url if is_web_url(s.url) else "" for s in found]
        return app.response_class(json.dumps([query, *columns]), mimetype="application/x-suggestions+json")

    @app.get("/help", endpoint="help")
    def syntax() -> ResponseReturnValue:
        return flask.render_template("help.html")

    @app.get("/opensearch.xml")
    def opensearch() -> ResponseReturnValue:
        return app.response_class(
            flask.render_template("opensearch.xml"), mimetype="application/opensearchdescription+xml"
        )


def _show_texts(app: flask.Flask, latest: LatestIndex) -> None:
    """`/cached`: the text of a page as it was fetched."""

    @app.get("/cached")
    def cached() -> ResponseReturnValue:
        url, query = flask.request.args.get("url", ""), _query()
        found = latest.ask(lambda index: index.stored(url, query))
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


def _show_logo(app: flask.Flask, logo: Path) -> None:
    """`/logo`: the operator's image."""

    @app.get("/logo", endpoint="logo")
    def image() -> ResponseReturnValue:
        return flask.send_file(logo.absolute())


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


def _query() -> str:
    query = flask.request.values.get("q", "").strip()
    if len(query) > MAX_QUERY:
        flask.abort(400, f"The query has {len(query)} characters; at most {MAX_QUERY} are allowed.")
    return query


def _order() -> str:
    """The order of hits from the request's parameters; 400 if it is unknown."""
    order = flask.request.values.get("sort") or ORDERS[0]
    if order not in ORDERS:
        flask.abort(400, f"sort must be {' or '.join(ORDERS)}, not {order[:20]!r}.")
    return order


def _number(name: str, default: int, least: int, most: int) -> int:
    """A whole number from the request's parameters; 400 if it is out of range."""
    text = flask.request.values.get(name) or str(default)
    if not (text.isdecimal() and len(text) <= 9 and least <= int(text) <= most):
        flask.abort(400, f"{name} must be a whole number from {least} to {most}, not {text[:20]!r}.")
    return int(text)
