"""How templates are judged, which URLs have a budget, and what is held: tables."""

import doctest
from pathlib import Path

import pytest

from beamtrawl.pipeline.fetch import known_traps
from beamtrawl.transforms.directory.crawl_dir import paths_of
from beamtrawl.transforms.frontier.trap_budgets import Budgets
from beamtrawl.transforms.tables.key_scan import Wanted
from beamtrawl.transforms.traps import template_rows
from beamtrawl.transforms.traps.allow_list import compile_allow_list
from beamtrawl.transforms.traps.discovery import Known, kind_of, names_of, shape_of
from beamtrawl.transforms.traps.draining import Queue
from beamtrawl.transforms.traps.holds import Holds, TrappedHost, count_held, count_waiting, hold
from beamtrawl.transforms.traps.judge import Counts, capped, end, judge, wake
from beamtrawl.transforms.traps.template_rows import Kind, State, new_row, results
from beamtrawl.transforms.urls import templates
from tests.support.committed import commit_rows
from tests.support.scheduled_rounds import due
from tests.support.tables import each_row

PLAIN = ("/a/*", Kind.PLAIN)

# (pages, with news, copies) round by round, kind: state and budget after them
JUDGED = {
    "nothing yet": ([], Kind.PLAIN, "open", 64),
    "too few to tell": ([(5, 0, 5)], Kind.PLAIN, "open", 64),
    "all new": ([(8, 8, 0), (64, 60, 0)], Kind.WITHOUT_NEWS, "open", 16 * 72),
    "all new, in a series": ([(8, 8, 0)], Kind.SERIES, "open", 32),
    "most of many new": ([(8, 8, 0), (24, 14, 0)], Kind.PLAIN, "open", 16 * 32),
    "most of many new, in a series": ([(8, 8, 0), (24, 14, 0)], Kind.SERIES, "open", 8 * 32),
    "half of many new, in a series": ([(8, 8, 0), (24, 13, 0)], Kind.SERIES, "open", 4 * 32),
    "new, but few": ([(6, 6, 0)], Kind.PLAIN, "open", 64),
    "new sometimes": ([(10, 4, 0)], Kind.WITHOUT_NEWS, "open", 20),
    "nothing new": ([(6, 0, 0)], Kind.WITHOUT_NEWS, "throttled", 8),
    "nothing new, bit by bit": ([(2, 0, 0)] * 3, Kind.SERIES, "throttled", 8),
    "sampled less and less": ([(6, 0, 6)] + [(2, 0, 2)] * 3, Kind.WITHOUT_NEWS, "throttled", 1),
    "never to zero": ([(6, 0, 6)] + [(2, 0, 2)] * 9, Kind.WITHOUT_NEWS, "throttled", 1),
    "one page contradicts": ([(60, 0, 0), (8, 1, 0)], Kind.WITHOUT_NEWS, "throttled", 16),
    "a few contradict": ([(60, 0, 0), (8, 3, 0)], Kind.WITHOUT_NEWS, "throttled", 24),
    "several contradict": ([(60, 0, 0), (8, 4, 0)], Kind.WITHOUT_NEWS, "open", 32),
    "new no more": ([(100, 100, 0), (200, 10, 0)], Kind.WITHOUT_NEWS, "throttled", 8),
}  # fmt: skip


def after(
    rounds: list[tuple[int, int, int]], kind: Kind = Kind.PLAIN, template_: str = "/a/*", queue: Queue | None = None
) -> dict:
    row = new_row("a.test", (template_, kind))
    for number, (pages, fresh, copies) in enumerate(rounds, 1):
        counts = Counts(pages=pages, fresh=fresh, news=fresh, different=pages - copies)
        row = judge(row, counts, queue, ["http://a.test/a/x"], number)
    return row


@each_row(JUDGED)
def test_judgement(rounds: list, kind: Kind, state: str, budget: int) -> None:
    row = after(rounds, kind)
    assert (row["state"], row["budget"]) == (state, budget)


# requests that failed, kind: state
FAILURES = {
    "some dead links": (63, Kind.PLAIN, "open"),
    "nothing but dead links": (64, Kind.PLAIN, "throttled"),
    "some refused types": (15, Kind.TYPE, "open"),
    "a refused type": (16, Kind.TYPE, "throttled"),
}


