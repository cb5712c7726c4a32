"""How templates are judged, which URLs have a budget, and what is held: tables."""

import doctest
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from beamtrawl.pipeline.fetch import known_traps
from beamtrawl.transforms.directory.crawl_dir import paths_of
from beamtrawl.transforms.frontier.trap_budgets import Budgets
from beamtrawl.transforms.tables.key_scan import Wanted
from beamtrawl.transforms.traps import template_rows
from beamtrawl.transforms.traps.allow_list import compile_allow_list
from beamtrawl.transforms.traps.discovery import Known, doubt, shape_of
from beamtrawl.transforms.traps.holds import Holds, TrappedHost, count_queues, hold
from beamtrawl.transforms.traps.judge import Counts, Queues, drained, end, judge, queues_of
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


def after(rounds: list[tuple[int, int]], kind: Kind = Kind.PLAIN, template_: str = "/a/*") -> dict:
    row = {"host": "a.test"} | new_row((template_, kind))
    for number, (pages, fresh) in enumerate(rounds, 1):
        row = judged(row, Counts(pages=pages, fresh=fresh, news=fresh, different=pages), number)
    return row


def judged(row: dict, counts: Counts, round_: int, queues: Queues = MappingProxyType({}), requested: int = 0) -> dict:
    """The row after a round, if its host has no other."""
    return judge(Known([row]), (row["template"], row["kind"]), counts, ["http://a.test/a/x"], round_, queues, requested)


def ended(row: dict, is_idle: bool, round_: int, *others: dict) -> dict:
    known, name = Known([row, *others]), (row["template"], row["kind"])
    end(known, name, is_idle, round_)
    return known.rows[name]


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
    row = judged(new_row(("/a/*", kind)), counts, 1)
    if reached is not None:
        row = judged(row, Counts(reached=reached), 2)
    assert row["state"] == state


# URLs of the host that wait and that the round has held, of 100 before; copies and dead links among 20 results: number
# of URLs that are drained
DRAINS = {
    "less wait": ((90, 0), 0, 0, 48),
    "as many wait": ((100, 0), 0, 0, 0),
    "less wait, but each page leads to two thirds of another": ((96, 0), 0, 0, 0),
    "less wait because they were held": ((90, 10), 0, 0, 0),
    "most are copies": ((90, 0), 11, 0, 0),
    "half are copies": ((90, 0), 10, 0, 48),
    "most are dead links": ((90, 0), 0, 11, 0),
    "not known": (None, 0, 0, 0),
}


@pytest.mark.parametrize(("queue", "copies", "dead", "count"), DRAINS.values(), ids=DRAINS)
def test_what_is_finite_and_has_other_pages_is_drained(queue: Any, copies: int, dead: int, count: int) -> None:
    counts = Counts(pages=20 - dead, different=20 - dead - copies, failed=dead)
    row = judged(new_row(("/a/*", Kind.SERIES)), counts, 1, {"": (100, 0)}, 12)
    queues = {"": queue} if queue else {}
    assert drained(row, queues) == count
    assert drained(row | {"pages": 180, "different": 180}, queues) in (0, 360)
    assert drained(row | {"waiting": None}, queues) == drained(row | {"kind": Kind.FOREIGN}, queues) == 0


def test_queues_are_sums_of_all_urls_of_a_host_after_the_round() -> None:
    of_host = {"template": "", "kind": "", "round": 4, "waiting": 3, "held": 1}
    rows = [of_host, of_host, of_host | {"kind": "foreign"}, of_host | {"round": 3}, of_host | {"template": "/a/*"}]
    assert queues_of(rows, 4) == {"": (6, 2), "foreign": (3, 1)}


