"""Crawls that six earlier commits have written are read, continued and searched.

`earlier.tar.xz` has a folder for each, by commit: four pages of the web of `beamtrawl demo` at a port where nobody
listens any more, in one round; five URLs wait.
"""

import json
import tarfile
from pathlib import Path

import pytest

from tests.support.command_line import beamtrawl
from tests.support.web import Web, html

# commit: (its schema version, the fields of manifests that it wrote and its version did not say)
COMMITS: dict[str, tuple[int, set[str]]] = {
    "b55f9204": (1, {"index_dropped", "index_links", "index_replaced"}),
    "1dcfc12b": (2, set()),
    "d63af566": (2, {"settings"}),
    "193290ab": (2, {"settings"}),
    "35ec8972": (2, {"settings", "memory"}),
    "78319aa5": (2, {"settings", "memory"}),
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("earlier")
    with tarfile.open(Path(__file__).with_name("earlier.tar.xz")) as archive:
        archive.extractall(path, filter="data")
    return path


OLDEST, *OTHERS, NEWEST = COMMITS
SLOW = [pytest.param(commit, marks=pytest.mark.slow("whole crawls")) for commit in OTHERS]


@pytest.mark.parametrize("commit", [OLDEST, *SLOW, NEWEST])
def test_a_crawl_of_an_earlier_commit_is_read_continued_and_searched(stored: Path, commit: str) -> None:
    crawl, (version, fields) = stored / commit, COMMITS[commit]
    written = [json.loads(path.read_text()) for path in crawl.glob("manifests/*.json")]
    assert {manifest["schema_version"] for manifest in written} == {version}
    assert fields <= set.union(*(set(manifest) for manifest in written))
    hits = json.loads(beamtrawl("search", crawl, "등대", "--json").out)["hits"]
    assert hits
    link = '<link rel="license" href="http://creativecommons.org/licenses/by/4.0/">'
    with Web({"a.test": {"/": html("New", "A lighthouse of the new version.", head=link)}}) as web:
        assert beamtrawl("seeds", "add", crawl, web.url("a.test")).code == 0
        ran = beamtrawl("crawl", crawl, "--workers", 1, "--rounds", 1)
        assert ran.code == 0, ran.err
        new = web.url("a.test")
    stated = json.loads(
        beamtrawl("sql", crawl, "SELECT license, count(*) AS n FROM documents GROUP BY 1", "--json").out
    )
    assert {row["license"] for row in stated} == {None, "http://creativecommons.org/licenses/by/4.0/"}
    found = json.loads(beamtrawl("search", crawl, "lighthouse", "--json").out)["hits"]
    assert new in {hit["url"] for hit in found}
    assert json.loads(beamtrawl("search", crawl, "등대", "--json").out)["hits"][0]["url"] == hits[0]["url"]
    assert beamtrawl("check", "crawl", crawl).code == 0
