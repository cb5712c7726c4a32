"""Run the program, in this process or in one of its own, and catch what it says."""

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from beamtrawl.runners.program.main import run

LOOPBACK = ["--allow-address", "127.0.0.0/8", "--delay", "0", "--workers", "1"]
"""Flags for a crawl of servers on this machine, fast and in this process."""

PROGRAM = [sys.executable, "-P", "-m", "beamtrawl"]
"""The program in a process of its own, whatever Python files the current folder holds."""

_ROOT = Path(__file__).resolve().parents[2]


class Ran(NamedTuple):
    """What became of a command."""

    code: int
    out: str
    err: str


def beamtrawl(*words: object) -> Ran:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = run([str(word) for word in words])
    return Ran(code, out.getvalue(), err.getvalue())


_EACH = """
import json, sys
from tests.support.command_line import beamtrawl
json.dump([beamtrawl(*words) for words in json.load(sys.stdin)], sys.stdout)
"""


def in_one_process(commands: Sequence[Sequence[object]], environment: Mapping[str, str]) -> list[Ran]:
    """Run commands one after the other in a process of their own: its start costs as much as many small commands."""
    folders = [str(_ROOT), environment.get("PYTHONPATH", "")]
    known = {**environment, "PYTHONPATH": os.pathsep.join(filter(None, folders))}
    given = json.dumps([list(map(str, words)) for words in commands])
    words = [sys.executable, "-P", "-c", _EACH]
    ran = subprocess.run(words, env=known, input=given, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return [Ran(*each) for each in json.loads(ran.stdout)]


def failure(*words: object) -> tuple[int, str]:
    """The exit code of a command that fails, and the one line that it says."""
    code, out, err = beamtrawl(*words)
    assert out == ""
    assert err.startswith("beamtrawl: ")
    assert err.count("\n") == 1
    return code, err.removeprefix("beamtrawl: ").rstrip("\n")


def success(*words: object) -> str:
    """What a command that succeeds prints."""
    ran = beamtrawl(*words)
    assert ran.code == 0, ran.err
    return ran.out


def contents(directory: Path) -> dict[Path, bytes]:
    """All files below a directory."""
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def group_lives(group: int) -> bool:
    """Whether any process of a group is there."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
