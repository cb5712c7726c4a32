"""docs/python.md and docs/notebook.ipynb run as they are, and name what the package has."""

import contextlib
import dataclasses
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

import beamtrawl

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The current folder of a user."""
    with contextlib.chdir(tmp_path):
        yield tmp_path


@pytest.mark.slow("whole crawls")
def test_the_page_runs_from_top_to_bottom(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"block {number} of docs/python.md", "exec"), names)
    said = capsys.readouterr().out
    assert re.match(r"2 rounds done, \d+ URLs in the frontier\nrounds\n\{'fetched': ", said)
    assert "round 1 fetch" not in said  # rounds=0 fetches nothing
    assert said.rstrip().endswith("politeness.dealy: unknown setting; did you mean delay?")
    assert len(names["found"]) == 5
    assert len(names["hits"]) > 1
    assert (folder / "korean.csv").read_text(encoding="utf-8").startswith("url,title\nhttp://127.0.0.1:")
    assert sorted(path.name for path in folder.iterdir()) == ["korean.csv", "mycrawl", "planned"]


def test_the_page_names_every_keyword_method_and_error() -> None:
    words = set(re.findall(r"\w+", PAGE))
    crawl = set(inspect.signature(beamtrawl.crawl).parameters) - {"dir"}
    methods = {name for kind in (beamtrawl.Crawl, beamtrawl.Table) for name in vars(kind) if not name.startswith("_")}
    tables = {name for name in methods if name in set(crawl_tables())}
    errors = {name for name in beamtrawl.__all__ if name.endswith(("Error", "Warning"))}
    obvious = {"directory", "columns", "name", "of"}
    assert (crawl | errors | methods - tables - obvious) - words == set()


def crawl_tables() -> list[str]:
    return re.findall(r"^## (\w+)$", (ROOT / "docs" / "tables.md").read_text(encoding="utf-8"), re.MULTILINE)


def test_reports_are_values() -> None:
    for kind in (beamtrawl.Report, beamtrawl.Progress, beamtrawl.Status, beamtrawl.Hit):
        assert dataclasses.is_dataclass(kind)
        assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]


def test_the_notebook_ships_without_output() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) > 5
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.slow("the notebook")
@pytest.mark.filterwarnings("ignore")  # of Jupyter
def test_the_notebook_runs(tmp_path: Path) -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=resources).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in shown if output.get("name") == "stderr"]
    text = json.dumps(shown, ensure_ascii=False)
    for words in ("3 rounds done", "/lighthouses/fresnel-lens.html", "denied", "███", "고등어", "rounds;"):
        assert words in text
