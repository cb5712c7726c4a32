"""The metadata of the distribution: versions agree, and constraints.txt holds what setup.py requires."""

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import beamtrawl

ROOT = Path(__file__).resolve().parents[1]


def setup_arguments() -> dict[str, Any]:
    """The literal arguments of the call of `setup` in setup.py."""
    tree = ast.parse((ROOT / "setup.py").read_text(encoding="utf-8"))
    (call,) = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "setup")
    found = {}
    for keyword in call.keywords:
        try:
            found[keyword.arg or ""] = ast.literal_eval(keyword.value)
        except ValueError:
            continue  # computed, such as the packages
    return found


def constraints() -> dict[str, Version]:
    """The version of each package in constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): Version(version) for name, version in pairs}


def test_every_requirement_has_a_tested_version() -> None:
    tested = constraints()
    for requirement in map(Requirement, setup_arguments()["install_requires"]):
        assert tested[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_the_version_is_the_same_everywhere() -> None:
    newest = re.search(r"^## (\d\S*) - ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert beamtrawl.__version__ == setup_arguments()["version"] == newest[1]


def test_every_extra_is_documented() -> None:
    text = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
    described = re.findall(r"^\| `(\w+)` \| `(\S+)`", text, re.MULTILINE)
    extras = setup_arguments()["extras_require"]
    assert {name for name, _ in described} == extras.keys()
    for name, pinned in described:
        tested = Requirement(pinned)
        (wanted,) = [each for each in map(Requirement, extras[name]) if each.name == tested.name]
        assert all(wanted.specifier.contains(each.version) for each in tested.specifier), name


def test_python_in_the_folder_of_a_checkout_finds_the_package_without_an_editable_install() -> None:
    """There, the folder `beamtrawl` hides the installed package, and lacks the folders below it."""
    code = (
        "import sys; sys.meta_path[:] = [finder for finder in sys.meta_path if 'editable' not in repr(finder).lower()];"
        f"sys.path.insert(0, {str(ROOT)!r}); import beamtrawl; print(beamtrawl.__file__, beamtrawl.Settings.__name__)"
    )
    ran = subprocess.run([sys.executable, "-I", "-c", code], text=True, capture_output=True, check=False)
    assert (ran.stdout.split(), ran.stderr) == ([str(ROOT / "beamtrawl" / "__init__.py"), "Settings"], "")
