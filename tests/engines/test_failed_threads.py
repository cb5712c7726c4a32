"""A thread that fails for want of memory, or cannot start, ends the program with a line that says so."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from beamtrawl.runners.process.failed_threads import NO_MEMORY, on_failed_thread
from tests.support.command_line import PROGRAM
from tests.support.web import Web, html


def test_a_thread_without_memory_is_said() -> None:
    said: list[str] = []

    def work() -> None:
        raise MemoryError

    with on_failed_thread(said.append):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert said == [NO_MEMORY]


LIMITS = {
    "as=600000000": "no memory is left: ",
    "as=700000000": "(ulimit -v",
    "nofile=10": "raise the limit of open files (ulimit -n)",
}
"""Of address space and open files."""


@pytest.mark.slow("kills")
@pytest.mark.parametrize(("limit", "said"), LIMITS.items(), ids=LIMITS)
def test_a_crawl_below_its_limits_ends_with_one_line(limit: str, said: str, tmp_path: Path) -> None:
    """Driver and workers waited for each other for ever."""
    sites = {f"host{number}.test": {"/": html("Quay", "Nets.", ["/a"])} for number in range(6)}
    with Web(sites) as web:
        words = ["crawl", str(tmp_path / "crawl"), "--workers", "2", "--delay", "0", "--allow-address", "127.0.0.0/8"]
        words += [word for host in sites for word in ("--seed", web.url(host))]
        command = ["prlimit", f"--{limit}", *PROGRAM, *words, "--", "--direct_num_workers=2"]  # also for small steps
        ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 1, ran.stderr
    line = ran.stderr.splitlines()[-1]  # of the main process, or of a worker
    assert (line.startswith("beamtrawl: "), said in line) == (True, True)
    assert "Traceback" not in ran.stderr


def test_a_thread_that_cannot_start_is_said_wherever_it_was_to_start() -> None:
    command = """
import resource, threading
from beamtrawl.runners.process.failed_threads import NO_THREAD, on_failed_thread
said = []
with on_failed_thread(said.append):
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used, used))
    try:
        threading.Thread(target=print).start()
    except RuntimeError:
        pass
assert said == [NO_THREAD], said
"""
    subprocess.run([sys.executable, "-c", command], check=True, timeout=60)
