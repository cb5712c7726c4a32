"""robots.txt: whom a line is meant for, what it allows, and how long that holds."""

import base64
import json
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.robots.rules import Verdict, expires_at, fresh_seconds, parse, verdict_of
from tests.support.conformance import FOLDER, absent
from tests.support.prerequisites import lacks
from tests.support.tables import each_row

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

NOT_AS_EXPECTED = {
    **dict.fromkeys(
        [f"robots/google-spec-test-{n}" for n in ("00387", "00393", "00397", "00538")],
        "/robots.txt is always allowed (RFC 9309 section 2.2.2)",
    ),
    **dict.fromkeys(
        [f"robots/google-spec-test-{n}" for n in ("00304", "00306", "00307")],
        "escapes are compared as RFC 9309 section 2.2.2 says; Google's parser leaves that to its caller",
    ),
}


def conformance(name: str) -> list[dict]:
    if not (file := FOLDER / name).is_file():
        lacks(absent(file))
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_conformance_cases_are_met_but_for_the_named_exceptions():
    failed = set()
    for row in conformance("robots.jsonl"):
        case = row["input"]
        encoded = case.get("robots_b64")
        body = base64.b64decode(encoded) if encoded else case["robots"].encode()
        if parse(body, case["user_agent"]).allows(case["url"])[0] is not row["expected"]:
            failed.add(row["id"])
    assert failed == NOT_AS_EXPECTED.keys()


A = b"User-agent: *\n"

# body, URL path, (allowed, rule)
RULES = {
    "nothing is said": (b"", "/x", (True, "")),
    "no rule matches": (A + b"Disallow: /a", "/b", (True, "")),
    "prefix": (A + b"Disallow: /private/", "/private/x", (False, "Disallow: /private/")),
    "an empty rule says nothing": (A + b"Disallow:", "/x", (True, "")),
    "the longest wins": (A + b"Allow: /a/b\nDisallow: /a", "/a/b/c", (True, "Allow: /a/b")),
    "of equals, Allow wins": (A + b"Disallow: /a\nAllow: /a", "/a", (True, "Allow: /a")),
    "the rule that is told is the longest": (
        A + b"Disallow: /\nDisallow: /a/b\nDisallow: /a",
        "/a/b/c",
        (False, "Disallow: /a/b"),
    ),
    "wildcard": (A + b"Disallow: /*.pdf$", "/a/b.pdf", (False, "Disallow: /*.pdf$")),
    "wildcard with anchor": (A + b"Disallow: /*.pdf$", "/a/b.pdf?x", (True, "")),
    "many stars": (A + b"Disallow: /" + b"*a" * 30 + b"*b$", "/" + "a" * 500, (True, "")),
    "robots.txt is always allowed": (A + b"Disallow: /", "/robots.txt", (True, "")),
    "the query counts": (A + b"Disallow: /*?id=", "/x?id=1", (False, "Disallow: /*?id=")),
    "comment": (A + b"Disallow: /a # not /b", "/a", (False, "Disallow: /a")),
    "no colon": (A + b"Disallow /a", "/a", (False, "Disallow: /a")),
    "prose is no rule": (
        b"User-agent: me\nallow all the good\nUser-agent: x\nDisallow: /",
        "/",
        (False, None),
    ),
    "old Macs": (b"User-agent: *\rDisallow: /a\rDisallow: /b", "/a", (False, "Disallow: /a")),
    "byte order mark": (b"\xef\xbb\xbf" + A + b"Disallow: /", "/x", (False, "Disallow: /")),
    "half a byte order mark": (b"\xef\xbb" + A + b"Disallow: /", "/x", (False, "Disallow: /")),
    "escapes in the rule": (A + b"Disallow: /%ED%95%9c", "/%ED%95%9C/x", (False, "Disallow: /%ED%95%9c")),
    "UTF-8 in the rule": (A + "Disallow: /한".encode(), "/%ED%95%9C/x", (False, "Disallow: /한")),
    "Latin-1 in the rule": (A + b"Disallow: /caf\xe9", "/caf%E9", (False, "Disallow: /caf\ufffd")),
    "an escaped slash in a path": (A + b"Disallow: /a%2Fb", "/a/b", (True, "")),
    "the same, in the URL": (A + b"Disallow: /a/b", "/a%2fb", (True, "")),
    "an escaped slash in a query": (A + b"Disallow: /?u=//b", "/?u=%2F%2Fb", (False, "Disallow: /?u=//b")),
    "vertical tab is no line end": (A + b"Disallow: /a\x0bDisallow: /b", "/b", (True, "")),
    "nor is next line": (A + "Disallow: /a\x85Disallow: /b".encode(), "/b", (True, "")),
    "two slashes are a path": (A + b"Disallow: //a", "//a/b", (False, "Disallow: //a")),
    "UTF-16 with a byte order mark": (
        b"\xff\xfe" + (A + b"Disallow: /a").decode().encode("utf-16-le"),
        "/a",
        (False, "Disallow: /a"),
    ),
    "UTF-16, the other way round": (
        b"\xfe\xff" + (A + b"Disallow: /a").decode().encode("utf-16-be"),
        "/a",
        (False, "Disallow: /a"),
    ),
    "a line that is too long is cut": (A + b"Disallow: /a" + b"x" * 20_000, "/a" + "x" * 20_000, (False, None)),
    "an absolute URL of the same origin": (
        A + b"Disallow: http://Example.com/a",
        "/a/b",
        (False, "Disallow: /a"),
    ),
    "an absolute URL that is the origin": (A + b"Disallow: http://example.com", "/a", (False, "Disallow: /")),
    "an absolute URL of another origin": (A + b"Disallow: http://example.com.test/a", "/a", (True, "")),
    "an absolute URL of another scheme": (A + b"Disallow: https://example.com/a", "/a", (True, "")),
    "escapes in lower case, of a slash": (A + b"Disallow: /a%2fb", "/a%2Fb", (False, None)),
    "escapes in the URL in lower case, of a slash": (A + b"Disallow: /a%2Fb", "/a%2fb", (False, "Disallow: /a%2Fb")),
    "a rule behind the first 500 KiB": (
        A + b"Disallow: /x\n" * 45_000 + b"Disallow: /a",
        "/a",
        (False, "Disallow: /a"),
    ),
    "an editor's page around it": (
        b"<html><body><pre>User-agent: *\nDisallow: /a</pre></body></html>",
        "/a",
        (False, "Disallow: /a"),
    ),
    "one line of HTML": (b"<p>User-agent: *<br>Disallow: /a<br/>Allow: /a/b", "/a/b", (True, "Allow: /a/b")),
    "a page about something else": (b"<!doctype html><title>Not found</title><p>Sorry", "/a", (True, "")),
}


