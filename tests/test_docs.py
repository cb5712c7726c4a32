"""What the documentation says stands in the code."""

import ast
import doctest
import re
import shlex
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from beamtrawl.runners.program import main as program
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.settings import Scope
from beamtrawl.transforms.tables.schemas import TABLES
from beamtrawl.transforms.urls.filters import UrlFilter
from tests.support.tables import each_row

ROOT = Path(__file__).parent.parent


def type_name(type_: pa.DataType) -> str:
    """An Arrow type as docs/tables.md writes it.

    >>> type_name(pa.list_(pa.struct([("name", pa.string()), ("size", pa.int64())])))
    'list<struct<name string, size int64>>'
    """
    if pa.types.is_list(type_):
        return f"list<{type_name(type_.value_type)}>"
    if pa.types.is_struct(type_):
        return f"struct<{', '.join(f'{field.name} {type_name(field.type)}' for field in type_)}>"
    if pa.types.is_map(type_):
        return f"map<{type_name(type_.key_type)}, {type_name(type_.item_type)}>"
    if pa.types.is_fixed_size_binary(type_):
        return f"binary({type_.byte_width})"
    plain = {"timestamp[us, tz=UTC]": "timestamp", "double": "float64", "float": "float32"}
    return plain.get(str(type_), str(type_))


@pytest.mark.parametrize("table", TABLES)
def test_every_column_is_described_with_its_type(table: str) -> None:
    text = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    section = text.split(f"\n## {table}\n")[1].split("\n#")[0]
    described = re.findall(r"^\| `(\w+)` \| `([^`]+)` \| .*\w.* \|$", section, re.MULTILINE)
    assert described == [(field.name, type_name(field.type)) for field in TABLES[table]]


def test_every_outcome_is_described() -> None:
    text = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    assert {outcome.value for outcome in Outcome} <= set(re.findall(r"`(\w+)`", text))


def test_the_two_commands_of_the_readme_are_what_ci_runs() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for words in ("beamtrawl", "-e '.[test]'", "tests/check.py"):
        assert words in readme
        assert words in ci


SOURCES = [path for folder in ("pipeline", "transforms", "search", "runners") for path in (ROOT / folder).rglob("*.py")]
SOURCES += [ROOT / "setup.py", *(ROOT / "tests").glob("*.py")]
PAGES = sorted([*ROOT.glob("*.md"), ROOT / "benchmarks" / "README.md", *(ROOT / "docs").rglob("*.md")])


each_page = each_row({str(page.relative_to(ROOT)): (page,) for page in PAGES})


def anchors(page: Path) -> set[str]:
    """What a link may name in a page after `#`: its headings, in lower case, without punctuation, with hyphens."""
    headings = re.findall(r"^#+ (.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    for path, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8")):
        target = page.parent / path if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


@each_page
def test_named_files_exist(page: Path) -> None:
    folders = r"`((?:beamtrawl|pipeline|transforms|search|runners|tests|benchmarks|docs)/[\w./-]*)`"
    named = re.findall(folders, page.read_text(encoding="utf-8"))
    assert [path for path in named if not (ROOT / path).exists()] == []


def cells(text: str) -> list[str]:
    """The cells of the tables of a page as they are shown: of a link its text.

    >>> cells("| [a](b.md) | `c` |")
    ['a', '`c`']
    """
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    rows = re.findall(r"^\|(.*)\|$", prose, re.MULTILINE)
    shown = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", row) for row in rows)
    return [cell.strip() for row in shown for cell in re.split(r"(?<!\\)\|", row)]


LONGEST_CELL = 120


@each_page
def test_cells_of_tables_are_short(page: Path) -> None:
    assert [cell for cell in cells(page.read_text(encoding="utf-8")) if len(cell) > LONGEST_CELL] == []


def test_contributing_names_what_exists() -> None:
    """Each path and each name of code in CONTRIBUTING.md, be it a class, a constant, an attribute or a setting."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    code = set(re.findall(r"`([^`\n]+)`", re.sub(r"^    .*$", "", text, flags=re.MULTILINE)))
    paths = {word for word in code if re.fullmatch(r"\.?[\w./-]*(?:/|\.py|\.md)[\w./-]*", word)}
    assert len(paths) > 10
    assert [path for path in paths if not path.startswith(".cache/") and not (ROOT / path).exists()] == []
    sources = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)
    names = {word.partition("(")[0] for word in code if re.fullmatch(r"[A-Za-z_][\w.]*(?:\(.*\).*)?", word)} - paths
    assert len(names) > 10
    known = set(re.findall(r"\w+", sources))
    assert [name for name in names if not set(name.split(".")) <= known] == []


def commands(page: Path) -> list[list[str]]:
    """The words of each `beamtrawl` command in the code blocks of a page, without what goes to Beam.

    Of a synopsis, optional parts count, the first of several alternatives, and 1 for a number.
    """
    found, words = [], ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if words or re.match(r"(    |\$ )beamtrawl ", line):
            words += line.removeprefix("$ ").removesuffix("\\")
            try:
                split = shlex.split(words, comments=True)
            except ValueError:  # a quotation goes on in the next line
                continue
            if not line.endswith("\\"):
                split = split[:-1] if split[-1] == "&" else split  # in the background
                plain = [word if " " in word else word.strip("[]").partition("|")[0] for word in split if word != "…"]
                plain = ["1" if word in ("N", "ROUND", "PORT", "SECONDS") else word for word in plain]
                found.append(plain[1 : plain.index("--") if "--" in plain else None])
                words = ""
    return found


@each_page
def test_commands_are_understood(page: Path) -> None:
    for words in commands(page):
        assert program.parser().parse_args(words), words  # Usage says what is wrong


@each_page
def test_queries_run_on_the_tables(page: Path) -> None:
    if not (queries := [words[2] for words in commands(page) if words[0] == "sql"]):
        return  # tables for each page take most of the time
    with duckdb.connect() as connection:
        for name, schema in TABLES.items():
            connection.register(name, schema.empty_table())
        for query in queries:
            assert connection.execute(query).fetchall() == []


def test_commands_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "text\n\n    beamtrawl crawl DIR --seed URL … \\\n        -- --option=1\n"
        "    beamtrawl rank DIR [--runner direct|flink] [--workers N]  # slow\n"
        '$ beamtrawl sql DIR "SELECT 1\n    FROM urls"\n'
    )
    assert commands(page) == [
        ["crawl", "DIR", "--seed", "URL"],
        ["rank", "DIR", "--runner", "direct", "--workers", "1"],
        ["sql", "DIR", "SELECT 1    FROM urls"],
    ]


def definitions(module: Path) -> set[str]:
    """The names that a module defines, methods as `Class.method`."""
    found = set()
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return found


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(sys.modules[__name__]) == (0, 2)


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
