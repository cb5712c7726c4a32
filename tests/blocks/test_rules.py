"""Patterns of blocks: what they match, and which are refused."""

import fnmatch
import re

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.blocks.rules import Block, Blocks, PatternError, check_pattern
from beamtrawl.transforms.traps.allow_list import compile_allow_list

# pattern: (URLs that it matches, URLs that it does not)
MATCHES = {
    "a.test": (
        ["http://a.test/", "https://a.test/x?y=z", "http://a.test:8080/x"],
        ["http://b.a.test/", "http://a.test.b/"],
    ),
    "a.test:81": (["http://a.test:81/x"], ["http://a.test/", "http://a.test:8181/"]),
    "*.a.test": (["http://b.a.test/", "http://c.b.a.test:8/"], ["http://a.test/", "http://b.test/x.a.test"]),
    "a.test/x/*": (["http://a.test/x/", "http://a.test/x/y/z"], ["http://a.test/x", "http://a.test:8/x/y"]),
    "a.test/x": (["http://a.test/x"], ["http://a.test/x/", "http://a.test/xy"]),
    "*/private/*": (["http://a.test/b/private/c"], ["http://a.test/privates"]),
    "a.test/?": (["http://a.test/x"], ["http://a.test/", "http://a.test/xy"]),
    "a.test/[!ab]c": (["http://a.test/xc"], ["http://a.test/ac"]),
    "a.test/[^a]c": (["http://a.test/ac", "http://a.test/^c"], ["http://a.test/xc"]),
    "a.test/a.b+c": (["http://a.test/a.b+c"], ["http://a.test/aXb+c", "http://a.test/a.bbc"]),
    "[::1]": (["http://[::1]/", "http://[::1]:8080/x"], ["http://1/", "http://a.test/"]),
    "*": (["http://a.test/", "http://[::1]:8080/x"], []),
}


@pytest.mark.parametrize("pattern", MATCHES)
def test_one_url_and_many_are_matched_alike(pattern: str) -> None:
    yes, no = MATCHES[pattern]
    block = Block(pattern, "2026-05-03T00:00:00Z")
    blocks = Blocks([block])
    assert [blocks.match(url) for url in yes] == [block] * len(yes)
    assert [blocks.match(url) for url in no] == [None] * len(no)
    assert blocks.mask(pa.chunked_array([[*yes, *no]])).to_pylist() == [True] * len(yes) + [False] * len(no)


def test_the_oldest_block_that_matches_is_named() -> None:
    old, new = Block("a.test/*", "2026-05-03T00:00:00Z"), Block("a.test", "2026-05-04T00:00:00Z")
    assert Blocks([new, old]).match("http://a.test/x") == old
    assert Blocks([new, old]).match("http://a.test:8/x") == new
    assert Blocks([new, old]) == Blocks([Block("a.test", "later"), old]) != Blocks([old])


def test_without_blocks_nothing_matches() -> None:
    assert Blocks().match("http://a.test/") is None
    assert Blocks().mask(pa.chunked_array([["http://a.test/"], []])).to_pylist() == [False]


@given(st.text("ab/.*?", min_size=1, max_size=8), st.text("ab/.", max_size=8))
def test_patterns_with_a_path_are_those_of_release(pattern: str, text: str) -> None:
    """Also for RE2: both are matched by one expression."""
    pattern, url = f"a{pattern}/{pattern}", f"http://a{text}/{text}"
    wanted = compile_allow_list([pattern])(url)
    assert wanted == bool(re.fullmatch(fnmatch.translate(pattern), url.partition("://")[2]))
    blocks = Blocks([Block(pattern, "")])
    assert (blocks.match(url) is not None, blocks.mask(pa.chunked_array([[url]])).to_pylist()) == (wanted, [wanted])


def test_an_ipv6_address_is_literal() -> None:
    matches = compile_allow_list(["[::1]:8080/cal/*"])
    assert [matches(f"http://{rest}") for rest in ("[::1]:8080/cal/1", "1:8080/cal/1", "[::1]:8080/x")] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("text", "pattern"),
    [("A.test", "a.test"), ("a.test/", "a.test"), ("A.test:81/", "a.test:81"), ("a.test/X", "a.test/X")],
)
def test_a_host_may_end_with_a_slash(text: str, pattern: str) -> None:
    assert check_pattern(text) == pattern


@pytest.mark.parametrize("text", ["", "http://a.test/", "https://a.test", "/x", "a b", "a.test/x y", "a.test/x\n"])
def test_what_is_no_pattern_is_refused_with_the_way_out(text: str) -> None:
    with pytest.raises(PatternError, match=re.escape(f"{text!r} is no pattern: it must be HOST or HOST/PATTERN")):
        check_pattern(text)
