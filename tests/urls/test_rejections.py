"""What is said about a URL that a rule of the scope rejects: each rule has words, with the value that decides."""

import doctest

import pytest

from beamtrawl.transforms.settings import Scope
from beamtrawl.transforms.urls import rejections
from beamtrawl.transforms.urls.filters import UrlFilter

SCOPE = Scope(deny_hosts=["bad.test"], depth=3, exclude=["/print/", "[?]sort="], include=["//[a-z]*[.]test(:81)?/"])
FILTER = UrlFilter(SCOPE, frozenset({"a.test"}))
HOST = "http://a.test"

# URL, depth, redirects: the words
WORDS = {
    ("http://www.bad.test/", 0, 0): "its host is one of scope.deny_hosts, or below one",
    (f"{HOST}/a.PNG?x", 0, 0): "documents.kinds has no kind for files named .png",
    (f"{HOST}/?sort=up", 0, 0): 'the pattern "[?]sort=" of scope.exclude matches it',
    ("http://a.test:82/", 0, 0): "no pattern of scope.include matches it",
    ("http://a.test:81/", 0, 0): 'its host is not that of a seed (scope.mode = "host")',
    (f"{HOST}/{'/'.join(map(str, range(30)))}", 0, 0): "its path has more than 20 segments (scope.path_depth)",
    (f"{HOST}/a/a/a/", 0, 0): "segments of its path repeat 3 times in a row",
    (f"{HOST}/?{'x' * 600}", 0, 0): "its query has more than 16 parameters (scope.parameters) or 512 characters",
    (f"{HOST}/?{'&'.join(['a=1'] * 8)}", 0, 0): "a parameter is in its query more than 6 times (scope.same_parameter)",
    (f"{HOST}/{'x' * 2000}", 0, 0): "it has more than 1024 characters (scope.max_url_length)",
    (f"{HOST}/a", 4, 0): "it is more than 3 links from a seed (scope.depth)",
    (f"{HOST}/a", 0, 11): "more than 10 redirects in a row lead to it",
}


@pytest.mark.parametrize(("way", "words"), WORDS.items(), ids=WORDS.values())
def test_a_rejection_in_words(way: tuple[str, int, int], words: str) -> None:
    rule = FILTER.reject(*way)
    assert rule is not None
    assert rejections.in_words(rule, way[0], SCOPE) == words


def test_a_port_in_words() -> None:
    url, scope = "http://www.example.org:22/", Scope(mode="any")
    rule = UrlFilter(scope, frozenset({"a.test"})).reject(url, 0, 0)
    assert rule == "port"
    assert rejections.in_words(rule, url, scope) == "its port is neither 80, 443, a seed's, nor one of scope.ports"


def test_every_rule_has_words() -> None:
    assert len({FILTER.reject(*way) for way in WORDS}) == 12 == len(set(WORDS.values()))


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(rejections) == (0, 3)
