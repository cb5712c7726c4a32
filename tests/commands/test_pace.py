"""No command sends a host a request earlier than the settings, its robots.txt and the crawl before it allow."""

import itertools
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from beamtrawl.runners.commands.checks.pace import Pace, seconds_left
from beamtrawl.runners.terminal.errors import Failure
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.directory.pieces import PromiseLog
from beamtrawl.transforms.settings import Politeness
from beamtrawl.transforms.tables.schemas import HostRow
from beamtrawl.transforms.tables.table_files import TableWriter
from tests.support.command_line import beamtrawl
from tests.support.committed_steps import NOW, commit, hosts
from tests.support.tables import each_row
from tests.support.web import Web, html, plain, redirect

_DELAY_S = 0.2

# command behind a crawl of the same host: requests that it sends
COMMANDS = {
    "check page": 3,  # robots.txt, where that redirects to, and the page
    "check robots": 2,
}


class Clock:
    """Time that passes while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


# Crawl-delay, response time in seconds: the time of the second request, which follows the answer to the first
RESTS = {"the delay": (0.0, 0.1, 5.1), "Crawl-delay": (8.0, 0.1, 8.1), "a slow answer": (0.0, 7.0, 14.0)}


@each_row(RESTS)
def test_the_longest_rest_counts(crawl_delay: float, elapsed_s: float, second: float) -> None:
    clock = Clock()
    pace = Pace(Politeness(delay=5.0, response_factor=1.0), clock=clock, sleep=clock.sleep)
    pace.wait("a.test")
    assert clock.now == 0.0
    clock.sleep(elapsed_s)
    pace.answered("a.test", elapsed_s)
    pace.set_crawl_delay("a.test", crawl_delay)
    pace.wait("b.test")
    assert clock.now == elapsed_s
    pace.wait("a.test")
    assert clock.now == pytest.approx(second)


@pytest.mark.slow("whole crawls")
def test_requests_of_all_commands_keep_the_delay(tmp_path: Path) -> None:
    """By the log of the server, also after a crawl; commands that check do not wait for each other."""
    pages = {"/": html("Home", "text", ["/a", "/b", "/c"])} | {f"/{name}": html(name) for name in "abc"}
    site = pages | {"/robots.txt": redirect("/rules"), "/rules": plain("User-agent: *\n")}
    with Web({"a.test": site}, measures_lag=True) as web:
        directory, url = tmp_path / "site", web.url("a.test")
        flags = ["--seed", url, "--delay", _DELAY_S, "--allow-address", "127.0.0.0/8", "--workers", "1"]
        assert beamtrawl("crawl", directory, *flags, "--rounds", "1").code == 0
        known = len(web.requests)
        settings = ["--settings", directory / "crawl.toml"]
        commands = {
            "check page": ["check", "page", url, *settings],
            "check robots": ["check", "robots", url, *settings],
        }
        starts = []
        for name, sent in COMMANDS.items():
            starts.append(known)
            assert beamtrawl(*commands[name]).code == 0
            assert len(web.requests) == known + sent, name
            known = len(web.requests)
        times = [request.started for request in web.requests]
    assert len(times) > 7
    gaps = {at: after - before for at, (before, after) in enumerate(itertools.pairwise(times), 1)}
    kept = {at: gap for at, gap in gaps.items() if at not in starts[1:]}
    assert min(kept.values()) > _DELAY_S - web.lag, kept


def test_a_host_that_a_crawl_leaves_alone_is_left_alone(tmp_path: Path) -> None:
    with Web({"a.test": {"/": html("Home")}}) as web:
        url, host = web.url("a.test"), web.authority("a.test")
        flags = ["--seed", url, "--delay", "20", "--allow-address", "127.0.0.0/8", "--workers", "1"]
        assert beamtrawl("crawl", tmp_path / "site", *flags[:3], "0", *flags[4:]).code == 0
    crawl = CrawlDir(str(tmp_path / "site"))
    ended = datetime.now(UTC)
    assert seconds_left(crawl, host, ended) == 0.0
    assert seconds_left(crawl, "b.test", ended) == 0.0
    assert seconds_left(CrawlDir(str(tmp_path / "none")), host, ended) == 0.0
    assert 20.0 < seconds_left(crawl, host, ended - timedelta(seconds=30)) < 40.0
    with pytest.raises(Failure, match=f"{host} is not asked before 20.* UTC.*; run the command then"):
        seconds_left(crawl, host, ended - timedelta(hours=1))


def test_what_a_host_asked_for_in_a_round_that_was_killed_counts(tmp_path: Path) -> None:
    """Before its fetch step is committed, and before its update step is."""
    crawl = CrawlDir(str(tmp_path))

    def state(round_: int, seconds: float) -> HostRow:
        row = HostRow(host="a.test", round=round_, last_fetched_at=NOW, last_elapsed_ms=1.0, failures_in_row=1)
        return row | HostRow(crawl_delay=0.0, not_before=NOW + timedelta(seconds=seconds), held_by="retry_after")

    commit(crawl, "fetch", 1)
    commit(crawl, "update", 1, [hosts(crawl, 1, "a.test", not_before=NOW + timedelta(seconds=10))])
    assert (seconds_left(crawl, "a.test", NOW), seconds_left(crawl, "b.test", NOW)) == (10.0, 0.0)
    log = PromiseLog(crawl, "000002-fetch-0a1b2c3d")
    log.write(state(2, 20))
    assert (seconds_left(crawl, "a.test", NOW), seconds_left(crawl, "b.test", NOW)) == (20.0, 0.0)
    log.remove()
    turns = TableWriter(crawl.root, "host_turns", 2)
    turns.write_rows([dict(state(2, 30))])
    commit(crawl, "fetch", 2, [turns.close()])
    assert (seconds_left(crawl, "a.test", NOW), seconds_left(crawl, "b.test", NOW)) == (30.0, 0.0)
