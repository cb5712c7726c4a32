"""Seeds that are added while a crawl waits, or merges files before it ends, are visited by its next round."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from beamtrawl.pipeline.control import End, StopSignal
from beamtrawl.pipeline.crawl import run_crawl
from beamtrawl.pipeline.next_action import LONGEST_WAIT
from beamtrawl.pipeline.seeds import Seed, add_seeds
from beamtrawl.runners.process.lock import Lock
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from tests.support.committed_steps import after_an_update, commit
from tests.support.crawls import InProcess, Silent, settings
from tests.support.web import Web, html

SITES = {"a.test": {"/": html("Home", "A page."), "/late": html("Late", "Another page.")}}


def add(path: Path, url: str) -> None:
    """As another program does."""
    add_seeds(CrawlDir(str(path)), [Seed(url)], "", datetime.now(UTC))


def owned(path: Path, observer: Silent, stop: StopSignal) -> End:
    """Run rounds as the owner of the lock."""
    with Lock(CrawlDir(str(path))) as claimed:
        return run_crawl(claimed, settings(scope__mode="any"), InProcess(), observer, stop, None)


def requested(web: Web) -> list[str]:
    return [request.path for request in web.requests if request.path != "/robots.txt"]


def test_while_files_are_merged_after_the_last_round(tmp_path: Path) -> None:
    class Adding(Silent):
        def busy(self, what: str) -> None:
            if what.startswith("merging"):
                add(tmp_path, web.url("a.test", "/late"))

    with Web(SITES) as web:
        add(tmp_path, web.url("a.test"))
        assert owned(tmp_path, Adding(), StopSignal()) == End("frontier_empty", 2)
        assert requested(web) == ["/", "/late"]


def test_while_nothing_is_due(tmp_path: Path) -> None:
    class Waiting(StopSignal):
        def wait(self, seconds: float) -> None:
            if requested(web):
                self.stop()
            add(tmp_path, web.url("a.test", "/late"))

    with Web(SITES) as web:
        crawl = CrawlDir(str(tmp_path))
        commit(crawl, "fetch", 1)
        after_an_update(crawl, [("b.test", "retry", datetime.now(UTC) + LONGEST_WAIT - timedelta(seconds=1))])
        assert owned(tmp_path, Silent(), Waiting()).rounds == 1
        assert requested(web) == ["/late"]
