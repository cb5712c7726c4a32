"""The checker finds each kind of bad manners, and nothing in a log without any."""

import http.client
import threading

import pytest

from tests.support.access_log import Manners, violations
from tests.support.web import Request, Web, plain, slow

ROBOTS = "User-agent: *\nDisallow: /private/\nAllow: /private/open\n\nUser-agent: other\nDisallow: /\n"


SELF = {
    "user-agent": "robot/1.0 (+http://r.example/)",
    "from": "robot@r.example",
    "accept": "text/html",
    "accept-encoding": "gzip",
    "accept-language": "*",
}
EPOCH = 1763650000.0  # of the clock at 0, as a date in a Retry-After has it: Thu, 20 Nov 2025 14:46:40 GMT


def ask(path, started, ended, *, host="a.test", status=200, answer=(), without="", **changes):
    """One request, and its answer's headers; of the request's own headers one missing, or some changed."""
    changes = {name.replace("_", "-"): value for name, value in changes.items()}
    headers = {name: value for name, value in (SELF | changes).items() if name != without}
    return Request(host, "GET", path, headers, started, ended, EPOCH + started, status, 1, dict(answer))


ROBOTS_TXT = ask("/robots.txt", 0.0, 0.1)
OTHER_ROBOTS_TXT = ask("/robots.txt", 0.0, 0.1, host="b.test")

