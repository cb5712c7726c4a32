"""Politeness in the log of a web of many names, with two workers that are killed in between.

    python benchmarks/many_names.py --names 1000 --delay 20 --pages 4 --kills 2 --seed 1

A third of the names have a longer Crawl-delay, a tenth do not answer, and a quarter have a second port at another
address. All are on loopback, by names of the web's own (`fetch.resolve`). The program and its workers are killed at
random instants after requests have begun, and started again. The log of all servers is read by
the checker of the tests, which shares no code with the crawler: no two requests at once to a name, its ports together,
and no pause cut. The share is that of the allowed rate, names / delay, in the longest undisturbed stretch of pages.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support.access_log import ROBOTS, Manners, violations
from tests.support.web import Page, html, plain
from tests.support.web_process import WebProcess

SECOND = "--2"
LONGER = 1.5  # a Crawl-delay, in delays
KEPT = ["--robot", "benchmark/1", "--contact", "robot@benchmark.example", "--info-url", "http://benchmark.example/"]


def sites(names: int, pages: int, delay: float) -> dict[str, dict[str, Page]]:
    """By name, and by name and SECOND for its second port; without pages where nobody listens."""
    paths = [f"/{page}" for page in range(pages)]
    web: dict[str, dict[str, Page]] = {}
    for number in range(names):
        rule = f"Crawl-delay: {delay * LONGER:g}" if number % 3 == 0 else "Disallow: /private"
        site = {ROBOTS: plain(f"User-agent: *\n{rule}\n"), "/": html(f"Name {number}", links=paths)}
        site |= {path: html(f"Page {path} of {number}", "A sentence. " * 200) for path in paths}
        web[f"name{number}.test"] = {} if number % 10 == 7 else site
        if number % 4 == 0:
            web[f"name{number}.test{SECOND}"] = site
    return web


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", type=int, default=1000)
    parser.add_argument("--delay", type=float, default=20.0)
    parser.add_argument("--pages", type=int, default=4, help="of each port, beside the front page")
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--every", type=float, default=60.0, help="the longest time between kills, in seconds")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng, delay = random.Random(arguments.seed), arguments.delay
    served = sites(arguments.names, arguments.pages, delay)
    with WebProcess(served) as web, tempfile.TemporaryDirectory() as directory:
        pins, seeds = [], []
        for site in served:
            name, (address, port) = site.removesuffix(SECOND), web.authority(site).split(":")
            pins.append(f"{name}:{port}:{address}")
            seeds.append(f"http://{name}:{port}/")
        Path(directory, "seeds.txt").write_text("\n".join(seeds))
        crawl = [sys.executable, "-P", "-m", "beamtrawl", "crawl", f"{directory}/crawl", "--workers", "2", *KEPT]
        crawl += ["--depth", "1", "--delay", f"{delay:g}", "--allow-address", "127.0.0.0/8"]
        crawl += ["--seeds", f"{directory}/seeds.txt", "--set", f"fetch.resolve={pins}".replace("'", '"')]
        crawl += ["--set", "sitemaps.guess=false"]
        for kill in range(arguments.kills + 1):
            process = subprocess.Popen(crawl, start_new_session=True)
            begun = len(web.requests)
            while kill < arguments.kills and process.poll() is None and len(web.requests) == begun:
                time.sleep(0.5)
            try:
                process.wait(rng.uniform(0.1, 1.0) * arguments.every if kill < arguments.kills else None)
                break
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                print(f"killed after {len(web.requests)} requests", flush=True)
        log, lag = web.requests, web.lag
    pages = sorted(request.started for request in log if request.path not in (ROBOTS, "/"))
    asked = Counter((request.host, request.path) for request in log if request.path != ROBOTS)
    living = sum(bool(served[site]) for site in served if not site.endswith(SECOND))
    half = len(pages) // 2
    rate, allowed = half / (pages[half] - pages[0]), living / delay
    print(f"{len(log)} requests; {len(asked)} URLs, {asked.total() - len(asked)} requests more than once")
    print(f"the first half of the pages at {rate:.1f}/s of {allowed:.1f}/s, {rate / allowed:.1%}; log {lag:.3f} s late")
    manners = Manners(
        lambda host: delay * (LONGER if int(host.removeprefix("name").partition(".")[0]) % 3 == 0 else 1),
        group_of=lambda host: host.removesuffix(SECOND),
        shared_delay=delay,
        required=(),
        tolerance=0.005 + lag,
    )
    breaches = [each for each in violations(log, manners) if f"{ROBOTS} again" not in each]  # after a kill
    print("\n".join(breaches) or f"no breach of politeness in {len(log)} requests of the servers' log")
    return bool(breaches)


if __name__ == "__main__":
    sys.exit(main())
