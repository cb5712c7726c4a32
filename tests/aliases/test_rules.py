"""Rules of aliases: which one explains a pair of URLs, and what each makes of a URL."""

import doctest
from types import ModuleType

import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.aliases import exempt as exempt_module, rules as rules_module, scopes as scopes_module
from beamtrawl.transforms.aliases.exempt import Exempt
from beamtrawl.transforms.aliases.rules import Kind, Rule, Rules, apply, explain_pair, undo
from beamtrawl.transforms.aliases.scopes import Where, scope_of
from beamtrawl.transforms.urls.canonical import canonicalize, dedup_form, user_folder
from tests.support.tables import each_row

A, B = "http://a.test", "http://b.test"

# one URL, another with the same content, the rule (its origin is A unless it says otherwise)
PAIRS = {
    "an index page": (f"{A}/x/index.html", f"{A}/x/", ("index_page", "index.html")),
    "the front page": (f"{A}/", f"{A}/start.php", ("index_page", "start.php")),
    "an index page with a query": (f"{A}/x/?y=1", f"{A}/x/i?y=1", ("index_page", "i")),
    "letter case": (f"{A}/X/y", f"{A}/x/Y", ("case", "")),
    "an escape keeps its capitals": (f"{A}/X%2F", f"{A}/x%2F", ("case", "")),
    "a slash at the end": (f"{A}/x/", f"{A}/x", ("trailing_slash", "")),
    "a parameter's value": (f"{A}/x?a=1&b=2", f"{A}/x?a=1&b=3", ("parameter", "b")),
    "a parameter or none": (f"{A}/x?a=1", f"{A}/x", ("parameter", "a")),
    "a parameter more than once": (f"{A}/x?a=1&a=2&b=1", f"{A}/x?b=1", ("parameter", "a")),
    "www": (f"{A}/x", "http://www.a.test/x", ("www", A, "http://www.a.test")),
    "www on another port": (f"{A}:81/x", "http://www.a.test:82/x", ("www", f"{A}:81", "http://www.a.test:82")),
    "the scheme": (f"{A}/x", "https://a.test/x", ("scheme", A, "https://a.test")),
    "another host": (f"{B}/x?y=1", f"{A}/x?y=1", None),
    "another host of a domain": ("http://m.a.test/x", f"{A}/x", None),
    "another port": (f"{A}:81/x", f"{A}/x", None),
    "nothing": (f"{A}/x", f"{A}/x", None),
    "another page": (f"{A}/x", f"{A}/y", None),
    "a page below": (f"{A}/x/", f"{A}/x/y/z", None),
    "a longer name": (f"{A}/x", f"{A}/xy", None),
    "two parameters": (f"{A}/x?a=1&b=2", f"{A}/x?a=2&b=3", None),
    "the order of parameters": (f"{A}/x?a=1&b=2&c", f"{A}/x?b=2&a=1&c", None),
    "a slash and case": (f"{A}/X/", f"{A}/x", None),
    "a slash and a parameter": (f"{A}/x/?a=1", f"{A}/x", None),
    "a host and a path": (f"{A}/x", f"{B}/y", None),
    "the front page of two slashes": (f"{A}/", f"{A}//", None),
}


@each_row(PAIRS)
def test_the_only_difference_of_a_pair_is_its_rule(one: str, other: str, expected: tuple[str, ...] | None) -> None:
    rule = explain_pair(one, other)
    assert rule == explain_pair(other, one)
    if expected is None:
        assert rule is None
        return
    kind, detail, *origin = expected
    assert rule == Rule(*(origin or [A]), kind, detail)
    rules = Rules([rule])
    assert rules.normal(one) == rules.normal(other)
    assert {dedup_form(one), dedup_form(other)} <= rules.forms(one) | rules.forms(other)


