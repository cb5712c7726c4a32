"""Fetch steps that are killed again and again, and resumed at once, as the log of the server shows them."""

import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest

from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.directory.pieces import find_leftovers
from beamtrawl.transforms.politeness.adopted import state_rows
from tests.support.access_log import ROBOTS, Manners, violations
from tests.support.command_line import PROGRAM
from tests.support.crawls import rows, states, without_times
from tests.support.web import Page, html, plain, status
from tests.support.web_process import WebProcess

DELAY, PIECE, PAUSE = 0.1, 1.0, 1000.0  # seconds
ORPHANED = 5.0  # seconds, at most, that a worker requests on after its driver was killed (`end_with_parent`: 1), and
SLACK = 10.0  # from a response to the end of its piece, beyond PIECE; both on a machine that is overloaded
HEALTHY = [f"h{n}.test" for n in range(5)]
LONG_DELAY = 10_000.0
WORDS = [f"{start}{end}" for start in "bdfgklmnprstv" for end in ("a", "ela", "ino", "or", "uma", "yde", "est", "ix")]


def sites(pages: int) -> dict[str, Mapping[str, Page]]:
    """Healthy hosts, and four to which promises are made. Each page links to the next, and the last to a new one."""

    def page(host: str, number: int) -> Page:
        # No near duplicates and no common lines: both are judged among the pages that are in one piece.
        words = random.Random(f"{host} {number}").choices(WORDS, k=60)
        return html(f"{number} of {host}", " ".join(words), [f"/{number + 1}"])

    few = {f"/{n}": html(f"few {n}", f"{n}") for n in range(3)}
    return {host: {f"/{n}": page(host, n) for n in range(pages + 1)} for host in HEALTHY} | {
        "busy.test": {path: status(429, Retry_After=str(int(PAUSE))) for path in few},
        "error.test": {path: status(500) for path in few},
        "robots.test": {ROBOTS: status(503), **few},
        "delay.test": {ROBOTS: plain(f"User-agent: *\nCrawl-delay: {LONG_DELAY}"), **few},
    }


class Kill(NamedTuple):
    """What was known when a process was killed."""

    moment: float  # since the epoch
    asked: int  # requests until then
    durable: set[str]  # URLs in complete pieces


class Crawl:
    """A crawl of all URLs of a web but the last page of each healthy host, which is found in the second round."""

    def __init__(self, directory: Path, web: WebProcess, pages: int, workers: int) -> None:
        self.directory, self._web = directory, web
        directory.mkdir()
        (directory / "crawl.toml").write_text(
            f"[limits]\npiece_time = {PIECE}\n[politeness]\nbackoff = {PAUSE}\nrobots_backoff = {PAUSE}\n"
        )
        seeds = directory.with_suffix(".txt")
        paths = {host: range(pages) if host in HEALTHY else range(3) for host in sites(0)}
        seeds.write_text("\n".join(web.url(host, f"/{n}") for host, numbers in paths.items() for n in numbers))
        self._command = [*PROGRAM, "crawl", str(directory), "--delay", str(DELAY), "--workers", str(workers)]
        self._command += ["--allow-address", "127.0.0.0/8", "--seeds", str(seeds)]

    def start(self) -> subprocess.Popen:
        output = subprocess.DEVNULL
        return subprocess.Popen(self._command, stdout=output, stderr=output, start_new_session=True)

    def kill(self, process: subprocess.Popen, seconds: float) -> Kill:
        """Kill the process so many seconds after its first request, once promises to all hosts are written down.

        What a killed process has not read yet, nobody knows.
        """
        before = len(self._web.requests)
        while process.poll() is None and len(self._web.requests) == before:
            time.sleep(0.02)
        time.sleep(seconds)
        patience = time.monotonic() + 60.0
        while self._unpromised() and time.monotonic() < patience:
            time.sleep(0.02)
        assert process.poll() is None, "the crawl was over before it could be killed"
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert {manifest.step for manifest in CrawlDir(str(self.directory)).manifests()} == {"seeds"}
        files = find_leftovers(CrawlDir(str(self.directory)), "")
        durable = {
            url for file in files.paths("visits") for url in pq.read_table(self.directory / file)["url"].to_pylist()
        }
        for file in files.paths("robots"):
            durable |= {origin + ROBOTS for origin in pq.read_table(self.directory / file)["origin"].to_pylist()}
        return Kill(time.time(), len(self._web.requests), durable)

    def _unpromised(self) -> set[str]:
        """The hosts whose last answer makes a promise that is not written down."""
        log = self._web.requests
        made = {self._web.authority(r.host) for r in log if r.status >= 429 or r.host == "delay.test"}
        root = str(self.directory)
        return made - {row["host"] for row in state_rows(root, find_leftovers(CrawlDir(root), ""))}


def tables(crawl: Crawl, web: WebProcess) -> dict[str, Any]:
    """The tables of a crawl, without times; of hosts that wait, only the states of their URLs.

    A killed process may have recorded the promise of a host without the visit that led to it.
    """
    waiting = {web.authority(host) for host in sites(0)} - {web.authority(host) for host in HEALTHY}
    written = without_times(crawl.directory)
    found: dict[str, Any] = {table: written[table] for table in ("documents", "links", "digests")}
    for table in ("urls", "hosts", "robots", "visits"):
        found[table] = [text for text in written[table] if not any(f"'host': '{host}'" in text for host in waiting)]
    found["states"] = {url: row["state"] for url, row in states(crawl.directory).items()}
    return found


@pytest.mark.slow("kills")
@pytest.mark.parametrize("workers", [1, 2])
def test_killed_fetch_steps_break_no_promise(tmp_path: Path, workers: int, pytestconfig: pytest.Config) -> None:
    """Killed at random moments: what was durable is not asked again, every pause is kept, the tables are the same."""
    kills = pytestconfig.getoption("--kills") // workers
    moments, pages = random.Random(14), 10 * kills + 60
    with WebProcess(sites(pages)) as web:
        undisturbed = Crawl(tmp_path / "undisturbed", web, pages, workers)
        assert undisturbed.start().wait(300) == 0
        skipped = len(web.requests)
        killed = Crawl(tmp_path / "killed", web, pages, workers)
        ends = [killed.kill(killed.start(), moments.uniform(0, 2 * PIECE)) for _ in range(kills)]
        assert killed.start().wait(300) == 0
        everything = web.requests
        log = everything[skipped:]
        for end in ends:
            assert not end.durable & {web.url(r.host, r.path) for r in everything[end.asked :]}
        found, expected = tables(killed, web), tables(undisturbed, web)
        for table, contents in expected.items():
            assert found[table] == contents, table
        waiting = Counter(web.authority(host) for host in sites(0) if host not in HEALTHY for _ in range(3))
        due = [url for url, row in states(killed.directory).items() if row["state"] == "due"]
        assert Counter(url.split("/")[2] for url in due) == waiting
    assert len(rows(killed.directory, "documents")) == len(HEALTHY) * (pages + 1)
    answered = [request for request in log if request.status]  # 0: it was killed meanwhile
    manners = Manners(
        lambda host: LONG_DELAY if host == "delay.test" else DELAY,
        rest_after=lambda troubles: PAUSE if troubles else 0.0,
        required=(),
    )
    assert [found for found in violations(answered, manners) if f"{ROBOTS} again after" not in found] == []
    # No more is repeated than what was answered in the last second before a kill, and not in a piece yet.
    last = {(request.host, request.path): request.wall for request in log}
    for request in log:
        if request.wall != last[request.host, request.path]:
            assert any(end.moment - PIECE - SLACK < request.wall <= end.moment + ORPHANED for end in ends), request
