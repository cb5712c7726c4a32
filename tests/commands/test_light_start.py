"""What the program imports: the module of one command only, and Beam only where pipelines run."""

import importlib.util
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from beamtrawl import __version__
from beamtrawl.runners.commands.registry import COMMANDS
from beamtrawl.runners.process.absent import absent
from beamtrawl.runners.program.main import parser
from tests.support.command_line import LOOPBACK, PROGRAM, beamtrawl
from tests.support.web import Web, html

REPORT = """
import ast, sys
from beamtrawl.runners.program.cli import main
for words in ast.literal_eval(sys.argv[1]):
    sys.argv[1:] = words
    assert main() == 0
    print("imported:", *sys.modules, file=sys.stderr)
"""
COMMAND_MODULES = {f"beamtrawl.runners.commands.{command.module}" for command in COMMANDS}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of one page."""
    directory = tmp_path_factory.mktemp("light") / "crawl"
    with Web({"host.test": {"/": html("Fish", "Some words about fish.")}}) as web:
        words = ["crawl", directory, "--seed", web.url("host.test"), "--rounds", 1, *LOOPBACK]
        assert beamtrawl(*words).code == 0
    return directory


def modules(*commands: Sequence[object]) -> list[set[str]]:
    """The modules that a process has imported after each of some commands."""
    given = [list(map(str, words)) for words in commands]
    ran = subprocess.run([PROGRAM[0], "-P", "-c", REPORT, repr(given)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return [set(line.split()[1:]) for line in ran.stderr.splitlines() if line.startswith("imported: ")]


# the words, with DIR for the crawl, and the command module that each is the first to import, if any
LIGHT: list[tuple[list[str], str | None]] = [
    (["--help"], None),
    (["--version"], None),
    (["search", "DIR", "fish"], "search"),
    (["status", "--help"], "status"),
    (["status", "DIR"], None),
    (["check", "url", "http://a.test/"], "checks.check"),
    (["sql", "DIR", "SELECT count(*) FROM documents"], "sql"),
]


def test_reading_commands_import_themselves_and_no_beam(crawled: Path) -> None:
    """In one process, one after the other: what none of them has imported, it would not import alone."""
    commands = [[str(crawled) if word == "DIR" else word for word in words] for words, _ in LIGHT]
    expected = set[str]()
    for (words, first), imported in zip(LIGHT, modules(*commands), strict=True):
        expected |= {f"beamtrawl.runners.commands.{first}"} if first else set()
        assert "beamtrawl.runners.commands.registry" in imported
        assert imported & COMMAND_MODULES == expected, words
        assert not imported & {"apache_beam", "pandas", "flask", "kiwipiepy", "pypdfium2"}, words
        assert expected or not imported & {"pyarrow", "numpy", "importlib.metadata"}, words
        assert ("duckdb" in imported) is (words[0] == "sql"), words
        assert words[0] != "search" or not imported & {"lxml", "py3langid"}


FEW = {"pandas", "pymongo", "boto3", "IPython", "apache_beam.io.gcp.bigquery", "requests", "urllib3"}
"""What Beam and Arrow import where it is installed, and the libraries of the other transport."""


@pytest.mark.slow("processes")
def test_a_crawl_imports_beam_without_what_its_pipelines_do_not_use(crawled: Path) -> None:
    (imported,) = modules(["crawl", crawled, "--rounds", 0])
    assert "apache_beam" in imported
    assert not imported & {*FEW, "beamtrawl.runners.engines.flink"}


MARKED = """
import os
with open({!r}, "a") as marks:
    marks.write(f"{{os.getpid()}} ")
raise ImportError("a mark is all")
"""


@pytest.mark.slow("processes")
@pytest.mark.parametrize("words", ["compact DIR --rebuild-index", "rank DIR"])
def test_a_command_looks_for_no_pandas(crawled: Path, tmp_path: Path, words: str) -> None:
    (tmp_path / "pandas.py").write_text(MARKED.format(str(tmp_path / "marks")))
    command = [*PROGRAM, *(str(crawled) if word == "DIR" else word for word in words.split())]
    ran = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert not (tmp_path / "marks").exists()


def test_plugins_may_use_pandas() -> None:
    program = "from beamtrawl.runners.process.absent import keep_pandas_out; keep_pandas_out()\n"
    program += "import pyarrow as pa, sys; pa.array([1]); print('pandas' in sys.modules)\n"
    program += "print(pa.table({'a': [1]}).to_pandas().shape)"
    ran = subprocess.run([PROGRAM[0], "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split("\n") == ["False", "(1, 1)", ""]


def test_modules_are_absent_in_the_block_only() -> None:
    with absent({"this"}), pytest.raises(ModuleNotFoundError, match="this is not used"):
        importlib.import_module("this")
    assert importlib.util.find_spec("this")


@pytest.mark.slow("processes")
def test_the_reading_side_of_the_index_needs_no_beam() -> None:
    """As in a notebook or a server of one's own, without the program."""
    reading = [
        "search.answers.searcher",
        "runners.exports.ciff_index",
        "transforms.ranking.pagerank",
    ]
    names = ", ".join(f"beamtrawl.{module}" for module in reading)
    program = f"import sys, {names}\nprint(*sys.modules)\nimport beamtrawl.search.gateway.app; print(*sys.modules)"
    ran = subprocess.run([PROGRAM[0], "-P", "-c", program], capture_output=True, text=True, check=True)
    imported, with_gateway = (set(line.split()) for line in ran.stdout.splitlines())
    assert not with_gateway & {"apache_beam", "duckdb", "lxml", "py3langid", "kiwipiepy", "pypdfium2"}
    assert ("flask" in imported, "flask" in with_gateway) == (False, True)


@pytest.mark.slow("processes")
def test_a_search_costs_little_more_than_the_start_of_its_libraries(crawled: Path) -> None:
    """Twice as much on a quiet machine; to load Beam costs three times as much as they do."""
    libraries = [PROGRAM[0], "-c", "import numpy, pyarrow.parquet, pyarrow.compute"]
    search = [*PROGRAM, "search", str(crawled), "fish"]
    assert is_cheaper(search, lambda: 2.5 * cpu_seconds(libraries))


def test_help_costs_no_more_than_a_quarter_of_a_second_of_computing() -> None:
    assert is_cheaper([*PROGRAM, "--help"], lambda: 0.25)


def is_cheaper(words: list[str], most: Callable[[], float]) -> bool:
    """Whether a program costs less than something else, at least once of three times: other load makes both dearer."""
    return any(cpu_seconds(words) < most() for _ in range(3))


def cpu_seconds(words: list[str]) -> float:
    """What a program spends in user and system mode."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


def test_version() -> None:
    ran = subprocess.run([*PROGRAM, "--version"], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == (f"beamtrawl {__version__}\n", "")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_has_its_arguments(command, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args([command.name, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: beamtrawl {command.name} ")
    assert command.summary in shown
