"""`storage.body_rounds`: bodies of old visits are removed, and the newest of each page stays."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from beamtrawl.pipeline.compaction.drop_bodies import drop_bodies
from beamtrawl.pipeline.compaction.garbage import fold_history
from beamtrawl.pipeline.compaction.rebuild_index import rebuild_index
from beamtrawl.runners.exports.captures import captures
from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest
from beamtrawl.transforms.directory.verify import file_faults, promised_files
from beamtrawl.transforms.tables.old_bodies import KEYS, removable, without_bodies
from beamtrawl.transforms.tables.schemas import VISITS
from beamtrawl.transforms.tables.table_files import TableWriter, read_table
from tests.support.changing_site import crawl_changing_site
from tests.support.command_line import beamtrawl
from tests.support.committed import commit_rows
from tests.support.crawls import InProcess, crawl, fetch, rows
from tests.support.row_faults import row_faults
from tests.support.web import Web, html

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def keys(*visits: tuple[str, bool, int]) -> pa.Table:
    """The bodies of visits of (URL, whether it is a page, round), each a row of file 0."""
    found = [
        {"url_key": url.encode() * 16, "is_page": page, "round": round_, "fetched_at": NOW, "file": 0, "row": row}
        for row, (url, page, round_) in enumerate(visits)
    ]
    return pa.Table.from_pylist(found, KEYS)


REMOVABLE: dict[str, tuple[list[tuple[str, bool, int]], list[int]]] = {
    # visits -> the rows whose bodies may go, with those of rounds 1 to 3
    "none": ([], []),
    "the only one of a page stays": ([("a", True, 1)], []),
    "the newest of each page stays": ([("a", True, 1), ("a", True, 2), ("b", True, 1), ("b", True, 3)], [0, 2]),
    "whatever the order of the rows": ([("a", True, 3), ("a", True, 1), ("a", True, 2)], [1, 2]),
    "those of young rounds stay": ([("a", True, 4), ("a", True, 5), ("a", False, 4), ("a", True, 3)], [3]),
    "an error says nothing of the page": ([("a", True, 1), ("a", False, 3)], [1]),
    "nor does a young one": ([("a", True, 1), ("a", False, 4)], []),
}


@pytest.mark.parametrize(("visits", "expected"), REMOVABLE.values(), ids=REMOVABLE)
def test_which_bodies_may_go(visits: list[tuple[str, bool, int]], expected: list[int]) -> None:
    assert sorted(row for _, some in removable(keys(*visits), 4) for row in some.tolist()) == expected


VISIT = st.tuples(st.sampled_from("abc"), st.booleans(), st.integers(1, 6))


@given(st.lists(VISIT, max_size=20, unique=True), st.integers(0, 7))
def test_each_page_keeps_its_newest_body(visits: list[tuple[str, bool, int]], before: int) -> None:
    gone = {row for _, some in removable(keys(*visits), before) for row in some.tolist()}
    for row, (url, is_page, round_) in enumerate(visits):
        is_newest = is_page and round_ == max(r for u, page, r in visits if page and u == url)
        assert (row in gone) == (round_ < before and not is_newest)


def test_a_file_is_written_anew_if_enough_of_it_goes(tmp_path: Path) -> None:
    writer = TableWriter(str(tmp_path), "visits", 7)
    for number in range(4):  # a row group each
        writer.write_rows([{"url": str(number), "status": 200, "body": b"x" * 10, "body_bytes": 10}], {"fetched": 1})
    file = writer.close()
    assert file
    number = pa.array([1]).to_numpy()
    assert list(without_bodies(file, [number], str(tmp_path), 0.3)) == []
    old, new = without_bodies(file, [number], str(tmp_path), 0.25)
    assert (old, new.rows, new.counts) == (file, 4, {"fetched": 4})
    assert new.path.startswith("visits/round=000007/kept-")
    found = read_table(str(tmp_path), [new.path], VISITS, ["url", "body", "body_bytes", "body_removed"]).to_pylist()
    assert [tuple(row.values()) for row in found] == [
        ("0", b"x" * 10, 10, None),
        ("1", None, 10, True),
        ("2", b"x" * 10, 10, None),
        ("3", b"x" * 10, 10, None),
    ]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Four rounds of a site that changes after two of them; all pages are revisited."""
    path = tmp_path_factory.mktemp("old bodies") / "crawl"
    return path, crawl_changing_site(path)


@pytest.fixture
def copied(crawled: tuple[Path, str], tmp_path: Path) -> Path:
    return Path(shutil.copytree(crawled[0], tmp_path / "crawl"))


def drop(path: Path, rounds: int = 0, least_share: float = 0.0) -> Manifest | None:
    return drop_bodies(CrawlDir(str(path)), InProcess(), rounds, least_share)


def fold(path: Path) -> None:
    """As if an hour had passed, after which files that were replaced are removed."""
    fold_history(CrawlDir(str(path)), datetime.now(UTC) + timedelta(hours=2), most=0)


def bodies(path: Path) -> dict[tuple[int, str], bytes]:
    return {(row["round"], row["url"]): row["body"] for row in rows(path, "visits") if row["body"]}


def without_body(row: dict[str, Any]) -> str:
    return repr({name: value for name, value in row.items() if name not in ("body", "body_removed")})


