"""The shape of the program: who may import whom, who sees the command line, and what is shipped."""

import ast
import tarfile
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.support.workers import PACKAGES, make_sdist

ROOT = Path(__file__).resolve().parents[1]
MAY_IMPORT = {
    "beamtrawl": {"beamtrawl", "pipeline", "runners", "search", "transforms"},
    "transforms": {"transforms"},
    "pipeline": {"pipeline", "transforms"},
    "search": {"search", "transforms"},
    "runners": {"runners", "pipeline", "search", "transforms"},
}
MODULES = [path.relative_to(ROOT) for package in MAY_IMPORT for path in sorted((ROOT / package).rglob("*.py"))]
NAMES = {".".join(module.with_suffix("").parts).removesuffix(".__init__") for module in MODULES}
BUILD_GRAPHS = {"pipeline", "transforms"}


def imports(module: Path, source: str) -> Iterator[str]:
    """Every name that a module imports, with dots; ours by their path: `from ..a import b` in c/d/e.py gives c.a.b."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            folder = module.parts[: -node.level] if node.level else ()
            path = [*folder, *filter(None, [node.module])]
            yield from (".".join([*path, alias.name]) for alias in node.names)


def attributes(tree: ast.AST, of: str) -> Iterator[str]:
    """The attributes of a name that a module uses: `Map` of `beam.Map`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == of:
            yield node.attr


def offences(module: Path, source: str) -> list[str]:
    """What a module does that its package must not."""
    package, tree = module.parts[0], ast.parse(source)
    imported = list(imports(module, source))
    ours = {name.partition(".")[0] for name in imported} & (MAY_IMPORT.keys() | {"tests"})
    found = [f"imports {name}" for name in ours - MAY_IMPORT[package]]
    if package != "beamtrawl":
        found += [f"imports {n} by its full name" for n in imported if n.partition(".")[0] == "beamtrawl"]
    if package not in ("beamtrawl", "runners"):
        of_runners = ("argparse", "apache_beam.options", "sys.argv", "os.environ", "os.getenv", "sys.exit")
        used = imported + [f"{of}.{name}" for of in ("sys", "os") for name in attributes(tree, of)]
        found += [f"uses {name}" for name in used if name.startswith(of_runners)]
    if package not in BUILD_GRAPHS:
        used = [f"beam.{name}" for name in {*attributes(tree, "beam")} - {"Pipeline"}]
        used += {n for n in imported if n.startswith(("apache_beam.transforms.p", "apache_beam.transforms.core"))}
        found += [f"uses {name}" for name in used]
    if package in BUILD_GRAPHS and "__future__.annotations" in imported:
        found.append("turns Beam's type checks off")
    return sorted(found)


def room(name: str) -> str:
    """The room of a module: its folder below `transforms/`, `search/` or `runners/`; otherwise the module itself."""
    parts = name.split(".")
    return "pipeline" if parts[0] == "pipeline" else ".".join(parts[:2])


def rooms(sources: Mapping[Path, str]) -> dict[str, set[str]]:
    """Each room with the rooms that it imports."""
    found: dict[str, set[str]] = {}
    for module, source in sources.items():
        own = room(".".join(module.with_suffix("").parts).removesuffix(".__init__"))
        targets = {name if name in NAMES else name.rpartition(".")[0] for name in imports(module, source)} & NAMES
        found.setdefault(own, set()).update({room(target) for target in targets} - {own})
    return found


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_module_keeps_to_its_place(module: Path) -> None:
    assert offences(module, (ROOT / module).read_text(encoding="utf-8")) == []


def test_no_room_imports_a_room_above_it() -> None:
    sources = {module: (ROOT / module).read_text(encoding="utf-8") for module in MODULES}
    assert set(TopologicalSorter(rooms(sources)).static_order())  # CycleError names the rooms


def test_a_circle_of_rooms_is_noticed() -> None:
    sources = {
        Path("transforms/urls/canonical.py"): "from ..storage.table_files import KEY",
        Path("transforms/storage/table_files.py"): "from ..urls import canonical",
    }
    with pytest.raises(CycleError):
        TopologicalSorter(rooms(sources)).prepare()


# module, source, what is wrong with it
OFFENCES = {
    "upwards": ("transforms/a/b.py", "from ...pipeline.crawl import End", "imports pipeline"),
    "upwards, inside a function": ("pipeline/a.py", "def f():\n from ..runners import cli", "imports runners"),
    "sideways": ("search/a.py", "from .. import pipeline", "imports pipeline"),
    "the full name": (
        "transforms/a/b.py",
        "from beamtrawl.transforms import urls",
        "imports beamtrawl.transforms.urls by its full name",
    ),
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
def test_an_offence_is_noticed(module: str, source: str, offence: str) -> None:
    assert offences(Path(module), source)[-1] == offence


def test_the_sdist_holds_every_module_and_every_page_of_the_gateway(tmp_path: Path) -> None:
    with tarfile.open(make_sdist(tmp_path)) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    files = (path for package in PACKAGES for path in (ROOT / package).rglob("*.*") if path.suffix != ".pyc")
    assert {path.relative_to(ROOT).as_posix() for path in files if path.is_file()} - held == set()
    assert {"search/gateway/templates/results.html", "runners/demo/pages/museum.py", "beamtrawl/py.typed"} <= held
