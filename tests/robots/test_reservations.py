"""TDMRep's file: the examples of the report, and files that are not as they should be."""

import json

import pytest

from beamtrawl.transforms.rights.reservations import MAX_BYTES, Reservation, parse
from beamtrawl.transforms.rights.usage import Usage

POLICY = "https://provider.com/policies/policy.json"
GROUPS = [  # section "TDM File on the Origin Server", Examples
    {"location": "/directory-a/", "tdm-reservation": 1},
    {"location": "/directory-b/html/", "tdm-reservation": 1, "tdm-policy": POLICY},
    {"location": "/directory-b/images/*.jpg", "tdm-reservation": 0},
]
EXCEPT = [{"location": "/open/", "tdm-reservation": 0}, {"location": "/", "tdm-reservation": 1}]


def only(location: str) -> list[dict[str, object]]:
    return [{"location": location, "tdm-reservation": 1}]


MATCHES = [
    (only("/"), "/any?q=1", Usage(tdm_reservation=True)),
    (GROUPS, "/directory-a/x.pdf", Usage(tdm_reservation=True)),
    (GROUPS, "/directory-b/html/x", Usage(tdm_reservation=True, tdm_policy=POLICY)),
    (GROUPS, "/directory-b/images/x.jpg", Usage(tdm_reservation=False)),
    (GROUPS, "/directory-b/images/x.png", Usage()),
    (GROUPS, "/Directory-A/x.pdf", Usage()),  # case-sensitive
    (EXCEPT, "/open/a", Usage(tdm_reservation=False)),
    (EXCEPT, "/open", Usage(tdm_reservation=True)),
    (EXCEPT[::-1], "/open/a", Usage(tdm_reservation=True)),  # the first in sequence
    (only("/path/foo-%24"), "/path/foo-$", Usage(tdm_reservation=True)),
    (only("/this/path/exactly$"), "/this/path/exactly/not", Usage()),
    (only("/this/*/then"), "/this/a/b/then/more", Usage(tdm_reservation=True)),
    (only("/a?b=1"), "/a?b=12", Usage(tdm_reservation=True)),
    (only("/%61"), "/a", Usage(tdm_reservation=True)),
    (only("/a\nAllow: /"), "/a", Usage()),
    (only("/a#b"), "/a", Usage()),
    (only("/a#b"), "/a%23b", Usage(tdm_reservation=True)),
    ([{"location": "/#x", "tdm-reservation": 0}, *only("/")], "/x", Usage(tdm_reservation=True)),
]


def said(rule: Reservation | None) -> Usage:
    return Usage(tdm_reservation=rule.reserved, tdm_policy=rule.policy) if rule else Usage()


@pytest.mark.parametrize(("entries", "path", "expected"), MATCHES)
def test_matches(entries: list[dict[str, object]], path: str, expected: Usage) -> None:
    assert said(parse(json.dumps(entries).encode()).match(f"http://a.test{path}")) == expected


FILES = [
    (b"", 0, "not JSON"),
    (b"<!doctype html><title>Not found</title>", 0, "not JSON"),
    (b"\xff\xfe", 0, "not JSON"),
    (b"[" * 100_000, 0, "not JSON"),
    (b"[" + b"1" * 5000 + b"]", 0, "not JSON"),
    (b'{"location": "/", "tdm-reservation": 1}', 0, "not an array"),
    (b"[" + b" " * MAX_BYTES + b"]", 0, "larger than"),
    (json.dumps(only("/a") * 1001).encode(), 1000, "entries after the first 1000 are ignored"),
    (b"\xef\xbb\xbf" + json.dumps(only("/a")).encode(), 1, ""),
    (
        b'[{"location": "/\\ud800", "tdm-reservation": 1}, {"location": "/\\u001b[31m", "tdm-reservation": 1}]',
        0,
        "2 invalid",
    ),
    (b'[{"location": "/", "tdm-reservation": [1]}, {"location": "/", "tdm-reservation": 1.0}]', 0, "2 invalid entries"),
    (b'[{"location": "a", "tdm-reservation": 1}, {"location": "", "tdm-reservation": 1}]', 0, "2 invalid entries"),
    (b'[{"location": "/", "tdm-reservation": 2}, {"location": 1, "tdm-reservation": 1}, 5]', 0, "3 invalid entries"),
]


@pytest.mark.parametrize(("body", "rules", "error"), FILES)
def test_files(body: bytes, rules: int, error: str) -> None:
    found = parse(body)
    assert (len(found.rules), found.error[: len(error)]) == (rules, error)
    assert error or not found.error


@pytest.mark.parametrize("policy", ["javascript:alert(1)", "//a.test/p", "/p", "http://[", 5, None])
def test_a_policy_is_a_web_address(policy: object) -> None:
    body = json.dumps([{"location": "/", "tdm-reservation": 1, "tdm-policy": policy}]).encode()
    assert parse(body).rules == (Reservation("/", True),)
