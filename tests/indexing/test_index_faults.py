"""`tests.support.index_faults` tells every damage of an index, and nothing else."""

import random
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.indexing.live_segments import live_index
from beamtrawl.transforms.indexing.segment_files import read_file
from beamtrawl.transforms.indexing.write_segment import DOCS, DOCSTORE, FORMS, POSTINGS
from tests.support.command_line import failure
from tests.support.corpus import commit
from tests.support.index_faults import folder_faults, index_faults

ROWS = [
    {"url": "http://a.test/1", "title": "The fish", "text": "one fish two fishes", "headings": ["Fish"]},
    {"url": "http://a.test/2", "title": "Blue", "text": "blue fish", "language": "de"},
    {"url": "http://b.test/", "text": "naïve", "language": None},
]
SEGMENT, LINKS = (
    "index/round=000001/shard-0000-0000000000000000",
    "index/links-0123abcd/round=000001/shard-0000-0000000000000000",
)


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
    return list(index_faults(crawl.root, live_index(crawl.manifests())))


def test_a_sound_index_has_no_fault(built):
    assert faults(CrawlDir(str(built))) == []


def test_identifiers_are_no_fault(tmp_path):
    rows = [{"url": f"http://a.test/{n}", "title": "a_b c_d", "text": "foo_bar é—x_y __foo__" * n} for n in range(4)]
    commit(CrawlDir(str(tmp_path)), 1, [row | {"anchors": ["foo_bar"]} for row in rows])
    assert faults(CrawlDir(str(tmp_path))) == []


def change(crawl: CrawlDir, folder: str, name: str, alter) -> None:
    """Write a file anew with rows that were altered; what it says of itself stays."""
    path = Path(crawl.root) / folder / name
    table, said = pq.read_table(path), pq.read_metadata(path).metadata
    rows = table.to_pylist()
    altered = alter(rows)
    table = pa.Table.from_pylist(rows if altered is None else altered, schema=table.schema)
    pq.write_table(table.replace_schema_metadata(said), path)


def put(term: str, /, **values):
    """Other values in the row of a term."""
    return lambda rows: next(row for row in rows if row["term"] == term).update(values)


def of_first(**values):
    return lambda rows: rows[0].update(values)


FISH = "in 1 terms, the first is 'fish'"
TERM = "in 1 terms, the first is "
# file, how it is altered, what is told of it
DAMAGE = {
    "terms in disorder": (POSTINGS, lambda rows: rows[::-1], "terms are not sorted, each once, in 11 terms"),
    "a term twice": (POSTINGS, put("2", term="a"), f"terms are not sorted, each once, {TERM}'a'"),
    "a wrong df": (POSTINGS, put("fish", df=3), f"df is not the length of docs, {FISH}"),
    "a wrong cf": (POSTINGS, put("fish", cf=9), f"cf is not the sum of tf, {FISH}"),
    "lists of different lengths": (POSTINGS, put("fish", tf=[1]), f"df is not the length of tf, {FISH}"),
    "a gap of 0": (POSTINGS, put("fish", docs=[1, 0]), f"document numbers do not rise, {FISH}"),
    "no such document": (POSTINGS, put("fish", docs=[0, 9]), f"document numbers are out of range, {FISH}"),
    "a negative number": (POSTINGS, put("fish", docs=[-1, 1]), f"document numbers are out of range, {FISH}"),
    "no occurrence": (POSTINGS, put("two", tf=[0], cf=0), f"a document does not have the term, {TERM}'two'"),
    "too few positions": (POSTINGS, put("fish", positions=[1]), f"not as many positions as occurrences, {FISH}"),
    "positions on one place": (
        POSTINGS,
        put("fish", positions=[4, 0, 3]),
        f"positions do not rise within the document, {FISH}",
    ),
    "a position too far": (
        POSTINGS,
        put("two", positions=[99]),
        f"positions do not rise within the document, {TERM}'two'",
    ),
    "a position of others": (POSTINGS, put("two", positions=[6]), "a position has no term or several, in 1 documents"),
    "a wrong form": (FORMS, of_first(forms=["fisch"]), "1 rows do not agree with the postings"),
    "forms that are missing": (FORMS, lambda rows: rows[1:], "rows do not agree with the postings"),
    "a wrong length": (DOCS, of_first(length_body=7), "length_body is not the sum of the frequencies, in 1 documents"),
    "documents in disorder": (DOCS, of_first(url="http://a.test/3"), "documents are not sorted by host and URL"),
    "texts that are missing": (DOCSTORE, lambda rows: rows[1:], "it has 2 rows, there are 3 documents"),
}


