"""A crawl directory that is moved during a run is not made anew at its old path."""

from pathlib import Path

import pytest

from beamtrawl.runners.process.lock import Lock
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.outcomes import CrawlDirError
from beamtrawl.transforms.tables.table_files import TableWriter

MOVED = r"crawl was moved or removed during this command; run it again with its new place$"


def write_after_a_move(root: Path) -> None:
    with Lock(CrawlDir(str(root))) as claimed:
        writer = TableWriter(str(root), "hosts", 1)
        writer.write_rows([{"host": "a.test", "round": 1}])
        root.rename(root.with_name("elsewhere"))
        with pytest.raises(CrawlDirError, match=MOVED):
            writer.close()
        with pytest.raises(CrawlDirError, match=MOVED):
            claimed.write_text("attempts/x", "")
        with pytest.raises(CrawlDirError, match=MOVED):
            claimed.require_claim()


def test_it_is_said_and_nothing_lies_at_the_old_path(tmp_path: Path) -> None:
    root = tmp_path / "crawl"
    root.mkdir()
    with pytest.raises(CrawlDirError, match=MOVED):
        write_after_a_move(root)
    assert not root.exists()
    with Lock(CrawlDir(str(root))):  # another crawl there
        assert root.exists()
