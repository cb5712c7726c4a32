"""The program in a shell: help, examples, exit codes, misspelled words, completion."""

import argparse
import contextlib
import io
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from beamtrawl.runners.commands.completion import SHELLS
from beamtrawl.runners.commands.examples import EXAMPLES
from beamtrawl.runners.commands.registry import COMMANDS
from beamtrawl.runners.program.main import parser
from tests.support.command_line import beamtrawl, failure
from tests.support.prerequisites import lacks

LINES = 46  # of the longest help, in 80 columns


def walk(found: argparse.ArgumentParser, words: str) -> Iterator[str]:
    yield words
    for action in found._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from walk(below, f"{words} {name}")


def every_command() -> Iterator[str]:
    for command in COMMANDS:
        one = argparse.ArgumentParser()
        command.load().add_arguments(one)
        yield from walk(one, command.name)


def test_every_command_has_an_example() -> None:
    assert sorted(every_command()) == sorted(EXAMPLES)


@pytest.mark.parametrize("words", EXAMPLES)
def test_help_fits_a_screen_and_ends_with_an_example_that_is_understood(words: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as out, pytest.raises(SystemExit):
        parser().parse_args([*words.split(), "--help"])
    text = out.getvalue()
    assert text.count("\n") <= LINES
    assert "".join(EXAMPLES[words].split()) in "".join(text.split())  # the help breaks lines
    _, *example = shlex.split(EXAMPLES[words].split(" > ")[0])
    assert " ".join(example).startswith(words)
    assert parser().parse_args(example)


# words, exit code, the line on stderr
MISSPELLED = {
    "a command": (["crwal"], "crwal: there is no such command; did you mean crawl?; see: beamtrawl --help"),
    "no command at all": (["xyzzy"], "xyzzy: there is no such command; see: beamtrawl --help"),
    "a flag": (
        ["crawl", "x", "--max-page", "3"],
        "unrecognized arguments: --max-page 3; did you mean --max-pages?; see: beamtrawl crawl --help",
    ),
    "a flag with its value": (
        ["crawl", "x", "--roundz=3"],
        "unrecognized arguments: --roundz=3; did you mean --rounds?; see: beamtrawl crawl --help",
    ),
    "no flag at all": (
        ["crawl", "x", "--frobnicate"],
        "unrecognized arguments: --frobnicate; see: beamtrawl crawl --help",
    ),
}


@pytest.mark.parametrize(("words", "line"), MISSPELLED.values(), ids=MISSPELLED)
def test_a_misspelled_word_is_named_with_the_one_that_is_meant(words: list[str], line: str) -> None:
    assert failure(*words) == (2, line)


def test_exit_codes_are_documented(tmp_path: Path) -> None:
    page = Path(__file__).parents[2].joinpath("docs", "running.md").read_text(encoding="utf-8")
    section = page.split("\n## Exit codes\n")[1].split("\n## ")[0]
    codes = [int(line.split("|")[1]) for line in section.splitlines() if line.startswith("| ") and line[2].isdecimal()]
    assert codes == [0, 1, 2, 3, 130]
    assert beamtrawl("check", "url", "http://a.test/").code == 0
    assert beamtrawl("status", tmp_path).code == 1
    assert beamtrawl("status").code == 2  # 3: test_alarms; 130: test_cli


def script(shell: str, folder: Path) -> Path:
    if not shutil.which(shell):
        lacks(shell)
    file = folder / f"beamtrawl.{shell}"
    file.write_text(beamtrawl("completion", shell).out)
    return file


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_a_shell_is_valid(shell: str, tmp_path: Path) -> None:
    subprocess.run([shell, "-n", script(shell, tmp_path)], check=True)


# the words before the cursor, the words that complete the last one
COMPLETED = {
    "a command": ("beamtrawl cra", ["crawl"]),
    "commands": ("beamtrawl un", ["unblock"]),
    "a command below a command": ("beamtrawl check u", ["url"]),
    "flags": ("beamtrawl crawl --max-p", ["--max-pages", "--max-pages-per-host"]),
    "values": ("beamtrawl crawl --runner fl", ["flink"]),
    "a shell": ("beamtrawl completion b", ["bash"]),
}


@pytest.mark.parametrize(("typed", "words"), COMPLETED.values(), ids=COMPLETED)
def test_bash_completes(typed: str, words: list[str], tmp_path: Path) -> None:
    asked = (
        f"source {script('bash', tmp_path)}; COMP_WORDS=({typed}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1));"
        f" $(complete -p beamtrawl | sed 's/.*-F \\([^ ]*\\).*/\\1/'); printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    found = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, check=True).stdout
    assert sorted(word.strip() for word in found.splitlines()) == words


@pytest.mark.parametrize(("typed", "words"), COMPLETED.values(), ids=COMPLETED)
def test_fish_completes(typed: str, words: list[str], tmp_path: Path) -> None:
    asked = f"source {script('fish', tmp_path)}; complete -C {shlex.quote(typed)}"
    found = subprocess.run(["fish", "--no-config", "-c", asked], capture_output=True, text=True, check=True).stdout
    assert sorted(line.split("\t")[0] for line in found.splitlines()) == words
