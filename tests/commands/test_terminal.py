"""What a terminal shows: lines between words, bold matches, and a sign of life before Beam is imported."""

import doctest
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from beamtrawl.runners.program import cli
from beamtrawl.runners.terminal import highlight
from beamtrawl.runners.terminal.highlight import wrapped
from tests.support.command_line import LOOPBACK, PROGRAM, beamtrawl
from tests.support.tables import each_row
from tests.support.web import Web, html

# text with matches in brackets, columns: the lines
WRAPPED = {
    "words": ("one two three", 8, ["one two", "three"]),
    "as long as the terminal": ("one two", 7, ["one two"]),
    "a match at a break": ("one [two three] four", 8, ["one [two]", "[three]", "four"]),
    "a word that is too long": ("a 1234567890 b", 5, ["a", "1234567890", "b"]),
    "lines of code": ("def f():\n    return [1]", 40, ["def f():", "    return [1]"]),
    "Korean, two columns each": ("등대지기는 해가 [지기] 한", 15, ["등대지기는 해가", "[지기] 한"]),
    "Japanese, without spaces": ("[日本]語のテキスト。", 10, ["[日本]語のテ", "キスト。"]),
    "nothing": ("", 10, [""]),
}


def pieces(text: str) -> list[tuple[str, bool]]:
    parts = text.replace("]", "[").split("[")
    return [(part, number % 2 == 1) for number, part in enumerate(parts)]


@each_row(WRAPPED)
def test_a_line_ends_between_words(text: str, columns: int, lines: list[str]) -> None:
    bold = [
        line.replace(highlight.MARKED, "[").replace(highlight.NORMAL, "]")
        for line in wrapped(pieces(text), columns, True)
    ]
    assert bold == lines
    plain = [line.replace("[", "").replace("]", "") for line in lines]
    assert list(wrapped(pieces(text), columns, False)) == plain


def on_a_terminal(*words: object, **environment: str) -> str:
    """All that a terminal gets from the program."""
    ours, theirs = pty.openpty()
    known = {"TERM": "xterm", "COLUMNS": "40", "PATH": os.environ["PATH"]} | environment
    with subprocess.Popen(
        [*PROGRAM, *map(str, words)], stdin=theirs, stdout=theirs, stderr=theirs, env=known
    ) as program:
        os.close(theirs)
        shown = b""
        try:
            while data := os.read(ours, 1 << 16):
                shown += data
        except OSError:  # the program has ended
            pass
        os.close(ours)
    assert program.returncode is not None
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.slow("processes")
def test_a_search_on_a_terminal(tmp_path: Path) -> None:
    text = "The lighthouse stands on a rock in the sea, and its lamp is seen from ships that are far away."
    with Web({"host.test": {"/": html("Home", text)}}) as web:
        assert beamtrawl("crawl", tmp_path / "site", "--seed", web.url("host.test"), *LOOPBACK).code == 0
    words = ["search", tmp_path / "site", "lighthouse"]
    shown = on_a_terminal(*words)
    lines = shown.splitlines()
    assert "\x1b[1;31mlighthouse\x1b[22;39m" in shown
    assert max(len(line.replace("\x1b[1;31m", "").replace("\x1b[22;39m", "")) for line in lines[4:]) <= 40
    assert on_a_terminal(*words, NO_COLOR="1") == shown.replace("\x1b[1;31m", "").replace("\x1b[22;39m", "")
    piped = beamtrawl(*words).out
    assert "\x1b" not in piped
    assert len(piped.splitlines()) == 5


def test_a_crawl_says_at_once_that_it_starts(tmp_path: Path) -> None:
    shown = on_a_terminal("crawl", tmp_path / "new")
    assert shown.startswith("starting …\rbeamtrawl: ")
    loaded = (
        "import sys, beamtrawl.runners.program.cli; sys.exit('apache_beam' in sys.modules or 'pyarrow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-P", "-c", loaded], check=False).returncode == 0


def test_examples_in_docstrings() -> None:
    for module in (cli, highlight):
        assert doctest.testmod(module).failed == 0
