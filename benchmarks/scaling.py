"""How the rate of a fetch step grows with its workers, on servers that answer late; and a crawl with one large host.

    python benchmarks/scaling.py --workers 1 2 4 8
    python benchmarks/scaling.py --skewed

A worker fetches from few hosts at once (`fetch.connections`), so that waiting bounds it and not the processor, of which
one machine has too little for eight. The servers have a process of their own. Times are those of their log, from the
first request for a page to the last.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.runners.engines.direct import DirectEngine
from tests.support.access_log import ROBOTS, Manners, violations
from tests.support.crawls import crawl
from tests.support.web import html, plain, slow
from tests.support.web_process import WebProcess


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[4])
    parser.add_argument("--hosts", type=int, default=128)
    parser.add_argument("--pages", type=int, default=8, help="of each host")
    parser.add_argument("--latency", type=float, default=0.2, help="of each answer, in seconds")
    parser.add_argument("--connections", type=int, default=2, help="of each worker")
    parser.add_argument("--skewed", action="store_true", help="one host has half of all pages")
    arguments = parser.parse_args()
    sizes = dict.fromkeys((f"host{number}.test" for number in range(arguments.hosts)), arguments.pages)
    connections, delay = arguments.connections, 0.0
    if arguments.skewed:
        sizes = dict.fromkeys(list(sizes)[:16], arguments.pages) | {"large.test": 16 * arguments.pages}
        connections, delay = 64, 0.3
    one = 0.0
    for workers in arguments.workers:
        seconds, cpu, load = fetch(sizes, workers, connections, delay, arguments.latency)
        rate = sum(sizes.values()) / seconds
        line = f"{workers} workers: {rate:.1f} pages/s in {seconds:.1f} s, {cpu:.0f} CPU s, load {load:.0f}"
        if arguments.skewed:
            bound = (max(sizes.values()) - 1) * (max(delay, arguments.latency) + arguments.latency)
            print(f"{line}; {seconds / bound:.2f} of the {bound:.1f} s that the delay of the largest host takes")
        else:
            one = one or rate / workers
            print(f"{line}; {rate / workers / one:.2f} of linear", flush=True)


def fetch(
    sizes: Mapping[str, int], workers: int, connections: int, delay: float, latency: float
) -> tuple[float, float, float]:
    """Crawl one round of all pages: seconds from first to last page, CPU seconds of all processes, load average.

    The CPU seconds include the start of the workers and the update step.
    """
    sites = {
        host: {ROBOTS: plain("User-agent: *\nDisallow:\n")}
        | {f"/{page}": slow(latency, html(f"Page {page} of {host}", f"Text {page}.")) for page in range(pages)}
        for host, pages in sizes.items()
    }
    before = os.times()
    with WebProcess(sites) as web, tempfile.TemporaryDirectory() as directory:
        seeds = [web.url(host, f"/{page}") for host, pages in sizes.items() for page in range(pages)]
        engine = DirectEngine(workers, is_exact=True)  # exactly so many
        crawl(Path(directory), seeds, 1, engine=engine, politeness__delay=delay, fetch__connections=connections)
        del engine  # ends its processes
        after, log = os.times(), web.requests
    pages = sorted(request.started for request in log if request.path != ROBOTS)
    if len(pages) != len(seeds) or (breaches := violations(log, Manners(lambda host: delay, required=()))):
        raise SystemExit(f"{len(pages)} of {len(seeds)} pages; {breaches}")
    cpu = sum(after[:4]) - sum(before[:4])
    return pages[-1] - pages[0] + latency, cpu, os.getloadavg()[0]


if __name__ == "__main__":
    main()
