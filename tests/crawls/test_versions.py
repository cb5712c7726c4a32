"""A crawl that version 0.1.0 has written, at schema version 1, is read and goes on.

`version_1.tar.xz` holds it: two rounds of five pages at a port where nobody listens any more, ranked; one URL waits.
"""

import json
import shutil
import tarfile
from pathlib import Path

import pytest

from beamtrawl.transforms.directory.manifests import SCHEMA_VERSION
from tests.support.command_line import beamtrawl
from tests.support.crawls import rows, states
from tests.support.web import Web, html

OLD = "http://127.0.0.1:41289"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("versions") / "crawl"
    with tarfile.open(Path(__file__).with_name("version_1.tar.xz")) as archive:
        archive.extractall(path, filter="data")
    return path


@pytest.fixture
def crawl(stored: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(stored, tmp_path / "crawl"))


def versions(path: Path) -> list[int]:
    return sorted({json.loads(file.read_text())["schema_version"] for file in path.glob("manifests/*.json")})


def hits(path: Path, query: str) -> list[str]:
    return [hit["url"].removeprefix(OLD) for hit in json.loads(beamtrawl("search", path, query, "--json").out)["hits"]]


def test_it_is_read(crawl: Path) -> None:
    assert versions(crawl) == [1]
    assert hits(crawl, "fish") == ["/herring", "/"]
    status = json.loads(beamtrawl("status", crawl, "--json").out)
    assert (status["rounds"], status["outcomes"]["fetched"]) == (2, 4)
    assert beamtrawl("sql", crawl, "SELECT count(*) AS n FROM documents", "--json").out == '[\n {\n  "n": 4\n }\n]\n'
    assert beamtrawl("check", "crawl", crawl).out.endswith(": no fault\n")
    assert versions(crawl) == [1]


def test_it_goes_on(crawl: Path) -> None:
    """With what waits, with new seeds, with ranking, merging, cleaning and a rebuilt index."""
    before = {file: file.read_bytes() for file in crawl.rglob("*") if file.is_file()}
    with Web({"a.test": {"/": html("New", "A fish of the new version.")}}) as web:
        assert beamtrawl("seeds", "add", crawl, web.url("a.test")).code == 0
        ran = beamtrawl("crawl", crawl, "--workers", 1, "--rounds", 1)
        assert ran.code == 0, ran.err
        new = web.url("a.test")
    assert {file: file.read_bytes() for file in before} == before
    assert versions(crawl) == [1, SCHEMA_VERSION]
    assert {row["url"].removeprefix(OLD) for row in rows(crawl, "documents")} == {
        "/",
        "/herring",
        "/boats",
        "/copy",
        new,
    }
    assert states(crawl)[f"{OLD}/waits"]["reason"] == "unreachable_robots"  # what was known of robots.txt has expired
    found = set(hits(crawl, "fish"))
    assert found == {"/", "/herring", new}
    for words in (["compact", crawl], ["clean", crawl], ["rank", crawl], ["compact", crawl, "--rebuild-index"]):
        assert beamtrawl(*words).code == 0
        assert set(hits(crawl, "fish")) == found
        assert beamtrawl("check", "crawl", crawl).code == 0
