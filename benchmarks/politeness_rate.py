"""How near a round comes to the rate that politeness allows: hosts / delay.

    python benchmarks/politeness_rate.py --hosts 20 --delay 0.5 --pages 40

Serves a web of so many hosts on loopback, each with a front page that links all others of its host, and crawls it with
`beamtrawl crawl`. The rate is that of the second round's requests, from the first one's arrival to the last one's, as
the servers saw them; pages come at once, so what is missing is the crawler's own.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests import access_log
from tests.web import Web, html, plain


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=20)
    parser.add_argument("--delay", type=float, default=0.5)
    parser.add_argument("--pages", type=int, default=40, help="on each host, beside the front page")
    parser.add_argument("--size", type=int, default=20_000, help="bytes of text on each page")
    arguments = parser.parse_args()
    text = "A sentence that fills the page. " * (arguments.size // 32)
    paths = [f"/{number}.html" for number in range(arguments.pages)]
    sites = {
        f"host{host}.test": {
            "/robots.txt": plain("User-agent: *\nDisallow:\n"),
            "/": html(f"Host {host}", links=paths),
            **{path: html(f"Page {path} of {host}", text) for path in paths},
        }
        for host in range(arguments.hosts)
    }
    with Web(sites) as web, tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "runners.cli", "crawl", directory, "--depth", "1"]
        command += ["--delay", str(arguments.delay), "--allow-address", "127.0.0.0/8"]
        for site in sites:
            command += ["--seed", web.url(site)]
        subprocess.run(command, check=True)
        seen = web.requests
    pages = sorted(request.started for request in seen if request.path in paths)
    rate = (len(pages) - arguments.hosts) / (pages[-1] - pages[0])
    ideal = arguments.hosts / arguments.delay
    print(f"{len(pages)} pages, {rate:.1f}/s of {ideal:.1f}/s: {rate / ideal:.1%}")
    breaches = access_log.violations(seen, lambda host: arguments.delay)
    print("\n".join(breaches) or "no breach of politeness in the servers' log")


if __name__ == "__main__":
    main()
