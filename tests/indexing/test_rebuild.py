"""An index that is rebuilt from the documents has the same rows as the merged one that it replaces."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beamtrawl.search.answers.searcher import Index
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.indexing.live_segments import live_index
from beamtrawl.transforms.indexing.segment_files import VERSION_KEY, read_file
from beamtrawl.transforms.indexing.write_segment import DOCS
from beamtrawl.transforms.settings import render
from tests.support.command_line import beamtrawl, failure
from tests.support.crawls import crawl, settings
from tests.support.index_faults import embedded, index_faults
from tests.support.web import Answer, Web, html, status

AGAIN = {"rounds": 1, "recrawl__after": 0.0}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages that stay, change, are copies, say NOINDEX, and vanish."""
    path = tmp_path_factory.mktemp("crawled") / "crawl"
    versions = {"/changes": html("Old", "The old words of a page."), "/gone": html("Gone", "Words that vanish.")}

    def current(name: str) -> Callable[[object], Answer]:
        return lambda headers: versions[name]

    names = ["/stays", "/changes", "/gone", "/copy", "/copy2", "/noindex"]
    pages = {
        "/": html("Home", "Where it begins.", names),
        "/stays": html("Stays", "Words that stay.", ["/"]),
        "/changes": current("/changes"),
        "/gone": current("/gone"),
        "/copy": html("Copy", "Words that are there twice."),
        "/copy2": html("Copy", "Words that are there twice."),
        "/noindex": html("Secret", "Words for nobody.", head='<meta name="robots" content="noindex">'),
    }
    with Web({"a.test": pages}) as web:
        crawl(path, [web.url("a.test")])
        versions |= {"/changes": html("New", "The new words of a page."), "/gone": status(410)}
        crawl(path, **AGAIN)
    (path / "crawl.toml").write_text(render(settings()))
    assert beamtrawl("rank", path).code == 0
    return path


def found(path: Path) -> list[tuple[str, str, float]]:
    return [(hit.url, hit.title, hit.score) for hit in Index.open(CrawlDir(str(path))).search("words").hits]


def tables(path: Path) -> dict[str, pa.Table]:
    (segment,) = live_index(CrawlDir(str(path)).manifests()).segments
    assert segment.links
    folders = (segment.folder, segment.links)
    names = [(folder, name) for folder in folders for name in (DOCS, *embedded(str(path), folder))]
    return {f"{folder == segment.links}/{name}": read_file(str(path), f"{folder}/{name}") for folder, name in names}


def test_a_rebuilt_index_is_the_merged_one(crawled: Path, tmp_path: Path) -> None:
    merged, rebuilt = (Path(shutil.copytree(crawled, tmp_path / name)) for name in ("merged", "rebuilt"))
    assert beamtrawl("compact", merged).code == 0
    lines = beamtrawl("compact", rebuilt, "--rebuild-index").out.splitlines()
    steps = [line.partition(":")[0].split()[-1] for line in lines]
    assert steps == ["compact", "compact", "rank"]  # so that no link data is merged
    assert {title for _, title, _ in found(crawled)} == {"Stays", "New", "Copy"}
    assert found(rebuilt) == found(merged) == found(crawled)
    assert tables(rebuilt) == tables(merged)
    assert beamtrawl("check", "crawl", rebuilt).code == 0


def test_an_index_of_another_version_is_rebuilt_by_the_command_that_the_message_names(
    crawled: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(crawled, tmp_path / "copy"))
    for file in copy.glob("index/**/*.parquet"):
        pq.write_table(pq.read_table(file).replace_schema_metadata({VERSION_KEY: "1"}), file)
    code, line = failure("search", copy, "words")
    assert code == 1
    assert line.endswith(
        f"has index version 1, this program reads 4; rebuild it with: beamtrawl compact {copy} --rebuild-index"
    )
    assert beamtrawl("compact", copy, "--rebuild-index").code == 0
    assert found(copy) == found(crawled)
    assert list(index_faults(str(copy), live_index(CrawlDir(str(copy)).manifests()))) == []


def test_a_damaged_index_is_rebuilt(crawled: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(crawled, tmp_path / "copy"))
    for file in copy.glob("index/**/*.parquet"):
        file.unlink()
    assert beamtrawl("compact", copy, "--rebuild-index").code == 0
    assert found(copy) == found(crawled)
