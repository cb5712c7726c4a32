"""The shape of the program: who may import whom, who sees the command line, and what is shipped."""

import ast
import doctest
import re
import tarfile
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError
from pathlib import Path

import pytest

from tests.support import rooms
from tests.support.rooms import ROOT, imports
from tests.support.workers import PACKAGES, make_sdist

MAY_IMPORT = {
    "beamtrawl": {"beamtrawl", "pipeline", "runners", "search", "transforms"},
    "transforms": {"transforms"},
    "pipeline": {"pipeline", "transforms"},
    "search": {"search", "transforms"},
    "runners": {"runners", "pipeline", "search", "transforms"},
}
SOURCES = rooms.sources()
BUILD_GRAPHS = {"pipeline", "transforms"}
READS_ENVIRONMENT = {Path("transforms/files/object_store.py")}
"""Each worker has credentials for object stores of its own; they do not travel with a pipeline."""

READ_GRAPHS = {Path("runners/engines/inspection.py"), Path("runners/engines/in_memory.py")}
"""The first remembers what Beam reads of functions while others build a graph; the second runs such a graph."""


def attributes(tree: ast.AST, of: str) -> Iterator[str]:
    """The attributes of a name that a module uses: `Map` of `beam.Map`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == of:
            yield node.attr


def offences(module: Path, source: str) -> list[str]:
    """What a module does that its package must not."""
    package, tree = module.parts[0], ast.parse(source)
    imported = imports(module, source)
    ours = {name.partition(".")[0] for name in imported} & (MAY_IMPORT.keys() | {"tests"})
    found = [f"imports {name}" for name in ours - MAY_IMPORT[package]]
    if package != "beamtrawl":
        found += [f"imports {n} by its full name" for n in imported if n.partition(".")[0] == "beamtrawl"]
    if package not in ("beamtrawl", "runners"):
        of_runners = ("argparse", "apache_beam.options", "sys.argv", "os.environ", "os.getenv", "sys.exit")
        used = imported + [f"{of}.{name}" for of in ("sys", "os") for name in attributes(tree, of)]
        allowed = ("os.environ",) if module in READS_ENVIRONMENT else ()
        found += [f"uses {name}" for name in used if name.startswith(of_runners) and name not in allowed]
    if package not in BUILD_GRAPHS and module not in READ_GRAPHS:
        used = [f"beam.{name}" for name in {*attributes(tree, "beam")} - {"Pipeline"}]
        used += {n for n in imported if n.startswith(("apache_beam.transforms.p", "apache_beam.transforms.core"))}
        found += [f"uses {name}" for name in used]
    if package in BUILD_GRAPHS and "__future__.annotations" in imported:
        found.append("turns Beam's type checks off")
    return sorted(found)


def test_a_module_keeps_to_its_place() -> None:
    assert {str(module): found for module, source in SOURCES.items() if (found := offences(module, source))} == {}


MAX_ROOMS = 54
MAX_IMPORTS = 400
"""Between rooms."""

MAX_LINES = {"core": 47_099, "inlets": 2_301, "outlets": 4_761, "auditors": 3_758, "consoles": 1_964, "program": 5_303}
"""Of the modules of a wing. These three are limits, no records: who needs more takes something away first."""

MAY_SHOW = {"consoles": {"outlets", "auditors"}}
"""Wings that a wing imports besides the core."""


def test_every_room_is_in_the_plan_with_its_wing() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    planned = [(name, wing) for wing, name in re.findall(r"^\| (\w+) \| `([\w.]+)` \|", text, re.MULTILINE)]
    assert sorted(planned) == sorted((name, rooms.wing(name)) for name in rooms.graph(SOURCES))


def test_the_core_imports_no_wing_and_wings_import_only_the_core() -> None:
    """So a wing can be taken away, and a crawl still runs and is searched; the program puts them together."""
    between = [
        (module, target)
        for module, targets in rooms.graph(SOURCES, str).items()
        for target in targets
        if rooms.wing(target) not in {"core", rooms.wing(module), *MAY_SHOW.get(rooms.wing(module), ())}
    ]
    assert [f"{module} imports {target}" for module, target in between if rooms.wing(module) != "program"] == []


def test_the_program_keeps_its_bounds() -> None:
    of_rooms = rooms.graph(SOURCES)
    assert len(of_rooms) <= MAX_ROOMS
    assert sum(map(len, of_rooms.values())) <= MAX_IMPORTS
    assert {name: count for name, count in rooms.lines(SOURCES).items() if count > MAX_LINES[name]} == {}


def test_no_room_imports_itself_through_others() -> None:
    rooms.floors(rooms.graph(SOURCES))  # raises CycleError


def test_no_module_imports_itself_through_others() -> None:
    rooms.floors(rooms.graph(SOURCES, str))  # raises CycleError


def test_no_folder_has_more_than_twenty_modules() -> None:
    sizes = Counter(path.parent.as_posix() for path in SOURCES if path.name != "__init__.py")
    assert {folder: size for folder, size in sizes.items() if size > 20} == {}


def test_the_figures_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    rooms.main(ROOT)
    *_, of_rooms, of_modules, _ = capsys.readouterr().out.splitlines()
    assert of_rooms == rooms.figures(rooms.graph(SOURCES), "rooms")
    assert of_modules == rooms.figures(rooms.graph(SOURCES, str), "modules")


def test_floors() -> None:
    sources = {
        Path("transforms/urls/canonical.py"): "from ..tables.table_files import KEY\nfrom . import dedup",
        Path("transforms/urls/dedup.py"): "",
        Path("transforms/tables/table_files.py"): "import os",
        Path("pipeline/crawl.py"): "def f():\n from ..transforms.urls import canonical",
        Path("beamtrawl/__init__.py"): "from .pipeline import crawl",
        Path("beamtrawl/__main__.py"): "import beamtrawl\nfrom beamtrawl.pipeline.crawl import run",
    }
    found = rooms.graph(sources)
    assert rooms.floors(found) == [["transforms.tables"], ["transforms.urls"], ["pipeline"], ["beamtrawl"]]
    assert rooms.figures(found, "rooms") == "4 rooms, 4 floors, 3 imports"
    assert rooms.figures(rooms.graph(sources, str), "modules") == "6 modules, 5 floors, 6 imports"


def test_a_circle_of_rooms_is_noticed() -> None:
    sources = {
        Path("transforms/urls/canonical.py"): "from ..tables.table_files import KEY",
        Path("transforms/tables/table_files.py"): "from ..urls import canonical",
        Path("transforms/urls/dedup.py"): "",
    }
    with pytest.raises(CycleError):
        rooms.floors(rooms.graph(sources))


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(rooms) == (0, 3)


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
    assert {"search/gateway/templates/results.html", "runners/demo/texts/museum.txt", "beamtrawl/py.typed"} <= held
