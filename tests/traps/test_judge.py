"""How templates are judged, which URLs have a budget, and what is held: tables."""

import doctest
from collections import Counter
from pathlib import Path

import pytest

from beamtrawl.pipeline.fetch import known_traps
from beamtrawl.transforms.directory.crawl_dir import paths_of
from beamtrawl.transforms.frontier.trap_budgets import Budgets
from beamtrawl.transforms.tables.key_scan import Wanted
from beamtrawl.transforms.traps import template_rows
from beamtrawl.transforms.traps.allow_list import compile_allow_list
from beamtrawl.transforms.traps.discovery import Known, doubt, shape_of
from beamtrawl.transforms.traps.holds import Holds, TrappedHost, count_queues, hold
from beamtrawl.transforms.traps.judge import Counts, credit, drained, judge, queues_of, settle, settle_host
from beamtrawl.transforms.traps.template_rows import CLOSED, HOST, Kind, State, new_row
from beamtrawl.transforms.urls import templates
from tests.support.committed import commit_rows
from tests.support.scheduled_rounds import due

PLAIN = ("/a/*", Kind.PLAIN)
WASTED = {"host": "a.test"} | new_row((HOST, Kind.PLAIN)) | {"pages": 100}  # the host has the least credit
ALLOWED = compile_allow_list([])

# (pages, with news) round by round, kind: state, and how many requests they have earned
JUDGED = {
    "nothing yet": ([], Kind.PLAIN, "open", 0),
    "all new": ([(8, 8)], Kind.PLAIN, "open", 77),
    "all new, in a series": ([(8, 8)], Kind.SERIES, "open", 25),
    "half new": ([(16, 8)], Kind.PLAIN, "open", 24),
    "nothing new, but few": ([(5, 0)], Kind.SERIES, "open", 0),
    "nothing new": ([(6, 0)], Kind.SERIES, "throttled", 0),
    "nothing new, bit by bit": ([(2, 0)] * 3, Kind.SERIES, "throttled", 0),
    "one page contradicts": ([(60, 0), (8, 1)], Kind.PLAIN, "throttled", 0),
    "several contradict": ([(24, 0), (24, 8), (24, 8)], Kind.PLAIN, "open", 23),
    "new no more": ([(100, 100), (200, 4)], Kind.PLAIN, "throttled", 0),
}


def after(rounds: list[tuple[int, int]], kind: Kind = Kind.PLAIN, template_: str = "/a/*") -> dict:
    row = {"host": "a.test"} | new_row((template_, kind))
    for number, (pages, fresh) in enumerate(rounds, 1):
        row = judged(row, Counts(pages=pages, fresh=fresh, news=fresh, different=pages), number)
    return row


def judged(row: dict, counts: Counts, round_: int, *others: dict, is_ended: bool = False) -> dict:
    """The row after a round, among others of its host."""
    known, name = Known([row, *others]), (row["template"], row["kind"])
    judge(known, name, counts, ["http://a.test/a/x"], round_)
    settle(known, round_, is_ended=is_ended, suspected=())
    return known.rows[name]


@pytest.mark.parametrize(("rounds", "kind", "state", "budget"), JUDGED.values(), ids=JUDGED)
def test_judgement(rounds: list, kind: Kind, state: str, budget: int) -> None:
    row = after(rounds, kind)
    assert (row["state"], row["budget"]) == (state, budget)


# results of a round, whether the next one shows where its redirects lead: state
RESULTS = {
    "dead links": (Counts(failed=6), 0, "throttled"),
    "dead links beside pages": (Counts(6, 6, 6, 6, failed=6), 0, "open"),
    "redirects that lead nowhere": (Counts(redirected=60), 0, "throttled"),
    "redirects that lead to pages": (Counts(redirected=60), 40, "open"),
}


