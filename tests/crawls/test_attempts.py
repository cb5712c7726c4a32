"""What an attempt at a step leaves, removes and counts."""

from pathlib import Path

import pytest

from beamtrawl.pipeline.attempt import Attempt
from beamtrawl.transforms.directory.claims import Claim
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, CrawlDirError, Step
from beamtrawl.transforms.indexing.segment_files import INDEX_FILE
from beamtrawl.transforms.tables.table_files import TableFile

STEP = Step("update", 3)


def attempt_with_files(crawl: CrawlDir) -> Attempt:
    attempt = Attempt.after_earlier(crawl, STEP)
    crawl.write_text(f"attempts/{attempt.name}.json", "[]")
    return attempt


def test_an_attempt_removes_its_files_and_earlier_ones_and_not_its_successors(tmp_path: Path) -> None:
    crawl = CrawlDir(str(tmp_path))
    earlier, attempt, successor = (attempt_with_files(crawl) for _ in range(3))
    assert (earlier.is_another, attempt.is_another) == (False, True)
    attempt.clear()
    assert crawl.names("attempts") == [f"{successor.name}.json"]


def test_workers_of_earlier_attempts_are_stopped(tmp_path: Path) -> None:
    crawl = CrawlDir(str(tmp_path))
    earlier, attempt = attempt_with_files(crawl), attempt_with_files(crawl)
    attempt.stop_earlier()
    assert crawl.names("attempts", "*.stop") == [f"{earlier.name}.stop"]


def test_counters_are_of_rows_and_what_is_merged_adds_none(tmp_path: Path) -> None:
    crawl = CrawlDir(str(tmp_path))
    urls, index = TableFile("urls", "urls/a", 5, 100, {"due": 2}), TableFile(INDEX_FILE, "index/a/docs", 7, 100, {})
    manifest = Attempt.after_earlier(crawl, STEP).commit(files=[urls, index], counters={"due": 1, "waiting": 4})
    assert manifest.counters == {"due": 3, "waiting": 4, "urls_rows": 5}
    assert (manifest.files, manifest.index_files) == ((urls,), (index,))
    merged = Attempt.after_earlier(crawl, Step("compact", 3)).commit(files=[urls], merged=[urls, urls])
    assert (merged.counters, merged.replaced) == ({"merged_files": 2}, ("urls/a", "urls/a"))


def test_what_a_step_has_written_and_consumed_is_removed_and_not_named(tmp_path: Path) -> None:
    crawl = CrawlDir(str(tmp_path))
    left, new, old = (
        f"{table}/round=000003/part-{16 * '0'}.parquet" for table in ("frontier_left", "urls", "frontier")
    )
    for path in (left, new, old):
        crawl.write_text(path, "rows")
    files = [TableFile(path.partition("/")[0], path, 1, 4, {}) for path in (left, new)]
    manifest = Attempt.after_earlier(crawl, STEP).commit(files=files, consumed=[old, left])
    assert (manifest.files, manifest.consumed, manifest.counters) == ((files[1],), (old,), {"urls_rows": 1})
    assert [crawl.exists(path) for path in (left, new, old)] == [False, True, True]


def test_a_report_that_is_missing_is_told_as_what_it_is(tmp_path: Path) -> None:
    crawl = CrawlDir(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        Attempt.after_earlier(crawl, STEP).files()
    claimed = crawl.claimed(Claim("lock.json", "mine"))
    crawl.write_text("lock.json", '{"token": "another", "pid": 7, "host": "elsewhere"}')
    with pytest.raises(CrawlDirError, match="was taken over by process 7 on elsewhere"):
        Attempt.after_earlier(claimed, STEP).files()
