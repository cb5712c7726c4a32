"""`beamtrawl export urls|documents|links`: exact rows in each format."""

import csv
import doctest
import gzip
import io
import json
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from beamtrawl.runners.exports import rows as module
from beamtrawl.runners.program.main import run
from beamtrawl.transforms.files import filesystem
from beamtrawl.transforms.tables.schemas import DOCUMENTS
from tests.support.command_line import PROGRAM, beamtrawl, contents, failure
from tests.support.committed import commit_rows
from tests.support.crawls import rows
from tests.support.disks import Fault, SimulatedDisk

ODD = 'A "title",\nwith\x00 control \x1b[31m <script>alert(1)</script>'
PAGES = [
    {"url": "http://a.test/1", "title": ODD, "text": "eins\r\nzwei", "language": "de", "headings": ["H,1", 'H"2']},
    {"url": "http://a.test/2", "title": "Two", "text": "two", "language": "en"},
    {"url": "http://b.test/%E2%80%A8?x=1,2", "title": "", "text": "three", "language": "en"},
]


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawl")
    commit_rows(folder, "update", 1, {"documents": PAGES})
    return folder


def test_the_formats_hold_the_same(crawl: Path, tmp_path: Path) -> None:
    for name in ("x.jsonl", "x.csv", "x.parquet", "y.csv.gz"):
        assert beamtrawl("export", "documents", crawl, tmp_path / name).out == f"3 rows: {tmp_path / name}\n"
    table = pq.read_table(tmp_path / "x.parquet")
    assert table.to_pylist() == rows(crawl, "documents")
    lines = (tmp_path / "x.jsonl").read_bytes().splitlines()
    assert len(lines) == 3
    found = [json.loads(line) for line in lines]
    assert found == [
        {name: module.plain(value) for name, value in row.items()} for row in table.to_pylist(maps_as_pydicts="lossy")
    ]
    assert {row["url"]: row["title"] for row in found}["http://a.test/1"] == ODD
    text = (tmp_path / "x.csv").read_bytes().decode()
    assert gzip.decompress((tmp_path / "y.csv.gz").read_bytes()).decode() == text
    cells = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["url"] for row in cells] == [row["url"] for row in found]
    assert {row["url"]: row["title"] for row in cells}["http://a.test/1"] == ODD
    assert {row["url"]: row["headings"] for row in cells}["http://a.test/1"] == '["H,1", "H\\"2"]'
    assert [row["url_key"] for row in cells] == [row["url_key"] for row in found]


@pytest.mark.parametrize("format_", ["jsonl", "csv", "parquet"])
def test_standard_output_holds_what_a_file_holds(
    crawl: Path, tmp_path: Path, format_: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    words = ["export", "documents", str(crawl), "--where", "language = 'en'", "--format", format_]
    assert beamtrawl(*words, tmp_path / "file").code == 0
    expected = ((tmp_path / "file").read_bytes(), b"")
    assert run([*words, "-"]) == 0
    assert capfdbinary.readouterr() == expected
    if format_ == "parquet":  # and in a process of its own
        piped = subprocess.run([*PROGRAM, *words, "-"], capture_output=True, check=True)
        assert (piped.stdout, piped.stderr) == expected


REFUSED = [
    (["x.txt"], 2, "x.txt: name a file that ends in .jsonl, .csv, .parquet, or give --format"),
    (["x.parquet.gz"], 2, "x.parquet.gz: Parquet is compressed already; drop .gz"),
]


@pytest.mark.parametrize(("words", "code", "line"), REFUSED)
def test_refusals(crawl: Path, tmp_path: Path, words: list[str], code: int, line: str) -> None:
    name, *others = words
    ended, said = failure("export", "documents", crawl, tmp_path / name, *others)
    assert (ended, said.removeprefix(f"{tmp_path}/")) == (code, line)
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("format_", ["jsonl", "csv", "parquet"])
def test_no_row_is_an_empty_file(crawl: Path, tmp_path: Path, format_: str) -> None:
    file = tmp_path / f"x.{format_}"
    ran = beamtrawl("export", "documents", crawl, file, "--where", "language = 'xx'")
    assert ran[:3] == (0, f"0 rows: {file}\n", "")
    if format_ == "parquet":
        empty = pq.read_table(file)
        assert (empty.num_rows, empty.schema.names[:2]) == (0, DOCUMENTS.names[:2])
    else:
        head = ",".join(DOCUMENTS.names[:2]) if format_ == "csv" else ""
        assert file.read_text().startswith(head) and file.read_text().count("\n") == (format_ == "csv")


def test_a_condition_that_is_no_sql(crawl: Path, tmp_path: Path) -> None:
    code, said = failure("export", "urls", crawl, tmp_path / "x.csv", "--where", "colour = 1")
    assert code == 1
    assert said.startswith("--where colour = 1: the query failed: Binder Error: ")
    assert contents(tmp_path) == {}


def test_a_full_disk_leaves_nothing(crawl: Path, tmp_path: Path) -> None:
    disk = SimulatedDisk(tmp_path / "kept", Fault("full", 2))
    with filesystem.mounted(str(tmp_path), disk):
        code, said = failure("export", "documents", crawl, tmp_path / "x.csv")
    assert (code, said) == (
        1,
        f"cannot write {tmp_path}/x.csv: No space left on device; make room there and run the command again",
    )
    assert contents(tmp_path) == {}


def test_a_limit_of_file_sizes_is_named(tmp_path: Path) -> None:
    commit_rows(tmp_path / "crawl", "update", 1, {"documents": [PAGES[0] | {"text": "word " * 2_000}]})
    (tmp_path / "out").mkdir()
    words = [*PROGRAM, "export", "documents", str(tmp_path / "crawl"), str(tmp_path / "out" / "x.csv")]
    limited = ["bash", "-c", 'ulimit -f 2; exec "$@"', "bash", *words]
    ran = subprocess.run(limited, capture_output=True, text=True, check=False)
    remedy = "raise the limit of file sizes (ulimit -f) and run the command again"
    line = f"beamtrawl: cannot write {tmp_path}/out/x.csv: File too large; {remedy}\n"
    assert (ran.returncode, ran.stderr) == (1, line)
    assert contents(tmp_path / "out") == {}


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0
