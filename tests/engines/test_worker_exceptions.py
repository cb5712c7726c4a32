"""An exception in a worker is shown once: in one line, and with --debug also as one traceback."""

import json
import os
import subprocess
from pathlib import Path

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


# Each of some commands runs in a process that is forked from this one, with a file as its stderr. The first of them
# imports Beam; the others find it imported, which costs more than all else.
FORKING = """
import json, os, sys
from beamtrawl.runners.program.cli import main

for number, (words, stderr) in enumerate(json.loads(sys.argv[1])):
    if number:
        import beamtrawl.runners.commands.crawl
    if not (process := os.fork()):
        os.dup2(os.open(stderr, os.O_WRONLY | os.O_CREAT), 2)
        sys.argv[1:] = words
        sys.exit(main())
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
"""
RUNS = [(1, False), (2, False), (1, True), (2, True)]
"""Workers, and whether --debug is given."""


def test_an_exception_in_a_worker_is_shown_once(tmp_path: Path) -> None:
    about = tmp_path / "packages" / "broken-1.dist-info"
    about.mkdir(parents=True)
    (about.parent / "broken.py").write_text(PLUGIN)
    (about / "METADATA").write_text("Name: broken\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[beamtrawl.downloaders]\nbroken = broken:downloader\n")
    hosts, commands = [f"h{number}.test" for number in range(4)], []
    with Web({host: {"/bug": html("Bug")} for host in hosts}) as web:
        for number, (workers, debug) in enumerate(RUNS):
            directory = tmp_path / str(number)
            directory.mkdir()
            (directory / "crawl.toml").write_text('[fetch]\ndownloaders = ["broken http:"]\n')
            words = ["crawl", str(directory), *LOOPBACK[:-1], str(workers), *(["--debug"] if debug else [])]
            words += [word for host in hosts for word in ("--seed", web.url(host, "/bug"))]
            commands.append((words, str(tmp_path / f"{number}.stderr")))
        environment = os.environ | {"PYTHONPATH": str(about.parent)}
        program = [*PROGRAM[:2], "-c", FORKING, json.dumps(commands)]
        ran = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert ran.stdout.split() == ["1"] * len(RUNS), ran.stderr
    for (_, stderr), (workers, debug) in zip(commands, RUNS, strict=True):
        lines = Path(stderr).read_text().splitlines()
        if debug:
            lines = [line for line in lines if not line.startswith("WARNING")]  # of Beam
            assert lines[-1] == LINE, workers
            assert sum("broken.py" in line for line in lines) == 1, workers
            assert sum(line.startswith("ValueError: ") for line in lines) == 1, workers
        else:
            assert [line for line in lines if "seeds" not in line and "crawl.toml" not in line] == [LINE], workers