@each_row(FAILURES)
def test_what_only_fails_is_sampled(failed: int, kind: Kind, state: str) -> None:
    row = new_row("a.test", ("/a/*", kind))
    assert judge(row, Counts(failed=failed), None, [], 1)["state"] == state
    assert judge(row | {"pages": 1}, Counts(failed=failed), None, [], 1)["state"] == "open"


# URLs of the host and of the template after the last round, of 100 and 60 that waited before; copies, with news among
# its six pages so far: budget after another sample
DRAINS = {
    "less wait": (Queue(90, 0), Queue(50, 0), 0, 0, 64),
    "less wait of the host": (Queue(90, 0), None, 0, 0, 64),
    "as many wait": (Queue(100, 0), Queue(50, 0), 0, 0, 4),
    "less wait than before, but each page leads to two thirds of another": (Queue(96, 0), Queue(50, 0), 0, 0, 4),
    "as many wait of the template": (Queue(90, 0), Queue(60, 0), 0, 0, 4),
    "less wait because they were held": (Queue(90, 20), Queue(50, 0), 0, 0, 4),
    "copies": (Queue(90, 0), Queue(50, 0), 8, 0, 4),
    "copies beside a page with news": (Queue(90, 0), Queue(50, 0), 8, 1, 64),
}


@pytest.mark.parametrize(("queue", "own", "copies", "fresh", "budget"), DRAINS.values(), ids=DRAINS)
def test_what_is_finite_and_has_other_pages_or_news_is_drained(
    queue: Queue, own: Queue | None, copies: int, fresh: int, budget: int
) -> None:
    row = after([(6, fresh, copies)], Kind.SERIES) | {"waiting": 100, "template_waiting": 60, "requested": 12}
    after_ = judge(row, Counts(pages=2, different=0 if copies else 2), queue, [], 2, own)
    assert after_["budget"] == budget


@pytest.mark.parametrize("is_copy", [True, False])
@pytest.mark.parametrize("useful", range(5))
def test_ten_thousand_pages_with_one_useful_in_five_are_visited_in_nine_rounds(useful: int, is_copy: bool) -> None:
    left, rounds = 10_000, 0
    row, queue = new_row("a.test", ("/diff?id", Kind.VARIANT)), None
    while left:
        rounds += 1
        pages = min(left, row["budget"])
        fresh = sum(number % 5 == useful for number in range(left, left - pages, -1))
        counts = Counts(pages=pages, fresh=fresh, news=fresh, different=fresh if is_copy else pages)
        row = end(judge(row, counts, queue, [], rounds, queue, pages), not fresh, rounds)
        left -= pages
        queue = Queue(left, 0) if row["state"] != State.OPEN else None
    assert rounds <= 9  # a walk needs one


def _read_back(known: list, folder: Path, rows: list) -> int:
    """How many URLs are admitted by what a fetch step reads of the rows."""
    crawl = commit_rows(folder, "update", 2, {"traps": known})
    hosts = Wanted("host", ["a.test"])
    paths = paths_of(crawl.manifests(), "traps")
    return len(admitted(rows, [row for path in paths for _, row in known_traps(path, crawl.root, hosts)]))


def test_the_queue_at_the_start_of_a_round_drains_a_template(tmp_path: Path) -> None:
    row = after([(6, 0, 0), (2, 0, 0)], Kind.WITHOUT_NEWS) | {"waiting": 100, "template_waiting": 100, "requested": 2}
    rows = queue(*(f"/a/{letter}{other}" for letter in "bcdefghij" for other in "bcdefghijk"), links_without_news=True)
    assert len(admitted(rows, [row])) == 64
    assert len(admitted(rows, [row | {"waiting": 90}])) == 4
    assert len(admitted(rows, [row | {"template_waiting": 90}])) == 4
    shared = row | {"template": "*", "template_waiting": None}  # by many templates, so it has no queue of its own
    others = queue(*(f"/{a}/{b}.html" for a in "bcdefghij" for b in "bcdefghijk"), links_without_news=True)
    assert len(admitted(others, [shared])) == 64
    assert len(admitted(others, [shared | {"waiting": 90}])) == 4
    assert _read_back([row | {"waiting": 100}], tmp_path, rows) == 64, "a fetch step reads all that decides"
    trapped = end(after([(6, 0, 6), (2, 0, 2), (2, 0, 2)]), True, 3) | {"template": "/b/*"}
    assert len(admitted(rows, [row, trapped])) == 4, "held URLs are no longer in the queue"