@pytest.mark.parametrize(("name", "alter", "told"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_told(crawl, name, alter, told):
    change(crawl, SEGMENT, name, alter)
    found = [line.partition(": ")[2] for line in faults(crawl) if line.startswith(f"{SEGMENT}/{name}: ")]
    assert any(told in line for line in found), found


# the same of what links say
LINKS_DAMAGE = {
    "fewer documents": (DOCS, lambda rows: rows[1:], "it has 2 rows, there are 3 documents"),
    "a wrong frequency": (POSTINGS, put("fish", tf=[3]), f"cf is not the sum of tf, {FISH}"),
}


@pytest.mark.parametrize(("name", "alter", "told"), LINKS_DAMAGE.values(), ids=LINKS_DAMAGE)
def test_damage_of_links_is_told(crawl, name, alter, told):
    change(crawl, LINKS, name, alter)
    assert f"{LINKS}/{name}: {told}" in faults(crawl)


def test_a_file_that_was_written_anew_is_told(crawl):
    change(crawl, SEGMENT, DOCSTORE, lambda rows: rows)
    assert faults(crawl) == [f"{SEGMENT}/{DOCS}: the row groups of {DOCSTORE} that it has are missing or differ"]


def test_a_page_that_is_found_twice_is_told(crawl):
    for folder in (SEGMENT, "index/round=000001/shard-0001-0000000000000001"):
        change(crawl, folder, DOCS, of_first(url_key=b"c" * 16))
    assert faults(crawl) == ["index: 1 pages are found twice"]


@pytest.mark.parametrize("name", [POSTINGS, FORMS, DOCS, DOCSTORE])
def test_a_file_that_cannot_be_read_is_told_and_the_rest_is_checked(crawl, name):
    (Path(crawl.root) / SEGMENT / name).write_bytes(b"PAR1")
    (Path(crawl.root) / "index/round=000002/shard-0000-0000000000000000" / name).unlink()
    first, second = faults(crawl)
    assert first.startswith(f"{SEGMENT}/{name} cannot be read: ")
    assert second.startswith(f"index/round=000002/shard-0000-0000000000000000/{name} cannot be read: ")


def test_a_tombstone_file_that_is_missing_is_told(crawl):
    (path,) = crawl.paths("tombstones/round=000002")
    Path(crawl.path(path)).unlink()
    (fault,) = faults(crawl)
    assert fault.startswith(f"{path} cannot be read: ")
    assert failure("search", crawl.root, "fish")[1] == fault


def test_whatever_number_of_the_postings_is_changed_something_is_told(built):
    """Numbers are what damage is hard to see in."""
    pick = random.Random(1)
    files = {n: read_file(str(built), f"{SEGMENT}/{n}") for n in (POSTINGS, FORMS, DOCS, DOCSTORE)}
    languages = files[DOCS]["language"].to_pylist()
    assert list(folder_faults([files[POSTINGS]], files[FORMS], files[DOCS], languages)) == []
    for _ in range(300):
        name = pick.choice([POSTINGS, POSTINGS, DOCS])
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
        found = folder_faults([changed[POSTINGS]], files[FORMS], changed[DOCS], languages)
        assert list(found), (name, column, row)
