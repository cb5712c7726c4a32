"""One small crawl for all tests of the Python API; tests that change it take a copy."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import beamtrawl
from tests.support.web import Web, html, redirect

SITE = {
    "/": html("Fishing by the moon", "Where the herring go.", ["/tides", "/nets", "/old", "/gone"]),
    "/tides": html("Tide tables", "High water and low water for the harbour.", ["/"]),
    "/nets": html("Nets", "How a beam trawl is towed, and why herring are caught at night.", ["/", "/tides"]),
    "/old": redirect("/tides"),
}


@pytest.fixture(scope="session")
def web() -> Iterator[Web]:
    with Web({"a.test": SITE}) as web:
        yield web


@pytest.fixture(scope="session")
def finished(web: Web, tmp_path_factory: pytest.TempPathFactory) -> beamtrawl.Report:
    """The report of a crawl of the site to its end."""
    directory = tmp_path_factory.mktemp("api") / "crawl"
    return beamtrawl.crawl(directory, web.url("a.test"), delay=0, allow_address="127.0.0.0/8", workers=1)


@pytest.fixture(scope="session")
def crawl(finished: beamtrawl.Report) -> beamtrawl.Crawl:
    return beamtrawl.open(finished.directory)


@pytest.fixture
def planned(tmp_path: Path) -> Path:
    """A crawl that has a seed and no round yet."""
    directory = tmp_path / "planned"
    beamtrawl.crawl(directory, "http://127.0.0.1:9/", rounds=0, allow_address="127.0.0.0/8")
    return directory
