"""The ports of a name are one host to politeness; each origin has its own robots.txt (docs/politeness.md, Ports)."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from beamtrawl.pipeline.held_hosts import held_hosts
from beamtrawl.transforms.http.reply import Reply
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.politeness.backoff import name_ready_at
from beamtrawl.transforms.politeness.host_queue import HostTurn
from beamtrawl.transforms.politeness.url_queue import UrlQueue
from beamtrawl.transforms.settings import Politeness
from beamtrawl.transforms.urls.canonical import host_name
from tests.support import access_log
from tests.support.crawls import crawl
from tests.support.scheduled_rounds import Round, due, outcomes, pages, turns
from tests.support.servers import PAGE, Servers, Wait
from tests.support.simulation import SimulatedTime, SimulatedWeb, run_round
from tests.support.web import Page, Request, Web, html, plain, slow, status

NAMES = [
    ("a.org", "a.org"),
    ("a.org:8080", "a.org"),
    ("127.0.0.1:1", "127.0.0.1"),
    ("[::1]:80", "[::1]"),
    ("[::1]", "[::1]"),
]


def test_the_name_of_a_host_is_without_its_port() -> None:
    assert [host_name(host) for host, _ in NAMES] == [name for _, name in NAMES]


def round_of_ports(servers: Servers, *queues: list[str], **changes: object) -> Round:
    """A round of some ports of one name, whose queues are added as a fetch step adds them."""
    round_ = Round(servers, **changes)  # type: ignore[arg-type]
    hosts = [due(queue[0]).host for queue in queues]
    name = host_name(hosts[0])
    round_.scheduler.add(name, [HostTurn(h, UrlQueue(map(due, q))) for h, q in zip(hosts, queues, strict=True)])
    return round_


def ports(count: int, pages_each: int = 1) -> list[list[str]]:
    return [pages(f"a.test:{8000 + number}", pages_each) for number in range(count)]


def manners(delay: float) -> access_log.Manners:
    return access_log.Manners(lambda host: delay, group_of=host_name, shared_delay=delay, required=())


@pytest.mark.parametrize("scope", ["host", "domain", "address"])
def test_ports_of_a_name_get_one_request_at_a_time_with_the_whole_delay(scope: str) -> None:
    servers = Servers({"*": Wait(0.3)})
    changes = {"politeness__delay": 1.0, "politeness__shared_delay": 0.1, "politeness__scope": scope}
    events = round_of_ports(servers, *ports(5, 2), seconds=100.0, **changes).run()
    assert set(outcomes(events).values()) == {"fetched"}
    assert access_log.violations(servers.requests, manners(1.0)) == []


def test_a_crawl_delay_of_one_port_holds_between_all_of_them() -> None:
    rules = Reply(200, (), b"User-agent: *\nCrawl-delay: 4")
    servers = Servers({"http://a.test:8000/robots.txt": rules, "*": PAGE})
    round_of_ports(servers, *ports(2, 4), seconds=200.0, politeness__delay=1.0).run()
    after = [request.started for request in servers.requests if request.path != "/robots.txt"]
    assert min(b - a for a, b in pairwise(after)) >= 4


# What a port answers to its page: does it stop the other port for a while?
REPLIES = {
    "429 with Retry-After": (Reply(429, [("Retry-After", "90")]), 90.0),
    "503 with Retry-After": (Reply(503, [("Retry-After", "40")]), 40.0),
    "500": (Reply(500), 2.0),
    "refused": (Reply(failure=Outcome.CONNECT_ERROR), 2.0),
}


@pytest.mark.parametrize(("reply", "least"), REPLIES.values(), ids=REPLIES)
def test_what_a_port_says_of_the_whole_server_holds_for_its_other_ports(reply: Reply, least: float) -> None:
    servers = Servers({"http://a.test:8000/0": reply, "*": Wait(0.1)})
    round_ = round_of_ports(
        servers,
        pages("a.test:8000", 1),
        pages("a.test:8001", 400),
        seconds=400.0,
        politeness__delay=0.5,
        politeness__backoff=2.0,
    )
    round_.run()
    (failed,) = [request.ended for request in servers.requests if request.path == "/0" and ":8000" in request.host][:1]
    later = [request.started for request in servers.requests if request.started >= failed and ":8001" in request.host]
    assert not later or later[0] - failed >= least


def test_a_retry_after_of_a_robots_txt_holds_for_the_other_ports_and_in_later_rounds() -> None:
    said = Reply(429, [("Retry-After", "90")])
    servers = Servers({"http://a.test:8000/robots.txt": said, "*": Wait(0.1)})
    events = round_of_ports(servers, *ports(2, 300), seconds=1000.0, politeness__delay=0.5).run()
    (ended,) = [r.ended for r in servers.requests if r.host == "a.test:8000"][:1]
    assert not [r for r in servers.requests if ended < r.started < ended + 90]
    row = turns(events)["a.test:8000"]
    ready_at = name_ready_at(row, Politeness())
    assert ready_at
    assert ready_at >= row["last_fetched_at"] + timedelta(seconds=89)


def test_a_dead_port_does_not_stop_the_others() -> None:
    servers = Servers({f"http://a.test:8000{path}": Reply(failure=Outcome.CONNECT_ERROR) for path in ("/robots.txt",)})
    events = round_of_ports(servers, *ports(2, 20), seconds=120.0, politeness__delay=1.0).run()
    ends = outcomes(events)
    assert {end for url, end in ends.items() if ":8001" in url} == {"fetched"}
    assert servers.requests[-1].ended < 30


def row_of(host: str, held_by: str, minutes: float, answered: datetime) -> dict[str, object]:
    return {
        "host": host,
        "round": 1,
        "last_fetched_at": answered,
        "last_elapsed_ms": 0.0,
        "failures_in_row": 0,
        "crawl_delay": 3.0,
        "not_before": answered + timedelta(minutes=minutes),
        "held_by": held_by,
    }


def test_the_strictest_pause_of_any_port_holds_for_the_name_in_the_next_round() -> None:
    """Rows of crawls before the ports of a name were one: no migration, and no promise is lost."""
    now = datetime(2026, 5, 1, tzinfo=UTC)
    rows = [
        row_of("a.org:81", "retry_after", 60, now),
        row_of("a.org", "delay", 0, now),
        row_of("b.org:81", "dead", 60, now),
    ]
    held = held_hosts("", [], rows, Politeness(), now)  # type: ignore[arg-type]
    assert held.names == {"a.org": now + timedelta(minutes=60), "b.org": now + timedelta(seconds=3)}


def test_forty_ports_of_a_name_are_crawled_at_the_rate_of_one_host(tmp_path) -> None:
    """What the issue saw: 160 requests in 4.3 s, 40 at once, with a delay of a second."""
    names = [f"p{number}.test" for number in range(12)]
    sites = {name: {"/": html(name)} for name in names} | {
        "p0.test": {"/": html("All", links=map("http://{}/".format, names))}
    }
    with Web(sites, one_address=True) as web:
        crawl(tmp_path, [web.url("p0.test")], scope__mode="any", politeness__delay=0.1)
        requests = web.requests
    assert len(requests) == 24  # a page and a robots.txt each
    shared = access_log.Manners(lambda host: 0.1, group_of=lambda host: "one", shared_delay=0.1, required=())
    assert access_log.violations(requests, shared) == []


NUMBERS = range(400)


def wide_web() -> dict[str, dict[str, Page]]:
    """400 names with one to four ports each: a third with a Crawl-delay on one port, a tenth dead, some overloaded."""
    sites: dict[str, dict[str, Page]] = {}
    for number in NUMBERS:
        for port in range(1 + number % 4):
            host = f"n{number}.test" + (f":{8000 + port}" if port else "")
            delay = 2 + number % 3 if number % 3 == 0 and port == number % 4 else 0
            rules = plain("User-agent: *\n" + (f"Crawl-delay: {delay}\n" if delay else "Disallow: /x\n"))
            pages = {path: slow(0.02 * (number % 9), html(path)) for path in ("/", "/a", "/b")}
            sites[host] = {"/robots.txt": rules} | pages
            if number % 10 == 1:
                sites[host] = {}
            elif number % 10 == 2 and port == 1:
                sites[host]["/a"] = status(429, Retry_After="6")
    return sites


@pytest.mark.slow("whole crawls")
def test_a_web_of_400_names_with_several_ports_each_is_asked_as_if_each_were_one_host() -> None:
    time = SimulatedTime()
    sites = wide_web()
    web = SimulatedWeb(sites, time)
    urls = [web.url(host, path) for host in sites for path in ("/", "/a", "/b")]
    ends = outcomes(run_round(web, urls, 3600.0, queue_of=host_name, politeness__delay=1.0, politeness__backoff=2.0))
    assert len(ends) == len(urls)
    delays = {host: 2 + number % 3 for number in NUMBERS for host in [f"n{number}.test"] if number % 3 == 0}
    expected = access_log.Manners(
        lambda host: 1.0,
        rest_after=lambda troubles: 2.0,
        group_of=host_name,
        shared_delay=1.0,
        required=(),
        tolerance=1e-6,
    )
    assert access_log.violations(web.requests, expected) == []
    # After all robots.txt files of a name were answered, its largest Crawl-delay holds between all of its ports.
    asked: dict[str, list[Request]] = {}
    for request in web.requests:
        asked.setdefault(host_name(request.host), []).append(request)
    for name, requests in asked.items():
        since = max(request.ended for request in requests if request.path == "/robots.txt")
        later = [request for request in requests if request.started >= since]
        gaps = [b.started - a.ended for a, b in pairwise(later)]
        assert not gaps or min(gaps) >= delays.get(name, 1.0) - 1e-6, name
        closed = [request.ended for request in requests if request.status == 429]
        assert not [r for r in requests for end in closed if end < r.started < end + 6], name
