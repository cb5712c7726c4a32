"""Count rooms, floors, the imports between rooms, and lines by wing: python -m tests.support.rooms [FOLDER]

A room is a folder below `transforms/`, `search/` or `runners/`, a module that lies there directly, or all of
`pipeline/` or of `beamtrawl/`. Its floor is one above the highest room that it imports. FOLDER is a checkout; the
default is this one.
"""

import ast
import functools
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("beamtrawl", "transforms", "pipeline", "search", "runners")

WINGS = {
    "core": (),
    "inlets": ("transforms.archives", "pipeline.imports"),
    "outlets": ("transforms.changes", "search.changes", "search.gateway", "runners.exports"),
    "auditors": ("runners.estimate", "runners.explain", "runners.site_checks", "runners.state"),
    "consoles": ("runners.mcp", "runners.report"),
    "program": ("beamtrawl", "runners.commands", "runners.demo", "runners.program"),
}
"""What lies in each wing; the core is all the rest."""

Graph = Mapping[str, set[str]]


def sources(root: Path = ROOT) -> dict[Path, str]:
    """Each module's path below the checkout, with its text."""
    paths = (path for package in PACKAGES for path in sorted((root / package).rglob("*.py")))
    return {path.relative_to(root): path.read_text(encoding="utf-8") for path in paths}


def module_name(path: Path) -> str:
    """The name of a module below the checkout.

    >>> module_name(Path("transforms/urls/__init__.py")), module_name(Path("runners/crawling.py"))
    ('transforms.urls', 'runners.crawling')
    """
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


@functools.cache  # rooms, modules and each test count the same imports
def imports(path: Path, source: str) -> list[str]:
    """Every name that a module imports, with dots; relative ones in full: `from ..a import b` in c/d/e.py is c.a.b."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            folder = path.parts[: -node.level] if node.level else ()
            names = [*folder, *filter(None, [node.module])]
            found += (".".join([*names, alias.name]) for alias in node.names)
    return found


def room(module: str) -> str:
    """The room of a module.

    >>> room("transforms.urls.canonical"), room("runners.crawling"), room("pipeline.crawl")
    ('transforms.urls', 'runners.crawling', 'pipeline')
    """
    parts = module.split(".")
    return parts[0] if parts[0] in ("beamtrawl", "pipeline") else ".".join(parts[:2])


def wing(module: str) -> str:
    """The wing of a module or room.

    >>> wing("pipeline.update"), wing("pipeline.imports.read_files"), wing("runners.mcp")
    ('core', 'inlets', 'consoles')
    """
    parts = module.split(".")
    prefixes = {".".join(parts[:length]) for length in range(1, len(parts) + 1)}
    return next((name for name, places in WINGS.items() if not prefixes.isdisjoint(places)), "core")


def lines(modules: Mapping[Path, str]) -> Counter[str]:
    """The lines of the modules of each wing."""
    return sum((Counter({wing(module_name(path)): text.count("\n")}) for path, text in modules.items()), Counter())


def graph(modules: Mapping[Path, str], part: Callable[[str], str] = room) -> dict[str, set[str]]:
    """Each room with the rooms that it imports; with `part=str`, each module with the modules that it imports."""
    names = {module_name(path) for path in modules}
    found: dict[str, set[str]] = {}
    for path, source in modules.items():
        own = part(module_name(path))
        imported = (name.removeprefix("beamtrawl.") if name not in names else name for name in imports(path, source))
        targets = {name if name in names else name.rpartition(".")[0] for name in imported} & names
        found.setdefault(own, set()).update({part(target) for target in targets} - {own})
    layers = {package for package in PACKAGES if package in found and not found[package]}  # an __init__ without imports
    return {name: targets - layers for name, targets in found.items() if name not in layers}


def floors(rooms: Graph) -> list[list[str]]:
    """The rooms of each floor, the lowest first. Raises graphlib.CycleError, which names the rooms of a circle."""
    sorter = TopologicalSorter(rooms)
    sorter.prepare()
    found = []
    while sorter.is_active():
        ready = sorter.get_ready()
        sorter.done(*ready)
        found.append(sorted(ready))
    return found


def figures(rooms: Graph, what: str) -> str:
    """One line: how many there are, on how many floors, with how many imports between them."""
    return f"{len(rooms)} {what}, {len(floors(rooms))} floors, {sum(map(len, rooms.values()))} imports"


def main(root: Path) -> None:
    modules = sources(root)
    rooms = graph(modules)
    for number, names in reversed(list(enumerate(floors(rooms), 1))):
        print(number, " · ".join(names))
    print(figures(rooms, "rooms"))
    print(figures(graph(modules, str), "modules"))
    print("lines:", ", ".join(f"{name} {count:,}" for name, count in lines(modules).most_common()))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
