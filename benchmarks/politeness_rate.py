"""How near a round comes to the rate that politeness allows: hosts / delay; and what so many hosts cost one worker.

    python benchmarks/politeness_rate.py --hosts 100 --delay 0.5 --pages 20

Serves a web of so many hosts on loopback, each with a front page that links all others of its host, and crawls it with
`beamtrawl crawl`. The rate is that of the second round's requests, from the first one's arrival to the last one's, as
the servers saw them; pages come at once, so what is missing is the crawler's own. The servers have a process of their
own, and their log is checked for breaches of politeness.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support.access_log import ROBOTS, Manners, violations
from tests.support.web import html, plain
from tests.support.web_process import WebProcess

LOOK_EVERY = 0.1  # seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=20)
    parser.add_argument("--delay", type=float, default=0.5)
    parser.add_argument("--pages", type=int, default=40, help="on each host, beside the front page")
    parser.add_argument("--size", type=int, default=20_000, help="bytes of text on each page")
    parser.add_argument("--json", action="store_true", help="print the figures as one line of JSON at the end")
    arguments = parser.parse_args()
    text = "A sentence that fills the page. " * (arguments.size // 32)
    paths = [f"/{number}.html" for number in range(arguments.pages)]
    sites = {
        f"host{host}.test": {
            ROBOTS: plain("User-agent: *\nDisallow:\n"),
            "/": html(f"Host {host}", links=paths),
            **{path: html(f"Page {path} of {host}", text) for path in paths},
        }
        for host in range(arguments.hosts)
    }
    with WebProcess(sites) as web, tempfile.TemporaryDirectory() as directory:
        seeds = Path(directory, "seeds.txt")
        seeds.write_text("\n".join(map(web.url, sites)))
        command = [
            sys.executable,
            "-m",
            "beamtrawl",
            "crawl",
            str(Path(directory, "crawl")),
            "--depth",
            "1",
        ]
        command += ["--delay", str(arguments.delay), "--allow-address", "127.0.0.0/8", "--seeds", str(seeds)]
        command += ["--workers", "1", "--robot", "benchmark/1", "--contact", "robot@benchmark.example"]
        command += ["--info-url", "http://benchmark.example/"]
        threads, files = run(command)
        log, lag = web.requests, web.lag
    pages = sorted(request.started for request in log if request.path in paths)
    rate = (len(pages) - arguments.hosts) / (pages[-1] - pages[0])
    ideal = arguments.hosts / arguments.delay
    print(f"{len(pages)} pages, {rate:.1f}/s of {ideal:.1f}/s: {rate / ideal:.1%}")
    print(f"at most {threads} threads and {files} open files; the servers were {lag * 1000:.0f} ms late at most")
    breaches = violations(log, Manners(lambda host: arguments.delay))
    print("\n".join(breaches) or f"no breach of politeness in {len(log)} requests of the servers' log")
    if arguments.json:
        print(json.dumps({"share of the ideal rate": rate / ideal, "threads": threads, "breaches": len(breaches)}))


def run(command: list[str]) -> tuple[int, int]:
    """Run a command to its end; the most threads and open files that its process had (as Linux shows them)."""
    threads = files = 0
    with subprocess.Popen(command) as process:
        about = Path("/proc", str(process.pid))
        while True:
            try:
                threads = max(threads, len(list((about / "task").iterdir())))
                files = max(files, len(list((about / "fd").iterdir())))
                if process.wait(LOOK_EVERY):
                    raise subprocess.CalledProcessError(process.returncode, command)
                return threads, files
            except subprocess.TimeoutExpired:
                continue


if __name__ == "__main__":
    main()