# name: (requests, what is found), with a delay of 1 s and ROBOTS on a.test
LOGS = {
    "nothing asked": ([], []),
    "good manners": ([ROBOTS_TXT, ask("/", 1.1, 1.2), ask("/x", 2.3, 9), ask("/y", 10, 11)], []),
    "hosts at the same time": ([ROBOTS_TXT, ask("/robots.txt", 0.05, 0.1, host="b.test")], []),
    "within the tolerance": ([ROBOTS_TXT, ask("/", 1.096, 1.2)], []),
    "in any order of the log": ([ask("/", 1.1, 1.2), ROBOTS_TXT], []),
    "no robots.txt": ([ask("/", 0, 1)], ["a.test: / before /robots.txt"]),
    "robots.txt late": ([ask("/", 0, 1), ask("/robots.txt", 2, 3)], ["a.test: / before /robots.txt"]),
    "robots.txt of another host": ([ROBOTS_TXT, ask("/", 2, 3, host="b.test")], ["b.test: / before /robots.txt"]),
    "robots.txt twice": (
        [ROBOTS_TXT, ask("/robots.txt", 2.1, 3)],
        ["a.test: /robots.txt again after 2.000 s, fresh for 3600"],
    ),
    "robots.txt when it is stale": (
        [ask("/robots.txt", 0, 0.1, answer={"cache-control": "public, max-age=2"}), ask("/robots.txt", 2.2, 3)],
        [],
    ),
    "robots.txt before it is stale": (
        [ask("/robots.txt", 0, 0.1, answer={"cache-control": "max-age=5"}), ask("/robots.txt", 2.1, 3)],
        ["a.test: /robots.txt again after 2.000 s, fresh for 5"],
    ),
    "robots.txt on the next day": (
        [ask("/robots.txt", 0, 0, answer={"cache-control": "max-age=9999999"}), ask("/robots.txt", 86400, 86401)],
        [],
    ),
    "robots.txt that may not be kept": (
        [ask("/robots.txt", 0, 0.1, answer={"cache-control": "no-cache"}), ask("/robots.txt", 2, 3)],
        [],
    ),
    "robots.txt after trouble": (
        [ask("/robots.txt", 0, 1, status=503), ask("/robots.txt", 2, 3), ask("/", 4, 5), ask("/x", 6, 7)],
        [],
    ),
    "no answer to robots.txt": (
        [ask("/robots.txt", 0, 1, status=429), ask("/", 2, 3)],
        ["a.test: / though /robots.txt answered 429"],
    ),
    "robots.txt cut": (
        [ask("/robots.txt", 0, 1, status=0), ask("/", 2, 3)],
        ["a.test: / though /robots.txt answered 0"],
    ),
    "the last good robots.txt counts": (
        [
            ask("/robots.txt", 0, 0.1, answer={"cache-control": "max-age=1"}),
            ask("/robots.txt", 2, 3, status=500),
            ask("/", 4, 5),
        ],
        [],
    ),
    "robots.txt was moved": (
        [
            ask("/robots.txt", 0, 1, host="b.test", status=301, answer={"location": "http://a.test/private/old.txt"}),
            ask("/private/old.txt", 1, 2, status=302, answer={"location": "/robots.txt"}),
            ask("/robots.txt", 3, 4),
            ask("/robots.txt", 5, 6),
        ],
        [],
    ),
    "robots.txt was moved once, and asked for thrice": (
        [
            ask("/robots.txt", 0, 1, host="b.test", status=301, answer={"location": "http://a.test/robots.txt"}),
            ask("/robots.txt", 3, 4),
            ask("/robots.txt", 5, 6),
            ask("/robots.txt", 7, 8),
        ],
        ["a.test: /robots.txt again after 1.000 s, fresh for 3600"],
    ),
    "a page was moved": (
        [
            OTHER_ROBOTS_TXT,
            ask("/", 2, 3, host="b.test", status=301, answer={"location": "http://a.test/x"}),
            ask("/x", 4, 5),
        ],
        ["a.test: /x before /robots.txt"],
    ),
    "too early": ([ROBOTS_TXT, ask("/", 1.09, 1.2)], ["a.test: / only 0.990 s after /robots.txt, not 1.000"]),
    "at the very end": ([ROBOTS_TXT, ask("/", 0.1, 1.2)], ["a.test: / only 0.000 s after /robots.txt, not 1.000"]),
    "two at a time": (
        [ROBOTS_TXT, ask("/", 2, 4), ask("/x", 3, 3.5)],
        ["a.test: /x while / was being answered"],
    ),
    "one over several": (
        [ROBOTS_TXT, ask("/", 2, 9), ask("/x", 3, 3.1), ask("/y", 5, 5.1)],
        ["a.test: /x while / was being answered", "a.test: /y while / was being answered"],
    ),
    "forbidden": (
        [ROBOTS_TXT, ask("/private/x", 2, 3), ask("/private/open", 4, 5)],
        ["a.test: /private/x forbidden by /robots.txt"],
    ),
    "forbidden to this robot": (
        [ROBOTS_TXT, ask("/", 2, 3, user_agent="other/2 (+http://o.example/)")],
        ["a.test: / forbidden by /robots.txt"],
    ),
    "no rules for this host": ([OTHER_ROBOTS_TXT, ask("/private/x", 2, 3, host="b.test")], []),
    "before the end of a Retry-After": (
        [ROBOTS_TXT, ask("/", 2, 3, status=429, answer={"retry-after": "5"}), ask("/x", 7, 8), ask("/y", 9, 10)],
        ["a.test: /x 1.000 s before the end of a Retry-After"],
    ),
    "after the end of a Retry-After": (
        [ROBOTS_TXT, ask("/", 2, 3, status=503, answer={"retry-after": "5"}), ask("/x", 8, 9)],
        [],
    ),
    "before the date of a Retry-After": (
        [
            ROBOTS_TXT,
            ask("/", 2, 3, status=503, answer={"retry-after": "Thu, 20 Nov 2025 14:46:50 GMT"}),
            ask("/x", 9.5, 9.6),
            ask("/y", 10.6, 11),
        ],
        ["a.test: /x 0.500 s before the end of a Retry-After"],
    ),
    "a Retry-After with robots.txt": (
        [ask("/robots.txt", 0, 1, status=503, answer={"retry-after": "5"}), ask("/robots.txt", 4, 5)],
        ["a.test: /robots.txt 2.000 s before the end of a Retry-After"],
    ),
    "the longer of two": (
        [
            ROBOTS_TXT,
            ask("/", 2, 3, status=429, answer={"retry-after": "60"}),
            ask("/x", 10, 11, status=429, answer={"retry-after": "1"}),
            ask("/y", 20, 21),
        ],
        [
            "a.test: /x 53.000 s before the end of a Retry-After",
            "a.test: /y 43.000 s before the end of a Retry-After",
        ],
    ),
    "no longer than is reasonable": (
        [ROBOTS_TXT, ask("/", 2, 3, status=429, answer={"retry-after": "999999"}), ask("/x", 103, 104)],
        [],
    ),
    "a Retry-After that says nothing": (
        [ROBOTS_TXT, ask("/", 2, 3, status=429, answer={"retry-after": "soon"}), ask("/x", 5, 6)],
        [],
    ),
    "a Retry-After with another status": (
        [ROBOTS_TXT, ask("/", 2, 3, answer={"retry-after": "60"}), ask("/x", 5, 6)],
        [],
    ),
    "a Retry-After of another host": (
        [ROBOTS_TXT, ask("/robots.txt", 0, 1, host="b.test", status=429, answer={"retry-after": "60"}), ask("/", 5, 6)],
        [],
    ),
    "a Retry-After that came later": (
        [ROBOTS_TXT, ask("/", 2, 4, status=429, answer={"retry-after": "2"}), ask("/x", 3, 3.5)],
        ["a.test: /x while / was being answered"],
    ),
    **{
        f"no {name}": ([ask("/robots.txt", 0, 1, without=name)], [f"a.test: /robots.txt without {name}"])
        for name in SELF
    },
    "an empty From": ([ask("/robots.txt", 0, 1, **{"from": ""})], ["a.test: /robots.txt without from"]),
    "From nobody": ([ask("/robots.txt", 0, 1, **{"from": "me"})], ["a.test: /robots.txt with from me"]),
    "a name without a version": (
        [ask("/robots.txt", 0, 1, user_agent="robot (+http://r.example/)")],
        ["a.test: /robots.txt with user-agent robot (+http://r.example/)"],
    ),
    "a name without a page about it": (
        [ask("/robots.txt", 0, 1, user_agent="robot/1.0")],
        ["a.test: /robots.txt with user-agent robot/1.0"],
    ),
    "a cookie": ([ask("/robots.txt", 0, 1, cookie="a=b")], ["a.test: /robots.txt with cookie"]),
    "a password": ([ask("/robots.txt", 0, 1, authorization="Basic")], ["a.test: /robots.txt with authorization"]),
    "a password for a proxy": (
        [ask("/robots.txt", 0, 1, proxy_authorization="Basic")],
        ["a.test: /robots.txt with proxy-authorization"],
    ),
    "told where the link was": ([ask("/robots.txt", 0, 1, referer="http://b.test/")], []),
    "told of a secure page": (
        [ask("/robots.txt", 0, 1, referer="https://b.test/")],
        ["a.test: /robots.txt with a Referer from https"],
    ),
}