@pytest.mark.parametrize(("counts", "reached", "state"), RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize("kind", [Kind.PLAIN, Kind.FOREIGN])
def test_dead_links_and_redirects_are_results(counts: Counts, reached: int, state: str, kind: Kind) -> None:
    row = judged(new_row(("/a/*", kind)), counts, 1)
    assert judged(row, Counts(reached=reached), 2)["state"] == state


def test_a_redirect_promises_little_until_it_leads_to_a_page() -> None:
    name, known = ("/a/*", Kind.PLAIN), Known()
    judge(known, name, Counts(redirected=8), [], 1)
    assert known.promised([name]) == 1 / 4
    judge(known, name, Counts(reached=6), [], 2)
    assert known.promised([name]) == 7 / 10


# URLs of the host that wait and that the round has held, of 100 before; copies and dead links among 20 results of what
# promised little; how many of them were good: number of URLs that are drained
DRAINS = {
    "less wait": ((90, 0), 0, 0, 0, 48),
    "as many wait": ((100, 0), 0, 0, 0, 0),
    "less wait, but each page leads to two thirds of another": ((96, 0), 0, 0, 0, 0),
    "less wait because they were held": ((90, 10), 0, 0, 0, 0),
    "most are copies": ((90, 0), 11, 0, 0, 0),
    "half are copies": ((90, 0), 10, 0, 0, 48),
    "most are dead links": ((90, 0), 0, 11, 0, 0),
    "most are copies, some are good": ((90, 0), 15, 0, 2, 48),
    "not known": (None, 0, 0, 0, 0),
}


@pytest.mark.parametrize(("queue", "copies", "dead", "good", "count"), DRAINS.values(), ids=DRAINS)
def test_what_is_finite_and_has_other_pages_is_drained(queue, copies, dead, good, count) -> None:
    different = 20 - dead - copies
    closed = new_row((CLOSED, Kind.PLAIN)) | {"pages": 20 - dead, "different": different, "failed": dead}
    closed |= {"recent_pages": 20.0, "recent_fresh": float(good)}
    host = new_row((HOST, Kind.PLAIN)) | {"waiting": 100, "requested": 12}
    queues = {Kind.PLAIN: queue} if queue else {}
    known = Known([closed, host])
    assert drained(known, Kind.PLAIN, queues) == count
    assert credit(known, Kind.PLAIN, queues) == max(24, count)
    assert drained(Known([closed, host | {"waiting": None}]), Kind.PLAIN, queues) == 0
    assert drained(known, Kind.FOREIGN, queues) == drained(Known([host]), Kind.PLAIN, queues) == 0


def test_drained_pages_become_more_and_those_that_are_merely_different_are_not_without_end() -> None:
    closed = new_row((CLOSED, Kind.PLAIN)) | {"pages": 200, "different": 200, "recent_pages": 200.0}
    host = new_row((HOST, Kind.PLAIN)) | {"waiting": 100, "requested": 12}
    known, many = Known([closed, host]), Known([closed | {"pages": 300, "different": 300}, host])
    assert drained(known, Kind.PLAIN, {Kind.PLAIN: (90, 0)}) == 100
    assert drained(many, Kind.PLAIN, {Kind.PLAIN: (90, 0)}) == 0
    assert (
        drained(Known([closed | {"pages": 300, "recent_fresh": 20.0}, host]), Kind.PLAIN, {Kind.PLAIN: (90, 0)}) == 150
    )


def test_queues_are_sums_of_all_urls_of_a_host_after_the_round() -> None:
    of_host = {"template": "", "kind": "", "round": 4, "waiting": 3, "held": 1}
    rows = [of_host, of_host, of_host | {"kind": "foreign"}, of_host | {"round": 3}, of_host | {"template": "/a/*"}]
    assert queues_of(rows, 4) == {Kind.PLAIN: (6, 2), Kind.FOREIGN: (3, 1)}


def redirecting() -> list[dict]:
    """A template that only redirects, to pages, beside many new ones that had nothing."""
    others, row = after([(60, 0)], template_="*"), {"host": "a.test"} | new_row(PLAIN)
    row = judged(judged(row, Counts(redirected=4), 1, others), Counts(reached=4), 2, others)
    return [row, others]


# rows of traps, whether the linking page has no news: URLs that are visited
READ = {
    "few bad pages": ([after([(6, 0), (2, 0)], Kind.SERIES), WASTED], True, 14),
    "redirects to pages": ([*redirecting(), WASTED], False, 48),
}


@pytest.mark.parametrize(("rows", "is_without_news", "count"), READ.values(), ids=READ)
def test_what_a_fetch_step_reads_decides_all(tmp_path: Path, rows: list, is_without_news: bool, count: int) -> None:
    paths = (f"/a/{letter}{other}" for letter in "bcdefghij" for other in "bcdefghijk")
    waiting = queue(*paths, links_without_news=is_without_news)
    crawl = commit_rows(tmp_path, "update", 2, {"traps": rows})
    files = paths_of(crawl.manifests(), "traps")
    read = [found for path in files for _, found in known_traps(path, crawl.root, Wanted("host", ["a.test"]))]
    assert len(admitted(waiting, read)) == len(admitted(waiting, rows)) == count


def ended(idle: list[float], *, waiting: list[int] | None = None) -> list[bool]:
    """Whether a host has ended after each of some rounds, of which each has so many good results of eight."""
    found, known, waiting = list[bool](), Known(), waiting or [100] * len(idle)
    for number, good in enumerate(idle, 1):
        judge(known, (CLOSED, Kind.PLAIN), Counts(pages=8, fresh=good, different=8), [], number)
        found.append(settle_host(known, {Kind.PLAIN: (waiting[number - 1], 0)}, 8, number, is_idle=not good))
    return found


def test_a_host_ends_after_two_rounds_without_anything_good_in_which_its_queue_did_not_become_shorter() -> None:
    assert ended([0, 0, 0, 0]) == [False, False, False, True]
    assert ended([0, 0, 0], waiting=[3, 3, 3]) == [False, True, True]
    assert ended([0, 1, 0, 0, 0]) == [False, False, False, False, True]
    assert ended([0, 0, 0, 0], waiting=[100, 90, 80, 80]) == [False, False, False, False]
    assert not any(settle_host(Known(), {}, 8, number, is_idle=True) for number in range(3)), "nothing was tried"


def test_what_is_closed_is_held_when_its_host_has_nothing_else_and_only_then() -> None:
    row = after([(24, 0)], Kind.SERIES)
    held = judged(row, Counts(), 3, is_ended=True)
    assert (row["state"], held["state"], held["since"]) == ("throttled", "trapped", 3)
    assert judged(held, Counts(), 4)["state"] == "throttled"
    assert judged(held, Counts(20, 20, 20, 20), 5, is_ended=True)["state"] == "open"


def test_new_templates_start_from_what_those_before_promised() -> None:
    shared = after([(40, 0)], Kind.SERIES, "*")
    new, counts = new_row(("/b/*", Kind.SERIES)), Counts(pages=7, fresh=0, different=7)
    name = (new["template"], new["kind"])
    assert Known([judged(new, counts, 2, shared), shared]).promised(Known().names_above(name)) < 1 / 72
    assert Known([judged(new, counts, 2)]).promised(Known().names_above(name)) == 1 / 9


def test_a_template_that_may_answer_any_url_waits_for_the_answer_and_so_do_new_ones() -> None:
    rows = [after([(40, 40)]), after([(40, 40)], template_="*"), after([(40, 40)], template_="/b/*")]
    known = Known([*rows, after([(40, 40)], template_="/a/* linked by /x")])
    settle(known, 9, is_ended=False, suspected=["/a/**"])
    budgets = {name: row["budget"] for (name, _), row in known.rows.items()}
    assert budgets == {"/a/*": 16, "*": 16, "/b/*": rows[2]["budget"], "/a/* linked by /x": 0}


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
    "without news": ("/b/x", "/a/x", True, Kind.SERIES),
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


def names(target: str, kind: Kind, *rows: dict, referrer: str = "http://b.test/") -> list:
    found = known(*rows).names_of(shape_of(f"http://a.test{target}", referrer), kind)
    assert {one[1] for one in found} == {kind}
    return [one[0] for one in found]


def test_a_template_speaks_for_itself_once_it_has_proved_something() -> None:
    assert names("/a/x", Kind.PLAIN) == ["*", "/a/*"]
    assert names("/a/x?b=1&c=2", Kind.PLAIN) == ["*", "/a/*?b&c"]
    assert names("/a/x", Kind.PLAIN, after([(6, 1)])) == ["/a/*"]
    assert names("/a/x", Kind.PLAIN, after([(30, 0)])) == ["*", "/a/*"]


def test_of_links_of_a_plain_kind_pages_like_theirs_and_their_page_speak_first() -> None:
    sources = [" linked by pages /list/#", " linked by /list/1"]
    both = [base + source for base in ("*", "/a/*") for source in sources]
    assert names("/a/x", Kind.PLAIN, referrer="http://a.test/list/1") == ["*", *both]
    assert names("/a/x", Kind.PLAIN, after([(6, 1)]), referrer="http://a.test/list/1") == ["/a/*", both[0], *both[2:]]
    assert names("/a/x", Kind.SERIES, referrer="http://a.test/a/y") == ["*", "/a/*"]
    above = [name for one in (*both, "/a/*", "*") for name, _ in Known().names_above((one, Kind.PLAIN))]
    assert above == ["*", both[0], "*", both[1], "/a/*", both[2], "/a/*", both[3], "*", "/a/*", "*"]


def queue(*paths: str, **fields: object) -> list:
    return [due(f"http://a.test{path}")._replace(depth=1, **fields) for path in paths]


def admitted(rows: list, known: list = (), forms: set = frozenset(), allow: list = ()) -> list[str]:  # type: ignore[assignment]
    budgets = Budgets(Known(known, forms), compile_allow_list(allow))
    return [each.url.removeprefix("http://a.test") for each in budgets.admit(rows)]


def test_what_nothing_is_known_about_has_the_credit_of_its_host_and_takes_turns() -> None:
    paths = [f"/shop?colour={number}&page=1" for number in range(80)]
    assert admitted(queue(*paths[:24])) == paths[:24]
    found = admitted(queue(*paths, "/shop?page=2"))
    assert (len(found), "/shop?page=2" in found) == (24, True)
    letters = Counter(
        path[1] for path in admitted(queue(*(f"/{letter * 3}/{n}" for letter in "abc" for n in range(300))))
    )
    assert letters == {"a": 16, "b": 16, "c": 16}, "filled with what would not be held"


def test_the_form_of_a_link_of_another_site_makes_no_session_of_the_first_own_link() -> None:
    own = queue(*(f"/in/{number:08x}4f9a02c7/news" for number in range(1, 40)))
    other = queue("/in/4f9a02c711/news", foreign=True)
    kinds = Counter(known_.kind_of(shape_of(each.url), False) for known_ in [Known()] for each in own)
    assert kinds == {Kind.PLAIN: 39}
    assert len(admitted(own)) == 24
    assert len(admitted([*other, *(each._replace(depth=2) for each in own)])) == 1 + 24


def test_a_closed_template_is_sampled_and_which_of_its_urls_depends_on_the_secret() -> None:
    rows, known_ = queue(*(f"/a/x{n}" for n in range(50))), [after([(24, 0)]), WASTED]
    found = [frozenset(each.url for each in Budgets(Known(known_), ALLOWED, bytes([n])).admit(rows)) for n in range(8)]
    assert {len(urls) for urls in found} == {8}
    assert len({*found}) == 8


def test_seeds_sitemaps_pages_seen_before_and_what_is_allowed_need_no_credit() -> None:
    paths = [f"/a/{number}" for number in range(90)]
    for fields in ({"depth": 0}, {"kind": "sitemap"}, {"digest": b"d" * 16}):
        assert len(admitted([each._replace(**fields) for each in queue(*paths)])) == 90
    assert len(admitted(queue(*paths), allow=["a.test/a/*"])) == 90
    assert len(admitted(queue(*paths), allow=["b.test/*"])) == 24


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


HELD = judged(after([(24, 0)], Kind.SERIES), Counts(), 3, is_ended=True)


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


NAME = ("a.test", "/a/*", "series")


def test_what_waits_and_what_was_held_is_counted() -> None:
    holds = Holds(TRAPPED, compile_allow_list([]))
    other = DUE | {"url_key": b"o" * 16, "url": "http://a.test/b/x"}
    elsewhere = other | {"host": "b.test"}
    assert count_queues([DUE, other, elsewhere], holds) == {("a.test", "", ""): 2, NAME: 1}


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(templates).failed == doctest.testmod(template_rows).failed == 0
