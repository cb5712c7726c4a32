"""`import beamtrawl`: light, with every public name, typed."""

import ast
import logging
import subprocess
import sys
from pathlib import Path

import pytest
from apache_beam import pipeline
from apache_beam.utils import interactive_utils

import beamtrawl
from beamtrawl._beam import plain_beam

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("apache_beam", "duckdb", "lxml", "numpy", "pandas", "polars", "pyarrow")
USED = """
import sys, time
before = time.process_time()
{program}
print(round(time.process_time() - before, 3), *({heavy!r} & sys.modules.keys()))
"""


def run(program: str, *words: str) -> tuple[float, set[str]]:
    """CPU seconds that a program takes in a new process, and what it has imported of HEAVY."""
    source = USED.format(program=program, heavy=set(HEAVY))
    out = subprocess.run([sys.executable, "-c", source, *words], capture_output=True, text=True, check=True, cwd=ROOT)
    seconds, *modules = out.stdout.split()
    return float(seconds), set(modules)


def test_the_import_is_light() -> None:
    seconds, modules = run("import beamtrawl")
    assert modules == set()
    assert seconds < 0.1


def test_a_name_that_needs_nothing_imports_nothing() -> None:
    assert run("from beamtrawl import BeamtrawlError, SettingsError, Outcome, PluginError")[1] == set()


@pytest.mark.slow("processes")
def test_reading_does_not_import_beam(finished: beamtrawl.Report) -> None:
    program = "import beamtrawl\nc = beamtrawl.open(sys.argv[1]); len(c.urls); c.search('nets'); c.sql('SELECT 1')"
    assert "apache_beam" not in run(program + "; c.status()", finished.directory)[1]


@pytest.mark.slow("whole crawls")
def test_the_import_and_a_crawl_log_nothing_and_leave_logging_alone(finished: beamtrawl.Report) -> None:
    program = (
        "import logging, sys, beamtrawl\n"
        "report = beamtrawl.crawl(sys.argv[1])\n"
        "assert report.reason == 'frontier_empty'\n"
        "assert logging.getLogger().handlers == logging.getLogger().filters == []\n"
        "assert logging.getLogger('apache_beam').level == logging.NOTSET"
    )
    words = [sys.executable, "-c", program, finished.directory]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (ran.stderr, ran.stdout, ran.returncode) == ("", "", 0)


@pytest.mark.slow("whole crawls")
def test_slow_queries_draw_no_progress_on_the_output(finished: beamtrawl.Report) -> None:
    """As DuckDB does after two seconds where Python seems interactive to it: in notebooks and `python -c`."""
    query = "SELECT current_setting('enable_progress_bar')"
    program = (
        f"import sys, beamtrawl\ncrawl, query = beamtrawl.open(sys.argv[1]), {query!r}\n"
        "print([each.sql(query).fetchall() for each in (crawl, crawl.connect())])"
    )
    words = [sys.executable, "-c", program, finished.directory]
    ran = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout == "[[(False,)], [(False,)]]\n"


def test_beam_is_as_it_was_after_the_last_of_two_crawls_at_once() -> None:
    before = pipeline.is_in_ipython, interactive_utils.is_in_ipython, logging.getLogger("apache_beam").level
    first, second = plain_beam(), plain_beam()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert pipeline.is_in_ipython not in before
    assert logging.getLogger("apache_beam").level == logging.ERROR
    second.__exit__(None, None, None)
    assert (pipeline.is_in_ipython, interactive_utils.is_in_ipython, logging.getLogger("apache_beam").level) == before


@pytest.mark.parametrize("name", beamtrawl.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    value = getattr(beamtrawl, name)
    assert name in dir(beamtrawl)
    if name != "__version__":
        assert value.__name__ == name
        assert value.__doc__


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'beamtrawl' has no attribute 'craw1'"):
        beamtrawl.craw1  # type: ignore[attr-defined]  # noqa: B018


def test_type_checkers_see_the_names_that_are_loaded() -> None:
    tree = ast.parse((ROOT / "beamtrawl" / "__init__.py").read_text())
    imports = {
        alias.asname or alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("beamtrawl.")
        for alias in node.names
    }
    assert imports == {name: f"beamtrawl.{module}" for name, module in beamtrawl._HOME.items()}
    assert sorted([*imports, "__version__"]) == beamtrawl.__all__


def test_errors_have_one_base_class() -> None:
    errors = [name for name in beamtrawl.__all__ if name.endswith("Error")]
    assert len(errors) == 8
    assert all(issubclass(getattr(beamtrawl, name), beamtrawl.BeamtrawlError) for name in errors)


def test_the_distribution_is_typed() -> None:
    assert (ROOT / "beamtrawl" / "py.typed").exists()
