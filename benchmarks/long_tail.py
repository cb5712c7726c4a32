"""What a long tail of slow, dead, overloaded and broken hosts takes from the healthy ones in a round.

    python benchmarks/long_tail.py --hosts 200 --delay 0.5 --round-time 60

Serves the web of tests/support/long_tail.py on loopback (all its URLs are seeds), and runs a round of `beamtrawl crawl`
with the settings as they come. Prints the healthy hosts' share of the pages that their delay allows from the round's
start to its deadline, when the round ended, where the URLs are, and what the servers' log says about manners.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from tests.support.access_log import Manners, violations
from tests.support.crawls import frontier, states
from tests.support.long_tail import LongTail, share
from tests.support.web_process import WebProcess


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--delay", type=float, default=0.5)
    parser.add_argument("--round-time", type=float, default=60.0)
    arguments = parser.parse_args()
    tail = LongTail(arguments.hosts, pages=int(arguments.round_time / arguments.delay) + 2)
    with WebProcess(tail.sites) as web, tempfile.TemporaryDirectory() as directory:
        urls = tail.urls(web)
        seeds, crawled = Path(directory, "seeds.txt"), Path(directory, "crawl")
        seeds.write_text("\n".join(urls))
        command = [
            sys.executable,
            "-m",
            "beamtrawl",
            "crawl",
            str(crawled),
            "--seeds",
            str(seeds),
            "--rounds",
            "1",
        ]
        command += ["--delay", str(arguments.delay), "--round-time", str(arguments.round_time)]
        command += ["--allow-address", "127.0.0.0/8", "--workers", "1"]
        command += ["--robot", "benchmark/1", "--contact", "robot@benchmark.example"]
        command += ["--info-url", "http://benchmark.example/"]
        subprocess.run(command, check=True)
        log, lag = web.requests, web.lag
        fetch = next(manifest for manifest in CrawlDir(str(crawled)).manifests() if manifest.step == "fetch")
        ends = Counter(row["state"] for row in states(crawled).values())
        waiting = Counter(row["reason"] for row in frontier(crawled))
    start, end = (datetime.fromisoformat(text).timestamp() for text in (fetch.started_at, fetch.ended_at))
    deadline = start + arguments.round_time
    healthy = share(log, tail.hosts("healthy"), start, deadline, arguments.delay)
    print(f"healthy hosts got {healthy:.1%} of the pages that {arguments.round_time:g} s allow")
    print(f"the last request came {deadline - max(r.wall for r in log):.2f} s before the deadline; the round ended")
    print(f"{end - deadline:+.2f} s from it; the servers were {lag * 1000:.0f} ms late at most")
    print(f"{len(urls)} URLs: {dict(ends)}; in the next frontier {dict(waiting)}")
    breaches = violations(log, Manners(lambda host: arguments.delay, response_factor=1.0))
    print("\n".join(breaches) or f"no breach of politeness in {len(log)} requests of the servers' log")


if __name__ == "__main__":
    main()
