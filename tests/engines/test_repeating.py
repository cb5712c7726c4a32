"""Retries by the engine: bundles that ran before, and whose output was lost, leave no trace in the tables."""

from pathlib import Path

import pytest

from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from tests.engines.test_worker import SITES, hits
from tests.support.crawls import crawl, without_times
from tests.support.repeating import RepeatingEngine
from tests.support.web import Web


@pytest.mark.slow("retries")
def test_repeated_bundles_in_other_orders_and_partitions_give_the_same_tables_and_index(tmp_path: Path) -> None:
    engine = RepeatingEngine()
    with Web(SITES) as web:
        seeds = [web.url("host0.test"), web.url("host2.test")]
        crawl(tmp_path / "direct", seeds, rounds=2)
        crawl(tmp_path / "repeated", seeds, rounds=2, engine=engine)
    assert engine.repeated == 2
    assert without_times(tmp_path / "repeated") == without_times(tmp_path / "direct")
    assert hits(tmp_path / "repeated") == hits(tmp_path / "direct")
    written = {str(path.relative_to(tmp_path / "repeated")) for path in (tmp_path / "repeated").rglob("*.parquet")}
    named = {file.path for manifest in CrawlDir(str(tmp_path / "repeated")).manifests() for file in manifest.files}
    repeated = {path for path in written - named if path.startswith(("urls/", "documents/"))}
    assert repeated  # bundles did run twice: the first runs' files are there, and no manifest names them
