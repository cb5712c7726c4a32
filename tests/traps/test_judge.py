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
from beamtrawl.transforms.traps.discovery import Known, shape_of
from beamtrawl.transforms.traps.holds import Holds, TrappedHost, count_held, count_waiting, hold
from beamtrawl.transforms.traps.judge import Counts, Queue, Queues, end, judge
from beamtrawl.transforms.traps.template_rows import Kind, State, new_row
from beamtrawl.transforms.urls import templates
from tests.support.committed import commit_rows
from tests.support.scheduled_rounds import due

PLAIN = ("/a/*", Kind.PLAIN)
ALLOWED = compile_allow_list([])

# (pages, with news) round by round, kind: state and budget after them
JUDGED = {
    "nothing yet": ([], Kind.PLAIN, "open", 48),
    "all new": ([(8, 8)], Kind.PLAIN, "open", 373),
    "all new, in a series": ([(8, 8)], Kind.SERIES, "open", 128),
    "half new": ([(16, 8)], Kind.PLAIN, "open", 80),
    "nothing new, but few": ([(4, 0)], Kind.SERIES, "open", 8),
    "nothing new": ([(6, 0)], Kind.WITHOUT_NEWS, "throttled", 8),
    "nothing new, bit by bit": ([(2, 0)] * 3, Kind.SERIES, "throttled", 8),
    "sampled less and less": ([(24, 0), (8, 0), (4, 0)], Kind.WITHOUT_NEWS, "throttled", 2),
    "never to zero": ([(24, 0)] + [(8, 0)] * 9, Kind.WITHOUT_NEWS, "throttled", 1),
    "one page contradicts": ([(60, 0), (8, 1)], Kind.PLAIN, "throttled", 8),
    "several contradict": ([(24, 0), (8, 5)], Kind.PLAIN, "throttled", 40),
    "new no more": ([(100, 100), (200, 4)], Kind.PLAIN, "throttled", 32),
}
NOTHING = Queues()


def after(rounds: list[tuple[int, int]], kind: Kind = Kind.PLAIN, template_: str = "/a/*") -> dict:
    row = new_row("a.test", (template_, kind))
    for number, (pages, fresh) in enumerate(rounds, 1):
        counts = Counts(pages=pages, fresh=fresh, news=fresh, different=pages)
        row = judge(row, counts, ["http://a.test/a/x"], number, NOTHING, {})
    return row


@pytest.mark.parametrize(("rounds", "kind", "state", "budget"), JUDGED.values(), ids=JUDGED)
def test_judgement(rounds: list, kind: Kind, state: str, budget: int) -> None:
    row = after(rounds, kind)
    assert (row["state"], row["budget"]) == (state, budget)


# results of a round, whether the next one shows where its redirects lead: state
RESULTS = {
    "dead links": (Counts(failed=6), 0, "throttled"),
    "dead links beside pages": (Counts(6, 6, 6, 6, failed=6), 0, "open"),
    "redirects, not followed yet": (Counts(redirected=60), None, "open"),
    "redirects that lead nowhere": (Counts(redirected=60), 0, "throttled"),
    "redirects that lead to pages": (Counts(redirected=60), 40, "open"),
}