@pytest.mark.parametrize("is_copy", [True, False])
@pytest.mark.parametrize("useful", range(5))
def test_ten_thousand_pages_with_one_useful_in_five_are_visited_in_ten_rounds(useful: int, is_copy: bool) -> None:
    left, rounds, name = 10_000, 0, ("/diff?id", Kind.VARIANT)
    known, queues, before = Known(), dict[str, tuple[int, int]](), None
    while left:
        rounds += 1
        row = known.rows.get(name) or new_row(name)
        pages = min(left, max(row["budget"], drained(row, queues)))
        fresh = sum(number % 5 == useful for number in range(left, left - pages, -1))
        counts = Counts(pages=pages, fresh=fresh, news=fresh, different=fresh if is_copy else pages)
        row = judge(known, name, counts, [], rounds, queues, pages)
        if row["state"] != State.OPEN:
            end(known, name, not fresh and not (before and drained(before, queues)), rounds)
        left -= pages
        before, queues = known.rows[name], {"": (left, 0)} if row["state"] != State.OPEN else {}
    assert rounds <= 10  # a walk needs one


def redirecting() -> list[dict]:
    """A template that only redirects, to pages, beside many new ones that had nothing."""
    known, row = Known([after([(60, 0)], template_="*")]), {"host": "a.test"} | new_row(PLAIN)
    row = judged(judged(row, Counts(redirected=4), 1), Counts(reached=4), 2)
    return [row, *known.rows.values()]


# rows of traps, whether the linking page has no news: URLs that are visited
READ = {
    "few bad pages": ([after([(6, 0), (2, 0)], Kind.WITHOUT_NEWS)], True, 8),
    "redirects to pages": (redirecting(), False, 90),
}


@pytest.mark.parametrize(("rows", "is_without_news", "count"), READ.values(), ids=READ)
def test_what_a_fetch_step_reads_decides_all(tmp_path: Path, rows: list, is_without_news: bool, count: int) -> None:
    paths = (f"/a/{letter}{other}" for letter in "bcdefghij" for other in "bcdefghijk")
    waiting = queue(*paths, links_without_news=is_without_news)
    crawl = commit_rows(tmp_path, "update", 2, {"traps": rows})
    files = paths_of(crawl.manifests(), "traps")
    read = [found for path in files for _, found in known_traps(path, crawl.root, Wanted("host", ["a.test"]))]
    assert len(admitted(waiting, read)) == len(admitted(waiting, rows)) == count


def test_what_had_some_news_lately_is_not_trapped() -> None:
    row = after([(20, 2)], Kind.SERIES)
    assert ended(row | {"state": "throttled"}, True, 9)["state"] == "throttled"
    assert ended(after([(30, 0)], Kind.SERIES), True, 2)["state"] == "throttled", "it may be finite"
    assert ended(after([(30, 0)], Kind.SERIES), True, 9)["state"] == "trapped"


def test_a_template_is_held_when_its_host_has_nothing_else_and_only_then() -> None:
    row = after([(24, 0)], Kind.WITHOUT_NEWS)
    assert ended(row, False, 3) == row
    held = ended(row, True, 3)
    assert (held["state"], held["since"]) == ("trapped", 3)
    assert ended(held, False, 4)["state"] == "throttled"
    reopened = judged(held, Counts(20, 20, 20, 20), 5)
    assert reopened["state"] == "open"


def test_new_templates_start_from_what_those_before_promised() -> None:
    shared = after([(40, 0)], Kind.WITHOUT_NEWS, "*")
    row = judged(new_row(("/b/*", Kind.WITHOUT_NEWS)), Counts(pages=7, different=7), 2)
    assert ended(row, True, 4, shared)["state"] == "trapped"
    assert ended(row, True, 4)["state"] == "throttled"


def known(*rows: dict) -> Known:
    return Known(rows)


def visited(template_: str, pages: int, news: int) -> dict:
    row = {"host": "a.test"} | new_row((template_, Kind.PLAIN))
    return row | {"round": 9, "pages": pages, "fresh": news, "news": news}


MONTHS = (visited("/month/#", 9, 2), visited("/day/#", 9, 4), visited("/news/*", 8, 4))


