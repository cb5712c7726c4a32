"""The checker finds each kind of bad manners, and nothing in a log without any."""

import http.client
import threading

import pytest

from tests.access_log import connection_returns, parse_nginx, violations
from tests.web import Request, Web, plain, slow

ROBOTS = "User-agent: *\nDisallow: /private/\nAllow: /private/open\n\nUser-agent: other\nDisallow: /\n"


def ask(path, started, ended, *, host="a.test", agent="robot/1.0 (+http://r.example/)", connection=1):
    headers = {"user-agent": agent} if agent else {}
    return Request(host, "GET", path, headers, started, ended, 1e9, 200, connection)


ROBOTS_TXT = ask("/robots.txt", 0.0, 0.1)

# name: (requests, what is found), with a delay of 1 s and ROBOTS on a.test
LOGS = {
    "nothing asked": ([], []),
    "good manners": ([ROBOTS_TXT, ask("/", 1.1, 1.2), ask("/x", 2.3, 9), ask("/y", 10, 11)], []),
    "hosts at the same time": ([ROBOTS_TXT, ask("/robots.txt", 0.05, 0.1, host="b.test")], []),
    "within the tolerance": ([ROBOTS_TXT, ask("/", 1.096, 1.2)], []),
    "in any order of the log": ([ask("/", 1.1, 1.2), ROBOTS_TXT], []),
    "no robots.txt": ([ask("/", 0, 1)], ["a.test: /robots.txt asked for 0 times"]),
    "robots.txt late": (
        [ask("/", 0, 1), ask("/robots.txt", 2, 3)],
        ["a.test: / before /robots.txt"],
    ),
    "robots.txt twice": (
        [ROBOTS_TXT, ask("/robots.txt", 2, 3)],
        ["a.test: /robots.txt asked for 2 times"],
    ),
    "robots.txt of another host": (
        [ROBOTS_TXT, ask("/", 2, 3, host="b.test")],
        ["b.test: /robots.txt asked for 0 times"],
    ),
    "too early": ([ROBOTS_TXT, ask("/", 1.09, 1.2)], ["a.test: / only 0.990 s after /robots.txt"]),
    "at the very end": ([ROBOTS_TXT, ask("/", 0.1, 1.2)], ["a.test: / only 0.000 s after /robots.txt"]),
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
        [ROBOTS_TXT, ask("/", 2, 3, agent="other/2")],
        ["a.test: / forbidden by /robots.txt"],
    ),
    "no rules for this host": (
        [ask("/robots.txt", 0, 1, host="b.test"), ask("/private/x", 2, 3, host="b.test")],
        [],
    ),
    "no User-Agent": ([ask("/robots.txt", 0, 1, agent="")], ["a.test: /robots.txt without a User-Agent"]),
}


@pytest.mark.parametrize(("requests", "found"), LOGS.values(), ids=LOGS)
def test_violations(requests, found):
    assert violations(requests, delay_of=lambda host: 1.0, robots_of={"a.test": ROBOTS}) == found


def test_each_host_has_its_own_delay():
    hosts = ("a.test", "b.test")
    requests = [ask(p, t, t, host=h) for h in hosts for p, t in (("/robots.txt", 0), ("/", 3))]
    assert violations(requests, delay_of={"a.test": 2.0, "b.test": 5.0}.__getitem__) == [
        "b.test: / only 3.000 s after /robots.txt"
    ]


# name: (connections by time of use, whether an earlier one comes back)
CONNECTIONS = {
    "one": ([1, 1, 1], False),
    "reopened": ([1, 1, 2, 2, 3], False),
    "two in turns": ([1, 2, 1], True),
}


@pytest.mark.parametrize(("connections", "found"), CONNECTIONS.values(), ids=CONNECTIONS)
def test_returns_to_a_connection(connections, found):
    requests = [ask(f"/{i}", i, i, connection=number) for i, number in enumerate(connections)]
    assert connection_returns(requests) == ["a.test: /2 on connection 1, after another was used"] * found


def test_connections_of_other_hosts_do_not_count():
    requests = [ask("/", i, i, host=host, connection=i % 2) for i, host in enumerate(["a", "b", "a", "b"])]
    assert connection_returns(requests) == []


def test_parse_nginx():
    first, second = parse_nginx(
        [
            '1763650000.123 127.0.1.1 7 1 200 42 "GET /robots.txt" "robot/1 (+http://r.example/)" inm=-\n',
            '1763650001.000 127.0.1.2 8 3 404 0 "HEAD /a?b=c" "-" inm="x"\n',
        ]
    )
    assert first == Request(
        host="127.0.1.1",
        method="GET",
        path="/robots.txt",
        headers={"user-agent": "robot/1 (+http://r.example/)"},
        started=1763650000.123,
        ended=1763650000.123,
        wall=1763650000.123,
        status=200,
        connection=7,
    )
    assert (second.host, second.method, second.path, second.headers) == ("127.0.1.2", "HEAD", "/a?b=c", {})
    assert (second.status, second.connection) == (404, 8)


def test_a_line_that_is_none_is_named():
    with pytest.raises(ValueError, match="not a line of the log: 'oops'"):
        parse_nginx(["oops"])


def test_a_real_impolite_client_is_caught():
    arrived = threading.Event()

    def note_arrival(headers):
        arrived.set()
        return slow(0.2)

    sites = {"a.test": {"/robots.txt": plain(ROBOTS), "/": note_arrival, "/private/x": "<p>secret"}}
    with Web(sites) as web:
        first, second = (http.client.HTTPConnection(web.authority("a.test"), timeout=10) for _ in range(2))
        first.request("GET", "/")
        assert arrived.wait(10)
        second.request("GET", "/private/x", headers={"User-Agent": "robot"})
        for connection in (first, second):
            connection.getresponse().read()
            connection.close()
        found = violations(web.requests, delay_of=lambda host: 0.0, robots_of={"a.test": ROBOTS})
    assert found == [
        "a.test: /robots.txt asked for 0 times",
        "a.test: /private/x while / was being answered",
        "a.test: /private/x forbidden by /robots.txt",
        "a.test: / without a User-Agent",
    ]
