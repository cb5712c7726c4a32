"""The crawl that the tests of this folder read."""

from datetime import UTC, datetime

import pytest

from beamtrawl.transforms.blocks.files import add_block
from beamtrawl.transforms.blocks.rules import Block
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from tests.support.assistants import PAGES, Crawled
from tests.support.crawls import crawl
from tests.support.web import Web


@pytest.fixture(scope="session")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    folder = tmp_path_factory.mktemp("mcp") / "crawl"
    with Web({"a.test": PAGES}) as web:
        urls = {path: web.url("a.test", path) for path in (*PAGES, "/gone")}
        crawl(folder, [urls["/"], urls["/blocked"]], rounds=2)
    add_block(CrawlDir(str(folder)), Block(urls["/blocked"].partition("://")[2], datetime.now(UTC).isoformat()))
    return Crawled(folder, urls.__getitem__)
