"""Every module of the project has one name, `beamtrawl.…`, for installers, imports, workers and entry points."""

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from tests.support.prerequisites import lacks
from tests.support.web import Web, html
from tests.support.workers import PACKAGES, ROOT, empty_environment, install, make_wheel, uninstall

FOLDERS = {*PACKAGES} - {"beamtrawl"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_wheel(tmp_path_factory.mktemp("wheel"))


def test_the_wheel_holds_one_package_with_every_module(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (record,) = (name for name in names if name.endswith("top_level.txt"))
        assert archive.read(record).decode().split() == ["beamtrawl"]
    information = record.partition("/")[0]
    assert {name.partition("/")[0] for name in names} == {"beamtrawl", information}
    ours = {path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    expected = {name if name.startswith("beamtrawl/") else f"beamtrawl/{name}" for name in ours}
    assert {name for name in names if name.endswith(".py")} == expected


def test_entry_points_load_what_they_name() -> None:
    points = [point for point in metadata.distribution("beamtrawl").entry_points if point.group != "pytest11"]
    assert len(points) >= 10
    for point in points:
        assert point.module.startswith("beamtrawl.")
        assert point.load().__module__ == point.module


# Crawls with the checkout as the first folder of sys.path, and prints the names of the modules that come from there:
# those of the driver, and those of a worker process. What an environment in the checkout (.venv) has does not count.
PROGRAM = """
import json, os, sys
import apache_beam as beam
from beamtrawl.runners.program.main import run
from beamtrawl.runners.engines.direct import DirectEngine

def from_checkout(root, _=None):
    files = ((name, getattr(module, "__file__", None)) for name, module in list(sys.modules.items()))
    ours = ((name, file) for name, file in files if file and file.startswith(root + os.sep))
    ours = ((name, file) for name, file in ours if not file.startswith(sys.prefix + os.sep))
    return [[name, file] for name, file in ours if name not in ("__main__", "__mp_main__")]  # the program itself

assert sys.path[0] == "" and os.path.isdir("transforms")
root, directory, url = sys.argv[1:]
for workers in ("1", "2"):
    words = ["crawl", directory + workers, "--seed", url, "--rounds", "2", "--workers", workers, "--delay", "0"]
    assert run([*words, "--allow-address", "127.0.0.0/8", "--", f"--direct_num_workers={workers}"]) == 0
assert run(["search", directory + "1", "herring"]) == 0

def write(root, path):
    import beamtrawl.pipeline.crawl, beamtrawl.transforms.kinds.html
    with open(path, "w") as file:
        json.dump(from_checkout(root), file)

report = directory + "-worker.json"
build = lambda pipeline: pipeline | beam.Create([root]) | beam.Reshuffle() | beam.Map(write, report)
DirectEngine(2).run(build, seconds=100)
with open(report) as file:
    print(json.dumps([from_checkout(root), json.load(file)]))
"""


@pytest.mark.slow("foreign environments")
def test_a_crawl_imports_each_module_under_one_name(tmp_path: Path) -> None:
    with Web({"host.test": {"/": html("Harbour", "Herring.", ["/b"]), "/b": html("Quay", "Nets.")}}) as web:
        words = [sys.executable, "-c", PROGRAM, str(ROOT), str(tmp_path / "crawl"), web.url("host.test")]
        ran = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    for modules in json.loads(ran.stdout.splitlines()[-1]):
        names = dict(modules)
        assert len(names) > 50
        assert [name for name in names if name.partition(".")[0] != "beamtrawl"] == []
        assert len(set(names.values())) == len(names)


def works(environment: Path, program: str) -> bool:
    """Whether a program runs to its end in an environment."""
    words = [str(environment / "bin/python"), "-P", "-c", program]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


OURS = "import beamtrawl.pipeline.crawl, beamtrawl.runners.engines.direct, beamtrawl.search.answers.searcher"
THEIRS = """
import pipeline
from importlib.metadata import files
assert all(file.locate().exists() for file in files("django-pipeline"))
assert "beamtrawl" not in pipeline.__file__
"""


@pytest.mark.slow("foreign environments")
@pytest.mark.parametrize("ours_first", [True, False], ids=["ours first", "theirs first"])
def test_beside_a_package_named_pipeline(wheel: Path, tmp_path: Path, ours_first: bool) -> None:
    """Both work, and the first one when the other is uninstalled: a file of both would be lost."""
    environment = empty_environment(tmp_path)
    steps: list[Callable[[], None]] = [lambda: install(environment, str(wheel)), lambda: _django_pipeline(environment)]
    for step in steps if ours_first else reversed(steps):
        step()
    assert works(environment, OURS)
    assert works(environment, THEIRS)
    uninstall(environment, "django-pipeline" if ours_first else "beamtrawl")
    assert works(environment, OURS) is ours_first
    assert works(environment, THEIRS) is not ours_first


def _django_pipeline(environment: Path) -> None:
    try:
        install(environment, "django-pipeline==4.1.0")
    except subprocess.CalledProcessError as error:
        lacks(f"a package index with django-pipeline ({error.stderr.decode().strip().splitlines()[-1]})")
