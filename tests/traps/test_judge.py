"""Templates of URLs, what is news, and what is judged from it: tables and properties."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamtrawl.transforms.frontier.trap_budgets import Budgets
from beamtrawl.transforms.traps import judge as judge_module
from beamtrawl.transforms.traps import templates
from beamtrawl.transforms.traps.holds import Held, Holds, hold
from beamtrawl.transforms.traps.judge import (
    Kind,
    State,
    budget,
    compile_allow_list,
    judge,
    kind_of,
    look,
    names_of,
    new_row,
)
from beamtrawl.transforms.traps.novelty import TrapSamples, page_words
from beamtrawl.transforms.traps.templates import family, form, is_opaque, template
from tests.politeness.test_scheduler import due

PLAIN, WITHOUT_NEWS, VARIANT = ("/a/*", Kind.PLAIN), ("/a/*", Kind.WITHOUT_NEWS), ("/a/*", Kind.VARIANT)

# path and query: template
TEMPLATES = {
    "/": "/",
    "/about": "/*",
    "/docs/": "/docs/",
    "/docs/intro.html": "/docs/*.html",
    "/docs/a/b/c.HTML": "/docs/*/*/*.html",
    "/3.11/library/": "/#/*/",
    "/python3/x": "/python#/*",
    "/calendar/2026/11": "/calendar/#/#",
    "/calendar/2026-11-05": "/calendar/#",
    "/item/12345.html": "/item/#.html",
    "/item/0fb2c58e91a7d3": "/item/~",
    "/550e8400-e29b-41d4-a716-446655440000/x": "/~/*",
    "/shop?size=m&colour=red&size=l": "/shop?colour&size".replace("/shop", "/*"),
    "/list/?filter1=a&filter20=b": "/list/?filter#",
    "/?": "/?",
    "/a?b": "/*?b",
}


@pytest.mark.parametrize(("target", "expected"), TEMPLATES.items())
def test_templates(target: str, expected: str) -> None:
    assert template(target) == expected


@given(st.text() | st.from_regex(r"/[a-z0-9/._-]{0,40}(\?[a-z0-9=&]{0,20})?", fullmatch=True))
def test_a_template_is_its_own_template_and_nothing_raises(text: str) -> None:
    assert template(template(text)) == template(text)
    form(text), family(template(text))


@given(st.text())
def test_a_form_is_final(text: str) -> None:
    bare = form(text)
    assert bare is None or form(bare) is None


OPAQUE = [
    "4f9a02c7",
    "1731999999",
    "c0ffee00c0ffee",
    "4706ce4165169653",
    "a1b2c3d4",
    "dQw4w9WgXcQ9",
    "lit3py55t21z5v55vlm25s55",
    "k3Jh2lq9ZpX0vB7w",
]
NAMED = ["python311", "sha256sum", "QAbstractItemModel", "20261105", "deadbeef", "postgresql15", "Model3D", "550"]
NAMED += [
    "QuadCurve2D",
    "avx512vbmi2",
    "ch01s02s03",
    "apbs01s02s04",
    "uint8x16x4",
    "R8G8B8A8",
    "IPv4ToIPv6",
    "utf8mb4general",
]


@pytest.mark.parametrize("token", OPAQUE)
def test_what_no_person_has_named(token: str) -> None:
    assert is_opaque(token)


@pytest.mark.parametrize("token", NAMED)
def test_what_a_person_has_named(token: str) -> None:
    assert not is_opaque(token)


def text(*words: str) -> bytes:
    return page_words("", " ".join(words), "http://a.test/", [])


COMMON = [f"word{letter}{other}" for letter in "abcd" for other in "abcdefgh"]


def test_news_is_what_no_sample_says_nearly_all_of() -> None:
    trap_samples = TrapSamples()
    assert trap_samples.is_news(text(*COMMON))
    assert not trap_samples.is_news(text(*COMMON))
    assert not trap_samples.is_news(text(*COMMON, "herring", "cod"))
    assert trap_samples.is_news(text(*COMMON[:16], *(word.upper()[::-1] for word in COMMON[:16])))
    assert not trap_samples.is_news(text())


def test_what_others_were_like_is_kept_from_round_to_round() -> None:
    trap_samples = TrapSamples()
    boilerplate = text(*COMMON)
    trap_samples.is_news(boilerplate)
    trap_samples.is_news(boilerplate)
    for letter in "abcdefghijklmn":
        assert trap_samples.is_news(text(*(letter * count for count in range(3, 20))))
    kept = trap_samples.kept()
    assert len(kept) == 8
    assert not TrapSamples(kept).is_news(text(*COMMON, "more"))


def test_numbers_and_the_names_of_urls_and_links_are_no_news() -> None:
    spoken = [f"spoken{letter}" for letter in "abcdefghijklm"]
    plain = page_words("", " ".join(spoken), "http://a.test/", [])
    said = " ".join([*spoken, "2026", "room17", "herring", "cod", "hake"])
    assert page_words("", said, "http://a.test/herring", ["http://a.test/cod/", "http://b.test/x/hake.html"]) == plain
    assert page_words("", "cod hake", "http://a.test/", ["http://a.test/cod"]) == text("cod", "hake"), "a list of links"


# rounds of (pages, with news), kind: state after them
JUDGED = {
    "nothing yet": ([], Kind.WITHOUT_NEWS, "open"),
    "too few to tell": ([(5, 0)], Kind.WITHOUT_NEWS, "open"),
    "all new": ([(8, 8), (64, 60)], Kind.WITHOUT_NEWS, "open"),
    "nothing new": ([(6, 0)], Kind.WITHOUT_NEWS, "throttled"),
    "nothing new, bit by bit": ([(2, 0)] * 3, Kind.WITHOUT_NEWS, "throttled"),
    "still nothing new": ([(6, 0), (2, 0)], Kind.WITHOUT_NEWS, "trapped"),
    "nothing new where news leads": ([(6, 0), (2, 0), (2, 0)], Kind.PLAIN, "throttled"),
    "new again": ([(6, 0), (2, 2), (2, 2)], Kind.WITHOUT_NEWS, "open"),
    "new no more": ([(100, 100), (200, 10)], Kind.PLAIN, "throttled"),
    "a trap for good": ([(6, 0), (2, 0), (50, 50)], Kind.VARIANT, "trapped"),
    "a few are new": ([(8, 1), (2, 0)], Kind.VARIANT, "throttled"),
}


def after(rounds: list[tuple[int, int]], kind: Kind = Kind.PLAIN, template_: str = "/a/*") -> dict:
    row = new_row("a.test", (template_, kind))
    for number, (pages, fresh) in enumerate(rounds, 1):
        row = judge(row, pages, fresh, ["http://a.test/a/x"], number)
    return row


@pytest.mark.parametrize(("rounds", "kind", "state"), JUDGED.values(), ids=JUDGED)
def test_judgement(rounds: list[tuple[int, int]], kind: Kind, state: str) -> None:
    assert after(rounds, kind)["state"] == state


def test_a_row_tells_since_when() -> None:
    row = after([(6, 0), (2, 0), (1, 0)], Kind.WITHOUT_NEWS)
    assert (row["state"], row["since"], row["pages"], row["fresh"], row["round"]) == ("trapped", 2, 9, 0, 3)


# rounds so far, kind: pages that the next may visit
BUDGETS = {
    "new, linked from news": ([], Kind.PLAIN, 256),
    "new, linked from nothing new": ([], Kind.WITHOUT_NEWS, 4),
    "pays": ([(6, 6)], Kind.WITHOUT_NEWS, 48),
    "pays half": ([(10, 4)], Kind.WITHOUT_NEWS, 10),
    "pays, linked from news": ([(100, 100)], Kind.PLAIN, 800),
    "pays, but is small": ([(6, 6)], Kind.PLAIN, 256),
    "gives little, linked from news": ([(100, 1)], Kind.PLAIN, 64),
    "gives little, linked from much news": ([(1000, 10)], Kind.PLAIN, 250),
    "gives little": ([(100, 1)], Kind.WITHOUT_NEWS, 2),
}


@pytest.mark.parametrize(("rounds", "kind", "pages"), BUDGETS.values(), ids=BUDGETS)
def test_budgets(rounds: list[tuple[int, int]], kind: Kind, pages: int) -> None:
    assert budget(("/a/*", kind), after(rounds, kind) if rounds else None, 9) == pages


def test_a_template_speaks_for_itself_once_it_has_proved_something() -> None:
    assert names_of("/a/*", Kind.PLAIN, {}) == [PLAIN, ("*", Kind.PLAIN)]
    assert names_of("/a/*?x", Kind.WITHOUT_NEWS, {}) == [
        ("/a/*?x", "links_without_news"),
        ("/a/*?*", "links_without_news"),
        ("*", "links_without_news"),
    ]
    assert names_of("/a/*", Kind.PLAIN, {PLAIN: after([(1, 1)])}) == [PLAIN]
    assert names_of("/a/*", Kind.PLAIN, {PLAIN: after([(2, 1)])}) == [PLAIN, ("*", Kind.PLAIN)]
    assert names_of("/a/*", Kind.PLAIN, {PLAIN: after([(6, 1)])}) == [PLAIN]


def queue(*paths: str, **fields: object) -> list:
    return [due(f"http://a.test{path}")._replace(depth=1, **fields) for path in paths]


def admitted(rows: list, known: list = (), forms: set = frozenset(), allow: list = ()) -> list[str]:  # type: ignore[assignment]
    budgets = Budgets(known, forms, compile_allow_list(allow))
    return [each.url.removeprefix("http://a.test") for each in budgets.admit(rows)]


def test_new_templates_take_turns_and_each_has_its_budget() -> None:
    paths = [f"/shop?colour={number}" for number in range(20)]
    known = [after([(9, 9)], template_="/news/*")]
    assert admitted(queue(*paths, "/shop?page=2"), known) == [paths[0], "/shop?page=2", *paths[1:7]]
    assert len(admitted(queue(*paths, "/shop?page=2"))) == 21, "too early to tell"
    folders = [f"/{letter * 3}/{number}" for letter in "abcdefghijk" for number in range(9)]
    assert len(admitted(queue(*folders))) == 99
    assert len(admitted(queue(*(f"/{letter * 3}/{n}" for letter in "abc" for n in range(300))))) == 256
    assert len(admitted(queue(*folders, links_without_news=True))) == 4


def test_sessions_are_told_from_their_form() -> None:
    first, second = "/in/4f9a02c711/news", "/in/5f9a02c711/news"
    looks = look(f"http://a.test{second}")
    forms = {look(f"http://a.test{first}").form}
    assert kind_of(looks, False, forms) == Kind.VARIANT
    assert kind_of(looks, False, set()) == Kind.PLAIN
    trapped = after([(6, 0), (2, 0)], Kind.VARIANT, "*")
    sessions = [f"/in/{number}f9a02c711/news" for number in range(9)]
    assert admitted(queue(*sessions), [trapped], forms) == sessions[:2]
    assert len(admitted(queue(*sessions))) == 5, "one of its form, and four others to see whether they differ"


def test_seeds_sitemaps_pages_seen_before_and_what_is_allowed_have_no_budget() -> None:
    paths = [f"/a/{number}" for number in range(50)]
    for fields in ({"depth": 0}, {"kind": "sitemap"}, {"digest": b"d" * 16}):
        assert len(admitted([each._replace(**fields) for each in queue(*paths)])) == 50
    assert len(admitted(queue(*paths), allow=["a.test/a/*"])) == 50
    assert len(admitted(queue(*paths, links_without_news=True), allow=["b.test/*"])) == 4


KEY = b"k" * 16
DUE = {
    "url_key": KEY,
    "url": "http://a.test/a/x",
    "host": "a.test",
    "depth": 2,
    "kind": None,
    "links_without_news": True,
}
URL = {"url_key": KEY, "url": DUE["url"], "state": "due", "fetches": 0, "round": 2}
TRAPPED = (tuple(Held("a.test", [after([(6, 0), (2, 0)], Kind.WITHOUT_NEWS)], [])),)

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


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(templates).failed == doctest.testmod(judge_module).failed == 0
