"""An exception in a worker is shown once: in one line, and with --debug also as one traceback."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.command_line import LOOPBACK, PROGRAM
from tests.support.web import Web, html

PLUGIN = """
from beamtrawl.transforms.politeness.downloaders import Through

class Broken(Through):
    def get(self, url, headers, any_type=False):
        if url.endswith("/bug"):
            raise ValueError("a bug of\\nthe plug-in")
        return super().get(url, headers, any_type)

def downloader(settings):
    return Broken
"""
LINE = "beamtrawl: ValueError: a bug of the plug-in [while running 'VisitHosts/Visit'] (--debug shows where)"


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("debug", [False, True])
def test_an_exception_in_a_worker_is_shown_once(tmp_path: Path, workers: int, debug: bool) -> None:
    about = tmp_path / "packages" / "broken-1.dist-info"
    about.mkdir(parents=True)
    (about.parent / "broken.py").write_text(PLUGIN)
    (about / "METADATA").write_text("Name: broken\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[beamtrawl.downloaders]\nbroken = broken:downloader\n")
    directory = tmp_path / "crawl"
    directory.mkdir()
    (directory / "crawl.toml").write_text('[fetch]\ndownloaders = ["broken http:"]\n')
    hosts = [f"h{number}.test" for number in range(4)]
    with Web({host: {"/bug": html("Bug")} for host in hosts}) as web:
        command = [*PROGRAM, "crawl", str(directory), *LOOPBACK[:-1], str(workers), *(["--debug"] if debug else [])]
        command += [word for host in hosts for word in ("--seed", web.url(host, "/bug"))]
        environment = os.environ | {"PYTHONPATH": str(about.parent)}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    lines = ran.stderr.splitlines()
    if debug:
        lines = [line for line in lines if not line.startswith("WARNING")]  # of Beam
        assert lines[-1] == LINE
        assert sum("broken.py" in line for line in lines) == 1
        assert sum(line.startswith("ValueError: ") for line in lines) == 1
    else:
        assert [line for line in lines if "seeds" not in line and "crawl.toml" not in line] == [LINE]
