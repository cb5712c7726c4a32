"""`beamtrawl check index`: every damage is told, and nothing else."""

import random
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from tests.command_line import beamtrawl, failure
from tests.corpus import commit
from transforms.crawl_dir import CrawlDir, Manifest
from transforms.index import DOCS, DOCSTORE, FORMS, POSITIONS, POSTINGS, write_parquet
from transforms.index_check import folder_faults
from transforms.index_invert import OWN_FIELDS
from transforms.index_read import read_file

ROWS = [
    {"url": "http://a.test/1", "title": "Red fish", "text": "one fish two fishes", "headings": ["Fish"]},
    {"url": "http://a.test/2", "title": "Blue", "text": "blue fish", "language": "de"},
    {"url": "http://b.test/", "text": "naïve", "language": None},
]
SEGMENT, LINKS = "index/round=000001/shard-0", "index/links-test/round=000001/shard-0"


def build(path: Path) -> CrawlDir:
    crawl = CrawlDir(str(path))
    commit(crawl, 1, [ROWS[0] | {"anchors": ["A fish"], "link_rank": 1.0}, *ROWS[1:]], [{"url": "http://c.test/"}])
    commit(crawl, 2, [{"url": "http://a.test/1", "text": "another fish"}], gone=["http://b.test/"])
    return crawl


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("built")
    build(path)
    return path


@pytest.fixture
def crawl(built: Path, tmp_path: Path) -> CrawlDir:
    shutil.copytree(built, tmp_path / "crawl")
    return CrawlDir(str(tmp_path / "crawl"))


def faults(crawl: CrawlDir) -> list[str]:
    ran = beamtrawl("check", "index", crawl.root)
    assert (ran.code, ran.err) == (1, "")
    return ran.out.splitlines()


def test_a_sound_index_has_no_fault(built):
    ran = beamtrawl("check", "index", built)
    assert (ran.code, ran.out, ran.err) == (0, "3 segments, 5 documents: no fault\n", "")


def test_an_index_without_segments_has_none_either(tmp_path):
    CrawlDir(str(tmp_path)).commit(Manifest("seeds", 0, "", (), {}, (), "", ""))
    assert beamtrawl("check", "index", tmp_path).out == "0 segments, 0 documents: no fault\n"
    assert failure("check", "index", tmp_path / "none")[1].startswith(f"{tmp_path}/none holds no crawl; start one with")


def change(crawl: CrawlDir, folder: str, name: str, alter) -> None:
    """Write a file anew with rows that were altered."""
    table = read_file(crawl.root, f"{folder}/{name}")
    rows = table.to_pylist()
    altered = alter(rows)
    table = pa.Table.from_pylist(rows if altered is None else altered, schema=table.schema)
    write_parquet(crawl.root, f"{folder}/{name}", table, [table.num_rows])


def put(term: str, /, **values):
    """Other values in the row of a term."""
    return lambda rows: next(row for row in rows if row["term"] == term).update(values)


def of_first(**values):
    return lambda rows: rows[0].update(values)


