"""The first own link to a redirect reaches its target, in whatever state that is, also after a kill."""

from pathlib import Path

import pytest

from beamtrawl.pipeline.release_targets import release_targets
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.frontier.link_targets import CLAIMED
from beamtrawl.transforms.tables.table_files import TableFile, TableWriter
from tests.frontier.test_url_states import known
from tests.support.committed_steps import NOW, commit
from tests.support.crawls import frontier

OLD, NEW, NEWEST = "http://a.test/old", "http://a.test/new", "http://a.test/newest"
OTHERS = {"foreign": True}
CHAINED = {"state": "redirected", "redirect_to": NEWEST} | OTHERS

# the rows of urls of the target and of the target of that, and what waits: the URL and its redirects
TARGETS = {
    "waits": (OTHERS, None, (NEW, 1)),
    "trapped": (OTHERS | {"state": "trapped"}, None, (NEW, 1)),
    "own": ({}, None, None),
    "visited": (OTHERS | {"state": "fetched"}, None, None),
    "unknown": (None, None, (OLD, 0)),
    "chained": (CHAINED, OTHERS | {"state": "trapped"}, (NEWEST, 2)),
    "chained, unknown": (CHAINED, None, (NEW, 1)),
    "of another site": (CHAINED | {"redirect_to": "http://b.test/p"}, None, None),
    "a circle": (CHAINED | {"redirect_to": OLD}, None, None),
}


def urls(root: str, round_: int, rows: dict[str, dict | None], counts: dict[str, int]) -> TableFile | None:
    writer = TableWriter(root, "urls", round_)
    writer.write_rows([known(url, round_=round_, **row) for url, row in rows.items() if row is not None], counts)
    return writer.close()


@pytest.mark.parametrize(("target", "further", "expected"), TARGETS.values(), ids=TARGETS)
def test_the_target_of_a_redirect_becomes_own(tmp_path: Path, target, further, expected) -> None:
    crawl = CrawlDir(str(tmp_path))
    commit(crawl, "fetch", 1)
    commit(crawl, "update", 1, [file for file in [urls(crawl.root, 1, {NEW: target, NEWEST: further}, {})] if file])
    commit(crawl, "fetch", 2)
    redirect = {OLD: {"state": "redirected", "redirect_to": NEW}}
    commit(crawl, "update", 2, [urls(crawl.root, 2, redirect, {CLAIMED: 1})], {CLAIMED: 1})
    for _ in range(2):  # the second run changes nothing
        release_targets(crawl, NOW)
        waiting = [(row["url"], row["redirects"], row["foreign"]) for row in frontier(tmp_path)]
        assert waiting == ([(*expected, False)] if expected else [])


def test_nothing_is_read_unless_the_round_has_claimed_a_redirect(tmp_path: Path) -> None:
    crawl = CrawlDir(str(tmp_path))
    commit(crawl, "fetch", 1)
    redirect = {OLD: {"state": "redirected", "redirect_to": NEW}, NEW: OTHERS}
    commit(crawl, "update", 1, [urls(crawl.root, 1, redirect, {})])
    assert release_targets(crawl, NOW) == 0
    assert frontier(tmp_path) == []