@each_row(RULES)
def test_rules(body, path, expected):
    allowed, rule = parse(body, "me/1.0", "http://example.com").allows(f"http://example.com{path}")
    assert allowed is expected[0]
    if expected[1] is not None:
        assert rule == expected[1]


# body, robot, whether it may fetch /x
GROUPS = {
    "own group": (b"User-agent: me\nDisallow: /", "me/1.0", False),
    "without case": (b"User-Agent: ME\nDisallow: /", "mE", False),
    "in a list": (b"User-agent: you, me, them\nDisallow: /", "me", False),
    "in a list with everybody": (b"User-agent: you, *\nDisallow: /", "me", False),
    "in a list of others": (b"User-agent: you, them\nDisallow: /", "me", True),
    "with a version in the file": (b"User-agent: me/2.0\nDisallow: /", "me", False),
    "own group before *": (b"User-agent: *\nDisallow: /\nUser-agent: me\nDisallow: /y", "me", True),
    "own group without rules": (b"User-agent: *\nDisallow: /\nUser-agent: me\n", "me", True),
    "a longer token is another robot": (b"User-agent: me-images\nDisallow: /", "me", True),
    "a shorter one, too": (b"User-agent: me\nDisallow: /", "me-images", True),
    "a part is not enough": (b"User-agent: some\nDisallow: /", "me", True),
    "groups of one robot are joined": (
        b"User-agent: me\nAllow: /a\nUser-agent: me\nDisallow: /",
        "me",
        False,
    ),
    "one group for many": (b"User-agent: a\nUser-agent: me\nUser-agent: b\nDisallow: /", "me", False),
    "unknown lines do not part agents": (
        b"User-agent: me\nNoise: 1\n\nUser-agent: b\nDisallow: /",
        "me",
        False,
    ),
    "nor do delays": (b"User-agent: me\nCrawl-delay: 1\nUser-agent: b\nDisallow: /", "me", False),
    "an empty rule does": (b"User-agent: me\nDisallow:\nUser-agent: b\nDisallow: /", "me", True),
    "rules for nobody": (b"Disallow: /\nUser-agent: me\nDisallow: /y", "me", True),
    "a robot without a name obeys *": (b"User-agent: 1\nDisallow: /x\nUser-agent: *\nDisallow: /y", "", True),
}


