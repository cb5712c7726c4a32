"""A host that is blocked while a crawl fetches it, as the log of the servers shows it."""

import json
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.access_log import ROBOTS
from tests.support.command_line import PROGRAM, beamtrawl
from tests.support.crawls import frontier, states
from tests.support.web import Page, html, plain, redirect, slow
from tests.support.web_process import WebProcess

HEALTHY = [f"h{n}.test" for n in range(6)]
PAGES = 60
LATE = 2.5  # seconds: the second that is promised, and what a machine adds that stalls
BLOCKED = ["busy.test", "slow.test", "late.test"]  # requested all the time; answers slowly; its robots.txt does


def sites() -> dict[str, Mapping[str, Page]]:
    pages = {f"/{n}": html(f"page {n}", f"number {n} lighthouse") for n in range(PAGES)}
    return dict.fromkeys([*HEALTHY, "busy.test"], pages) | {
        "slow.test": {"/0": html("first", "lighthouse"), **{f"/{n}": slow(3.0) for n in range(1, PAGES)}},
        "late.test": {ROBOTS: slow(4.0, plain("")), **pages},
        "moved.test": {f"/{n}": redirect(f"//busy.test/{PAGES + n}") for n in range(PAGES)},
        "away.test": {ROBOTS: slow(2.5, redirect("//busy.test/robots-of-away.txt")), **pages},
    }


def wait_until(condition: object, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


@pytest.mark.slow("real clock")
def test_no_request_starts_a_second_after_a_block(tmp_path: Path) -> None:
    """With two workers: while the host is busy, slow, or sought by redirects; after a kill; until it is unblocked."""
    directory = tmp_path / "crawl"
    with WebProcess(sites()) as web:
        seeds = tmp_path / "seeds.txt"
        seeds.write_text("\n".join(web.url(host, f"/{n}") for host in sites() for n in range(PAGES)))
        flags = ["--delay", "0.2", "--workers", "2", "--allow-address", "127.0.0.0/8", "--seeds", str(seeds)]
        flags += ["--", "--direct_num_workers=2"]  # also for small steps

        def start() -> subprocess.Popen:
            command = [*PROGRAM, "crawl", str(directory), *flags]
            return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def requested(host: str, after: float = 0.0) -> list[str]:
            return [r.path for r in web.requests if r.host == host and r.wall > after]

        first = start()
        wait_until(lambda: requested("busy.test") and "/1" in requested("slow.test") and requested("late.test"))
        names = {host: web.authority(host) for host in BLOCKED}
        blocked_at = {}
        for host in BLOCKED:
            assert beamtrawl("block", directory, names[host]).code == 0
            blocked_at[host] = time.time()
        wait_until(lambda: len(requested(HEALTHY[0], blocked_at["late.test"] + LATE)) > 3)
        first.send_signal(signal.SIGKILL)
        first.wait()
        assert start().wait(120) == 0

        late = {host: requested(host, moment + LATE) for host, moment in blocked_at.items()}
        assert late == {host: [] for host in BLOCKED}
        assert requested("late.test") == [ROBOTS]
        assert len(requested("busy.test")) < PAGES
        assert all(len(requested(host)) > PAGES for host in HEALTHY), "the others are fetched to the end"
        assert len(set(requested("moved.test"))) == PAGES + 1

        found = json.loads(beamtrawl("status", directory, "--json").out)
        assert sorted(block["pattern"] for block in found["blocks"]) == sorted(names.values())
        waiting = sum(row["host"] in names.values() for row in frontier(directory))
        assert found["blocked"] == waiting > PAGES
        urls = states(directory)
        assert {row["state"] for row in urls.values() if row["host"] == names["late.test"]} == {"due"}

        slow_before = requested("slow.test")
        for host in ("busy.test", "late.test"):
            assert beamtrawl("unblock", directory, names[host]).code == 0
        assert start().wait(120) == 0
        assert set(requested("late.test")) == {ROBOTS, *(f"/{n}" for n in range(PAGES))}
        assert set(requested("busy.test")) >= {f"/{n}" for n in range(2 * PAGES)}
        assert requested("slow.test") == slow_before