# rule, URL, what it makes of it, the URL that it makes this of (True: the URL)
APPLIED = {
    "index page": (Rule(A, "index_page", "i.html"), f"{A}/x/i.html?y", f"{A}/x/?y", True),
    "another name": (Rule(A, "index_page", "i.html"), f"{A}/x/xi.html", f"{A}/x/xi.html", None),
    "case": (Rule(A, "case"), f"{A}/X%C3/Y?Z", f"{A}/x%C3/y?Z", None),
    "slash": (Rule(A, "trailing_slash"), f"{A}/x/", f"{A}/x", True),
    "slash of the front page": (Rule(A, "trailing_slash"), f"{A}/", f"{A}/", None),
    "parameter": (Rule(A, "parameter", "b"), f"{A}/x?a&b=1&b&c", f"{A}/x?a&c", None),
    "the only parameter": (Rule(A, "parameter", "b"), f"{A}/x?b=1", f"{A}/x", None),
    "origin": (Rule("http://www.a.test", "www", A), "http://www.a.test/x?y", f"{A}/x?y", True),
    "other origins": (Rule(B, "case"), f"{A}/X", f"{A}/X", None),
}


@each_row(APPLIED)
def test_what_a_rule_makes_of_a_url(rule: Rule, url: str, after: str, back: bool | None) -> None:
    assert apply(rule, url) == after
    assert undo(rule, after) == (url if back else None)


def test_rules_are_applied_until_none_changes_anything() -> None:
    rules = Rules(
        [
            Rule(A, "trailing_slash"),
            Rule(A, "index_page", "index.html"),
            Rule(A, "case"),
            Rule(A, "parameter", "z"),
            Rule("http://www.a.test", "www", A),
            Rule("https://a.test", "scheme", A),
            Rule("https://www.a.test", "scheme", "http://www.a.test"),
        ]
    )
    url = "https://www.a.test/X/INDEX.html?utm_source=a&z=1&y=2"
    assert rules.normal(url) == f"{A}/x?y=2"
    assert [rule.kind for rule, _ in rules.steps(url)] == [
        "scheme",
        "www",
        "case",
        "index_page",
        "parameter",
        "trailing_slash",
    ]
    assert rules.normal(url, minus=Rule(A, "case")) == f"{A}/X/INDEX.html?y=2"
    assert rules.normal(f"{B}/x/", plus=Rule(B, "trailing_slash")) == f"{B}/x"
    assert rules.hosts == {"a.test", "www.a.test"}


ORIGINS = ("http://a", "http://b", "https://a")
URLS = st.builds(
    lambda origin, path, query: canonicalize(f"{origin}/{path}?{query}") or A + "/",
    st.sampled_from(ORIGINS),
    st.text("aAi/.%2fF;=ü", max_size=8),
    st.text("aAb=&+;%/:", max_size=8),
)
RULES = st.lists(
    st.one_of(
        st.builds(Rule, st.sampled_from(ORIGINS), st.sampled_from([Kind.CASE.value, Kind.TRAILING_SLASH.value])),
        st.builds(Rule, st.sampled_from(ORIGINS), st.just("index_page"), st.sampled_from(["i", "A", "a"])),
        st.builds(Rule, st.sampled_from(ORIGINS), st.just("parameter"), st.sampled_from(["", "a", "A", "b"])),
        st.sampled_from([Rule("http://b", "www", "http://a"), Rule("https://a", "scheme", "http://b")]),
    )
)
SCOPES = st.sets(st.sampled_from(["/*", "/", "/#", "/*/", "/a/*", "/A/*", "/*?a", "/*?b"]))
WHERE = st.builds(Where, st.builds(frozenset, SCOPES), st.builds(frozenset, SCOPES))


@given(URLS, RULES, st.lists(WHERE), st.sampled_from([(), ("a/*",), ("*a",), ("b",)]))
def test_a_normal_form_is_final_and_a_url_that_could_be_fetched(
    url: str, chosen: list[Rule], where: list[Where], exempt: tuple[str, ...]
) -> None:
    rules = Rules(chosen, dict(zip(chosen, where, strict=False)), Exempt(exempt))
    form = rules.normal(url)
    assert rules.normal(form) == form == dedup_form(form)
    assert canonicalize(form) == form
    assert form in rules.forms(url)
    assert all(canonicalize(other) == other for other in rules.forms(url))


