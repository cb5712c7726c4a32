"""What a server's log says about a crawler's manners: a checker that shares no code with the crawler."""

import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin, urlsplit

from protego import Protego

from tests.support.web import Request

ROBOTS = "/robots.txt"
IDENTITY = ("user-agent", "from", "accept", "accept-encoding", "accept-language")

_HOUR, _DAY = 3600.0, 86_400.0
_FORMS = {"user-agent": r"[A-Za-z_-]+/[\w.+-]+ \(\+https?://[^\s()]+\)", "from": r"[^@\s]+@[^@\s]+"}
_SECRETS = {"authorization", "cookie", "proxy-authorization"}

# log_format '$msec $server_addr $connection $connection_requests $status $body_bytes_sent
#             "$request_method $request_uri" "$http_user_agent" …'
_NGINX_LINE = re.compile(
    r"(?P<time>[\d.]+) (?P<host>\S+) (?P<connection>\d+) \d+ (?P<status>\d+) \d+"
    r' "(?P<method>\S+) (?P<path>\S*)" "(?P<agent>[^"]*)"'
)


@dataclasses.dataclass(frozen=True)
class Manners:
    """What the hosts of a log expect, in seconds; what is not set is not expected."""

    delay_of: Callable[[str], float]
    """From an answer of a host to the next request."""
    response_factor: float = 0.0
    """The same, as a multiple of the time that the answer took."""
    rest_after: Callable[[int], float] = lambda troubles: 0.0
    """The same after trouble, by how much there was in a row (at least 1): no answer, 429 or 5xx."""
    robots_of: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The robots.txt of those hosts that forbid anything."""
    group_of: Callable[[str], str] | None = None
    """The address or domain that a host shares with others: they are asked one at a time, too."""
    shared_delay: float = 0.0
    """From an answer of one host of a group to the next request to another."""
    longest_wait: float = 86_400.0
    """No Retry-After has to be honoured for longer."""
    required: Sequence[str] = IDENTITY
    """Headers of every request; a log of nginx knows the first only."""
    tolerance: float = 0.005


def violations(requests: Iterable[Request], manners: Manners) -> list[str]:
    """Every breach of good manners in a log, one sentence each, by host; empty is what a crawler wants.

    On each host robots.txt comes first, nothing else is asked for until it was answered (RFC 9309, 2.3.1.4: 429 and
    5xx are none), and it is asked for again when it is no longer fresh (RFC 9111). Where another host's robots.txt was
    moved to may be asked at any time (RFC 9309, 2.3.1.2). One request at a time; pauses as `manners` has them, and as
    Retry-After says with 429 and 503 (RFC 9110, 10.2.3); nothing that robots.txt forbids to the request's User-Agent;
    each request says who asks, and carries nothing secret.
    """
    found = []
    in_order = sorted(requests, key=lambda request: request.started)
    moved = _moved_robots(in_order)
    by_host = _grouped(in_order, lambda host: host)
    for host, visits in sorted(by_host.items()):
        problems = [
            *_robots_problems(visits, moved),
            *_pace_problems(visits, manners),
            *_too_soon(visits, manners),
            *_forbidden(visits, manners.robots_of.get(host, ""), moved),
            *(problem for visit in visits for problem in _header_problems(visit, manners.required)),
        ]
        found += [f"{host}: {problem}" for problem in problems]
    if manners.group_of:
        for group, visits in sorted(_grouped(in_order, manners.group_of).items()):
            found += [f"{group}: {problem}" for problem in _shared_pace_problems(visits, manners)]
    return found


def _grouped(requests: Iterable[Request], group_of: Callable[[str], str]) -> dict[str, list[Request]]:
    groups: dict[str, list[Request]] = {}
    for request in requests:
        groups.setdefault(group_of(request.host), []).append(request)
    return groups


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


def _moved_robots(requests: Iterable[Request]) -> Counter[tuple[str, str]]:
    """The (host, path)s to which requests for robots.txt were redirected, and how often each."""
    moved: Counter[tuple[str, str]] = Counter()
    for request in requests:
        asked = request.host, request.path
        if 300 <= request.status < 400 and (request.path == ROBOTS or asked in moved):
            target = urlsplit(urljoin(f"http://{request.host}{request.path}", request.answered.get("location", "")))
            moved[target.netloc, target.path] += 1
    return moved


def _robots_problems(visits: list[Request], moved: Counter[tuple[str, str]]) -> Iterable[str]:
    last, answered = None, False  # once it was answered, that copy counts for a day if no other can be had
    errands = moved[visits[0].host, ROBOTS]
    for visit in visits:
        if visit.path == ROBOTS:
            fresh = _lifetime(last) if last else 0.0
            if last and (age := visit.started - last.ended) < fresh:
                errands -= 1
                if errands < 0:
                    yield f"{ROBOTS} again after {age:.3f} s, fresh for {fresh:.0f}"
            last, answered = visit, answered or not _trouble(visit)
        elif (visit.host, visit.path) not in moved and not answered:
            yield f"{visit.path} though {ROBOTS} answered {last.status}" if last else f"{visit.path} before {ROBOTS}"


def _lifetime(robots: Request) -> float:
    """Seconds for which an answer to a request for robots.txt holds (RFC 9111, 5.2.2; RFC 9309, 2.4): else an hour."""
    if _trouble(robots):
        return 0.0
    control = robots.answered.get("cache-control", "").lower()
    if re.search(r"no-store|no-cache", control):
        return 0.0
    age = re.search(r"max-age=(\d+)", control)
    return min(float(age[1]), _DAY) if age else _HOUR


def _trouble(visit: Request) -> bool:
    return visit.status in (0, 429) or visit.status >= 500


def _steps(visits: Iterable[Request]) -> Iterable[tuple[Request, Request, float]]:
    """(the request whose answer ended last, the next one, seconds between), in order of time."""
    latest = None
    for visit in visits:
        if latest:
            yield latest, visit, visit.started - latest.ended
        # Not only neighbours overlap: a long answer may outlast several that came after it.
        latest = max(latest or visit, visit, key=lambda request: request.ended)


_SEEN = 0.99
"""Share of the duration of an answer that the client is known to have seen."""


def _pace_problems(visits: list[Request], manners: Manners) -> Iterable[str]:
    delay = manners.delay_of(visits[0].host)
    troubles = 0
    for latest, visit, gap in _steps(visits):
        troubles = troubles + 1 if _trouble(latest) else 0
        rest = manners.rest_after(troubles) if troubles else 0.0
        # The client times the answer itself: on a busy machine its clock may start some milliseconds later.
        answer = _SEEN * (latest.ended - latest.started)
        least = max(delay, manners.response_factor * answer, rest)
        if gap < 0:
            yield f"{visit.path} while {latest.path} was being answered"
        elif gap < least - manners.tolerance:
            yield f"{visit.path} only {gap:.3f} s after {latest.path}, not {least:.3f}"


def _shared_pace_problems(visits: list[Request], manners: Manners) -> Iterable[str]:
    for latest, visit, gap in _steps(visits):
        names = f"{visit.host}{visit.path}", f"{latest.host}{latest.path}"
        if visit.host != latest.host and gap < 0:
            yield f"{names[0]} while {names[1]} was being answered"
        elif visit.host != latest.host and gap < manners.shared_delay - manners.tolerance:
            yield f"{names[0]} only {gap:.3f} s after {names[1]}, not {manners.shared_delay:.3f}"


def _too_soon(visits: list[Request], manners: Manners) -> Iterable[str]:
    """Requests before the time that the host named in an earlier answer."""
    closed: list[tuple[float, float]] = []  # from, until
    for visit in visits:
        early = max((until - visit.started for since, until in closed if since <= visit.started), default=0.0)
        if early > manners.tolerance:
            yield f"{visit.path} {early:.3f} s before the end of a Retry-After"
        if visit.status in (429, 503) and "retry-after" in visit.answered:
            closed.append((visit.ended, visit.ended + min(_retry_after(visit), manners.longest_wait)))


def _retry_after(visit: Request) -> float:
    """Seconds from the end of an answer to the moment that its Retry-After names; 0 if it names none."""
    value = visit.answered["retry-after"]
    if value.isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value).timestamp()
    except ValueError:
        return 0.0
    return moment - (visit.wall + visit.ended - visit.started)


def _header_problems(visit: Request, required: Sequence[str]) -> Iterable[str]:
    for name in required:
        value = visit.headers.get(name)
        if not value:
            yield f"{visit.path} without {name}"
        elif not re.fullmatch(_FORMS.get(name, ".*"), value):
            yield f"{visit.path} with {name} {value}"
    for name in _SECRETS & visit.headers.keys():
        yield f"{visit.path} with {name}"
    if visit.headers.get("referer", "").lower().startswith("https:"):  # every log here is that of an http server
        yield f"{visit.path} with a Referer from https"


def _forbidden(visits: list[Request], robots: str, moved: Counter[tuple[str, str]]) -> Iterable[str]:
    rules = Protego.parse(robots)
    for visit in visits:
        product = re.split(r"[/\s]", visit.headers.get("user-agent", ""))[0]
        free = visit.path == ROBOTS or (visit.host, visit.path) in moved
        if not free and not rules.can_fetch(f"http://{visit.host}{visit.path}", product or "*"):
            yield f"{visit.path} forbidden by {ROBOTS}"