@pytest.mark.parametrize(("requests", "found"), LOGS.values(), ids=LOGS)
def test_violations(requests, found):
    manners = Manners(lambda host: 1.0, robots_of={"a.test": ROBOTS}, longest_wait=100)
    assert violations(requests, manners) == found


TROUBLED = [
    ask("/robots.txt", 0, 1),
    ask("/", 3, 5, status=500),
    ask("/", 7, 8, status=0),
    ask("/", 12, 13),
    ask("/", 13, 14, status=429),
    ask("/", 15, 16),
]

# name: (what is expected, requests, what is found)
PACES = {
    "each host has its own delay": (
        Manners({"a.test": 2.0, "b.test": 5.0}.__getitem__),
        [ask(path, t, t, host=host) for host in ("a.test", "b.test") for path, t in (("/robots.txt", 0), ("/", 3))],
        ["b.test: / only 3.000 s after /robots.txt, not 5.000"],
    ),
    "a slow host rests as long as it worked": (
        Manners(lambda host: 1.0, response_factor=2.0),
        [ask("/robots.txt", 0, 0.1), ask("/", 1.1, 4.1), ask("/x", 10.1, 13.1), ask("/y", 19, 20)],
        ["a.test: /y only 5.900 s after /x, not 5.940"],
    ),
    "trouble in a row, and forgiven": (
        Manners(lambda host: 0.0, rest_after=lambda troubles: 2.0**troubles),
        TROUBLED,
        ["a.test: / only 1.000 s after /, not 2.000"],
    ),
    "and more of it": (
        Manners(lambda host: 0.0, rest_after=lambda troubles: 2.5**troubles),
        TROUBLED,
        [
            "a.test: / only 2.000 s after /, not 2.500",
            "a.test: / only 4.000 s after /, not 6.250",
            "a.test: / only 1.000 s after /, not 2.500",
        ],
    ),
}