# URL, referrer, without news: kind
KINDS = {
    "another template": ("/b/x", "/a/x", False, Kind.PLAIN),
    "another host": ("/a/x", "http://b.test/a/y", False, Kind.PLAIN),
    "the same template": ("/a/x", "/a/y", False, Kind.SERIES),
    "a query of the page": ("/a/x?b=1", "/a/x", False, Kind.SERIES),
    "a query of another page": ("/town?name=x", "/person?id=1", False, Kind.PLAIN),
    "without news": ("/b/x", "/a/x", True, Kind.WITHOUT_NEWS),
    "another family": ("/day/1", "/month/1", False, Kind.PLAIN),
    "deeper in one family": ("/day/1/2", "/day/1", False, Kind.SERIES),
    "deeper, from pages half of which have news": ("/news/x/y", "/news/x", False, Kind.PLAIN),
}


@pytest.mark.parametrize(("url", "referrer", "without_news", "kind"), KINDS.values(), ids=KINDS)
def test_ways_to_a_url(url: str, referrer: str, without_news: bool, kind: Kind) -> None:
    origin = "" if referrer.startswith("http") else "http://a.test"
    shape = shape_of(f"http://a.test{url}", origin + referrer)
    assert known(*MONTHS).kind_of(shape, without_news) == kind


# a link of a page, whether that is without news: how little it says
DOUBTS = {
    "another folder": ("/de/x", "/en/x", False, 0),
    "a folder, of the root": ("/de/x", "/index", False, 0),
    "the same folder": ("/de/a/x?y=/z", "/de/b/x", False, 1),
    "the root": ("/x", "/y?z=/", False, 1),
    "the same name below another folder": ("/de/en/x", "/en/x", False, 1),
    "a page without news": ("/de/x", "/en/x", True, 2),
}


@pytest.mark.parametrize(("url", "referrer", "without_news", "much"), DOUBTS.values(), ids=DOUBTS)
def test_what_a_link_says(url: str, referrer: str, without_news: bool, much: int) -> None:
    assert doubt(f"http://a.test{url}", f"http://a.test{referrer}", without_news) == much


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
    assert names("/a/x?b=1", Kind.PLAIN) == [("/a/*?b", Kind.PLAIN), shared]
    assert names("/a/x?b=1&c=2", Kind.PLAIN) == [("/a/*?b&c", Kind.PLAIN), shared]
    assert names("/a/x", Kind.PLAIN, after([(1, 1)])) == [PLAIN]
    assert names("/a/x", Kind.PLAIN, after([(6, 1)])) == [PLAIN]
    assert names("/a/x", Kind.PLAIN, after([(30, 0)])) == [PLAIN, shared]


def queue(*paths: str, **fields: object) -> list:
    return [due(f"http://a.test{path}")._replace(depth=1, **fields) for path in paths]


def admitted(rows: list, known: list = (), forms: set = frozenset(), allow: list = ()) -> list[str]:  # type: ignore[assignment]
    budgets = Budgets(Known(known, forms), compile_allow_list(allow))
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
    assert admitted(queue(*paths), [visited("/a/*", 40, 40)]) == ["/a/x", "/a/y", "/b/x", "/c/x", "/b/y"]


def test_the_form_of_a_link_of_another_site_makes_no_session_of_the_first_own_link() -> None:
    own = queue(*(f"/in/{number:08x}4f9a02c7/news" for number in range(1, 40)))
    other = queue("/in/4f9a02c711/news", foreign=True)
    assert len(admitted(own)) == 1 + 8
    assert len(admitted([*other, *(each._replace(depth=2) for each in own)])) == 1 + 1 + 8


def test_a_closed_template_has_its_budget_and_which_of_its_urls_depends_on_the_secret() -> None:
    rows, known_ = queue(*(f"/a/x{n}" for n in range(50))), [after([(24, 0)])]
    found = [frozenset(each.url for each in Budgets(Known(known_), ALLOWED, bytes([n])).admit(rows)) for n in range(8)]
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


HELD = ended(after([(24, 0)], Kind.WITHOUT_NEWS), True, 3)


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
    assert count_queues([DUE, other, elsewhere], holds) == {("a.test", "", ""): 2, NAME: 1}


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(templates).failed == doctest.testmod(template_rows).failed == 0
