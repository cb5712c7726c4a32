"""The endpoints of searches: the search page, its help, the JSON API, suggestions and the OpenSearch description."""

import dataclasses
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

import flask
from flask.typing import ResponseReturnValue

from ..answers.cursor import CursorError, decode
from ..answers.results.hits import Results, as_json
from ..answers.results.render import is_web_url, narrowing, shown
from ..answers.searcher import AFTER_ALONE, ORDERS, Index
from .metrics import Metrics
from .query_log import Asked, QueryLog
from .reload import LatestIndex
from .shorter import shorter
from .suggest import suggestions

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

Clock = Callable[[], float]
"""A monotonic clock, in seconds."""


def answer_searches(
    app: flask.Flask,
    latest: LatestIndex,
    metrics: Metrics,
    clock: Clock,
    timeout_s: float | None,
    query_log: QueryLog | None,
) -> None:
    """Add `/`, by GET or POST, `/help`, `/api/search`, `/api/suggest` and `/opensearch.xml`."""
    searches = Searches(latest, metrics, timeout_s)

    @app.route("/", methods=["GET", "POST"])
    def page() -> ResponseReturnValue:
        return _page(searches, clock, query_log)

    @app.get("/api/search")
    def api() -> ResponseReturnValue:
        return _api(searches, clock, query_log)

    @app.get("/api/suggest")
    def suggest() -> ResponseReturnValue:
        return app.response_class(_suggest(latest), mimetype="application/x-suggestions+json")

    @app.get("/help", endpoint="help")
    def syntax() -> ResponseReturnValue:
        return flask.render_template("help.html")

    @app.get("/opensearch.xml")
    def opensearch() -> ResponseReturnValue:
        description = flask.render_template("opensearch.xml")
        return app.response_class(description, mimetype="application/opensearchdescription+xml")


class Searches(NamedTuple):
    """Runs queries on the latest index, each of them measured and for at most `timeout_s`."""

    latest: LatestIndex
    metrics: Metrics
    timeout_s: float | None

    def run(
        self,
        query: str,
        limit: int,
        offset: int = 0,
        per_host: int | None = None,
        explain: bool = False,
        order: str = ORDERS[0],
        facets: int = 0,
        after: str | None = None,
        typing: bool = False,
    ) -> Results:
        """The results, as of the round of `after` if that is given; 400 if it is no cursor of this query."""

        def question(index: Index) -> Results:
            return index.search(query, limit, offset, per_host, explain, order, facets, self.timeout_s, after, typing)

        with self.metrics.queries.time():
            if after is None:
                return self.latest.ask(question)
            try:
                return self.latest.ask_as_of(decode(after, query, order).round, question)
            except CursorError as error:
                flask.abort(400, f"after: {error}.")


def _page(searches: Searches, clock: Clock, query_log: QueryLog | None) -> str:
    number, typing = _number("page", 1, 1, MAX_OFFSET // PAGE_HITS), _is_typing()
    if not query_of_request():
        return flask.render_template("home.html", documents=searches.latest.get().documents)
    query = query_of_request(typing)
    begin, offset, order = clock(), (number - 1) * PAGE_HITS, _order()
    per_host = PAGE_PER_HOST if order == "score" and not typing else None
    results = searches.run(query, PAGE_HITS, offset, per_host, order=order, facets=PAGE_FACET_VALUES, typing=typing)
    pages = -(-min(results.total + results.weaker, MAX_OFFSET) // PAGE_HITS)
    if number == 1 and flask.request.method == "GET":  # who sends a form by POST keeps the query out of logs
        _log(query_log, results, clock())
    titles = searches.latest.ask(lambda index: index.short_titles(results.hits))
    offered = [] if pages else [one for one in shorter(query) if searches.run(one.query, 1).total]
    return flask.render_template(
        "results.html",
        query=query,
        results=results,
        hits=list(shown(results.hits, titles, query, PAGE_PER_HOST)),
        shorter=offered,
        facets=narrowing(results.facets, query, MAX_QUERY),
        first=offset + 1,
        sort=None if order == "score" else order,
        page=number,
        pages=pages,
        seconds=clock() - begin,
    )


def _api(searches: Searches, clock: Clock, query_log: QueryLog | None) -> ResponseReturnValue:
    typing = _is_typing()
    query = query_of_request(typing) or flask.abort(400, "q is missing: give a query, as in /api/search?q=robot")
    limit, offset = _number("limit", PAGE_HITS, 1, MAX_LIMIT), _number("offset", 0, 0, MAX_OFFSET)
    per_host, explain = _number("per_host", 0, 0, MAX_LIMIT), _number("explain", 0, 0, 1)
    facets = _number("facets", 0, 0, MAX_LIMIT)
    after = flask.request.values.get("after")
    if after is not None and (offset or per_host):
        flask.abort(400, f"after: {AFTER_ALONE}.")
    if typing and (after is not None or per_host):
        flask.abort(400, "typing: has an order of its own: give neither after nor per_host with it.")
    results = searches.run(query, limit, offset, per_host or None, bool(explain), _order(), facets, after, typing)
    if typing:
        titles = searches.latest.ask(lambda index: index.short_titles(results.hits))
        hits = [dataclasses.replace(hit, title=title) for hit, title in zip(results.hits, titles, strict=True)]
        results = dataclasses.replace(results, hits=hits)
    if not offset and after is None:
        _log(query_log, results, clock())
    return as_json(results)


def _log(query_log: QueryLog | None, results: Results, now: float) -> None:
    if query_log:
        query_log.add(flask.request.remote_addr or "", Asked(datetime.now(UTC), results.query, results.total), now)


def _suggest(latest: LatestIndex) -> str:
    """Suggestions in the format of OpenSearch: the query, and lists of completions, descriptions and URLs."""
    query, most = flask.request.values.get("q", "")[:MAX_QUERY], _number("limit", SUGGESTIONS_SHOWN, 1, MAX_LIMIT)
    found = latest.ask(lambda index: suggestions(index, query, most))
    columns = [s.text for s in found], ["" for _ in found], [s.url if is_web_url(s.url) else "" for s in found]
    return json.dumps([query, *columns])


def _is_typing() -> bool:
    """Whether somebody is still typing the query of the request."""
    return bool(_number("typing", 0, 0, 1))


def query_of_request(typing: bool = False) -> str:
    """The query of the request, without space around it, or while `typing` before it; 400 if it is too long."""
    query = flask.request.values.get("q", "").lstrip()
    query = query if typing and query.strip() else query.rstrip()
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
