"""What a server's log says about a crawler's manners: a checker that shares no code with the crawler."""

import itertools
import re
from collections.abc import Callable, Iterable, Mapping

from protego import Protego

from tests.web import Request

ROBOTS = "/robots.txt"

# log_format '$msec $server_addr $connection $connection_requests $status $body_bytes_sent
#             "$request_method $request_uri" "$http_user_agent" …'
_NGINX_LINE = re.compile(
    r"(?P<time>[\d.]+) (?P<host>\S+) (?P<connection>\d+) \d+ (?P<status>\d+) \d+"
    r' "(?P<method>\S+) (?P<path>\S*)" "(?P<agent>[^"]*)"'
)


def violations(
    requests: Iterable[Request],
    delay_of: Callable[[str], float],
    robots_of: Mapping[str, str] | None = None,
    tolerance: float = 0.005,
) -> list[str]:
    """Every breach of good manners in a log, one sentence each, by host; empty is what a crawler wants.

    On each host robots.txt comes first and once; one request at a time; from an answer to the next request
    at least `delay_of(host)` seconds, less the tolerance; nothing that the host's text in `robots_of`
    forbids to the request's User-Agent; a User-Agent on each.
    """
    found = []
    in_order = sorted(requests, key=lambda request: (request.host, request.started))
    for host, group in itertools.groupby(in_order, key=lambda request: request.host):
        visits = list(group)
        problems = [
            *_robots_problems(visits),
            *_pace_problems(visits, delay_of(host) - tolerance),
            *_forbidden(visits, (robots_of or {}).get(host, "")),
            *(f"{visit.path} without a User-Agent" for visit in visits if not _agent(visit)),
        ]
        found += [f"{host}: {problem}" for problem in problems]
    return found


def connection_returns(requests: Iterable[Request]) -> list[str]:
    """Returns to a connection after another was used: for logs without starts, a sign of two at a time."""
    found = []
    in_order = sorted(requests, key=lambda request: (request.host, request.ended))
    for host, visits in itertools.groupby(in_order, key=lambda request: request.host):
        runs = itertools.groupby(visits, key=lambda visit: visit.connection)
        seen: set[int] = set()
        for connection, run in runs:
            if connection in seen:
                found.append(f"{host}: {next(run).path} on connection {connection}, after another was used")
            seen.add(connection)
    return found


def parse_nginx(lines: Iterable[str]) -> list[Request]:
    """The requests in a log of nginx in the format above; ValueError names a line that is not.

    Such a log has ends only: `started` is the same as `ended`. So overlaps cannot be seen in it, and a gap
    looks longer than it was by the time that the second answer took.
    """
    requests = []
    for line in lines:
        match = _NGINX_LINE.match(line)
        if match is None:
            raise ValueError(f"not a line of the log: {line!r}")
        time = float(match["time"])
        headers = {} if match["agent"] == "-" else {"user-agent": match["agent"]}
        requests.append(
            Request(
                host=match["host"],
                method=match["method"],
                path=match["path"],
                headers=headers,
                started=time,
                ended=time,
                wall=time,
                status=int(match["status"]),
                connection=int(match["connection"]),
            )
        )
    return requests


def _robots_problems(visits: list[Request]) -> Iterable[str]:
    count = sum(visit.path == ROBOTS for visit in visits)
    if count != 1:
        yield f"{ROBOTS} asked for {count} times"
    if count and visits[0].path != ROBOTS:
        yield f"{visits[0].path} before {ROBOTS}"


def _pace_problems(visits: list[Request], least: float) -> Iterable[str]:
    # Not only neighbours overlap: a long answer may outlast several that came after it.
    latest = visits[0]
    for visit in visits[1:]:
        gap = visit.started - latest.ended
        if gap < 0:
            yield f"{visit.path} while {latest.path} was being answered"
        elif gap < least:
            yield f"{visit.path} only {gap:.3f} s after {latest.path}"
        latest = max(latest, visit, key=lambda request: request.ended)


def _forbidden(visits: list[Request], robots: str) -> Iterable[str]:
    rules = Protego.parse(robots)
    for visit in visits:
        product = re.split(r"[/\s]", _agent(visit))[0]
        if visit.path != ROBOTS and not rules.can_fetch(f"http://{visit.host}{visit.path}", product or "*"):
            yield f"{visit.path} forbidden by {ROBOTS}"


def _agent(visit: Request) -> str:
    return visit.headers.get("user-agent", "")
