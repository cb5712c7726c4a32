"""A crawl that is killed at any moment goes on as if nothing had happened."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from tests.support.command_line import PROGRAM, group_lives
from tests.support.crawls import rows
from tests.support.web import Web, html, plain

pytestmark = pytest.mark.slow("kills")

KILLS = 10
ROOT = Path(__file__).resolve().parents[2]


def site(host: int, pages: int = 30) -> dict:
    """A tree of pages, every one with a link back and a copy of one of them elsewhere."""
    site = {"/robots.txt": plain("User-agent: *\nDisallow: /private\n")}
    for n in range(1, pages):
        links = [f"/{2 * n}", f"/{2 * n + 1}", "/private", "/1"]
        site[f"/{n}"] = html(f"Page {n} of {host}", f"What page {n} of host {host} says, at some length. " * 3, links)
    return site


def start(directory: Path, web: Web, hosts: list[str], *more: str) -> subprocess.Popen:
    command = [*PROGRAM, "crawl", str(directory), "--delay", "0.02"]
    command += ["--allow-address", "127.0.0.0/8"]
    for host in hosts:
        command += ["--seed", web.url(host, "/1")]
    return subprocess.Popen([*command, *more], stderr=subprocess.DEVNULL, start_new_session=True)


def committed_visits(directory: Path) -> set[str]:
    return {row["url"] for row in rows(directory, "visits")} if CrawlDir(str(directory)).manifests() else set()


def facts(directory: Path) -> list[tuple]:
    """What the tables say of each document, but for times."""
    return sorted(
        (d["url"].split("/", 3)[3], d["host"].split(":")[0], d["title"], d["text"], d["depth"], d["digest"])
        for d in rows(directory, "documents")
    )


@pytest.fixture(scope="module")
def hosts() -> dict[str, dict]:
    return {f"host{n}.test": site(n) for n in range(4)}


def test_kill_and_resume(tmp_path: Path, hosts: dict[str, dict]) -> None:
    """Ten kills at random moments: the same documents, none twice, and nothing asked again once it was committed."""
    moments = random.Random(20261120)
    with Web(hosts) as web:
        undisturbed = tmp_path / "undisturbed"
        assert start(undisturbed, web, list(hosts)).wait() == 0
        asked_before = len(web.requests)

        killed = tmp_path / "killed"
        kills = 0
        done: set[str] = set()
        while True:
            process = start(killed, web, list(hosts))
            try:
                # The first kill comes early, the later ones also reach the later rounds.
                process.wait(timeout=moments.uniform(1.2, 5.0) if kills < KILLS else None)
                if kills >= KILLS:
                    break
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                kills += 1
            again = [r for r in web.requests[asked_before:] if web.url(r.host, r.path) in done]
            assert again == []
            asked_before = len(web.requests)
            done = committed_visits(killed)
            if process.returncode == 0:
                break
        assert process.returncode == 0
        assert kills >= 3
        assert facts(killed) == facts(undisturbed)
        keys = [row["url_key"] for row in rows(killed, "documents")]
        assert len(keys) == len(set(keys))


def test_workers_end_with_their_driver(tmp_path: Path, hosts: dict[str, dict]) -> None:
    """Nobody goes on asking servers for a crawl whose driver was killed."""
    with Web(hosts) as web:
        process = start(
            tmp_path / "crawl", web, list(hosts), "--delay", "0.3", "--workers", "2", "--", "--direct_num_workers=2"
        )
        while len(web.requests) < 16:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        patience = time.monotonic() + 60
        while group_lives(process.pid):
            assert time.monotonic() < patience
            time.sleep(0.01)


@pytest.mark.parametrize(
    ("number", "workers"),
    [(signal.SIGINT, "1"), (signal.SIGHUP, "1"), pytest.param(signal.SIGTERM, "2", marks=pytest.mark.slow("kills"))],
)
def test_an_interrupt_ends_a_crawl_politely(
    tmp_path: Path, hosts: dict[str, dict], number: signal.Signals, workers: str
) -> None:
    with Web(hosts) as web:
        process = start(tmp_path / "crawl", web, list(hosts), "--workers", workers)
        while len(web.requests) < 10:
            assert process.poll() is None
            time.sleep(0.01)  # for the crawl to be under way; nothing is timed by it
        os.killpg(process.pid, number)  # as a terminal or a service manager does
        assert process.wait() == 0
        assert start(tmp_path / "crawl", web, []).wait() == 0
        asked = [(r.host, r.path) for r in web.requests if r.path != "/robots.txt"]
        assert len(asked) == len(set(asked))
        assert len(rows(tmp_path / "crawl", "documents")) == 4 * 29


COMMANDS = {
    "on a disk": ["--commands", "crawl", "again", "warc", "links", "import"],
    "on S3, which fails often": ["--store", "S3", "--fail", "0.05", "--commands", "crawl"],
    "on Google Cloud Storage, which fails often": ["--store", "GCS", "--fail", "0.05", "--commands", "crawl"],
    "while another takes over": ["--stop", "70", "--commands", "crawl"],
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_commands_that_were_killed_have_done_what_others_have(words: list[str]) -> None:
    """Tables, exports and checks, with two workers; the benchmark draws more instants and larger webs."""
    pytest.importorskip("moto")
    command = [sys.executable, str(ROOT / "benchmarks" / "killed.py"), "--hosts", "2", "--pages", "6", "--kills", "1"]
    ran = subprocess.run([*command, *words], cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