def on_disk(path: Path) -> set[bytes]:
    files = path.glob("visits/*/*.parquet")
    return {body for file in files for body in pq.read_table(file, columns=["body"])["body"].to_pylist() if body}


def found(path: Path) -> list[tuple[str, float]]:
    hits = Index.open(CrawlDir(str(path))).search("page OR sentence OR start OR stays OR here").hits
    return [(hit.url, round(hit.score, 6)) for hit in hits]


def test_what_must_go_is_gone_and_what_must_stay_stays(crawled: tuple[Path, str], copied: Path) -> None:
    home, before = crawled[1], bodies(copied)
    known, searched = rows(copied, "visits"), found(copied)
    gone = {(1, f"{home}/"), (2, f"{home}/edited"), (2, f"{home}/same")}
    assert gone < before.keys()
    assert {(2, f"{home}/moved"), (2, f"{home}/gone")} < before.keys()  # the newest of pages that are no more
    manifest = drop(copied)
    assert manifest
    assert manifest.counters["bodies_removed_bytes"] > 0
    assert bodies(copied) == {key: body for key, body in before.items() if key not in gone}
    after = rows(copied, "visits")
    assert {(row["round"], row["url"]) for row in after if row["body_removed"]} == gone
    assert sorted(map(without_body, after)) == sorted(map(without_body, known))
    assert on_disk(copied) == set(before.values())  # for readers that have opened the files
    fold(copied)
    assert on_disk(copied) == set(bodies(copied).values())
    assert b"The old sentence" not in b"".join(on_disk(copied))
    crawl_dir = CrawlDir(str(copied))
    rebuild_index(crawl_dir, InProcess(), korean_morphemes=False)
    assert found(copied) == searched != []
    assert list(file_faults(crawl_dir, promised_files(crawl_dir.manifests()))) == []
    assert list(row_faults(crawl_dir, crawl_dir.manifests())) == []
    assert drop(copied) is None


def test_an_export_that_runs_meanwhile_reads_what_it_has_opened(copied: Path) -> None:
    before, crawl_dir = bodies(copied), CrawlDir(str(copied))
    exported = captures(crawl_dir, crawl_dir.manifests(), "bot")
    first = next(exported).visit
    assert drop(copied)
    fold_history(CrawlDir(str(copied)), datetime.now(UTC), most=0)
    visits = [first, *(capture.visit for capture in exported)]
    assert {(visit["round"], visit["url"]): visit["body"] for visit in visits if visit["body"]} == before


def test_bodies_of_as_many_rounds_as_are_set_stay(copied: Path) -> None:
    before = bodies(copied)
    assert drop(copied, rounds=4) is None
    assert drop(copied, rounds=3) is None  # round 1 is three rounds ago
    assert drop(copied, rounds=2)
    assert {round_ for round_, _ in before.keys() - bodies(copied).keys()} == {1}


def test_files_from_which_little_would_go_stay(copied: Path) -> None:
    assert drop(copied, least_share=1.1) is None
    assert CrawlDir(str(copied)).paths("attempts") == []


def test_a_round_that_waits_for_its_update_keeps_its_bodies(tmp_path: Path) -> None:
    with Web({"a.test": {"/": html("Home", "Start.", ["/1"]), "/1": html("One", "A page.")}}) as web:
        crawl(tmp_path, [web.url("a.test")], rounds=1)
        fetch(tmp_path)
        assert drop(tmp_path) is None
        crawl(tmp_path)
    assert {row["title"] for row in rows(tmp_path, "documents")} == {"Home", "One"}


def test_the_commands_say_what_was_removed(crawled: tuple[Path, str], copied: Path, tmp_path: Path) -> None:
    (copied / "crawl.toml").write_text("[storage]\nbody_rounds = 0\n")
    out = beamtrawl("compact", copied).out
    assert "MB of old bodies removed from 2 files of visits" in out
    ran = beamtrawl("export", "warc", copied, tmp_path / "warc")
    assert "3 answers are left out: storage.body_rounds has removed the body\n" in ran.err
    ran = beamtrawl("export", "cdxj", copied, tmp_path / "index.cdxj")
    assert "3 answers are left out" in ran.err
    assert len((tmp_path / "index.cdxj").read_text().splitlines()) == 9  # with robots.txt
    explained = beamtrawl("explain", copied, f"{crawled[1]}/edited").out
    assert explained.count("body removed") == 1


def test_a_crawl_removes_them_every_ten_rounds(tmp_path: Path) -> None:
    texts = iter(range(1000))
    with Web({"a.test": {"/": lambda _: html("Home", f"Text {next(texts)} of a page that always changes.")}}) as web:
        crawl(tmp_path, [web.url("a.test")], rounds=1)
        for round_ in range(2, 9):  # without a visit
            for step in ("fetch", "update"):
                commit_rows(tmp_path, step, round_, {})
        for _ in (9, 10):
            assert all(row["body"] for row in rows(tmp_path, "visits"))
            crawl(tmp_path, rounds=1, recrawl__after=1e-6, storage__body_rounds=2)
    kept = {row["round"]: row["body_removed"] for row in rows(tmp_path, "visits")}
    assert kept == {1: True, 9: None, 10: None}
