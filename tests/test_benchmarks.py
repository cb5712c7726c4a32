"""The entry point of the benchmarks: what it runs, and what it shows of the results."""

import ast
import dataclasses
import importlib.util
import re
from pathlib import Path

import pytest

from beamtrawl.transforms.settings.sections import SECTIONS
from benchmarks import run
from benchmarks.plot import Chart


def row(size: str, **figures: float) -> dict[str, object]:
    return {"benchmark": "history", "size": size, "figures": figures}


def test_each_benchmark_is_a_script_that_prints_its_figures() -> None:
    scripts = [run.HERE / f"{name}.py" for name in run.BENCHMARKS]
    assert [path.name for path in scripts if '"--json"' not in path.read_text(encoding="utf-8")] == []
    patterns = [pattern for each in run.BENCHMARKS.values() for pattern in (each.short, each.full)]
    assert [pattern for pattern in patterns if "--json" not in pattern.split()] == []


@pytest.mark.parametrize("script", sorted(run.HERE.glob("*.py")), ids=lambda path: path.stem)
def test_what_a_benchmark_imports_and_sets_is_there(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("beamtrawl.", "tests.")):
            module = importlib.import_module(node.module or "")
            missing = [name.name for name in node.names if not hasattr(module, name.name)]
            assert [name for name in missing if not importlib.util.find_spec(f"{node.module}.{name}")] == []
    settings = {f"{name}__{field.name}" for name, part in SECTIONS.items() for field in dataclasses.fields(part.type)}
    sections = "|".join(SECTIONS)
    assert {*re.findall(rf"\b(?:{sections})__\w+", text)} <= settings


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("--pages 10", ["--pages", "10"]),
        ("--json -- {sites}", ["--json", "--", "a", "b"]),
        ("{index} --json", None),
    ],
)
def test_words_of_a_pattern(pattern: str, found: list[str] | None) -> None:
    assert run.words(pattern, {"sites": ["a", "b"], "index": []}) == found


def test_the_table_shows_the_last_two_results() -> None:
    rows = [row("short", cpu=9.0), row("short", cpu=2.0), row("full", cpu=12345.6), row("short", cpu=3.0, zero=0.0)]
    assert run.table(rows).splitlines()[2:] == [
        "| history, short | cpu | 3 | 2 | +50 % |",
        "| history, short | zero | 0 |  |  |",
        "| history, full | cpu | 12,346 |  |  |",
    ]


def test_a_chart_has_the_values_of_a_benchmark_in_order() -> None:
    lines = {"cpu": [(1, 9.0), (2, 2.0)]}
    assert run.charts([row("short", cpu=9.0), row("short", cpu=2.0)]) == [
        Chart("history, short", "results, oldest first", "", lines)
    ]


def test_a_script_that_fails_and_the_machine_of_a_result() -> None:
    with pytest.raises(RuntimeError, match="plot_of_nothing ended with 2"):
        run.run("plot_of_nothing", [])
    assert {"cpu", "cores", "memory_mb", "system", "python"} == set(run.machine())
