"""Faults that tests must find: each is put into a copy of the checkout, where the named tests must then fail.

    python -m tests.support.mutations [NAME …]

Without names, all of tests/mutations/*.toml. Prints `killed` or `SURVIVED` for each; exit code 1 if any survives.
Before that, the tests must pass without a fault. Tests marked `slow` are left out, as in the short run of check.py.
"""

import multiprocessing
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLES = sorted((ROOT / "tests" / "mutations").glob("*.toml"))
FOLDERS = ("pipeline", "transforms", "runners", "search")
PROCESSES = os.cpu_count() or 1
LONGEST_S = 300.0


class Mutation(NamedTuple):
    """A fault: in a file, `old` becomes `new`; at least one of the tests must fail."""

    name: str
    file: str
    old: str
    new: str
    tests: list[str]

    def problem(self, root: Path = ROOT) -> str | None:
        """Why it cannot be applied to a checkout; None if it can."""
        path = root / self.file
        if not path.is_file():
            return f"{self.name}: there is no {self.file}"
        if (times := path.read_text().count(self.old)) != 1:
            return f"{self.name}: {self.file} has its text {times} times, not once: {self.old!r}"
        missing = [test for test in self.tests if not (root / test.partition("::")[0]).is_file()]
        return f"{self.name}: there is no {missing[0]}" if missing else None


def read() -> list[Mutation]:
    """All mutations, in the order of the tables."""
    return [
        Mutation(name, **fields)
        for path in TABLES
        for name, fields in tomllib.loads(path.read_text(encoding="utf-8")).items()
    ]


class Copy:
    """A copy of the checkout in which mutations are tried one after the other."""

    def __init__(self, folder: Path) -> None:
        self.root, self.packages, self._writes = folder / "checkout", folder / "packages", 0
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
        for path in (ROOT / name for name in names if name and (ROOT / name).is_file()):
            # What is compiled counts in the copy too: the source there has the same time.
            for each in (path, *path.parent.glob(f"__pycache__/{path.stem}.*.pyc")):
                copy = self.root / each.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(each, copy)
        package = self.packages / "beamtrawl"
        package.mkdir(parents=True)
        for target in (*(self.root / "beamtrawl").glob("*.py*"), *(self.root / name for name in FOLDERS)):
            (package / target.name).symlink_to(target)

    def exit_code(self, tests: list[str], most_s: float | None = LONGEST_S) -> int:
        """That of pytest, up to the first failure; 1 if it takes longer."""
        process = _FORKS.Process(target=_run, args=(self.root, self.packages, tests))
        process.start()
        process.join(most_s)
        if process.exitcode is None:
            process.kill()
            process.join()
            return 1
        return process.exitcode

    def try_out(self, mutation: Mutation) -> str:
        """What becomes of a mutation: killed, SURVIVED, or BROKEN if no test ran."""
        path = self.root / mutation.file
        text = path.read_text(encoding="utf-8")
        self._write(path, text.replace(mutation.old, mutation.new))
        try:
            return {0: "SURVIVED", 1: "killed"}.get(self.exit_code(mutation.tests), "BROKEN")
        finally:
            self._write(path, text)

    def _write(self, path: Path, text: str) -> None:
        """Write a module with a time of its own: Python compares time and size with those of the compiled module."""
        path.write_text(text, encoding="utf-8")
        self._writes += 1
        os.utime(path, (1_000_000_000 + self._writes,) * 2)


_FORKS = multiprocessing.get_context("forkserver")
_PRELOADED = ("apache_beam", "pyarrow.dataset", "lxml.html", "requests", "brotli", "pytest", "hypothesis.strategies")
_FORKS.set_forkserver_preload([*_PRELOADED, "_hypothesis_pytestplugin", "xdist.plugin"])  # all but the package
_WORDS = ("-x", "-q", "--short", "--assert=plain", "-p", "no:cacheprovider")


def _run(root: Path, packages: Path, tests: list[str]) -> None:
    """Run tests of a copy of the checkout in a process that has imported nothing of it, and exit as pytest does."""
    os.chdir(root)
    os.environ["PYTHONPATH"] = str(packages)  # of the programs that tests start
    sys.path[:] = [str(packages), str(root), *(path for path in sys.path if path and Path(path) != ROOT)]
    for name in [name for name in sys.modules if name == "tests" or name.startswith("tests.")]:
        del sys.modules[name]
    sys.dont_write_bytecode = False
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(null, stream)
    sys.exit(int(pytest.main([*_WORDS, *tests])))


def main(names: list[str]) -> int:
    """Try all mutations, or those that are named."""
    mutations = [each for each in read() if not names or each.name in names]
    problems = [problem for each in mutations if (problem := each.problem())]
    problems += [f"there is no mutation {name}" for name in names if name not in {each.name for each in mutations}]
    if problems:
        print(*problems, sep="\n", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(PROCESSES) as pool:
        copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        first = Copy(Path(folder) / "0")
        if first.exit_code(sorted({test for each in mutations for test in each.tests}), None):
            print("the tests fail without a mutation", file=sys.stderr)
            return 1
        for number in range(1, PROCESSES):
            copies.put(Copy(Path(folder) / str(number)))
        copies.put(first)

        def tried(mutation: Mutation) -> str:
            copy = copies.get()
            try:
                return copy.try_out(mutation)
            finally:
                copies.put(copy)

        survived = []
        for mutation, end in zip(mutations, pool.map(tried, mutations), strict=True):
            print(f"{end:9}{mutation.name}", flush=True)
            survived += [mutation.name] if end != "killed" else []
    print(f"{len(mutations)} mutations, {len(mutations) - len(survived)} killed")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
