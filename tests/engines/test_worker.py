"""Workers in processes of another environment, over Beam's portable protocol."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from apache_beam.portability.api import beam_provision_api_pb2
from google.protobuf import json_format, text_format

from beamtrawl.pipeline.attempt import Engine
from beamtrawl.runners.engines.choose import engine
from beamtrawl.runners.engines.worker import harness_environment
from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from tests.support import access_log
from tests.support.crawls import crawl, rows, without_times
from tests.support.web import Answer, Web, html, plain, redirect, status
from tests.support.workers import Pool, foreign_environment, worker_pool

TEXT = "Herring gather where the tide turns, and the boats know it: long before light they put out."


def site(number: int) -> dict:
    """Pages with a copy, a redirect, an error, a page that is forbidden, and links to the next hosts."""
    links = ["/copy", "/old", "/gone", "/private", "/broken", f"//host{(number + 1) % 5}.test/", "/page"]
    return {
        "/robots.txt": plain("User-agent: *\nDisallow: /private\n"),
        "/": html(f"Host {number}", f"Harbour {number}. {TEXT}", links),
        "/page": html(f"Page of {number}", f"Nets of harbour {number}."),
        "/copy": html("Herring", TEXT),
        "/old": redirect("/page"),
        "/broken": status(500),
    }


SITES = {f"host{number}.test": site(number) for number in range(5)}


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    programs = foreign_environment(tmp_path_factory.mktemp("foreign"))
    with worker_pool(programs / "beamtrawl-worker") as pool:
        yield pool


def portable(pool: Pool) -> Engine:
    """Beam's own job service in this process, and two workers of the pool."""
    flags = ["--runner=PortableRunner", "--job_endpoint=embed", "--direct_num_workers=2"]
    return engine("direct", 2, [*flags, "--environment_type=EXTERNAL", f"--environment_config={pool.address}"])


@pytest.mark.slow("foreign environments")
def test_workers_that_have_the_sdist_give_the_same_tables_and_index(pool: Pool, tmp_path: Path) -> None:
    with Web(SITES) as web:
        seeds = [web.url("host0.test"), web.url("host2.test")]
        crawl(tmp_path / "direct", seeds, rounds=2)
        before = len(web.requests)
        crawl(tmp_path / "portable", seeds, rounds=2, engine=portable(pool))
        assert access_log.violations(web.requests[before:], access_log.Manners(lambda host: 0.0, required=())) == []
    tables = without_times(tmp_path / "direct")
    assert {name for name, rows in tables.items() if rows} >= {
        "visits",
        "robots",
        "documents",
        "links",
        "urls",
        "hosts",
    }
    assert without_times(tmp_path / "portable") == tables
    assert hits(tmp_path / "portable") == hits(tmp_path / "direct")


@pytest.mark.slow("foreign environments")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # in Beam's, of the lost workers
def test_a_crawl_whose_workers_were_killed_fails_at_once_and_goes_on(pool: Pool, tmp_path: Path) -> None:
    kills = iter([pool.kill])

    def deadly(headers: object) -> Answer:
        next(kills, lambda: None)()
        return html("Deadly", "But only once.")

    # Both workers are connected by then: Beam waits without end for one that dies before.
    pages = [f"/{number:02}" for number in range(30)]
    site = {path: html(path, f"Text of {path}.") for path in pages} | {"/25": deadly}
    with Web({"a.test": site, "b.test": site}) as web:
        seeds = [web.url(host, path) for host in ("a.test", "b.test") for path in pages]
        with pytest.raises(RuntimeError):
            crawl(tmp_path, seeds, engine=portable(pool), politeness__delay=0.1)
        crawl(tmp_path, engine=portable(pool), politeness__delay=0.1)
        assert sorted(row["url"] for row in rows(tmp_path, "documents")) == sorted(seeds)
        # What the first try had asked for is asked for again, robots.txt too, and as politely.
        problems = access_log.violations(web.requests, access_log.Manners(lambda host: 0.1, required=()))
        assert [problem for problem in problems if "robots" not in problem] == []


def hits(path: Path) -> list[tuple[str, str, float]]:
    """What a few queries find, best first."""
    index = Index.open(CrawlDir(str(path)))
    answers = (index.search(query) for query in ("herring", "harbour 2", "nets", "tide turns"))
    found = [(answer.query, hit.url, hit.score) for answer in answers for hit in answer.hits]
    assert found
    return found


CONTROL = {
    "told by the runner": ({"control": None, "logging": None}, "runner:1", "runner:2"),
    "given on the command line": ({"control": "here:3", "logging": None}, "here:3", "runner:2"),
}


@pytest.mark.parametrize(("given", "control", "logging"), CONTROL.values(), ids=CONTROL)
def test_the_harness_is_told_where_to_report(given: dict, control: str, logging: str) -> None:
    info = beam_provision_api_pb2.ProvisionInfo(runner_capabilities=["a", "b"])
    info.control_endpoint.url, info.logging_endpoint.url = "runner:1", "runner:2"
    info.pipeline_options["beam:option:parallelism:v1"] = 4
    environment = harness_environment("7-1", given, info)
    assert environment["WORKER_ID"] == "7-1"
    assert environment["RUNNER_CAPABILITIES"] == "a b"
    assert json_format.Parse(environment["PIPELINE_OPTIONS"], type(info.pipeline_options)()) == info.pipeline_options
    for name, url in {"CONTROL": control, "LOGGING": logging}.items():
        descriptor = text_format.Parse(environment[f"{name}_API_SERVICE_DESCRIPTOR"], type(info.control_endpoint)())
        assert descriptor.url == url


def test_a_worker_ends_with_the_process_that_started_it() -> None:
    child = "from beamtrawl.runners.engines.parent_watch import end_with_parent as watch; import time"
    child += "; watch(); print(flush=True); time.sleep(60)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-P', '-c', {child!r}])"
    with subprocess.Popen([sys.executable, "-P", "-c", parent], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "\n"  # the child watches now
        os.kill(process.pid, signal.SIGKILL)
        assert process.stdout.read() == ""  # which ends when the last process that could write has gone
