"""What a log of nginx can say: its lines are read, and a return to an earlier connection is found."""

import pytest

from tests.support.access_log import connection_returns, parse_nginx
from tests.support.web import Request


def ask(host, path, time, connection):
    return Request(host, "GET", path, {}, time, time, time, 200, connection)


# name: (connections by time of use, whether an earlier one comes back)
CONNECTIONS = {
    "one": ([1, 1, 1], False),
    "reopened": ([1, 1, 2, 2, 3], False),
    "two in turns": ([1, 2, 1], True),
}


@pytest.mark.parametrize(("connections", "found"), CONNECTIONS.values(), ids=CONNECTIONS)
def test_returns_to_a_connection(connections, found):
    requests = [ask("a.test", f"/{i}", i, number) for i, number in enumerate(connections)]
    assert connection_returns(requests) == ["a.test: /2 on connection 1, after another was used"] * found


def test_connections_of_other_hosts_do_not_count():
    requests = [ask(host, "/", i, i % 2) for i, host in enumerate(["a", "b", "a", "b"])]
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
