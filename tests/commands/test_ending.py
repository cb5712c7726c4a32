"""How a process of the program ends."""

import subprocess
import sys
from pathlib import Path

from beamtrawl.runners.program.cli import Ending
from tests.support.command_line import PROGRAM

ABANDONED_SCAN = f"""
import io, time
from {Ending.__module__} import Ending
ending = Ending()
import pyarrow as pa, pyarrow.dataset as ds, pyarrow.parquet as pq

class Store(io.BytesIO):
    def read(self, size=-1):
        time.sleep(0.02)  # as a request takes
        return super().read(size)

table = pa.table({{"a": range(1000)}})
written = io.BytesIO()
pq.write_table(table, written)
parquet = ds.ParquetFileFormat()
files = [parquet.make_fragment(Store(written.getvalue())) for _ in range(40)]
batches = ds.FileSystemDataset(files, table.schema, parquet).to_batches()
next(batches)
ending.code = 3
print("printed")
"""
"""Arrow reads ahead while the process ends: without Ending, the process waits for ever."""


def ended(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-P", "-c", code], check=False, capture_output=True, text=True, timeout=60)


def test_reads_under_way_neither_block_nor_abort_the_end() -> None:
    done = ended(ABANDONED_SCAN)
    assert (done.returncode, done.stdout, done.stderr) == (3, "printed\n", "")


def test_functions_of_atexit_run_before() -> None:
    code = (
        f"from {Ending.__module__} import Ending; ending = Ending(); import atexit;"
        "atexit.register(lambda: print('registered later')); ending.code = 0"
    )
    done = ended(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "registered later\n", "")


def test_an_error_that_nothing_catches_is_a_failure() -> None:
    code = f"from {Ending.__module__} import Ending; ending = Ending(); raise ValueError('unforeseen')"
    done = ended(code)
    assert (done.returncode, "ValueError: unforeseen" in done.stderr) == (1, True)


def test_output_that_cannot_be_written_is_a_failure() -> None:
    with Path("/dev/full").open("w", encoding="ascii") as full:
        words = [*PROGRAM, "--version"]
        done = subprocess.run(words, check=False, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == "beamtrawl: the output cannot be written: No space left on device\n"
