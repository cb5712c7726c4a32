"""A signal ends the ranking of a crawl within seconds, and the next one does it."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from benchmarks.large_links import make
from tests.support.command_line import PROGRAM, beamtrawl, group_lives

pytestmark = pytest.mark.slow("kills")


def start(*words: str) -> subprocess.Popen:
    return subprocess.Popen([*PROGRAM, *words], stderr=subprocess.PIPE, text=True, start_new_session=True)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "crawl"
    make(str(folder), 3_000, 45, 1)
    return folder


@pytest.mark.parametrize("command", ["crawl", "rank"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_signal_ends_it_within_seconds(tmp_path: Path, made: Path, command: str, workers: int) -> None:
    crawl = CrawlDir(str(shutil.copytree(made, tmp_path / "crawl")))
    process = start(command, crawl.root, "--", f"--direct_num_workers={workers}")
    while not any("-pages-" in name for name in crawl.names("attempts")):  # it has read the links
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGTERM)  # as a terminal or a service manager does
    began = time.monotonic()
    _, told = process.communicate()
    assert time.monotonic() - began < 30
    assert process.returncode == {"crawl": 0, "rank": 130}[command], told
    assert ("rank them with: beamtrawl rank" in told) == (command == "crawl")
    assert not group_lives(process.pid)
    again = CrawlDir(crawl.root)
    assert not any(manifest.step == "rank" for manifest in again.manifests())
    assert again.names("attempts") == []
    assert beamtrawl("rank", crawl.root).out.startswith("round 5 rank: ")