@each_row(GROUPS)
def test_groups(body, robot, expected):
    assert parse(body, robot).allows("http://example.com/x")[0] is expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1.5", 1.5),
        ("0", 0),
        ("86400", 86400),
        ("10 # ten", 10),
        ("10 seconds", 10),
        ("2s", 2),
        ("2,5", 2.5),
        ("500 ms", 0.5),
        ("1 min", 60),
        ("2h", 7200),
        ("1e2", 100),
        ("5 pages", 5),
        ("", None),
        ("soon", None),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("1e999", None),
        ("9" * 5000, None),
    ],
)
def test_crawl_delay(value, expected):
    assert parse(f"User-agent: *\nCrawl-delay: {value}\nDisallow: /x".encode(), "me").crawl_delay == expected


def test_crawl_delay_is_that_of_the_own_group_and_the_longest_there():
    body = b"User-agent: *\nCrawl-delay: 60\nDisallow: /x\nUser-agent: me\nCrawl-delay: 2\nCrawl-delay: 1\n"
    assert parse(body, "me").crawl_delay == 2
    assert parse(body, "another").crawl_delay == 60
    assert parse(b"User-agent: b\nCrawl-delay: 60\n", "me").crawl_delay is None


def test_sitemaps_belong_to_no_group_and_are_listed_once():
    body = b"Sitemap: http://a/1.xml\nUser-agent: b\nDisallow: /\nsitemap:http://a/2.xml\nSitemap: http://a/1.xml"
    assert parse(body, "me").sitemaps == ["http://a/1.xml", "http://a/2.xml"]


def test_what_is_beyond_the_limit_is_not_read_and_no_rule_is_cut():
    head = b"User-agent: *\nDisallow: /first\n"
    last = b"Disallow: /private"
    for kept in range(len(last)):  # cut, it would forbid everything from `Disallow: /` on
        padding = b"#" * ((1 << 20) - len(head) - kept - 1) + b"\n"
        rules = parse(head + padding + last, "me")
        assert [rule.text for rule in rules.rules] == ["/first"]
    exactly = head + b"#" * ((1 << 20) - len(head) - len(last) - 1) + b"\n" + last
    assert [rule.text for rule in parse(exactly, "me").rules] == ["/first", "/private"]


def test_an_endless_line_is_cut():
    rules = parse(b"User-agent: *\nDisallow: /" + b"a" * 20_000 + b"\nDisallow: /b", "me")
    assert [len(rule.text) for rule in rules.rules] == [16 * 1024 - len("Disallow: "), 2]


def test_a_line_has_16_kib_at_most():
    for length in (16 * 1024, 16 * 1024 + 1, 10**6):
        line = b"Disallow: /" + b"a" * (length - 11)
        (rule,) = parse(b"User-agent: *\n" + line, "me").rules
        assert len(rule.text) == 16 * 1024 - len("Disallow: ")


def test_the_rule_is_named_among_any_number():
    for count in (100, 101, 20_000):
        body = b"User-agent: *\n" + b"".join(b"Disallow: /%d/\n" % n for n in range(count))
        assert parse(body, "me").allows("http://example.com/7/") == (False, "Disallow: /7/")