@pytest.mark.parametrize(("manners", "requests", "found"), PACES.values(), ids=PACES)
def test_pauses(manners, requests, found):
    assert violations(requests, manners) == found


def shared(*visits):
    """Requests for robots.txt by (host, started, ended)."""
    return [ask("/robots.txt", started, ended, host=host) for host, started, ended in visits]


# name: (requests, what is found), where a.test and b.test share an address, with 2 s between them
SHARED = {
    "one after the other": (shared(("a.test", 0, 1), ("b.test", 3, 4)), []),
    "others do not count": (shared(("a.test", 0, 1), ("c.test", 0, 1)), []),
    "the same host has its own delay": ([*shared(("a.test", 0, 1)), ask("/", 2, 3)], []),
    "too early": (
        shared(("a.test", 0, 1), ("b.test", 2, 4)),
        ["1.2.3.4: b.test/robots.txt only 1.000 s after a.test/robots.txt, not 2.000"],
    ),
    "two at a time": (
        shared(("b.test", 0, 4), ("a.test", 2, 3)),
        ["1.2.3.4: a.test/robots.txt while b.test/robots.txt was being answered"],
    ),
    "one over several": (
        [*shared(("b.test", 0, 9), ("a.test", 2, 3)), ask("/", 4, 5)],
        [
            "1.2.3.4: a.test/robots.txt while b.test/robots.txt was being answered",
            "1.2.3.4: a.test/ while b.test/robots.txt was being answered",
        ],
    ),
}


@pytest.mark.parametrize(("requests", "found"), SHARED.values(), ids=SHARED)
def test_hosts_that_share_an_address(requests, found):
    address = {"a.test": "1.2.3.4", "b.test": "1.2.3.4", "c.test": "5.6.7.8"}
    assert violations(requests, Manners(lambda host: 1.0, group_of=address.__getitem__, shared_delay=2.0)) == found


def test_a_real_impolite_client_is_caught():
    arrived = threading.Event()

    def note_arrival(headers):
        arrived.set()
        return slow(2.0)  # the other request arrives meanwhile

    sites = {"a.test": {"/robots.txt": plain(ROBOTS), "/": note_arrival, "/private/x": "<p>secret"}}
    with Web(sites) as web:
        first, second = (http.client.HTTPConnection(web.authority("a.test"), timeout=60) for _ in range(2))
        first.request("GET", "/")
        assert arrived.wait(60)
        second.request("GET", "/private/x", headers={"User-Agent": "robot"})
        for connection in (first, second):
            connection.getresponse().read()
            connection.close()
        manners = Manners(lambda host: 0.0, robots_of={"a.test": ROBOTS}, required=["user-agent"])
        found = violations(web.requests, manners)
    assert found == [
        "a.test: / before /robots.txt",
        "a.test: /private/x before /robots.txt",
        "a.test: /private/x while / was being answered",
        "a.test: /private/x forbidden by /robots.txt",
        "a.test: / without user-agent",
        "a.test: /private/x with user-agent robot",
    ]