def test_what_has_some_news_is_never_trapped() -> None:
    row = after([(20, 0, 19)], Kind.SERIES) | {"recent_fresh": 2.0}
    row = judge(row, Counts(pages=8), None, [], 2)
    assert (row["state"], row["budget"]) == ("throttled", 8)
    assert end(row, True, 9) == row
    assert end(row | {"recent_fresh": 1.0}, True, 9)["state"] == "trapped"


# state and URLs waiting before, pages with news among its next ten: budget
DRAINS_AFTER_MANY = {
    "newly throttled": (90, 0, 205),
    "newly throttled, but more wait": (110, 0, 8),
    "with a single page of news": (90, 1, 205),
}


@each_row(DRAINS_AFTER_MANY)
def test_what_has_given_many_pages_is_drained_as_fast(waiting: int, fresh: int, budget: int) -> None:
    row = after([(400, 0, 0)], Kind.SERIES) | {"waiting": 100}
    if not fresh:
        row |= {"state": "open"}
    counts = Counts(pages=10, fresh=fresh, news=fresh, different=10)
    assert judge(row, counts, Queue(waiting, 0), [], 2)["budget"] == budget


def test_a_template_is_held_when_its_host_has_nothing_else() -> None:
    row = after([(6, 0, 6), (2, 0, 2), (2, 0, 2)], Kind.WITHOUT_NEWS)
    assert row["since"] == 1
    assert end(row, False, 3) == row
    assert end(row, True, 2) == row, "sampled for a round only"
    held = end(row, True, 3)
    assert (held["state"], held["budget"], held["since"]) == ("trapped", 0, 3)
    assert wake(held, 4)["budget"] == 1
    reopened = judge(held, Counts(pages=1, fresh=1, news=1, different=1), None, [], 5)
    assert (reopened["state"], reopened["budget"]) == ("open", 16)


def known(*rows: dict) -> Known:
    return Known(rows)


def visited(template_: str, first: int, pages: int, news: int) -> dict:
    row = new_row("a.test", (template_, Kind.PLAIN))
    return row | {"round": 9, "first": first, "pages": pages, "news": news}


MONTHS = (visited("/month/#", 1, 9, 2), visited("/day/#", 2, 9, 2), visited("/news/*", 2, 9, 9))


# URL, referrer, without news: kind
KINDS = {
    "another template": ("/b/x", "/a/x", False, Kind.PLAIN),
    "another host": ("/a/x", "http://b.test/a/y", False, Kind.PLAIN),
    "the same template": ("/a/x", "/a/y", False, Kind.SERIES),
    "a query of the page": ("/a/x?b=1", "/a/x", False, Kind.SERIES),
    "a query of another page": ("/town?name=x", "/person?id=1", False, Kind.PLAIN),
    "without news": ("/b/x", "/a/x", True, Kind.WITHOUT_NEWS),
    "on": ("/day/1", "/month/1", False, Kind.PLAIN),
    "back": ("/month/2", "/day/1", False, Kind.SERIES),
    "back, from pages with news": ("/month/2", "/news/x", False, Kind.PLAIN),
    "deeper in one family": ("/day/1/2", "/day/1", False, Kind.SERIES),
}


@each_row(KINDS)
def test_ways_to_a_url(url: str, referrer: str, without_news: bool, kind: Kind) -> None:
    origin = "" if referrer.startswith("http") else "http://a.test"
    shape = shape_of(f"http://a.test{url}", origin + referrer)
    assert kind_of(shape, without_news, (), known(*MONTHS)) == kind


def test_sessions_are_told_from_their_form() -> None:
    first, second = "/in/4f9a02c711/news", "/in/5f9a02c711/news"
    shape = shape_of(f"http://a.test{second}")
    forms = {shape_of(f"http://a.test{first}").form}
    assert kind_of(shape, False, forms, known()) == Kind.VARIANT
    assert kind_of(shape, False, set(), known()) == Kind.PLAIN


def names(target: str, kind: Kind, *rows: dict) -> list:
    return names_of(shape_of(f"http://a.test{target}"), kind, known(*rows).rows)