@given(URLS, URLS)
def test_a_rule_that_explains_a_pair_makes_it_one(one: str, other: str) -> None:
    one, other = dedup_form(one), dedup_form(other)
    if rule := explain_pair(one, other):
        assert Rules([rule]).normal(one) == Rules([rule]).normal(other)


# URL, its scope, the owner
SCOPES_OF = {
    "a folder": (f"{A}/docs/x/", "/docs/*/", ""),
    "another folder": (f"{A}/repo/x/", "/repo/*/", ""),
    "a name and a parameter": (f"{A}/show.php?id=7", "/*.php?id", ""),
    "a user": (f"{A}/~eve/item?id=7", "/~eve/*?id", "/~eve"),
    "a user with a number": (f"{A}/~eve7/", "/~eve7/", "/~eve7"),
    "the folder of a user": (f"{A}/~eve", "/~eve", "/~eve"),
    "a session": (f"{A}/0fb2c58e91a7/cart", "/~/*", ""),
}


@each_row(SCOPES_OF)
def test_where_a_rule_holds(url: str, scope: str, owner: str) -> None:
    assert (scope_of(url), user_folder(scope)) == (scope, owner)


# scopes in which a rule is used, in which it was dropped, another one, whether the rule holds there
HOLDS = {
    "where it is used": (["/a/*"], [], "/a/*", True),
    "where nothing is known": (["/a/*"], [], "/b/*", True),
    "where it was dropped": (["/a/*"], ["/b/*"], "/b/*", False),
    "where nothing is known, and it was dropped elsewhere": (["/a/*"], ["/b/*"], "/c/*", False),
    "where it is used, and it was dropped elsewhere": (["/a/*"], ["/b/*"], "/a/*", True),
    "of a user": (["/a/*"], [], "/~eve/*", False),
    "of another user": (["/~eve/*"], [], "/~bob/*", False),
    "outside of a user's folder": (["/~eve/*"], [], "/*", False),
    "of the same user": (["/~eve/*"], ["/a/*", "/~bob/*"], "/~eve/*/", True),
}


@each_row(HOLDS)
def test_a_rule_holds_in_scopes(used: list[str], dropped: list[str], scope: str, holds: bool) -> None:
    assert Where(frozenset(used), frozenset(dropped)).holds(scope) is holds


def test_a_rule_changes_urls_of_its_scopes_alone() -> None:
    slash = Rule(A, "trailing_slash")
    rules = Rules([slash], {slash: Where(frozenset(["/docs/#"]), frozenset(["/repo/*"]))})
    urls = (f"{A}/docs/1/", f"{A}/repo/x/", f"{A}/other/y/")
    assert [rules.normal(url) for url in urls] == [f"{A}/docs/1", *urls[1:]]
    assert rules.normal(f"{A}/repo/x/", plus=slash) == f"{A}/repo/x"


def test_an_exempt_url_is_changed_by_no_rule_and_stands_for_no_other() -> None:
    www, case = Rule("http://www.a.test", "www", A), Rule(A, "case")
    rules = Rules([www, case], exempt=Exempt(("a.test/X/*", "a.test/y")))
    urls = (f"{A}/X/A", f"{A}/Y", "http://www.a.test/y", "http://www.a.test/z")
    assert [rules.normal(url) for url in urls] == [*urls[:3], f"{A}/z"]


def test_the_rules_between_two_urls_are_those_that_both_need() -> None:
    case, noise = Rule(A, "case"), Rule(A, "parameter", "p")
    rules = Rules([case, noise])
    assert rules.between(f"{A}/X?p=1", f"{A}/X?p=2") == {(noise, "/*")}
    assert rules.between(f"{A}/X?p=1", f"{A}/x?p=1") == {(case, "/*?p")}
    assert rules.between(f"{A}/X?p=1", f"{A}/x") == {(case, "/*?p"), (noise, "/*")}


@pytest.mark.parametrize("module", [rules_module, scopes_module, exempt_module])
def test_examples(module: ModuleType) -> None:
    found = doctest.testmod(module)
    assert found.attempted and not found.failed
