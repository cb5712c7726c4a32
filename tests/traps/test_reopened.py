"""Held URLs of a template that a round or a command reopens wait for the next round, also after a kill in between."""

from pathlib import Path

from beamtrawl.pipeline.control import StopSignal
from beamtrawl.pipeline.imports.import_archives import Job, import_archives
from beamtrawl.pipeline.release_held import release_reopened_urls
from beamtrawl.transforms.aliases.exempt import RELEASED
from beamtrawl.transforms.archives.sources import sources_of
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.settings import Traps
from beamtrawl.transforms.tables.table_files import TableFile, TableWriter
from beamtrawl.transforms.urls.canonical import url_key
from tests.imports.test_bad_input import record
from tests.support.committed_steps import NOW, commit
from tests.support.crawls import InProcess, Silent, crawl as run_rounds, frontier, settings

HELD = "http://a.test/calendar/2030"


def held_url(root: str) -> TableFile | None:
    writer = TableWriter(root, "urls", 1)
    row = {"url_key": url_key(HELD), "url": HELD, "host": "a.test", "depth": 2, "state": "trapped", "round": 1}
    writer.write_rows([row | {"discovered_round": 1, "score": 1.0}], {"trapped": 1})
    return writer.close()


def updated(path: Path, **counters: int) -> CrawlDir:
    """A crawl whose last committed step is the update of round 1, with a held URL that no judgement holds."""
    directory = CrawlDir(str(path))
    commit(directory, "fetch", 1)
    commit(directory, "update", 1, [held_url(directory.root)], counters)
    return directory


def waiting(path: Path) -> list[str]:
    return [row["url"] for row in frontier(path)]


def test_a_run_after_a_kill_frees_what_the_last_round_reopened(tmp_path: Path) -> None:
    updated(tmp_path, reopened=1)
    run_rounds(tmp_path, rounds=0)
    assert waiting(tmp_path) == [HELD]
    run_rounds(tmp_path, rounds=0)
    assert waiting(tmp_path) == [HELD]


def test_nothing_is_freed_without_a_reopened_template(tmp_path: Path) -> None:
    updated(tmp_path)
    run_rounds(tmp_path, rounds=0)
    assert waiting(tmp_path) == []


def test_nothing_is_freed_while_a_round_is_to_be_updated(tmp_path: Path) -> None:
    """Its fetch step may have visited the URL, which is in its state until the update step."""
    directory = updated(tmp_path, reopened=1)
    commit(directory, "fetch", 2)
    assert release_reopened_urls(directory, Traps(), NOW) == 0
    assert waiting(tmp_path) == []


def test_a_run_frees_what_a_killed_release_has_noted_only(tmp_path: Path) -> None:
    updated(tmp_path).write_text(RELEASED, "a.test/calendar/*\n")
    run_rounds(tmp_path, rounds=0)
    assert waiting(tmp_path) == [HELD]


def test_an_import_after_a_kill_frees_them_first(tmp_path: Path) -> None:
    """Its round is the last one then, and has reopened nothing."""
    directory, archive = updated(tmp_path / "crawl", reopened=1), tmp_path / "a.warc.gz"
    archive.write_bytes(record("a"))
    job = Job(sources_of(str(archive))[0], [])
    import_archives(directory, settings(scope__mode="any"), InProcess(), Silent(), StopSignal(), job)
    run_rounds(tmp_path / "crawl", rounds=0)
    assert waiting(tmp_path / "crawl") == [HELD]