def test_a_template_speaks_for_itself_once_it_has_proved_something() -> None:
    shared = ("*", Kind.PLAIN)
    assert names("/a/x", Kind.PLAIN) == [PLAIN, shared]
    assert names("/a/x?b=1", Kind.PLAIN) == [("/a/*?b", Kind.PLAIN), shared], "one parameter is as good as a path"
    assert names("/a/x?b=1&c=2", Kind.PLAIN) == [("/a/*?b&c", Kind.PLAIN), ("/a/*?*", Kind.PLAIN), shared]
    assert names("/a/x", Kind.PLAIN, after([(1, 1, 0)])) == [PLAIN]
    assert names("/a/x", Kind.PLAIN, after([(2, 1, 0)])) == [PLAIN, shared]
    assert names("/a/x", Kind.PLAIN, after([(6, 1, 0)])) == [PLAIN]
    refused = new_row("a.test", ("*.bin", Kind.TYPE))
    assert names("/a/x.bin", Kind.PLAIN, refused)[-1] == ("*.bin", Kind.TYPE)


# pages and news of a template's plain pages, rounds of its series: pages of the series in the next round
VOUCHED = {
    "plain pages with news": ((40, 30), [], 30),
    "what the series shows itself": ((40, 30), [(8, 8, 0)], 32),
    "some news": ((40, 26), [], 16),
    "too few to tell": ((31, 31), [], 16),
    "the series itself has no news": ((40, 30), [(8, 0, 8)], 8),
}


@each_row(VOUCHED)
def test_plain_pages_with_news_speak_for_the_series_of_their_template(plain: tuple, rounds: list, budget: int) -> None:
    rows = [visited("/a/*", 1, *plain), *([after(rounds, Kind.SERIES)] if rounds else [])]
    links = [(f"/a/{letter}{other}", "/a/x") for letter in "bcdefghij" for other in "bcdefghij"]
    due_ = [queue(path, referrer=f"http://a.test{referrer}")[0] for path, referrer in links]
    assert len(admitted(due_, rows)) == budget


def queue(*paths: str, **fields: object) -> list:
    return [due(f"http://a.test{path}")._replace(depth=1, **fields) for path in paths]


def admitted(rows: list, known: list = (), forms: set = frozenset(), allow: list = ()) -> list[str]:  # type: ignore[assignment]
    budgets = Budgets(known, forms, compile_allow_list(allow))
    return [each.url.removeprefix("http://a.test") for each in budgets.admit(rows)]


def test_new_templates_take_turns_and_share_a_budget() -> None:
    paths = [f"/shop?colour={number}&page=1" for number in range(80)]
    assert admitted(queue(*paths, "/shop?page=2"))[:3] == [paths[0], "/shop?page=2", paths[1]]
    assert len(admitted(queue(*paths))) == 64
    assert len(admitted(queue(*(f"/{letter * 3}/{n}" for letter in "abc" for n in range(300))))) == 64
    assert (
        len(admitted(queue(*(f"/{letter * 3}/1" for letter in "abcdefghijklmnopqrst"), links_without_news=True))) == 16
    )


def test_a_template_with_news_takes_no_turns() -> None:
    paths = ["/a/x", "/a/y", "/b/x", "/b/y", "/c/x"]
    assert admitted(queue(*paths)) == ["/a/x", "/b/x", "/c/x", "/a/y", "/b/y"]
    assert admitted(queue(*paths), [visited("/a/*", 1, 40, 40)]) == ["/a/x", "/a/y", "/b/x", "/c/x", "/b/y"]


def test_the_form_of_a_link_of_another_site_makes_no_session_of_the_first_own_link() -> None:
    own = queue(*(f"/in/{number:08x}4f9a02c7/news" for number in range(1, 40)))
    other = queue("/in/4f9a02c711/news", foreign=True)
    assert len(admitted(own)) == 1 + 8
    assert len(admitted([*other, *(each._replace(depth=2) for each in own)])) == 1 + 1 + 8


def test_a_throttled_template_has_its_budget() -> None:
    paths = [f"/a/{letter}" for letter in "bcdefghijklm"]
    assert admitted(queue(*paths), [after([(6, 0, 6)])]) == paths[:8]
    trapped = end(after([(6, 0, 6), (2, 0, 2), (2, 0, 2)]), True, 3)
    assert admitted(queue(*paths), [trapped]) == []
    assert admitted(queue(*paths), [trapped, wake(trapped, 4)]) == paths[:1]


