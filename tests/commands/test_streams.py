"""Programs that are started without standard streams."""

import subprocess
import sys

import pytest

from beamtrawl.runners.program.cli import main, open_closed_streams

OPENS_A_FILE = f"""
import os
from {open_closed_streams.__module__} import open_closed_streams
open_closed_streams()
opened = os.open(os.devnull, os.O_RDONLY)
print("printed")
os._exit(opened)
"""


def ended(closed: str, *words: str) -> subprocess.CompletedProcess[str]:
    shell = ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *words]
    return subprocess.run(shell, check=False, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_no_file_gets_the_descriptor_of_a_standard_stream(closed: str) -> None:
    done = ended(closed, sys.executable, "-P", "-c", OPENS_A_FILE)
    assert done.returncode > 2
    assert (done.stdout, done.stderr) == ("" if ">&-" in closed.split() else "printed\n", "")


def test_the_program_has_standard_streams() -> None:
    code = f"import sys; from {main.__module__} import main; main(); print(sys.stdout.fileno(), file=sys.stderr)"
    done = ended(">&-", sys.executable, "-P", "-c", code, "--version")
    assert (done.returncode, done.stderr) == (0, "1\n")
