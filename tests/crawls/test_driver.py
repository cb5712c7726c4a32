"""What the driver does between the steps of a round, and what it leaves out."""

from pathlib import Path

from beamtrawl.pipeline.control import StopSignal
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Step, frontier_files
from beamtrawl.transforms.tables.table_files import round_of
from tests.support.crawls import Silent, crawl, rows
from tests.support.web import Web, html

SITE = {"a.test": {"/": html("Home", "A page.", ["/1"]), "/1": html("One", "Another page.")}}


class Noting(Silent):
    """Notes what the driver does, and stops it when an update step begins."""

    def __init__(self, stop: StopSignal | None = None) -> None:
        super().__init__()
        self.done: list[str] = []
        self._stop = stop

    def step_started(self, step: Step, progress: str, rows: int, at_most: int | None = None) -> None:
        self.done.append(step.kind)
        if self._stop and step.kind == "update":
            self._stop.stop()

    def busy(self, what: str) -> None:
        self.done.append(what.split(maxsplit=1)[0])


def test_after_ctrl_c_nothing_is_merged(tmp_path: Path) -> None:
    stopped, whole, stop = tmp_path / "stopped", tmp_path / "whole", StopSignal()
    with Web(SITE) as web:
        crawl(whole, [web.url("a.test")], rounds=1, observer=(going_on := Noting()))
        end = crawl(stopped, [web.url("a.test")], observer=(noted := Noting(stop)), stop=stop)
    assert (end.reason, noted.done) == ("stopped", ["looking", "fetch", "update"])
    assert going_on.done == ["looking", "fetch", "update", "merging"]


def test_revisits_are_planned_only_while_pages_are_left(tmp_path: Path) -> None:
    changes = {"limits__max_pages": 1, "scope__check_external": True, "recrawl__after": 1e-9}
    with Web(SITE) as web:
        first = crawl(tmp_path, [web.url("a.test")], observer=(before := Noting()), **changes)
        second = crawl(tmp_path, observer=(after := Noting()), **changes)
    assert (first.reason, second.reason) == ("max_pages", "max_pages")
    assert before.done[:3] == ["looking", "looking", "fetch"]  # for pages to revisit, and for due URLs
    assert after.done == ["looking"]


def test_a_round_writes_the_next_frontier_and_why_links_are_not_followed(tmp_path: Path) -> None:
    with Web({"a.test": {"/": html("Home", "A page.", ["/1", "http://b.test/x", "http://b.test/y", "/z.zip"])}}) as web:
        crawl(tmp_path, [web.url("a.test")], rounds=1)
    rejected = {(row["host"], row["reason"]): row["count"] for row in rows(tmp_path, "rejections")}
    assert {key: count for key, count in rejected.items() if key[0] == "b.test"} == {("b.test", "scope"): 2}
    assert "extension" in {reason for _, reason in rejected}
    (waiting,) = frontier_files(CrawlDir(str(tmp_path)).manifests())
    assert (waiting.rows, round_of(waiting.path)) == (1, 2)