IN_FISH = "in 1 terms, the first is 'fish'"
# folder, file, how it is altered, what is told of it
DAMAGE = {
    "terms in disorder": (SEGMENT, POSTINGS, lambda rows: rows[::-1], "positions.parquet: its terms are not those of"),
    "a term twice": (SEGMENT, POSTINGS, put("1", term="2"), "its terms are not those of"),
    "a wrong df": (SEGMENT, POSTINGS, put("fish", df=3), f"postings.parquet: df is not the length of docs, {IN_FISH}"),
    "a wrong cf": (SEGMENT, POSTINGS, put("fish", cf=9), f"postings.parquet: cf is not the sum of tf, {IN_FISH}"),
    "lists of different lengths": (SEGMENT, POSTINGS, put("fish", tf_url=[0]), f"length of tf_url, {IN_FISH}"),
    "a gap of 0": (SEGMENT, POSTINGS, put("fish", docs=[1, 0]), f"document numbers do not rise, {IN_FISH}"),
    "no such document": (SEGMENT, POSTINGS, put("fish", docs=[0, 9]), f"document numbers are out of range, {IN_FISH}"),
    "a negative number": (SEGMENT, POSTINGS, put("fish", docs=[-1, 1]), f"out of range, {IN_FISH}"),
    "a wrong frequency": (SEGMENT, POSTINGS, put("fish", tf_headings=[2, 0], cf=6), "docs.parquet: length_headings is"),
    "no occurrence": (
        SEGMENT,
        POSTINGS,
        put("two", tf_body=[0], cf=0),
        "a document does not have the term, in 1 terms",
    ),
    "too few positions": (
        SEGMENT,
        POSITIONS,
        put("fish", positions=[1, 2]),
        f"as many positions as occurrences, {IN_FISH}",
    ),
    "positions that stand still": (
        SEGMENT,
        POSITIONS,
        put("fish", positions=[4, 0, 3]),
        f"positions do not rise within the document, {IN_FISH}",
    ),
    "positions beyond the end": (
        SEGMENT,
        POSITIONS,
        put("two", positions=[99]),
        "do not rise within the document, in 1 terms",
    ),
    "a form that is none": (
        SEGMENT,
        FORMS,
        of_first(forms=["fisch"]),
        "forms.parquet: 1 rows are not what the postings",
    ),
    "forms that are missing": (SEGMENT, FORMS, lambda rows: rows[1:], "rows are not what the postings say"),
    "a wrong length": (
        SEGMENT,
        DOCS,
        of_first(length_body=7),
        "docs.parquet: length_body is not the sum of tf_body, in 1 documents",
    ),
    "documents in disorder": (
        SEGMENT,
        DOCS,
        of_first(url="http://a.test/3"),
        "docs.parquet: documents are not sorted by",
    ),
    "texts that are missing": (
        SEGMENT,
        DOCSTORE,
        lambda rows: rows[1:],
        "docstore.parquet: it has 2 rows, there are 3",
    ),
    "a page that is found twice": (SEGMENT, DOCS, of_first(url_key=b"c" * 16), None),
    "links of fewer documents": (
        LINKS,
        DOCS,
        lambda rows: rows[1:],
        "docs.parquet: it has 2 rows, there are 3 documents",
    ),
    "links of a wrong term": (LINKS, POSTINGS, put("fish", tf_anchors=[3]), "cf is not the sum of tf"),
}


@pytest.mark.parametrize(("folder", "name", "alter", "told"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_told(crawl, folder, name, alter, told):
    change(crawl, folder, name, alter)
    if told is None:
        other = "index/round=000001/shard-1"
        change(crawl, other, DOCS, of_first(url_key=b"c" * 16))
        assert faults(crawl) == ["index: 1 pages are found twice"]
        return
    found = faults(crawl)
    assert all(line.startswith(folder) for line in found)
    assert any(told in line for line in found), found


@pytest.mark.parametrize("name", [POSTINGS, POSITIONS, FORMS, DOCS, DOCSTORE])
def test_a_file_that_cannot_be_read_is_told_and_the_rest_is_checked(crawl, name):
    (Path(crawl.root) / SEGMENT / name).write_bytes(b"PAR1")
    (Path(crawl.root) / "index/round=000002/shard-0" / name).unlink()
    first, second = faults(crawl)
    assert first.startswith(f"{SEGMENT}/{name} cannot be read: ")
    assert second.startswith(f"index/round=000002/shard-0/{name} cannot be read: ")


def test_a_tombstone_file_that_is_missing_is_told(crawl):
    (path,) = crawl.paths("tombstones/round=000002")
    Path(crawl.path(path)).unlink()
    (fault,) = faults(crawl)
    assert fault.startswith(f"{path} cannot be read: ")
    assert failure("search", crawl.root, "fish")[1] == fault


def test_whatever_number_of_the_postings_is_changed_something_is_told(built):
    """Numbers are what damage is hard to see in."""
    pick = random.Random(1)
    files = {n: read_file(str(built), f"{SEGMENT}/{n}") for n in (POSTINGS, POSITIONS, FORMS, DOCS, DOCSTORE)}
    languages = files[DOCS]["language"].to_pylist()
    assert list(folder_faults(files, languages, OWN_FIELDS)) == []
    for _ in range(300):
        name = pick.choice([POSTINGS, POSTINGS, POSITIONS, DOCS])
        rows = files[name].to_pylist()
        row = pick.choice(rows)
        column = pick.choice(
            [c for c in row if isinstance(row[c], list) or c in ("df", "cf") or c.startswith("length")]
        )
        if isinstance(row[column], list):
            if not row[column]:
                continue
            row[column][pick.randrange(len(row[column]))] += pick.choice([-1, 1, 2])
        else:
            row[column] += pick.choice([-1, 1])
        changed = files | {name: pa.Table.from_pylist(rows, schema=files[name].schema)}
        assert list(folder_faults(changed, languages, OWN_FIELDS)), (name, column, row)
