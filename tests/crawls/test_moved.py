"""A crawl directory that is moved during a run is not made anew at its old path."""

import os
from pathlib import Path

import pytest

from beamtrawl.runners.process.lock import Lock
from beamtrawl.runners.terminal.errors import LockedError
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.errors import DiskError
from beamtrawl.transforms.tables.table_files import TableWriter


def test_it_is_said_and_nothing_lies_at_the_old_path(tmp_path: Path) -> None:
    root = tmp_path / "crawl"
    root.mkdir()
    with pytest.raises(LockedError, match=r"crawl was moved or removed during this command; run it again"):
        with Lock(CrawlDir(str(root))) as claimed:
            writer = TableWriter(str(root), "hosts", 1)
            writer.write_rows([{"host": "a.test", "round": 1}])
            os.rename(root, tmp_path / "elsewhere")
            with pytest.raises(DiskError, match=r"crawl was moved or removed"):
                writer.close()
            with pytest.raises(DiskError, match=r"crawl was moved or removed"):
                claimed.write_text("attempts/x", "")
    assert not root.exists()
