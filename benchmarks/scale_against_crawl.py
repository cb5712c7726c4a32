"""The simulator of benchmarks/scale.py beside a real crawl of the same hosts.

    PYTHONPATH=. python benchmarks/scale_against_crawl.py --hosts 150 --round-time 60 --rounds 2

The hosts are served on loopback by a process of their own, each with the pages, the trouble and the duration of answers
that it has in the simulation. All URLs are seeds, so that the rounds of both have the same URLs.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.directory.manifests import moment
from beamtrawl.transforms.outcomes import Outcome
from benchmarks.simulated_worker import DENIED, ROBOTS, Host, Machine, Round, Worker, World, hosts_of
from tests.support.crawls import crawl, settings
from tests.support.web import CLOSED, MUTE, Page, html, plain, slow, status
from tests.support.web_process import WebProcess


def site(host: Host) -> Mapping[str, Page]:
    """The site of a host."""
    if host.kind in ("refuses", "silent"):
        return CLOSED if host.kind == "refuses" else MUTE
    paths = [f"/{number}" for number in range(host.pages)]
    page = status(503) if host.kind == "fails" else html("Page", "Some words. " * 20)
    robots = plain(DENIED.decode() if host.kind == "denies" else "")
    return {path: slow(host.answer, page) for path in paths} | {ROBOTS: slow(host.answer, robots)}


def crawled(hosts: list[Host], rounds: int, changes: dict[str, Any]) -> tuple[list[Round], list[float]]:
    """What a real crawl did in each round, and the seconds between the end of a fetch step and the next one's start."""
    with WebProcess({host.name: site(host) for host in hosts}) as web, tempfile.TemporaryDirectory() as directory:
        seeds = [web.url(host.name, f"/{number}") for host in hosts for number in range(host.pages)]
        crawl(directory, seeds, rounds, **changes)
        steps = [manifest for manifest in CrawlDir(directory).manifests() if manifest.step == "fetch"]
    moments = [(moment(step.started_at).timestamp(), moment(step.ended_at).timestamp()) for step in steps]
    done = [
        Round(0, Counter({name: step.counters.get(name, 0) for name in Outcome}), 0, end - start, {})
        for step, (start, end) in zip(steps, moments, strict=True)
    ]
    return done, [after[0] - before[1] for before, after in pairwise(moments)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=150)
    parser.add_argument("--largest", type=int, default=400, help="pages of a host")
    parser.add_argument("--delay", type=float, default=0.5)
    parser.add_argument("--answer", type=float, default=0.2, help="median seconds")
    parser.add_argument("--round-time", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    world = World(largest=given.largest, answer=given.answer, slow_answer=5.0)
    hosts = hosts_of(world, given.hosts, [given.seed])
    changes = {"politeness__delay": given.delay, "limits__round_time": given.round_time, "traps__detect": False}
    changes |= {"politeness__response_factor": 1.0, "politeness__backoff": 2.0}
    real, pauses = crawled(hosts, given.rounds, changes)
    changes["fetch__lookups_per_second"] = 1e6  # the hosts of the crawl are addresses
    worker = Worker(hosts, world, Machine(), settings(**changes), [given.seed, 1])
    print("| round | | crawl | simulated | error |\n|---|---|---|---|---|")
    for number, was in enumerate(real):
        guess = worker.run()
        rows = {"seconds": (was.seconds, guess.seconds)}
        rows |= {name: (was.ends[name], guess.ends[name]) for name in Outcome if was.ends[name] or guess.ends[name]}
        for name, (there, here) in rows.items():
            error = f"{here / there - 1:+.1%}" if there else ""
            print(f"| {number + 1} | {name} | {there:,.0f} | {here:,.0f} | {error} |")
        if number < len(pauses):
            worker.pause(pauses[number])


if __name__ == "__main__":
    main()
