"""Who we say we are, on every request."""

from importlib.metadata import version

import pytest

from beamtrawl.transforms.http.content_coding import Decoder
from beamtrawl.transforms.http.request_headers import Identity, basic, never_sent, own_headers
from beamtrawl.transforms.settings import Fetch, Robot
from tests.support.tables import each_row

VERSION = version("beamtrawl")
ME = Robot("Mybot", "me@example.org", "https://example.org/bot")

# robot, User-Agent, the name in robots.txt, whether it may ask strangers
ROBOTS = {
    "nobody": (Robot(), f"Beamtrawl/{VERSION}", "Beamtrawl", False),
    "complete": (ME, f"Mybot/{VERSION} (+https://example.org/bot)", "Mybot", True),
    "a version of its own": (
        Robot("Mybot/2.1", "me@example.org", "https://example.org/bot"),
        "Mybot/2.1 (+https://example.org/bot)",
        "Mybot",
        True,
    ),
    "no page": (Robot("Mybot", "me@example.org"), f"Mybot/{VERSION}", "Mybot", False),
    "no contact": (
        Robot("Mybot", "", "https://example.org/bot"),
        f"Mybot/{VERSION} (+https://example.org/bot)",
        "Mybot",
        False,
    ),
    "no name": (
        Robot("", "me@example.org", "https://example.org/bot"),
        f"Beamtrawl/{VERSION} (+https://example.org/bot)",
        "Beamtrawl",
        False,
    ),
}


@each_row(ROBOTS)
def test_a_robot_is_named_with_its_version_and_page(robot, agent, token, complete):
    identity = Identity.of(robot)
    assert (identity.user_agent, identity.token, identity.complete) == (agent, token, complete)
    assert identity.headers("http://a.test/")["User-Agent"] == agent


# What is sent besides the headers that every request has: arguments of `headers`, headers
SENT = {
    "a first visit": (("http://a.test/",), {}),
    "found on a page": (("http://a.test/", "http://b.test/x"), {"Referer": "http://b.test/x"}),
    "https to https": (("https://a.test/", "https://b.test/x"), {"Referer": "https://b.test/x"}),
    "http to https": (("https://a.test/", "http://b.test/x"), {"Referer": "http://b.test/x"}),
    "https to http": (("http://a.test/", "https://b.test/x"), {}),
    "known by its tag": (("http://a.test/", None, 'W/"1"'), {"If-None-Match": 'W/"1"'}),
    # httpd appends the coding to a tag, and compares a tag without it (bz.apache.org 45023; seen with 2.4.71).
    "known by a tag of a coding": (("http://a.test/", None, '"1-gzip"'), {"If-None-Match": '"1-gzip", "1"'}),
    "known by a tag of br": (("http://a.test/", None, 'W/"1-br"'), {"If-None-Match": 'W/"1-br", W/"1"'}),
    "known by a tag with a coding behind it": (
        ("http://a.test/", None, '"1"-gzip'),
        {"If-None-Match": '"1"-gzip, "1"'},
    ),
    "known by a tag of another word": (("http://a.test/", None, '"a-bzip"'), {"If-None-Match": '"a-bzip"'}),
    "known by its date": (
        ("http://a.test/", None, None, "Sun, 01 Mar 2026 12:00:00 GMT"),
        {"If-Modified-Since": "Sun, 01 Mar 2026 12:00:00 GMT"},
    ),
    "known by both": (
        ("http://a.test/", None, '"1"', "Sun, 01 Mar 2026 12:00:00 GMT"),
        {"If-None-Match": '"1"', "If-Modified-Since": "Sun, 01 Mar 2026 12:00:00 GMT"},
    ),
}
ALWAYS = {"User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "From"}


@each_row(SENT)
def test_what_is_sent_with_a_request(arguments, expected):
    headers = Identity.of(ME).headers(*arguments)
    assert headers["From"] == "me@example.org"
    assert {name: headers[name] for name in headers.keys() - ALWAYS} == expected
    assert headers.keys() >= ALWAYS


def test_without_a_contact_there_is_no_from():
    assert "From" not in Identity.of(Robot()).headers("http://a.test/")


def test_only_encodings_that_can_be_undone_are_asked_for():
    accepted = Identity.of(ME).headers("http://a.test/")["Accept-Encoding"]
    assert accepted == "gzip, deflate, br, zstd"
    assert all(Decoder.of(coding, limit=1, spare=0) for coding in accepted.split(", "))


OURS = ["a.test me:one", "http://b.test:8080 me:two", "C.test:443 me:thr:ee", "[::1] me:four", "a.b.test  me:five "]

# URL, the credentials that are sent
CREDENTIALS = {
    "its host, for all on the way to read": ("http://a.test/x", None),
    "its host by https": ("https://a.test/x", "me:one"),
    "another port of it": ("http://a.test:8080/", None),
    "a host below it": ("http://www.a.test/", None),
    "a host that ends like it": ("http://aa.test/", None),
    "a host that begins like it": ("http://a.test.evil.test/", None),
    "its name as the account": ("http://evil.test/@a.test/", None),
    "its port, by http as it is said": ("http://b.test:8080/", "me:two"),
    "its port, by https": ("https://b.test:8080/", None),
    "not its port": ("http://b.test/", None),
    "the port of https": ("https://c.test/", "me:thr:ee"),
    "not that of http": ("http://c.test/", None),
    "an address": ("http://[::1]/", "me:four"),
    "spaces": ("https://a.b.test/", "me:five"),
    "nobody": ("http://e.test/", None),
}


@each_row(CREDENTIALS)
def test_credentials_go_to_their_own_host_only(url, secret):
    found = own_headers(Fetch(credentials=OURS), url)
    assert found == ({"Authorization": basic(secret)} if secret else {})


def test_hosts_that_no_request_goes_to_are_found():
    fetch = Fetch(credentials=OURS, headers=["X-A: one", "http://c.test X-B: two", "a.test X-C: three"])
    urls = ["http://a.test/", "http://b.test:8080/", "https://c.test/"]
    assert never_sent(fetch, urls) == ["a.test", "[::1]", "a.b.test", "http://c.test"]
    assert never_sent(Fetch(headers=["X-A: one"]), ()) == []


def test_further_headers_go_to_all():
    headers = ["X-A: one: two", "Authorization: Bearer x"]
    assert own_headers(Fetch(headers=headers), "https://e.test/") == {"X-A": "one: two", "Authorization": "Bearer x"}
    assert own_headers(Fetch(headers=headers), "http://e.test/") == {"X-A": "one: two"}
    assert own_headers(Fetch(headers=headers), "http://127.0.0.1:81/") == {
        "X-A": "one: two",
        "Authorization": "Bearer x",
    }
    own = own_headers(Fetch(headers=headers, credentials=OURS[:1]), "https://a.test/")
    assert own["Authorization"] == basic("me:one")  # the host's own come first


# URL: the headers that are sent, of those that are bound to hosts
BOUND = {
    "https://a.test/": {"X-Key": "one"},
    "http://a.test/": {},
    "https://a.test:444/": {},
    "https://www.a.test/": {},
    "http://b.test:81/": {"Authorization": "Bearer two"},
    "https://b.test:81/": {},
    "http://b.test/": {},
}


@pytest.mark.parametrize(("url", "sent"), BOUND.items(), ids=BOUND)
def test_headers_that_are_bound_to_a_host_go_there_only(url, sent):
    headers = ["a.test X-Key: one", "http://B.test:81 Authorization: Bearer two"]
    assert own_headers(Fetch(headers=headers), url) == sent
