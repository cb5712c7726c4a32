"""What the documentation says stands in the code."""

import ast
import re
from pathlib import Path

import pytest

from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.settings import Scope
from beamtrawl.transforms.storage.schemas import TABLES
from beamtrawl.transforms.urls.filters import UrlFilter

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("table", TABLES)
def test_every_column_is_described(table: str) -> None:
    text = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    section = text.split(f"\n## {table}")[1].split("\n## ")[0]
    assert set(TABLES[table].names) <= set(re.findall(r"`(\w+)`", section))


def test_every_outcome_is_described() -> None:
    text = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    assert {outcome.value for outcome in Outcome} <= set(re.findall(r"`(\w+)`", text))


def test_the_two_commands_of_the_readme_are_what_ci_runs() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for words in ("beamtrawl", "-e '.[test]'", "tests/check.py"):
        assert words in readme
        assert words in ci


def test_links_lead_somewhere() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def definitions(module: Path) -> set[str]:
    """The names that a module defines, methods as `Class.method`."""
    found = set()
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return found


def test_names_in_the_architecture_exist() -> None:
    page = ROOT / "docs" / "architecture.md"
    named = re.findall(r"\[`([\w.]+)`\]\(([^)]+\.py)\)", page.read_text(encoding="utf-8"))
    assert len(named) > 80
    for name, target in named:
        module = page.parent / target
        assert name.partition(".")[0] == module.stem, name
        assert name.partition(".")[2] in definitions(module), name


def test_rules_have_the_names_that_the_documentation_gives() -> None:
    text = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    rules = UrlFilter(Scope(depth=1), frozenset({"a.test"}))
    found = {
        rules.reject(url, depth, redirects)
        for url, depth, redirects in [
            ("http://b.test/", 0, 0),
            ("http://a.test/" + "x" * 2000, 0, 0),
            ("http://a.test/x.png", 0, 0),
            ("http://a.test/", 2, 0),
            ("http://a.test/", 0, 11),
        ]
    }
    assert found == {"scope", "too_long", "extension", "depth", "redirect_limit"}
    assert all(str(name) in text for name in found)
