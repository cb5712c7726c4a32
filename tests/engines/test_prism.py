"""Whole crawls on Prism, Beam's own portable runner in Go: a second check that the pipelines keep to the protocol."""

import json
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from beamtrawl.pipeline.attempt import Engine
from beamtrawl.pipeline.rank import rank
from beamtrawl.runners.engines.choose import engine
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from tests.engines.test_worker import SITES, hits
from tests.imports.test_resume import job, run as import_captures
from tests.support.crawls import crawl, without_times
from tests.support.merging import merge_kinds
from tests.support.web import Web

WORKER = json.dumps({"command": str(Path(sys.executable).with_name("beamtrawl-worker"))})
ENVIRONMENTS = {
    "in this process": [],
    "in processes of their own": ["--environment_type=PROCESS", f"--environment_config={WORKER}"],
}


def prism() -> str:
    """The path of the program; skips the test where it is not."""
    named = os.environ.get("BEAMTRAWL_PRISM", "prism")
    if not (found := shutil.which(named)):
        pytest.skip(f"no Prism at {named}: docs/runners.md says how to build it; BEAMTRAWL_PRISM is its path")
    return found


@pytest.mark.slow("foreign environments")
@pytest.mark.parametrize("environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS)
def test_rounds_ranking_and_compaction_on_prism_give_the_same_tables_and_index(
    environment: list[str], tmp_path: Path
) -> None:
    location = ["--runner=PrismRunner", f"--prism_location={prism()}", "--prism_log_level=error"]
    engines = {"direct": engine("direct", 1, []), "prism": engine("direct", 1, [*location, *environment])}
    # Not in the main thread, as the commands do: Beam's own start of a job server would refuse.
    with Web(SITES) as web, ThreadPoolExecutor(1) as thread:
        seeds = [web.url("host0.test"), web.url("host2.test")]
        for name, chosen in engines.items():
            thread.submit(crawl, tmp_path / name, seeds, rounds=2, engine=chosen).result()
            assert thread.submit(rank_and_merge, tmp_path / name, chosen).result() == ["rank", "compact"]
    assert without_times(tmp_path / "prism") == without_times(tmp_path / "direct")
    assert hits(tmp_path / "prism") == hits(tmp_path / "direct")


@pytest.mark.slow("foreign environments")
def test_an_import_on_prism_gives_the_same_tables(tmp_path: Path) -> None:
    location = ["--runner=PrismRunner", f"--prism_location={prism()}", "--prism_log_level=error"]
    given = job(tmp_path, part=9)
    with ThreadPoolExecutor(1) as thread:
        thread.submit(import_captures, tmp_path / "prism", given, engine("direct", 1, location)).result()
    import_captures(tmp_path / "direct", given)
    assert without_times(tmp_path / "prism") == without_times(tmp_path / "direct")


def rank_and_merge(path: Path, chosen: Engine) -> list[str]:
    """Rank, merge all segments and all tables; gives the steps that were committed."""
    directory = CrawlDir(str(path))
    steps = [
        rank(directory, chosen, datetime(2026, 1, 1, tzinfo=UTC), partitions=9),
        merge_kinds(directory, chosen),
    ]
    return [step.step for step in steps if step]
