"""Whatever a server does, its visit ends in time and as it should, and the next page is none the worse for it."""

import contextlib
import gc
import multiprocessing
import re
import resource
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.transforms.directory.crawl_dir import Manifest
from beamtrawl.transforms.http.client import Client, opener
from beamtrawl.transforms.http.reply import Reply, outcome
from beamtrawl.transforms.http.request_headers import Identity
from beamtrawl.transforms.http.response_body import CUT
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.robots import lookup
from beamtrawl.transforms.robots.rules import Verdict, parse, verdict_of
from beamtrawl.transforms.settings import Fetch, Robot
from tests.support.crawls import Silent, crawl, frontier, rows
from tests.support.hostile import FAULTS
from tests.support.hostile_host import NEXT_PAGE, At, Fault, host, keep
from tests.support.raw import serve

LIMIT = 200_000
PATIENT = {"connect_timeout": 15.0, "read_timeout": 15.0, "total_timeout": 30.0}
HASTY = {"connect_timeout": 3.0, "read_timeout": 3.0, "total_timeout": 4.0}  # for what takes as long as it may
SECONDS = 10.0  # the latest end of a request, on a busy machine
IDENTITY = Identity.of(Robot())


@pytest.fixture(scope="module", autouse=True)
def _no_long_collections() -> None:
    """A full collection of what earlier tests have left may take as long as a fault may last."""
    gc.collect()
    gc.freeze()


class Asking:
    """Asks for one thing after another; what takes too long is cut as the scheduler does it."""

    def __init__(self, pool: ThreadPoolExecutor, client: Client, patience: float) -> None:
        self._pool = pool
        self._client = client
        self._patience = patience

    def get(self, url: str, any_type: bool = False) -> Reply:
        """The reply; TimeoutError if there is none after SECONDS."""
        request = self._pool.submit(self._client.get, url, IDENTITY.headers(url), any_type)
        ends, patience = time.monotonic() + SECONDS, self._patience
        while True:
            try:
                return request.result(patience)
            except TimeoutError:
                if time.monotonic() > ends:
                    raise
            self._client.abort()
            patience = 0.1

    def robots(self, origin: str) -> Reply:
        """robots.txt of an origin, or wherever that leads."""
        search = lookup.start_search(origin, depth=0)
        while True:
            reply = self.get(search.url, any_type=True)
            if (further := lookup.next_hop(search, reply)) is None:
                return reply
            search = further


def page_outcome(url: str, robots: Reply) -> Outcome:
    """What an answer to robots.txt means for a page."""
    verdict = verdict_of(lookup.answered_status(robots))
    if verdict is Verdict.UNREACHABLE:
        return Outcome.UNREACHABLE_ROBOTS
    if verdict is Verdict.RULES:
        allowed = parse(robots.body, IDENTITY.token).allows(url)[0]
    else:
        allowed = verdict is Verdict.ALLOW_ALL
    return Outcome.FETCHED if allowed else Outcome.DENIED_ROBOTS


ENDLESS = {name: fault for name, fault in FAULTS.items() if fault.is_endless}
OTHERS = {name: fault for name, fault in FAULTS.items() if not fault.is_endless}


@pytest.mark.parametrize("fault", OTHERS.values(), ids=OTHERS)
def test_a_fault_ends_as_it_should_and_stays_alone(fault: Fault) -> None:
    check(fault)


def test_so_do_faults_that_take_as_long_as_they_may() -> None:
    """All at once, with a time that is long for the honest answers between them, on a busy machine too."""
    with ThreadPoolExecutor(len(ENDLESS)) as pool:
        checks = {name: pool.submit(check, fault) for name, fault in ENDLESS.items()}
    assert {name: error for name, end in checks.items() if (error := end.exception())} == {}


