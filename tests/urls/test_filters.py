"""The first rule that rejects a URL is the one that is reported."""

import doctest
import pickle

import pytest

from beamtrawl.transforms.settings import Scope
from beamtrawl.transforms.urls import filters
from beamtrawl.transforms.urls.filters import MAX_REASON, UrlFilter, reject_by_plugin

# Stated here and not imported: a changed limit fails a test.
MAX_REDIRECTS = 10

SEEDS = frozenset({"www.example.org", "127.0.0.1:8080"})

# settings, URL, rule
CASES = [
    # the seeds' hosts, ports included
    ({}, "http://www.example.org/a", None),
    ({}, "https://www.example.org/a", None),
    ({}, "http://127.0.0.1:8080/a", None),
    ({}, "http://127.0.0.1:8081/a", "scope"),
    ({}, "http://docs.example.org/a", "scope"),
    ({}, "http://example.org/a", "scope"),
    # their domains
    ({"mode": "domain"}, "http://docs.example.org/a", None),
    ({"mode": "domain"}, "http://example.org:8080/a", None),
    ({"mode": "domain"}, "http://127.0.0.1:9/a", None),
    ({"mode": "domain"}, "http://127.0.0.2:8080/a", "scope"),
    ({"mode": "domain"}, "http://notexample.org/a", "scope"),
    ({"mode": "any"}, "http://else.where/a", None),
    # ports, of which a page may link 65,535
    ({"mode": "any"}, "http://else.where:8080/a", None),
    ({"mode": "any"}, "http://else.where:443/a", None),
    ({"mode": "any"}, "http://else.where:22/a", "port"),
    ({"mode": "any"}, "https://[2001:db8::1]:8444/a", "port"),
    ({"mode": "any"}, "https://[2001:db8::1]/a", None),
    ({"mode": "domain"}, "http://docs.example.org:9000/a", "port"),
    ({"mode": "any", "ports": ["9000"]}, "http://else.where:9000/a", None),
    ({"mode": "any", "ports": []}, "http://else.where:8080/a", "port"),
    ({"mode": "any"}, "http://127.0.0.3:9/a", None),
    ({"mode": "any"}, "http://www.localhost:9/a", None),
    # length, in characters of the whole URL
    ({"max_url_length": 30}, "http://www.example.org/" + "a" * 7, None),
    ({"max_url_length": 30}, "http://www.example.org/" + "a" * 8, "too_long"),
    # denied hosts and all below them
    ({"deny_hosts": ["example.org"]}, "http://www.example.org/", "deny_host"),
    ({"deny_hosts": ["Www.Example.Org."]}, "http://www.example.org:8080/", "deny_host"),
    ({"deny_hosts": ["ample.org"]}, "http://www.example.org/", None),
    ({"deny_hosts": ["127.0.0.1:8080"]}, "http://127.0.0.1:8080/", "deny_host"),
    ({"deny_hosts": ["127.0.0.1:8081"]}, "http://127.0.0.1:8080/", None),
    # extensions of what is never text
    ({}, "http://www.example.org/a.PNG", "extension"),
    ({}, "http://www.example.org/a.tar.gz?x", "extension"),
    ({}, "http://www.example.org/a.html", None),
    ({}, "http://www.example.org/a.png/", None),
    ({}, "http://www.example.org/a?b.png", None),
    ({}, "http://www.example.org/3.11", None),
    # patterns may match anywhere
    ({"exclude": ["/private/"]}, "http://www.example.org/private/a", "exclude"),
    ({"exclude": ["/private/"]}, "http://www.example.org/public/a", None),
    ({"include": ["/docs/", "/wiki/"]}, "http://www.example.org/wiki/a", None),
    ({"include": ["/docs/", "/wiki/"]}, "http://www.example.org/shop/a", "include"),
    # paths that go on for ever
    ({"path_depth": 4}, "http://www.example.org/a/b/c/d", None),
    ({"path_depth": 4}, "http://www.example.org/a/b/c/d/", None),
    ({"path_depth": 4}, "http://www.example.org/a/b/c/d/e", "path_depth"),
    ({"path_depth": 4}, "http://www.example.org/a?b=/c/d/e/f/g", None),
    ({}, "http://www.example.org/" + "/".join("abcdefghijklmnopqrst"), None),
    ({}, "http://www.example.org/" + "/".join("abcdefghijklmnopqrstu"), "path_depth"),
    ({}, "http://www.example.org/a/a/b.html", None),
    ({}, "http://www.example.org/a/b/a/b/c.html", None),
    ({}, "http://www.example.org/2026/11/11/11.html", None),
    ({}, "http://www.example.org/a/aa/aaa/a/a", None),
    ({}, "http://www.example.org/?x=/a/a/a", None),
    ({}, "http://www.example.org/a/a/a", "repetition"),
    ({}, "http://www.example.org/x/a/b/a/b/a/b/c.html", "repetition"),
    ({}, "http://www.example.org/a/b/c/a/b/c/a/b/c/", "repetition"),
    ({}, "http://www.example.org/a/b/c/d/a/b/c/d/a/b/c/d/x", "repetition"),
    # queries that go on for ever
    ({"parameters": 3}, "http://www.example.org/?a=1&b=2&c=3", None),
    ({"parameters": 3}, "http://www.example.org/?a=1&b=2&c=3&d=4", "query"),
    ({}, "http://www.example.org/?" + "a" * 512, None),
    ({}, "http://www.example.org/?" + "a" * 513, "query"),
    ({"same_parameter": 2}, "http://www.example.org/?a=1&a=2&b=3", None),
    ({"same_parameter": 2}, "http://www.example.org/?a=1&b=3&a=2&a=3", "parameter"),
    # the order of the rules
    ({}, "http://b.org/a/a/a", "scope"),
    ({"path_depth": 2}, "http://www.example.org/a/a/a", "path_depth"),
    ({"max_url_length": 9, "deny_hosts": ["b.org"]}, "http://b.org/a.png", "too_long"),
    ({"deny_hosts": ["b.org"]}, "http://b.org/a.png", "deny_host"),
    ({"exclude": ["a"]}, "http://b.org/a.png", "extension"),
    ({"exclude": ["a"], "include": ["c"]}, "http://b.org/a", "exclude"),
    ({"include": ["c"]}, "http://b.org/a", "include"),
]


