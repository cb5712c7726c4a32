"""The program in a shell: help, examples, exit codes, misspelled words, completion."""

import argparse
import contextlib
import io
import os
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
from tests.support.command_line import beamtrawl, failure, in_one_process
from tests.support.prerequisites import lacks
from tests.support.tables import each_row

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


@each_row(MISSPELLED)
def test_a_misspelled_word_is_named_with_the_one_that_is_meant(words: list[str], line: str) -> None:
    assert failure(*words) == (2, line)


def test_exit_codes_are_documented(tmp_path: Path) -> None:
    page = Path(__file__).parents[2].joinpath("docs", "running.md").read_text(encoding="utf-8")
    section = page.split("\n## Exit codes\n")[1].split("\n## ")[0]
    codes = [int(line.split("|")[1]) for line in section.splitlines() if line.startswith("| ") and line[2].isdecimal()]
    assert codes == [0, 1, 2, 3, 4, 130]
    assert beamtrawl("check", "url", "http://a.test/").code == 0
    assert beamtrawl("status", tmp_path).code == 1
    assert beamtrawl("status").code == 2  # 3: test_alarms; 130: test_cli


@pytest.fixture(scope="module", params=SHELLS)
def script(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which(request.param):
        lacks(request.param)
    file = tmp_path_factory.mktemp("completion") / f"beamtrawl.{request.param}"
    file.write_text(beamtrawl("completion", request.param).out)
    return file


def test_the_script_of_a_shell_is_valid(script: Path) -> None:
    subprocess.run([script.suffix[1:], "-n", script], check=True)


# the words before the cursor, the words that complete the last one
COMPLETED = {
    "a command": ("beamtrawl cra", ["crawl"]),
    "commands": ("beamtrawl un", ["unblock"]),
    "a command below a command": ("beamtrawl check u", ["url"]),
    "flags": ("beamtrawl crawl --max-p", [f"--max-pages{end}" for end in ("", "-per-host", "-per-host-per-round")]),
    "values": ("beamtrawl crawl --runner fl", ["flink"]),
    "a shell": ("beamtrawl completion b", ["bash"]),
}


# how a shell is asked: it reads lines as those of COMPLETED, and writes a line for each
ASK = {
    "bash": r"""source {script}; completer=$(complete -p beamtrawl | sed 's/.*-F \([^ ]*\).*/\1/')
        while read -ra COMP_WORDS; do
            COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMPREPLY=(); $completer; echo "${{COMPREPLY[*]}}"
        done""",
    "fish": r"""source {script}; while read typed; complete -C $typed | cut -f 1 | string join ' '; end; true""",
}


@pytest.mark.parametrize("script", ASK, indirect=True)
def test_a_shell_completes(script: Path) -> None:
    shell, typed = script.suffix[1:], "".join(f"{words}\n" for words, _ in COMPLETED.values())
    words = [shell, "-c", ASK[shell].format(script=shlex.quote(str(script)))]
    ran = subprocess.run(words, input=typed, capture_output=True, text=True, check=True)
    found = [sorted(line.split()) for line in ran.stdout.splitlines()]
    assert dict(zip(COMPLETED, found, strict=True)) == {name: expected for name, (_, expected) in COMPLETED.items()}


def test_an_extra_that_is_not_installed_is_named_and_is_no_usage_error(tmp_path: Path) -> None:
    for name in ("anyio", "warcio"):
        (tmp_path / f"{name}.py").write_text(f"raise ModuleNotFoundError(name={name!r})")
    commands = {"mcp": ["mcp", tmp_path], "warc": ["export", "warc", tmp_path, tmp_path / "out"]}
    ran = in_one_process(list(commands.values()), os.environ | {"PYTHONPATH": str(tmp_path)})
    assert [each.code for each in ran] == [1, 1]
    assert all(f"pip install 'beamtrawl[{extra}]'" in each.err for extra, each in zip(commands, ran, strict=True))
