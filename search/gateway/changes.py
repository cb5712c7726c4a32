"""`/changes` and `/changes.atom`: what has changed on the pages of a crawl."""

import io
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import flask
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import ServiceUnavailable

from ...transforms.changes.feed import feed_id, write_feed
from ...transforms.changes.find import Change, Since, parse_since
from ...transforms.directory.crawl_dir import CrawlDir, CrawlDirError
from ...transforms.outcomes import QueryTimeout
from ..answers.searcher import Index
from ..changes import MAX_CHANGES, PAGE_CHANGES, Listing, State, list_changes, page_of, state_of
from .limits import limit
from .rate_limits import Rate
from .reload import LatestIndex, NoIndexError

CHANGES = Rate(per_second=1, burst=20)
"""The rate of requests of a client for changes."""

MAX_AGE_S = 600.0
"""The time for which a comparison is kept: a page may expire (unavailable_after)."""

TIME_LIMIT_S = 30.0
"""The time for a query of a comparison."""

_WAIT_S = 1.0  # for the comparison of another request: the threads of the gateway are few
_LISTINGS, _PAGES = 8, 64  # that are kept


class Page(NamedTuple):
    """A page of changes, and what it is a page of."""

    state: State
    since: Since
    listing: Listing
    number: int
    changes: list[Change]

    @property
    def first(self) -> int:
        """The number of its first change among all."""
        return (self.number - 1) * PAGE_CHANGES + 1


class RecentChanges:
    """The changes of a crawl, compared once for each state and `since`. Thread-safe: one comparison at a time."""

    def __init__(self, crawl: CrawlDir, latest: LatestIndex, clock: Callable[[], float], timeout_s: float) -> None:
        self._crawl, self._latest, self._clock, self._timeout_s = crawl, latest, clock, timeout_s
        self._lock = threading.Lock()
        self._index: Index | None = None
        self._state: State | None = None
        self._read_at_s = 0.0
        self._listings: dict[Since, Listing] = {}
        self._pages: dict[tuple[Since, int], Page] = {}

    def page(self, asked: str, number: int) -> Page:
        """A page of changes since a round or date, "" for the last round; HTTP errors for what cannot be shown."""
        index = self._latest.get()
        if not self._lock.acquire(timeout=_WAIT_S):
            raise ServiceUnavailable("Another comparison is running. Try again in a few seconds.", retry_after=5)
        try:
            state = self._current(index)
            since = _since(asked, state.round)
            try:
                return self._page(state, since, number)
            except CrawlDirError:  # a merge of tables may have removed a file since the state was read
                self._index = None
                return self._page(self._current(index), since, number)
        except QueryTimeout as error:
            raise ServiceUnavailable(
                f"The comparison took longer than {self._timeout_s:g} seconds. Ask for changes since a later time.",
                retry_after=60,
            ) from error
        finally:
            self._lock.release()

    def _current(self, index: Index) -> State:
        """The state of the crawl; what was compared is dropped when the index or the blocks have changed."""
        if self._state is None or self._index is not index or self._clock() - self._read_at_s > MAX_AGE_S:
            self._state = state_of(self._crawl.manifests())
            self._listings.clear()
            self._pages.clear()
            self._index, self._read_at_s = index, self._clock()
        if self._state is None:
            raise NoIndexError("no update step is committed")
        if not self._state.has_tables:
            flask.abort(404, "Changes are not known: this index has no tables of visits and documents.")
        return self._state

    def _page(self, state: State, since: Since, number: int) -> Page:
        if since not in self._listings:
            _make_room(self._listings, _LISTINGS)
            self._listings[since] = list_changes(self._crawl, state, since, datetime.now(UTC), self._timeout_s)
        listing = self._listings[since]
        if number > listing.pages:
            flask.abort(404, f"There are {listing.pages} pages of changes.")
        if (since, number) not in self._pages:
            _make_room(self._pages, _PAGES)
            changes = page_of(self._crawl, state, listing, number, self._timeout_s)
            self._pages[since, number] = Page(state, since, listing, number, changes)
        return self._pages[since, number]


def _make_room(kept: dict[Any, Any], most: int) -> None:
    if len(kept) >= most:
        del kept[next(iter(kept))]


def _since(asked: str, last: int) -> Since:
    try:
        since = parse_since(asked) if asked else Since(last - 1, None)
    except ValueError:
        flask.abort(400, f"since must be a round, as 3, or a date, as 2026-01-31, not {asked[:20]!r}.")
    if since.round is not None and since.round > last:
        flask.abort(400, f"since must be a round up to {last}, the last one, not {since.round}.")
    return since


def show_changes(
    app: flask.Flask,
    crawls: CrawlDir | Mapping[str, CrawlDir],
    latest: LatestIndex,
    title: str,
    clock: Callable[[], float],
    timeout_s: float,
) -> None:
    """`/changes`, a page, and `/changes.atom`, a feed, with the same changes: of one crawl, the first or that named."""
    named = {"": crawls} if isinstance(crawls, CrawlDir) else crawls
    recent = {name: RecentChanges(crawl, latest, clock, timeout_s) for name, crawl in named.items()}
    names = [name for name in recent if name]
    check_rate = limit(CHANGES, clock)

    def crawl_of_request() -> str:
        asked = flask.request.args.get("crawl", "") or next(iter(recent))
        if asked not in recent:
            flask.abort(400, f"crawl must be one of {', '.join(names) or 'none'}, not {asked[:20]!r}.")
        return asked

    def asked() -> Page:
        check_rate()
        number = flask.request.args.get("page") or "1"
        if not (number.isascii() and number.isdecimal() and 1 <= int(number[:9]) <= MAX_CHANGES and len(number) <= 9):
            flask.abort(400, f"page must be a whole number from 1 to {MAX_CHANGES}, not {number[:20]!r}.")
        return recent[crawl_of_request()].page(flask.request.args.get("since", "").strip(), int(number))

    @app.get("/changes")
    def changes() -> ResponseReturnValue:
        found, given = asked(), flask.request.args.get("since", "").strip() or None
        return flask.render_template(
            "changes.html", found=found, given=given, most=MAX_CHANGES, crawl=crawl_of_request() or None, crawls=names
        )

    @app.get("/changes.atom")
    def changes_feed() -> ResponseReturnValue:
        page, given = asked(), flask.request.args.get("since", "").strip() or None
        crawl = crawl_of_request()

        def place(endpoint: str, number: int) -> str:
            shown = number if number > 1 else None
            return flask.url_for(endpoint, crawl=crawl or None, since=given, page=shown, _external=True)

        links = {"self": place("changes_feed", page.number), "alternate": place("changes", page.number)}
        if page.number > 1:
            links["previous"] = place("changes_feed", page.number - 1)
        if page.number < page.listing.pages:
            links["next"] = place("changes_feed", page.number + 1)
        updated = page.state.ended_at or max((change.at for change in page.changes), default=datetime.now(UTC))
        sink = io.BytesIO()
        name = f"{title}: {crawl}" if crawl else title
        write_feed(page.changes, feed_id(page.state.manifests), name, updated, sink, links)
        return app.response_class(sink.getvalue(), mimetype="application/atom+xml")