def check(fault: Fault) -> None:
    fetch = Fetch(
        **(HASTY if fault.is_endless else PATIENT),
        max_body_bytes=LIMIT,
        allow_addresses=["127.0.0.0/8"],
        verify_tls=fault.at is not At.INSIDE_TLS,
    )
    with contextlib.ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(1))  # left last: it waits for what the others cut
        client = stack.enter_context(contextlib.closing(opener(fetch, public=True)()))
        server = stack.enter_context(serve(host(fault)))
        asking, url = Asking(pool, client, fetch.total_timeout), server.url("/fault", fault.scheme)
        around = "https" if fault.at is At.INSIDE_TLS else "http"  # no handshake of the other faults succeeds
        if fault.at is At.ROBOTS:
            reply = asking.robots(server.url(""))
            end = page_outcome(url, reply)
        else:
            asking.get(server.url("/robots.txt", around), any_type=True)
            reply = asking.get(url)
            end = outcome(url, reply, conditional=False)
        following = asking.get(server.url("/next", around))
    assert end == fault.outcome, reply.error
    assert reply.elapsed_s < SECONDS
    assert len(reply.body) <= LIMIT
    assert sum(len(name) + len(value) for name, value in reply.headers) <= fetch.max_header_bytes
    # They are rows of a table, and some are sent back (ETag): what would end a header must not be in one.
    assert not any(re.search("[\r\n\0]", name + value) for name, value in reply.headers)
    if end is Outcome.FETCHED and fault.at is not At.ROBOTS:
        assert reply.truncated == (fault.body is None or reply.error == CUT)
        assert len(reply.body) == (LIMIT if fault.body is None else len(fault.body))
        assert fault.body in (None, reply.body)
    assert (following.status, following.body, following.failure) == (200, NEXT_PAGE, None)


BUNDLE: dict[str, Any] = {
    # All hosts live in one process: on a busy machine an honest answer of theirs may take seconds.
    "fetch__read_timeout": 5.0,
    "fetch__total_timeout": 8.0,  # headers that drip are fewer than a hundred by then
    "fetch__max_body_bytes": 750_000,
    # No host rests after trouble: its next page is asked for in the same round.
    "politeness__longest_backoff": 0.0,
    "politeness__response_factor": 0.0,
}
# A million pieces, up to the limit for a body, take longer than a request may: it could end either way.
TOO_MANY_PIECES = "content: tiny chunks without end"
BUNDLE_SECONDS = 240.0
BUNDLE_BYTES = 100_000_000


class Gauge(Silent):
    """Notes how much memory this process has taken at most, in bytes, when a step is done."""

    def __init__(self) -> None:
        super().__init__()
        self.peaks: dict[str, int] = {}

    def step_committed(self, manifest: Manifest) -> None:
        self.peaks[manifest.step] = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def crawl_and_measure(path: Path, healthy: str, seeds: list[str], result: Connection) -> None:
    """Crawl one page, then all seeds in one round; send by how many bytes fetching them has made the process grow."""
    base, gauge = Gauge(), Gauge()
    crawl(path / "base", [healthy], rounds=1, observer=base, **BUNDLE)
    gc.collect()
    crawl(path / "all", seeds, rounds=1, observer=gauge, **BUNDLE)
    result.send(gauge.peaks["fetch"] - base.peaks["update"])


def outcome_in_a_crawl(fault: Fault, path: str) -> Outcome:
    """How a visit ends where robots.txt is asked for first, on the same connection."""
    if path == "/next":
        return fault.outcome if fault.at is At.ROBOTS else Outcome.FETCHED
    return Outcome.UNREACHABLE_ROBOTS if fault.scheme == "https" else fault.outcome


@pytest.mark.slow("real clock")
def test_all_faults_in_one_bundle(tmp_path: Path) -> None:
    """A host with each fault, all in one round: every page ends as it should, once, and memory is bounded."""
    # Not a fresh interpreter: that would count the peak of this process as its own, because exec keeps it.
    processes = multiprocessing.get_context("forkserver")
    receiver, sender = processes.Pipe(duplex=False)
    pages: dict[str, tuple[str, Outcome]] = {}
    with contextlib.ExitStack() as stack:
        for name, fault in FAULTS.items():
            if name == TOO_MANY_PIECES:
                continue
            server = stack.enter_context(serve(host(fault)))
            for path, scheme in (("/fault", fault.scheme), ("/next", "http")):
                pages[server.url(path, scheme)] = (f"{name}, {path}", outcome_in_a_crawl(fault, path))
        healthy = stack.enter_context(serve(host(Fault(keep(b""), Outcome.FETCHED)))).url("/next")
        process = processes.Process(target=crawl_and_measure, args=(tmp_path, healthy, list(pages), sender))
        process.start()
        sender.close()
        process.join(BUNDLE_SECONDS)
        process.kill()  # it has ended, or never will
    assert process.exitcode == 0
    visits = rows(tmp_path / "all", "visits")
    urls = [visit["url"] for visit in visits]
    waiting = pages.keys() - set(urls)  # on a busy machine, a host that fails may wait for another round
    assert (len(urls), len(waiting) <= 4) == (len(set(urls)), True)
    assert waiting <= {row["url"] for row in frontier(tmp_path / "all")}
    ends = {pages[visit["url"]][0]: visit["outcome"] for visit in visits}
    assert {(name, ends[name], end) for name, end in pages.values() if ends.get(name, end) != end} == set()
    assert receiver.recv() < BUNDLE_BYTES
