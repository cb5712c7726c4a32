"""Worker processes on this machine: isolated from the current folder, and missed at once when they die."""

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import apache_beam as beam
import pytest

from beamtrawl.runners.engines.direct import DirectEngine
from beamtrawl.runners.engines.fork_server import ForkServer, Worker, describe_end
from beamtrawl.runners.engines.in_memory import InMemoryRunner
from beamtrawl.runners.engines.pool import ADDRESS, Pool
from beamtrawl.runners.terminal.errors import Failure
from tests.support.command_line import PROGRAM
from tests.support.crawls import rows
from tests.support.files import pdf
from tests.support.local_workers import building, children, run
from tests.support.tables import each_row
from tests.support.web import Answer, Web, html

ROOT = Path(__file__).resolve().parents[2]
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


@each_row(ENDS)
def test_the_end_of_a_worker_is_described_in_one_line(code: int, lines: Sequence[str], said: str) -> None:
    assert describe_end(code, lines) == said


def test_a_pipeline_ends_when_a_worker_dies_and_leaves_no_process(capfd: pytest.CaptureFixture[str]) -> None:
    """Nor does one whose worker does not end when its work is done. An engine goes on with a new server of workers."""
    before, engine = children(), DirectEngine(2)
    assert run(engine, building(kill=True)) == KILLED  # in the middle of a bundle
    gc.collect()  # its traceback has references
    assert children() <= before
    for build in (building(), building(stay=True)):
        assert run(engine, build) == "done"
        assert len(children() - before) == 1  # the server stays for the next step
    del engine
    gc.collect()
    assert children() <= before
    assert "Traceback" not in capfd.readouterr().err


# the command of a server that does not come up, and what is said
SERVERS: dict[str, tuple[Sequence[str], str]] = {
    "a package that is not installed": (["-P", "-m", "no_such_package"], "No module named no_such_package; "),
    "an import that fails": (["-c", "raise ImportError('no lxml')"], "exit code 1: ImportError: no lxml; "),
    "a worker that ends at once": (["-c", "import sys; sys.exit(0)"], "exit code 0: it wrote no message; "),
}


@pytest.mark.parametrize(("words", "said"), SERVERS.values(), ids=SERVERS)
def test_a_pipeline_ends_when_no_worker_starts(
    words: Sequence[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    before = children()
    assert said in run(DirectEngine(2, [sys.executable, *words]), building())
    gc.collect()
    assert children() <= before
    assert "Traceback" not in capfd.readouterr().err


# Each of some processes runs a pipeline on two workers that are forked from it, and prints why it failed, and the
# processes left. They are forked themselves: importing Beam costs more than all else.
FORKING = """
import os, sys
from beamtrawl.runners.engines.direct import DirectEngine
from beamtrawl.runners.terminal.errors import Failure
from tests.support.local_workers import building, children

for words in sys.argv[1:]:
    if not (process := os.fork()):
        break
    assert os.waitpid(process, 0)[1] == 0
else:
    sys.exit()
engine = DirectEngine(2, [sys.executable, "-c", "raise ImportError('no new process')"])
engine.fork_server()
assert children()
try:
    engine.run(building(kill="kill" in words, stay="stay" in words), seconds=100)
    print("done")
except Failure as failure:
    print(failure)
assert children() or "kill" in words  # the server stays for the next step
del engine  # ends it
print("children:", *children())
"""
FORKS = {"sound": "done", "kill": KILLED, "stay": "done"}


def test_so_does_one_whose_workers_are_forked_from_this_process(tmp_path: Path) -> None:
    """With a folder for temporary files whose name is too long for the address of a socket."""
    command, folder = [sys.executable, "-c", FORKING, *FORKS], tmp_path / ("x" * 100)
    folder.mkdir()
    where = {**os.environ, "TMPDIR": str(folder)}
    ran = subprocess.run(command, cwd=ROOT, env=where, capture_output=True, text=True, timeout=120, check=False)
    assert ran.stdout.splitlines() == [line for said in FORKS.values() for line in (said, "children:")], ran.stderr
    assert ran.returncode == 0
    assert "Traceback" not in ran.stderr


MAPPING = """
from beamtrawl.runners.engines.direct_worker import worker_map

with worker_map(100.0, "a module that is not there") as map_:
    print(*map_(abs, range(-3, 1)))
"""


def test_workers_of_a_map_are_forked_from_this_process_and_import_nothing() -> None:
    ran = subprocess.run([sys.executable, "-c", MAPPING], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.stdout, ran.stderr) == ("3 2 1 0\n", "")


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
        words += ["--delay", "0", "--allow-address", "127.0.0.0/8", "--", "--direct_num_workers=2"]
        ran = subprocess.run([*PROGRAM, *words], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "imported" not in ran.stderr
    assert sorted(row["text"].split()[0] for row in rows(folder / "crawl", "documents")) == ["Harbour", "Quay", "Tide"]


def stopping(pipeline: beam.Pipeline) -> None:
    """A pipeline whose worker says no more."""

    class Visit(beam.DoFn):
        def process(self, number: int) -> Iterator[int]:
            if number == 0:
                os.kill(os.getpid(), signal.SIGSTOP)
            yield number

    _ = pipeline | beam.Create(range(8)) | beam.Reshuffle() | beam.ParDo(Visit())


class SeeingServer(ForkServer):
    """Notes who may enter the folder of the socket."""

    def start(self, environment: Mapping[str, str]) -> Worker:
        assert Path(environment[ADDRESS]).parent.stat().st_mode & 0o777 == 0o700
        return super().start(environment)


SILENT = "^a worker process has told nothing for 8 s and was ended; the same command goes on$"


@pytest.mark.parametrize("workers", [2, 4])
def test_a_worker_that_says_no_more_ends_the_step(workers: int) -> None:
    """Not sooner than is said if there are many others that say something, and no stopped process stays."""
    server, began = SeeingServer(), time.monotonic()
    with (
        pytest.raises(Failure, match=SILENT),
        Pool(server, workers, most_silent_s=8) as pool,
        beam.Pipeline(runner=InMemoryRunner(pool)) as pipeline,
    ):
        stopping(pipeline)
    server.close()
    assert time.monotonic() - began > 8
    assert not [each for each in pool._workers if Path(f"/proc/{each.pid}").exists()]


def test_a_worker_that_stops_before_it_has_read_all_of_a_message_ends_the_step() -> None:
    server = ForkServer()
    pool = Pool(server, 2, most_silent_s=8)

    def items() -> Iterator[bytes]:
        for worker in pool._workers:
            os.kill(worker.pid, signal.SIGSTOP)
        yield bytes(9 << 20)  # more than a socket takes

    with pytest.raises(Failure, match=SILENT), pool:
        list(pool.map(len, items()))
    server.close()