@pytest.mark.parametrize(("settings", "url", "rule"), CASES)
def test_rules_about_the_url(settings, url, rule):
    assert UrlFilter(Scope(**settings), SEEDS).reject(url, depth=0, redirects=0) == rule


@pytest.mark.parametrize(
    ("limit", "depth", "redirects", "rule"),
    [
        (2, 2, 0, None),
        (2, 3, 0, "depth"),
        (0, 0, 0, None),
        (0, 1, 0, "depth"),
        (None, 10**6, 0, None),
        (None, 0, MAX_REDIRECTS, None),
        (None, 0, MAX_REDIRECTS + 1, "redirect_limit"),
        (0, 1, MAX_REDIRECTS + 1, "depth"),
    ],
)
def test_rules_about_the_way_to_it(limit, depth, redirects, rule):
    assert UrlFilter(Scope(depth=limit), SEEDS).reject("http://www.example.org/", depth, redirects) == rule


# settings, URL: why it is no external target
EXTERNAL_TARGETS = {
    "of another host": ({}, "http://b.org/a.png", None),
    "of the crawl": ({}, "http://www.example.org/a", "external"),
    "without the setting": ({"check_external": False}, "http://b.org/", "external"),
    "denied": ({"deny_hosts": ["b.org"]}, "http://b.org/", "deny_host"),
    "excluded": ({"exclude": ["private"]}, "http://b.org/private", "exclude"),
    "not included": ({"include": ["docs"]}, "http://b.org/", None),
    "another port": ({}, "http://b.org:9999/", "port"),
    "too long": ({"max_url_length": 9}, "http://b.org/", "too_long"),
    "of any shape": ({}, "http://b.org/a/a/a/a", None),
}


@pytest.mark.parametrize("name", EXTERNAL_TARGETS)
def test_which_urls_are_external_targets(name):
    settings, url, reason = EXTERNAL_TARGETS[name]
    assert UrlFilter(Scope(**({"check_external": True} | settings)), SEEDS).reject_external(url) == reason


def test_two_filters_do_not_share_verdicts():
    host, domain = (UrlFilter(Scope(mode=mode), SEEDS) for mode in ("host", "domain"))
    url = "http://docs.example.org/"
    assert [f.reject(url, 0, 0) for f in (host, domain, host, domain)] == ["scope", None, "scope", None]


# what plug-ins say of a URL, the reason
VERDICTS = [
    ([], None),
    ([None, None], None),
    ([None, "b", "c"], "1: b"),
    ([" two\nlines "], "0: two lines"),
    (["\ud800"], "0: ?"),
    (["x" * 99], "0: " + "x" * MAX_REASON),
    ([""], "0: "),
    ([True], "0: error AttributeError"),
    ([None, ZeroDivisionError()], "1: error ZeroDivisionError"),
]


@pytest.mark.parametrize(("verdicts", "reason"), VERDICTS)
def test_verdicts_of_plugins(verdicts, reason):
    def say(verdict):
        if isinstance(verdict, Exception):
            raise verdict
        return verdict

    plugins = [(str(number), lambda url, verdict=verdict: say(verdict)) for number, verdict in enumerate(verdicts)]
    assert reject_by_plugin(plugins, "http://www.example.org/") == reason


def test_a_filter_travels_to_workers():
    copy = pickle.loads(pickle.dumps(UrlFilter(Scope(exclude=["x"]), SEEDS)))
    assert copy.reject("http://www.example.org/x", 0, 0) == "exclude"


def test_examples_in_docstrings():
    assert doctest.testmod(filters) == (0, 3)