@pytest.mark.parametrize(("counts", "reached", "state"), RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize("kind", [Kind.PLAIN, Kind.FOREIGN])
def test_dead_links_and_redirects_are_results(counts: Counts, reached: int | None, state: str, kind: Kind) -> None:
    row = judge(new_row("a.test", ("/a/*", kind)), counts, [], 1, NOTHING, {})
    if reached is not None:
        row = judge(row, Counts(reached=reached), [], 2, NOTHING, {})
    assert row["state"] == state
    assert kind is Kind.PLAIN or state == "open" or row["budget"] <= 48


# URLs of the host and of the template that wait, of 100 and 60 before; copies among its pages: budget
DRAINS = {
    "less wait": (Queue(90, 0), Queue(50, 0), 0, 48),
    "less wait of the host": (Queue(90, 0), None, 0, 48),
    "as many wait": (Queue(100, 0), Queue(50, 0), 0, 8),
    "less wait, but each page leads to two thirds of another": (Queue(96, 0), Queue(50, 0), 0, 8),
    "as many wait of the template": (Queue(90, 0), Queue(60, 0), 0, 8),
    "less wait because they were held": (Queue(90, 20), Queue(50, 0), 0, 8),
    "copies": (Queue(90, 0), Queue(50, 0), 8, 8),
}


@pytest.mark.parametrize(("queue", "own", "copies", "budget"), DRAINS.values(), ids=DRAINS)
def test_what_is_finite_and_has_other_pages_is_drained(
    queue: Queue, own: Queue | None, copies: int, budget: int
) -> None:
    row = after([(20, 0)], Kind.SERIES) | {"waiting": 100, "template_waiting": 60, "requested": 12}
    row |= {"different": 20 - copies - 2} if copies else {}
    counts = Counts(pages=2, different=0 if copies else 2)
    row |= {"different": 0} if copies else {}
    assert judge(row, counts, [], 2, Queues(queue, own, 2), {})["budget"] == budget


@pytest.mark.parametrize("is_copy", [True, False])
@pytest.mark.parametrize("useful", range(5))
def test_ten_thousand_pages_with_one_useful_in_five_are_visited_in_ten_rounds(useful: int, is_copy: bool) -> None:
    left, rounds = 10_000, 0
    row, queue = new_row("a.test", ("/diff?id", Kind.VARIANT)), None
    while left:
        rounds += 1
        pages = min(left, row["budget"])
        fresh = sum(number % 5 == useful for number in range(left, left - pages, -1))
        counts = Counts(pages=pages, fresh=fresh, news=fresh, different=fresh if is_copy else pages)
        row = end(judge(row, counts, [], rounds, Queues(queue, queue, pages), {}), not fresh, rounds, {})
        left -= pages
        queue = Queue(left, 0) if row["state"] != State.OPEN else None
    assert rounds <= 10  # a walk needs one


def test_what_a_fetch_step_reads_decides_all(tmp_path: Path) -> None:
    row = after([(6, 0), (2, 0)], Kind.WITHOUT_NEWS)
    rows = queue(*(f"/a/{letter}{other}" for letter in "bcdefghij" for other in "bcdefghijk"), links_without_news=True)
    crawl = commit_rows(tmp_path, "update", 2, {"traps": [row]})
    paths = paths_of(crawl.manifests(), "traps")
    read = [found for path in paths for _, found in known_traps(path, crawl.root, Wanted("host", ["a.test"]))]
    assert len(admitted(rows, read)) == len(admitted(rows, [row])) == 8


def test_what_had_some_news_lately_is_not_trapped() -> None:
    row = after([(20, 2)], Kind.SERIES)
    assert end(row | {"state": "throttled"}, True, 9, {})["state"] == "throttled"
    assert end(after([(30, 0)], Kind.SERIES), True, 2, {})["state"] == "throttled", "it may be finite"
    assert end(after([(30, 0)], Kind.SERIES), True, 9, {})["state"] == "trapped"


def test_a_template_is_held_when_its_host_has_nothing_else_and_only_then() -> None:
    row = after([(24, 0)], Kind.WITHOUT_NEWS)
    assert end(row, False, 3, {}) == row
    held = end(row, True, 3, {})
    assert (held["state"], held["since"]) == ("trapped", 3)
    assert end(held, False, 4, {})["state"] == "throttled"
    reopened = judge(held, Counts(20, 20, 20, 20), [], 5, NOTHING, {})
    assert reopened["state"] == "open"


def test_new_templates_start_from_what_those_before_promised() -> None:
    shared = after([(40, 0)], Kind.WITHOUT_NEWS, "*")
    rows = {("*", Kind.WITHOUT_NEWS): shared}
    counts = Counts(pages=7, different=7)
    new = judge(new_row("a.test", ("/b/*", Kind.WITHOUT_NEWS)), counts, [], 2, NOTHING, rows)
    assert end(new, True, 4, rows)["state"] == "trapped"
    assert end(new, True, 4, {})["state"] == "throttled"


def known(*rows: dict) -> Known:
    return Known(rows)


def visited(template_: str, first: int, pages: int, news: int) -> dict:
    row = new_row("a.test", (template_, Kind.PLAIN))
    return row | {"round": 9, "first": first, "pages": pages, "fresh": news, "news": news}


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


@pytest.mark.parametrize(("url", "referrer", "without_news", "kind"), KINDS.values(), ids=KINDS)
def test_ways_to_a_url(url: str, referrer: str, without_news: bool, kind: Kind) -> None:
    origin = "" if referrer.startswith("http") else "http://a.test"
    shape = shape_of(f"http://a.test{url}", origin + referrer)
    assert known(*MONTHS).kind_of(shape, without_news) == kind


def test_sessions_are_told_from_their_form() -> None:
    first, second = "/in/4f9a02c711/news", "/in/5f9a02c711/news"
    shape = shape_of(f"http://a.test{second}")
    forms = {shape_of(f"http://a.test{first}").form}
    assert Known((), forms).kind_of(shape, False) == Kind.VARIANT
    assert Known().kind_of(shape, False) == Kind.PLAIN


def names(target: str, kind: Kind, *rows: dict) -> list:
    return known(*rows).names_of(shape_of(f"http://a.test{target}"), kind)


def test_a_template_speaks_for_itself_once_it_has_proved_something() -> None:
    shared = ("*", Kind.PLAIN)
    assert names("/a/x", Kind.PLAIN) == [PLAIN, shared]
    assert names("/a/x?b=1", Kind.PLAIN) == [("/a/*?b", Kind.PLAIN), shared], "one parameter is as good as a path"
    assert names("/a/x?b=1&c=2", Kind.PLAIN) == [("/a/*?b&c", Kind.PLAIN), ("/a/*?*", Kind.PLAIN), shared]
    assert names("/a/x", Kind.PLAIN, after([(1, 1)])) == [PLAIN]
    assert names("/a/x", Kind.PLAIN, after([(6, 1)])) == [PLAIN]
    assert names("/a/x", Kind.PLAIN, after([(30, 0)])) == [PLAIN, shared]


def queue(*paths: str, **fields: object) -> list:
    return [due(f"http://a.test{path}")._replace(depth=1, **fields) for path in paths]


def admitted(rows: list, known: list = (), forms: set = frozenset(), allow: list = ()) -> list[str]:  # type: ignore[assignment]
    budgets = Budgets(known, forms, compile_allow_list(allow))
    return [each.url.removeprefix("http://a.test") for each in budgets.admit(rows)]


def test_new_templates_take_turns_and_share_a_budget() -> None:
    paths = [f"/shop?colour={number}&page=1" for number in range(80)]
    assert admitted(queue(*paths, "/shop?page=2"))[:3] == [paths[0], "/shop?page=2", paths[1]]
    assert len(admitted(queue(*paths))) == 48
    assert len(admitted(queue(*(f"/{letter * 3}/{n}" for letter in "abc" for n in range(300))))) == 48
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


def test_a_closed_template_has_its_budget_and_which_of_its_urls_depends_on_the_secret() -> None:
    rows, known_ = queue(*(f"/a/x{n}" for n in range(50))), [after([(24, 0)])]
    found = [frozenset(each.url for each in Budgets(known_, (), ALLOWED, bytes([n])).admit(rows)) for n in range(8)]
    assert {len(urls) for urls in found} == {8}
    assert len({*found}) == 8


def test_seeds_sitemaps_pages_seen_before_and_what_is_allowed_have_no_budget() -> None:
    paths = [f"/a/{number}" for number in range(90)]
    for fields in ({"depth": 0}, {"kind": "sitemap"}, {"digest": b"d" * 16}):
        assert len(admitted([each._replace(**fields) for each in queue(*paths)])) == 90
    assert len(admitted(queue(*paths), allow=["a.test/a/*"])) == 90
    assert len(admitted(queue(*paths), allow=["b.test/*"])) == 48


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


HELD = end(after([(24, 0)], Kind.WITHOUT_NEWS), True, 3, {})


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