@pytest.mark.slow("large inputs")
@pytest.mark.parametrize(
    "body",
    [
        b"User-agent: *\n" + b"".join(b"Disallow: /%d*/x$\n" % n for n in range(30_000)),
        b"User-agent: *\n" * 18_000 + b"Disallow: /%d\n" * 18_000,
        b"<" * 500 * 1024,
        b"<a" * (500 * 1024 // 2),
        b"\r" * 500 * 1024,
    ],
    ids=["rules", "agents", "angle brackets", "tags", "line ends"],
)
def test_hostile_files_cost_little(body):
    started = time.process_time()
    parse(body, "me").allows("http://example.com/x")
    assert time.process_time() - started < 10  # under 1 s; what this guards against takes minutes


ANY_LINE = st.one_of(
    st.binary(max_size=30),
    st.builds(
        bytes.__add__,
        st.sampled_from([b"User-agent: ", b"Disallow: ", b"Allow:", b"Crawl-delay: ", b"Sitemap ", b"<b>"]),
        st.one_of(st.sampled_from([b"*", b"me", b"/*%2f?$", b"/%", b"/%zz*$$"]), st.binary(max_size=12)),
    ),
)


@given(
    st.lists(ANY_LINE, max_size=12).map(b"\n".join),
    st.text(st.characters(), max_size=30),
    st.text(max_size=8),
)
def test_any_bytes_and_any_url_have_an_answer(body, path, robot):
    rules = parse(body, robot)
    for url in (f"http://example.com/{path}", path, "http://[x/" + path, "http://example.com/\ud800"):
        allowed, rule = rules.allows(url)
        assert isinstance(allowed, bool)
        assert rule.startswith("Allow: " if allowed else "Disallow: ") or (allowed and not rule)


@pytest.mark.parametrize(
    ("verdict", "statuses"),
    [
        (Verdict.RULES, [200, 203, 204, 299]),
        (Verdict.DENY_ALL, [401, 403]),
        (Verdict.ALLOW_ALL, [301, 302, 307, 399, 400, 402, 404, 410, 451, 499]),
        (Verdict.UNREACHABLE, [None, 0, 100, 199, 206, 304, 429, 500, 503, 599, 600, 999]),
    ],
)
def test_judge(verdict, statuses):
    assert {status: verdict_of(status) for status in statuses} == dict.fromkeys(statuses, verdict)


DAY, HOUR, SHORT = timedelta(hours=24), timedelta(hours=1), timedelta(minutes=5)


@pytest.mark.parametrize(
    ("headers", "status", "lasts"),
    [
        ([], 200, HOUR),
        ([], 404, HOUR),
        ([("Cache-Control", "max-age=7200")], 200, timedelta(hours=2)),
        ([("cache-control", "max-age=7200"), ("age", "600")], 200, timedelta(minutes=110)),
        ([("Cache-Control", "max-age=99999999999999999999")], 200, DAY),
        ([("Cache-Control", "max-age=0")], 200, HOUR),
        ([("Cache-Control", "no-store")], 200, HOUR),
        ([("Cache-Control", "private, no-cache")], 404, HOUR),
        ([("Expires", "Sun, 01 Mar 2026 15:00:00 GMT")], 200, timedelta(hours=3)),
        ([("Expires", "0")], 200, HOUR),
        ([("Expires", "Sun, 01 Mar 9999 15:00:00 GMT")], 200, DAY),
        ([("Cache-Control", "max-age=86400")], 503, SHORT),
        ([], 429, SHORT),
        ([], None, SHORT),
    ],
)
def test_expires_at(headers, status, lasts):
    assert expires_at(NOW, headers, status) - NOW == lasts


# delay, status; how long robots.txt is kept, so that a page can be requested before it is requested again
SLOW = {
    "shorter than an hour": (600.0, 200, HOUR),
    "two hours": (7200.0, 200, 4 * HOUR),
    "longer than a day": (1e300, 200, DAY),
    "of the last good copy": (600.0, None, 20 * timedelta(minutes=1)),
    "none of the last good copy": (0.0, 503, SHORT),
    "of the last good copy, longer than a day": (1e300, 503, DAY),
}


@each_row(SLOW)
def test_robots_txt_is_kept_for_two_delays(delay, status, lasts):
    assert expires_at(NOW, [], status, delay) - NOW == lasts


NOT_AS_FRESH = {
    **dict.fromkeys(
        [f"caching/cc-freshness-000{n}" for n in (37, 39, 41, 43, 45, 47)],
        "s-maxage is for caches that several people share",
    ),
    **dict.fromkeys(
        ["caching/cc-parse-00053", "caching/cc-parse-00055"],
        "of two max-age the first counts (RFC 9111 section 4.2.1), not the longer",
    ),
    "caching/cc-parse-00075": "max-age=a3600 is no number: stale, the careful reading",
    "caching/age-parse-00083": "Age: 7200.0 means two hours to whoever wrote it",
}


def test_freshness_conformance_cases_are_met_but_for_the_named_exceptions():
    failed = set()
    for row in conformance("freshness.jsonl"):
        headers = [
            (name, value if isinstance(value, str) else format_datetime(NOW + timedelta(seconds=value), True))
            for name, value, *_ in row["input"]["response_headers"]
        ]
        seconds = fresh_seconds(headers, NOW)
        if (seconds is not None and seconds > row["input"]["elapsed_s"]) is not row["expected"]:
            failed.add(row["id"])
    assert failed == NOT_AS_FRESH.keys()


def test_an_empty_rule_says_nothing():
    assert not parse(b"User-agent: *\nDisallow:\nAllow:\n", "me").written
