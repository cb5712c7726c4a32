"""The shape of the program: who may import whom, who sees the command line, and what is shipped."""

import ast
import tarfile
from pathlib import Path

import pytest

from tests.workers import make_sdist

ROOT = Path(__file__).resolve().parents[1]
MAY_IMPORT = {
    "transforms": {"transforms"},
    "pipeline": {"pipeline", "transforms"},
    "search": {"search", "transforms"},
    "runners": {"runners", "pipeline", "search", "transforms"},
}
MODULES = [path.relative_to(ROOT) for package in MAY_IMPORT for path in sorted((ROOT / package).rglob("*.py"))]
BUILD_GRAPHS = {"pipeline", "transforms"}


def imports(tree):
    """Every name that a module imports, with dots: `from a.b import c` gives a.b.c."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names)


def attributes(tree, of):
    """The attributes of a name that a module uses: `Map` of `beam.Map`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == of:
            yield node.attr


def offences(module: Path, source: str) -> list[str]:
    """What a module does that its package must not."""
    package, tree = module.parts[0], ast.parse(source)
    imported = list(imports(tree))
    ours = {name.partition(".")[0] for name in imported} & (MAY_IMPORT.keys() | {"", "tests"})
    found = [f"imports {name or 'by a relative name'}" for name in ours - MAY_IMPORT[package]]
    if package != "runners":
        of_runners = ("argparse", "apache_beam.options", "sys.argv", "os.environ", "os.getenv", "sys.exit")
        used = imported + [f"{of}.{name}" for of in ("sys", "os") for name in attributes(tree, of)]
        found += [f"uses {name}" for name in used if name.startswith(of_runners)]
    if package not in BUILD_GRAPHS:
        used = {f"beam.{name}" for name in attributes(tree, "beam")} - {"beam.Pipeline"}
        used |= {n for n in imported if n.startswith(("apache_beam.transforms.p", "apache_beam.transforms.core"))}
        found += [f"uses {name}" for name in used]
    if package in BUILD_GRAPHS and "__future__.annotations" in imported:
        found.append("turns Beam's type checks off")
    return sorted(found)


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_module_keeps_to_its_place(module):
    assert offences(module, (ROOT / module).read_text(encoding="utf-8")) == []


# module, source, what is wrong with it
OFFENCES = {
    "upwards": ("transforms/a.py", "from pipeline.crawl import End", "imports pipeline"),
    "upwards, inside a function": ("pipeline/a.py", "def f():\n import runners.cli", "imports runners"),
    "sideways": ("search/a.py", "import pipeline", "imports pipeline"),
    "relative": ("transforms/a.py", "from . import urls", "imports by a relative name"),
    "the command line": ("pipeline/a.py", "import sys\nsys.argv", "uses sys.argv"),
    "the environment": ("search/a.py", "import os\nos.environ['A']", "uses os.environ"),
    "flags": ("transforms/a.py", "import argparse", "uses argparse"),
    "Beam's flags": (
        "pipeline/a.py",
        "from apache_beam.options.pipeline_options import PipelineOptions",
        "uses apache_beam.options.pipeline_options.PipelineOptions",
    ),
    "a graph": ("runners/a.py", "import apache_beam as beam\nbeam.Map(str)", "uses beam.Map"),
    "a step": ("search/a.py", "import apache_beam as beam\nclass A(beam.DoFn): pass", "uses beam.DoFn"),
    "annotations": ("transforms/a.py", "from __future__ import annotations", "turns Beam's type checks off"),
}


@pytest.mark.parametrize(("module", "source", "offence"), OFFENCES.values(), ids=OFFENCES)
def test_an_offence_is_noticed(module, source, offence):
    assert offences(Path(module), source) == [offence]


def test_the_sdist_holds_every_module_and_every_page_of_the_gateway(tmp_path):
    with tarfile.open(make_sdist(tmp_path)) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    files = (path for package in MAY_IMPORT for path in (ROOT / package).rglob("*.*") if path.suffix != ".pyc")
    assert {path.relative_to(ROOT).as_posix() for path in files if path.is_file()} - held == set()
    assert {"search/templates/results.html", "runners/demo_pages/museum.py"} <= held
