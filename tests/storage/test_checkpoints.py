"""Checkpoints: many manifests in one file, without files that nobody needs any more."""

import contextlib
import dataclasses
import shutil
import threading
from datetime import UTC, datetime, timedelta

import pytest

from beamtrawl.pipeline.compaction.garbage import fold_history
from beamtrawl.transforms.directory.checkpoints import fold, is_checkpoint, new_name, render_checkpoint, wasted
from beamtrawl.transforms.directory.claims import LOCK, Claim, render_owner
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, CrawlDirError, Manifest, Step, iso, next_step
from beamtrawl.transforms.files import filesystem
from beamtrawl.transforms.tables.table_files import TableFile
from tests.support.disks import CallingDisk

START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def file(path: str, table: str = "urls") -> TableFile:
    return TableFile(table, path, 1, 1, {"fetched": 1})


def manifest(step: str, round_: int, *files: TableFile, **fields: object) -> Manifest:
    ended = iso(START + round_ * HOUR)
    known = Manifest(step, round_, "", files, {"visits_rows": round_}, (), ended, ended, program="beamtrawl 0")
    return dataclasses.replace(known, **fields)  # type: ignore[arg-type]


def test_files_that_were_replaced_or_consumed_long_ago_are_dropped():
    known = {
        "one": manifest("update", 1, file("a"), file("b"), file("f", "frontier")),
        "two": manifest("update", 2, file("c"), consumed=("f",)),
        "three": manifest("compact", 3, file("ab"), replaced=("a", "b")),
        "four": manifest("compact", 4, file("abc"), replaced=("ab", "c")),
    }
    folded = fold(known, START + 3.5 * HOUR)
    assert folded.dead == ["a", "b", "f"]
    assert {name: [file.path for file in m.files] for name, m in folded.manifests.items()} == {
        "one": [],
        "two": ["c"],
        "three": ["ab"],
        "four": ["abc"],
    }
    assert [(m.consumed, m.replaced) for m in folded.manifests.values()] == [((), ())] * 3 + [((), ("ab", "c"))]
    assert fold(folded.manifests, START).manifests == folded.manifests


def test_the_share_of_bytes_that_nothing_reads():
    files = [file("a")._replace(bytes=30), file("b")._replace(bytes=60), file("f", "frontier")._replace(bytes=10)]
    known = {"one": manifest("update", 1, *files), "two": manifest("compact", 2, replaced=("a",), consumed=("f",))}
    assert [wasted(known, START + hours * HOUR) for hours in (1.5, 2.5)] == [0.0, 0.4]
    assert wasted({}, START) == 0.0


@pytest.fixture
def crawl(tmp_path):
    """A crawl of ten rounds; round 9 has replaced the files of rounds 1 to 5."""
    crawl = CrawlDir(str(tmp_path))
    for round_ in range(1, 11):
        files = [file(f"urls/round={round_:06d}/part-0123456789abcdef.parquet")]
        (tmp_path / files[0].path).parent.mkdir(parents=True)
        (tmp_path / files[0].path).write_text("rows")
        crawl.commit(manifest("fetch", round_))
        crawl.commit(manifest("update", round_, *files))
    paths = [f"urls/round={round_:06d}/part-0123456789abcdef.parquet" for round_ in range(1, 6)]
    crawl.commit(manifest("compact", 9, file("urls/merged"), replaced=tuple(paths)), "-0a1b2c3d")
    return crawl


def test_a_folded_crawl_is_the_same_crawl_in_one_file(crawl):
    before = crawl.manifests()
    assert fold_history(crawl, START + 9.5 * HOUR, most=21) == 0
    assert fold_history(crawl, START + 9.5 * HOUR, most=20) == 21
    (name,) = crawl.names("manifests")
    assert name.startswith("checkpoint-000000021-")
    again = CrawlDir(crawl.root)
    assert again.manifests() == crawl.manifests() == before
    assert len(crawl.paths("urls")) == 10  # a reader may have opened them
    assert next_step(again.manifests()) == Step("fetch", 11)
    assert sum(m.counters["visits_rows"] for m in again.manifests() if m.step == "fetch") == 55


def test_a_directory_that_stays_open_sees_what_a_new_one_sees(crawl):
    """Also after another process has committed, merged, consumed or folded."""
    crawl.commit(manifest("seeds", 0, file("frontier/a", "frontier")))
    other = CrawlDir(crawl.root)
    merged = manifest(
        "compact",
        10,
        file("urls/merged-2"),
        replaced=("urls/merged", "urls/round=000006/part-0123456789abcdef.parquet"),
    )
    changes = [
        lambda: other.commit(manifest("fetch", 11)),
        lambda: crawl.commit(manifest("update", 11, consumed=("frontier/a",))),
        lambda: other.commit(merged, "-0b1b2c3d"),
        lambda: fold_history(other, START + 9.5 * HOUR, most=0),
        lambda: crawl.commit(manifest("fetch", 12)),
        lambda: fold_history(crawl, START + 20 * HOUR, most=0),
        lambda: other.commit(manifest("update", 12, file("urls/last"))),
    ]
    for number, change in enumerate(changes):
        assert crawl.manifests() == CrawlDir(crawl.root).manifests(), number
        change()
        assert crawl.manifests() == other.manifests() == CrawlDir(crawl.root).manifests(), number