def test_seeds_sitemaps_pages_seen_before_and_what_is_allowed_have_no_budget() -> None:
    paths = [f"/a/{number}" for number in range(90)]
    for fields in ({"depth": 0}, {"kind": "sitemap"}, {"digest": b"d" * 16}):
        assert len(admitted([each._replace(**fields) for each in queue(*paths)])) == 90
    assert len(admitted(queue(*paths), allow=["a.test/a/*"])) == 90
    assert len(admitted(queue(*paths), allow=["b.test/*"])) == 64


KEY = b"k" * 16


DUE = {
    "url_key": KEY,
    "url": "http://a.test/a/x",
    "host": "a.test",
    "depth": 2,
    "kind": None,
    "referrer": None,
    "links_without_news": True,
}


URL = {"url_key": KEY, "url": DUE["url"], "state": "due", "fetches": 0, "round": 2}


HELD = end(after([(6, 0, 6), (2, 0, 2), (2, 0, 2)], Kind.WITHOUT_NEWS), True, 3)


TRAPPED = (tuple(TrappedHost("a.test", [HELD], [])),)


# changes to the row of the frontier, and of urls: whether it is held
HOLDS = {
    "a trap's": ({}, {}, True),
    "linked from news": ({"links_without_news": False}, {}, False),
    "elsewhere": ({"host": "b.test"}, {}, False),
    "another template": ({"url": "http://a.test/b/x"}, {}, False),
    "a seed": ({"depth": 0}, {}, False),
    "asked for before": ({}, {"fetches": 1}, False),
}


@pytest.mark.parametrize(("row", "url", "is_held"), HOLDS.values(), ids=HOLDS)
@pytest.mark.parametrize("is_new", [True, False])
def test_what_is_held_is_a_row_and_leaves_the_frontier(row: dict, url: dict, is_held: bool, is_new: bool) -> None:
    changed, earlier = ([URL | url], []) if is_new else ([], [URL | url, URL | url | {"round": 1, "state": "?"}])
    urls, frontier = hold(changed, [DUE | row], earlier, Holds(TRAPPED, compile_allow_list([])), 3)
    expected = [URL | url | {"state": State.TRAPPED, "reason": "trap", "round": 3}]
    assert (urls, frontier) == ((expected, []) if is_held else (changed, [DUE | row]))


def test_some_are_spared_while_the_host_has_other_pages() -> None:
    holds = Holds((tuple(TrappedHost("a.test", [wake(HELD, 4)], [])),), compile_allow_list([]))
    keys = [number.to_bytes(16) for number in range(320)]
    assert sum(not holds(DUE | {"url_key": key}) for key in keys) == 10
    no_other = Holds(TRAPPED, compile_allow_list([]))
    assert all(no_other(DUE | {"url_key": key}) for key in keys)


def test_what_is_allowed_is_not_held() -> None:
    assert not Holds(TRAPPED, compile_allow_list(["a.test/a/*"]))(DUE)


NAME = ("a.test", "/a/*", "links_without_news")


def test_what_waits_and_what_was_held_is_counted() -> None:
    holds = Holds(TRAPPED, compile_allow_list([]))
    other = DUE | {"url_key": b"o" * 16, "url": "http://a.test/b/x"}
    elsewhere = other | {"host": "b.test"}
    assert count_waiting([DUE, other, elsewhere], holds) == {("a.test", "", ""): 2, NAME: 1}
    assert count_held([DUE], holds) == {("a.test", "", ""): 1, NAME: 1}


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(templates).failed == doctest.testmod(template_rows).failed == 0


@pytest.mark.parametrize("kind", Kind)
def test_links_of_other_sites_are_judged_by_dead_ones_too_and_get_few_pages(kind: Kind) -> None:
    row = new_row("a.test", ("/a/*", kind)) | {"pages": 3, "failed": 20, "redirected": 1}
    is_foreign = kind is Kind.FOREIGN
    assert results(row) == (24 if is_foreign else 3)
    assert capped(row, 5) == 5
    assert (capped(row, 1000) < 1000) is is_foreign


@pytest.mark.parametrize(("reached", "state"), [(0, "throttled"), (200, "open")])
def test_redirects_that_lead_to_many_pages_are_no_trap(reached: int, state: str) -> None:
    row = new_row("a.test", PLAIN) | {"redirected": 200, "reached": reached}
    assert judge(row, Counts(), None, [], 1)["state"] == state
