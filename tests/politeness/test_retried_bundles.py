"""A bundle that an engine runs again requests nothing again, and no host too early.

Beam's BundleBasedDirectRunner runs a failed bundle up to four times, as Dataflow, Flink and Spark do.
"""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.access_log import ROBOTS, Manners, violations
from tests.support.crawls import rows, without_times
from tests.support.web import Page, html, plain, redirect, status
from tests.support.web_process import WebProcess

CRAWL = """
import sys
from pathlib import Path

import apache_beam as beam
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner

from beamtrawl.pipeline import fetch
from beamtrawl.runners.engines.direct import DirectEngine
from tests.support.crawls import crawl

class Retrying(DirectEngine):
    def run(self, build, seconds):
        if build.func is not fetch.build:
            return super().run(build, seconds)
        with beam.Pipeline(runner=BundleBasedDirectRunner()) as pipeline:
            build(pipeline)

changes = dict(politeness__delay=0.1, politeness__backoff=1000.0, politeness__robots_backoff=1000.0)
crawl(Path(sys.argv[1]), sys.argv[2:], rounds=1, engine=Retrying(1, []), fetch__downloaders=["broken http:"], **changes)
"""

BROKEN = """
from pathlib import Path
from beamtrawl.transforms.politeness.downloaders import Through

class Broken(Through):
    # Raises an exception for each URL in a file, once.
    def get(self, url, headers, any_type=False):
        bugs = Path(__file__).with_name("bugs")
        urls = bugs.read_text().split() if bugs.exists() else []
        if url in urls:
            bugs.write_text(" ".join(other for other in urls if other != url))
            raise ValueError("a bug of the plug-in")
        return super().get(url, headers, any_type)

def downloader(settings):
    return Broken
"""


def sites() -> dict[str, Mapping[str, Page]]:
    """Three healthy hosts, and five to which promises are made or that depend on another."""
    paths = [f"/{n}" for n in range(20)]
    pages = {name: {path: html(f"{path} of {name}", f"{path} {name} " * 9) for path in paths} for name in "abc"}
    few = {path: html(path, path) for path in paths[:2]}
    return {f"{name}.test": site for name, site in pages.items()} | {
        "busy.test": {path: status(429, Retry_After="1000") for path in paths[:2]},
        "error.test": {path: status(500) for path in paths[:2]},
        "robots.test": {ROBOTS: status(503), **few},
        "delay.test": {ROBOTS: plain("User-agent: *\nCrawl-delay: 10000"), "/": html("One", "one")},
        "moved.test": {ROBOTS: redirect(f"//a.test{ROBOTS}"), **few},
    }


@pytest.mark.slow("real clock")
def test_a_bundle_that_fails_twice_and_is_run_again(tmp_path: Path) -> None:
    about = tmp_path / "packages" / "broken-1.dist-info"
    about.mkdir(parents=True)
    (about.parent / "broken.py").write_text(BROKEN)
    (about / "METADATA").write_text("Name: broken\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[beamtrawl.downloaders]\nbroken = broken:downloader\n")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(about.parent), str(Path(__file__).parents[2])])}

    def crawl(directory: Path, web: WebProcess) -> list:
        before = len(web.requests)
        seeds = [web.url(host, path) for host, site in sites().items() for path in site if path != ROBOTS]
        command = [sys.executable, "-c", CRAWL, str(directory), *seeds]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return web.requests[before:]

    with WebProcess(sites()) as web:
        crawl(tmp_path / "undisturbed", web)
        bugs = about.parent / "bugs"
        bugs.write_text(f"{web.url('b.test', '/7')} {web.url('c.test', '/13')}")
        log = crawl(tmp_path / "retried", web)
        assert bugs.read_text() == ""  # the bundle has failed twice
    assert set(Counter((request.host, request.path) for request in log).values()) == {1}
    delays = {"delay.test": 10_000.0}
    manners = Manners(lambda host: delays.get(host, 0.1), rest_after=lambda n: 1000.0 if n else 0.0, required=())
    assert violations(log, manners) == []
    assert len(rows(tmp_path / "retried", "documents")) == 3 * 20 + 2
    tables = [without_times(tmp_path / name) for name in ("retried", "undisturbed")]
    for table in tables:
        del table["host_turns"]  # a row per run of the bundle; table hosts has their sums
    assert tables[0] == tables[1]
