"""The commands of docs/tutorial.md, word for word, print what the page says."""

import doctest
import fnmatch
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[1] / "docs" / "tutorial.md"
BESIDE_PYTHON = Path(sys.executable).parent
FIRST, LAST = 8600, 8604  # ports of the page


def steps(text: str) -> list[tuple[str, list[str]]]:
    """The commands after `$ `, and the lines that the page shows below each.

    >>> steps("```console\\n$ a b\\nc…\\n$ d\\n```\\n")
    [('a b', ['c…']), ('d', [])]
    """
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def is_printed(shown: list[str], printed: list[str]) -> bool:
    """Whether the lines are among those printed, in that order; `…` stands for any text.

    >>> is_printed(["a…", "c"], ["ab", "b", "c"]), is_printed(["c", "a…"], ["ab", "b", "c"])
    (True, False)
    """
    rest = iter(printed)
    patterns = [re.sub(r"([\[?*])", r"[\1]", line).replace("…", "*") for line in shown]
    return all(any(fnmatch.fnmatchcase(line, pattern) for line in rest) for pattern in patterns)


def five_free_ports() -> int:
    """The first of five ports in a row that were free a moment ago."""
    for first in range(20_000, 30_000, 10):
        sockets = [socket.socket() for _ in range(FIRST, LAST + 1)]
        try:
            for offset, each in enumerate(sockets):
                each.bind(("127.0.0.1", first + offset))
            return first
        except OSError:
            continue
        finally:
            for each in sockets:
                each.close()
    raise AssertionError("no free ports")


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(sys.modules[__name__]) == (0, 2)


@pytest.mark.slow("demo")
def test_the_tutorial_works_word_for_word(tmp_path: Path) -> None:
    free = five_free_ports()
    text = re.sub(r"\b86(0[0-4])\b", lambda port: str(free + int(port[1])), PAGE.read_text(encoding="utf-8"))
    (web_command, web_lines), *rest = steps(text)
    assert web_command == "beamtrawl demo --web"
    assert len(rest) > 12
    program = [BESIDE_PYTHON / "beamtrawl", "demo", "--web", str(free)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as web:
        try:
            assert web.stdout is not None
            assert [web.stdout.readline().rstrip() for _ in web_lines] == web_lines
            script = "".join(f"echo '@@ {number}'\n{command}\n" for number, (command, _) in enumerate(rest))
            ran = subprocess.run(
                ["bash", "-e"],
                input=f"PATH={BESIDE_PYTHON}:$PATH\n{script}",
                cwd=tmp_path,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
        finally:
            web.terminate()
    outputs = [part.splitlines()[1:] for part in ran.stdout.split("@@ ")[1:]]
    for (command, shown), printed in zip(rest, outputs, strict=False):
        assert is_printed(shown, printed), (command, shown, printed)
    assert (ran.returncode, len(outputs)) == (0, len(rest)), ran.stdout[-2000:]
