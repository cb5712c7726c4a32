"""Which patterns match a URL: the fast matcher of large files against Protego, and what it costs at most."""

import time
from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.robots.rules import parse
from beamtrawl.transforms.urls import path_patterns as patterns
from beamtrawl.transforms.urls.path_patterns import Patterns, TooExpensive
from beamtrawl.transforms.urls.path_rules import FewRules, ManyRules, Rule, matcher, rule_of
from tests.support.tables import each_row

PIECES = ["a", "b", "ab", "aab", "/", "*", "**", "$", "?", "%2F", "%2f", "%7E", "~", "%2A", "%E9", "%", "%zz", "é", "="]
PIECES += ["index.html", "http://", "robots.txt", ";", "&", "$$"]
PATTERN = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=9).map(lambda pieces: "/" + "".join(pieces)),
    st.text("ab*/", max_size=12),
    st.text("ab*$", max_size=9).map(lambda text: f"/*{text}$"),
)
RULES = st.lists(st.builds(rule_of, st.booleans(), PATTERN.filter(bool).map(str.encode)), min_size=1, max_size=40)
URL = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    st.text("ab/", max_size=30),
).map(lambda path: f"http://a.test/{path}")


@given(RULES, st.lists(URL, min_size=1, max_size=8))
def test_the_matcher_of_large_files_decides_as_protego(rules: list[Rule], urls: list[str]) -> None:
    few, many = FewRules(rules), ManyRules(rules)
    for url in urls:
        allowed, rule = many.allows(url)
        assert allowed is few.allows(url)[0]
        assert not rule or (rule in map(str, rules) and rule.startswith("Allow" if allowed else "Disallow"))


def naive(found: Sequence[str], url: str) -> list[str]:
    """The longest of the patterns that match, each compared by itself."""
    matching = [pattern for pattern in found if is_match(pattern, url)]
    return [pattern for pattern in matching if len(pattern) == max(map(len, matching))]


def is_match(pattern: str, url: str) -> bool:
    """Whether a pattern matches from the beginning: the set of places in the URL is followed through the pattern."""
    body = pattern.removesuffix("$")
    places = {0}
    for character in body:
        if character == "*":
            places = set(range(min(places), len(url) + 1))
        else:
            places = {place + 1 for place in places if url.startswith(character, place)}
        if not places:
            return False
    return len(url) in places if body != pattern else True


@given(
    st.lists(st.text("ab*", max_size=10).flatmap(lambda text: st.sampled_from([text, f"{text}$"])), max_size=80),
    st.text("ab", min_size=1, max_size=25),
)
def test_the_longest_patterns_are_those_of_a_comparison_one_by_one(found: list[str], url: str) -> None:
    assert Patterns((pattern, pattern) for pattern in found).longest(url) == naive(found, url)


# patterns, path, rule that decides
DECIDED = {
    "the longest": (["/a", "/a/b", "/a/"], "/a/b/c", "/a/b"),
    "stars count": (["/a/b", "/a**b"], "/a/b", "/a**b"),
    "the end counts": (["/a/b", "/a/b$"], "/a/b", "/a/b$"),
    "of equals, the first": (["/*b", "/a*"], "/ab", "/*b"),
    "an end that overlaps the literal before it": (["/*aba*ba$"], "/aba", None),
    "an end behind it": (["/*aba*ba$"], "/ababa", "/*aba*ba$"),
    "a star at the end": (["/a*$"], "/abc", "/a*$"),
    "nothing but the end": (["$"], "/", None),
    "a dollar meant as one": (["/a$"], "/a$b", "/a$"),
    "no slash": (["a"], "/a", None),
    "a star first": (["*b"], "/ab", "*b"),
}


@each_row(DECIDED)
def test_the_deciding_rule(found: list[str], path: str, expected: str | None) -> None:
    rules = ManyRules([Rule(False, pattern, pattern) for pattern in found])
    told = (False, f"Disallow: {expected}") if expected else (True, "")
    assert rules.allows(f"http://a.test{path}") == told


def test_a_file_is_small_by_its_rules_and_their_characters() -> None:
    rule = Rule(False, "/aaaaaaaaa", "/aaaaaaaaa")
    sizes = [([rule] * 100, FewRules), ([rule] * 101, ManyRules), ([Rule(False, "/" * 1001, "")], ManyRules)]
    for rules, expected in sizes:
        assert type(matcher(rules)) is expected


SIZE = 500 << 10


def filled(line: str) -> bytes:
    """A robots.txt of 500 KiB in which a number, different in each line, replaces `#`."""
    count = SIZE // (len(line) + len("Disallow: \n") + 4)
    return b"User-agent: *\n" + b"".join(f"Disallow: {line.replace('#', str(n))}\n".encode() for n in range(count))


A = "a" * 2000
LINES = {
    "backtracking": "/*a*a*a*a*a#$",
    "a literal each": "/*#",
    "an end each": "/*#$",
    "a head each": "/#*a*b$",
    "the same head": "/a*#*a*b$",
    "thousands of stars": "/" + "*a" * 4000 + "#$",
    "long literals": "/*" + "a" * 500 + "b" + "a" * 499 + "*#",
    "substrings of the URL": "/*/#*x*#*b$",
    "many levels": "",
    "prefixes": "/" + "a" * 40 + "#",
}
MANY_LEVELS = b"".join(b"Disallow: /%s*b\n" % (b"*a" * n) for n in range(1, 650))
URLS = [f"http://a.test/{path}" for path in ("a", A[:1000], A, "ab" * 500, "/".join(map(str, range(400))), "x/7*a")]


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_url_costs_milliseconds_at_most_whatever_the_file(line: str) -> None:
    rules = parse(filled(line) if line else b"User-agent: *\n" + MANY_LEVELS, "me")
    rules.allows("http://a.test/")  # prepares the rules
    for url in URLS:
        assert min(cpu_ms(lambda url=url: rules.allows(url)) for _ in range(5)) < 8  # 1 ms on a machine without load


def cpu_ms(action) -> float:
    started = time.thread_time()
    action()
    return (time.thread_time() - started) * 1000


def test_a_url_that_takes_too_long_is_forbidden() -> None:
    """Each literal is in the URL, and none of the patterns matches."""
    body = b"User-agent: *\n" + b"".join(b"Disallow: /*/%d*x\n" % n for n in range(5000))
    url = f"http://a.test/{'/'.join(map(str, range(5000)))}"
    rules = parse(body, "me")
    assert rules.allows(url) == (False, "")
    assert rules.allows("http://a.test/7/8/9") == (True, "")
    assert rules.allows("http://a.test/6/7/x") == (False, "Disallow: /*/7*x")
    with pytest.raises(TooExpensive):
        Patterns((f"/*/{n}*x", n) for n in range(patterns.MOST_STEPS)).longest(url[len("http://a.test") :])


def test_a_usage_that_takes_too_long_is_the_most_restrictive() -> None:
    lines = b"".join(b"Content-Usage: /*/%d*x train-ai=y\n" % n for n in range(5000))
    rules = parse(b"User-agent: *\nContent-Usage: /z train-ai=n\n" + lines, "me")
    assert rules.usage("http://a.test/6/7/x") == "train-ai=y"
    assert rules.usage(f"http://a.test/{'/'.join(map(str, range(5000)))}") == "train-ai=n"
