"""Worker processes on this machine: isolated from the current folder, and missed at once when they die."""

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from beamtrawl.runners.engines.local_workers import describe_end
from tests.support.command_line import PROGRAM
from tests.support.crawls import rows
from tests.support.files import pdf
from tests.support.web import Answer, Web, html

KILLED = "a worker process was ended by SIGKILL, as Linux ends processes when memory runs out; the same command goes on"

# exit code, stderr, what is said
ENDS: dict[str, tuple[int, Sequence[str], str]] = {
    "killed": (-signal.SIGKILL, [], KILLED),
    "a segmentation fault": (-11, ["x\n"], "a worker process was ended by SIGSEGV; the same command goes on"),
    "a traceback": (
        1,
        ["Traceback (most recent call last):\n", "ImportError: no lxml\n", " \n"],
        "a worker process ended early, with exit code 1: ImportError: no lxml;"
        " --workers 1 runs without worker processes",
    ),
    "silent": (
        3,
        [],
        "a worker process ended early, with exit code 3: it wrote no message;"
        " --workers 1 runs without worker processes",
    ),
}


@pytest.mark.parametrize(("code", "lines", "said"), ENDS.values(), ids=ENDS)
def test_the_end_of_a_worker_is_described_in_one_line(code: int, lines: Sequence[str], said: str) -> None:
    assert describe_end(code, lines) == said


# Runs a pipeline on two workers, prints why it failed, and then the processes that are left.
PIPELINE = """
import os, signal, sys, threading
import apache_beam as beam
from beamtrawl.runners.engines.direct import DirectEngine
from beamtrawl.runners.terminal.errors import Failure

KILL, STAY, FORK = (word in sys.argv[1] for word in ("kill", "stay", "fork"))

class Visit(beam.DoFn):
    def process(self, number):
        if number == 3 and KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        yield number

    def teardown(self):
        if STAY:
            threading.Event().wait()

def build(pipeline):
    numbers = pipeline | beam.Create(range(8)) | beam.Reshuffle() | beam.ParDo(Visit())
    numbers | beam.Map(lambda number: (number % 2, number)) | beam.GroupByKey()

def children():
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return file.read()

command = [[sys.executable, *sys.argv[2:]]] if sys.argv[2:] else []
try:
    engine = DirectEngine(2, [], *command)
    if FORK:
        engine.fork_server()
        assert children()
    engine.run(build, seconds=100)
    print("done")
except Failure as failure:
    print(failure)
if FORK:  # the server stays for the next step
    assert children() or KILL
del engine  # ends it
print("children:", children())
"""

# arguments of the pipeline; what it prints at the end of its first line
RUNS = {
    "sound": (["run"], "done"),
    "forked from this process": (["fork", "-c", "raise ImportError('no new process')"], "done"),
    "forked, a kill in the middle of a bundle": (["fork kill"], KILLED),
    "forked, a worker that does not end when its work is done": (["fork stay"], "done"),
    "a package that is not installed": (["run", "-P", "-m", "no_such_package"], "No module named no_such_package; "),
    "an import that fails": (["run", "-c", "raise ImportError('no lxml')"], "exit code 1: ImportError: no lxml; "),
    "a worker that ends at once": (["run", "-c", "import sys; sys.exit(0)"], "exit code 0: it wrote no message; "),
    "a kill in the middle of a bundle": (["kill"], KILLED),
    "a worker that does not end when its work is done": (["stay"], "done"),
}


@pytest.mark.parametrize(("words", "said"), RUNS.values(), ids=RUNS)
def test_a_pipeline_ends_when_a_worker_dies_and_leaves_no_process(tmp_path: Path, words: list[str], said: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PIPELINE)
    command = [sys.executable, "-P", str(program), *words]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    line, children = ran.stdout.splitlines()
    assert said in line
    assert children == "children: "
    assert "Traceback" not in ran.stderr


HOSTILE = ("calendar", "logging", "beamtrawl", "pipeline", "transforms", "runners", "search", "pypdfium2", "lxml")


@pytest.mark.slow("foreign environments")
def test_a_crawl_with_workers_runs_in_a_folder_of_python_files(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    for name in HOSTILE:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(f"raise SystemExit('{name} of the current folder was imported')")
        (folder / f"{name}.py").write_text(f"raise SystemExit('{name}.py of the current folder was imported')")
    site = {"/": html("Harbour", "Herring at dawn.", ["/a.pdf", "/b"]), "/b": html("Quay", "Nets.")}
    site["/a.pdf"] = Answer(200, pdf(["Tide tables"]), (("Content-Type", "application/pdf"),))
    with Web({"host.test": site}) as web:
        words = ["crawl", "crawl", "--seed", web.url("host.test"), "--workers", "2", "--rounds", "2"]
        words += ["--delay", "0", "--allow-address", "127.0.0.0/8"]
        ran = subprocess.run([*PROGRAM, *words], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "imported" not in ran.stderr
    assert sorted(row["text"].split()[0] for row in rows(folder / "crawl", "documents")) == ["Harbour", "Quay", "Tide"]