def test_replaced_files_are_removed_after_their_time(crawl):
    assert fold_history(crawl, START + 11 * HOUR, most=1) == 21
    assert crawl.paths("urls") == [f"urls/round={round_:06d}/part-0123456789abcdef.parquet" for round_ in range(6, 11)]
    assert CrawlDir(crawl.root).manifests()[0].files == ()


def test_few_steps_are_folded_if_much_lies_in_files_that_nothing_reads(crawl):
    assert fold_history(crawl, START + 9.5 * HOUR) == 0  # round 9 was within the hour
    assert fold_history(crawl, START + 11 * HOUR) == 21  # five of ten files
    assert len(crawl.paths("urls")) == 5
    crawl.commit(manifest("compact", 12, replaced=("urls/round=000006/part-0123456789abcdef.parquet",)))
    assert fold_history(crawl, START + 20 * HOUR) == 0  # one of five
    crawl.commit(manifest("compact", 13, replaced=("urls/round=000007/part-0123456789abcdef.parquet",)))
    assert fold_history(crawl, START + 20 * HOUR) == 2
    assert len(crawl.paths("urls")) == 3


def test_later_steps_are_folded_into_the_next_checkpoint(crawl):
    fold_history(crawl, START, most=1)
    first = crawl.names("manifests")
    crawl.commit(manifest("fetch", 11))
    assert [m.name for m in CrawlDir(crawl.root).manifests()][-1] == "000011-fetch"
    assert fold_history(crawl, START, most=0) == 1
    assert len(crawl.names("manifests")) == 1 != first
    assert len(CrawlDir(crawl.root).manifests()) == 22


def test_what_a_killed_fold_left_counts_once(crawl):
    before = crawl.manifests()
    folded = fold(crawl.committed(), START + 20 * HOUR).manifests
    crawl.write_text("manifests/" + new_name(3), render_checkpoint(dict(list(folded.items())[:3])))
    crawl.write_text("manifests/" + new_name(21), render_checkpoint(folded))
    again = CrawlDir(crawl.root)
    assert [m.name for m in again.manifests()] == [m.name for m in before]
    assert again.committed() == folded  # without what files beside it name: those may be removed already
    assert fold_history(again, START, most=0) == 21
    assert len(crawl.names("manifests")) == 1


def test_a_folded_step_cannot_be_committed_again(crawl):
    fold_history(crawl, START, most=1)
    with pytest.raises(CrawlDirError, match=r"000003-fetch\.json exists already"):
        CrawlDir(crawl.root).commit(manifest("fetch", 3))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "beamtrawl-crawl-checkpoint"}', '{"format": "other"}'])
def test_an_unusable_checkpoint_is_named_in_one_line(crawl, text):
    crawl.write_text("manifests/" + new_name(99), text)
    with pytest.raises(CrawlDirError, match=r"manifests/checkpoint-000000099-\w+.json cannot be used"):
        CrawlDir(crawl.root).manifests()


def test_a_process_that_lost_its_claim_writes_no_checkpoint(crawl, tmp_path_factory):
    """Whatever the operation of the fold before which another process takes the crawl over."""
    before, folder = len(crawl.names("manifests", "*.json")), tmp_path_factory.mktemp("copies")
    for at in range(1, 999):
        copy = CrawlDir(str(shutil.copytree(crawl.root, folder / str(at))))
        copy.write_text(LOCK, render_owner("mine"))
        written = []

        def take_over(copy=copy, written=written):
            CrawlDir(copy.root).write_text(LOCK, render_owner("another"))
            written.append(any(map(is_checkpoint, copy.names("manifests", "*.json"))))

        disk = CallingDisk(folder / f"kept-{at}", at, take_over)
        with filesystem.mounted(copy.root, disk), contextlib.suppress(CrawlDirError):
            fold_history(copy.claimed(Claim(LOCK, "mine")), START, most=0)
        names = copy.names("manifests", "*.json")
        assert [any(map(is_checkpoint, names))] == (written or [True]), disk.operations
        assert any(map(is_checkpoint, names)) or len(names) == before
        if not disk.has_called:
            return
    pytest.fail("a fold has fewer operations")


def test_a_reader_beside_a_fold_sees_all_steps(crawl):
    stop, seen = threading.Event(), set()

    def read() -> None:
        while not stop.is_set():
            seen.add(len(CrawlDir(crawl.root).manifests()))

    reader = threading.Thread(target=read)
    reader.start()
    for round_ in range(11, 60):
        crawl.commit(manifest("fetch", round_))
        fold_history(crawl, START, most=0)
    stop.set()
    reader.join()
    assert seen <= set(range(21, 71))
    assert len(CrawlDir(crawl.root).manifests()) == 70
