"""What a fetch step has asked survives a kill and a bundle that fails: URLs, robots.txt, and promises to hosts."""

import contextlib
import time
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

import pyarrow.parquet as pq
import pytest

from beamtrawl.transforms.directory.crawl_dir import CrawlDir, CrawlDirError
from beamtrawl.transforms.directory.pieces import (
    NOTHING_LEFT,
    Leftovers,
    PromiseLog,
    find_leftovers,
    read_promises,
    write_piece,
)
from beamtrawl.transforms.files import filesystem
from beamtrawl.transforms.files.local_disk import LocalDisk
from beamtrawl.transforms.http.reply import Reply
from beamtrawl.transforms.outcomes import StoreError
from beamtrawl.transforms.politeness.adopted import state_rows
from beamtrawl.transforms.politeness.visit_hosts import _VisitFn
from beamtrawl.transforms.politeness.workers.keeper import Keeper
from beamtrawl.transforms.politeness.works import Work
from beamtrawl.transforms.tables.schemas import HostRow
from beamtrawl.transforms.tables.table_files import TableFile, TableWriter
from tests.support import slow_store
from tests.support.contexts import visit_context
from tests.support.disks import Fault, SimulatedDisk
from tests.support.scheduled_rounds import due, pages
from tests.support.servers import Servers

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def promise(host: str, seconds: float) -> HostRow:
    row = HostRow(host=host, round=1, last_fetched_at=NOW, last_elapsed_ms=5.0, failures_in_row=1)
    return row | HostRow(crawl_delay=0.0, not_before=NOW + timedelta(seconds=seconds), held_by="retry_after")


def test_promises_are_there_at_once_and_a_line_that_was_cut_is_skipped(tmp_path: Path) -> None:
    crawl = CrawlDir(str(tmp_path))
    log = PromiseLog(crawl, "000001-fetch-ab")
    log.write(promise("a.test", 120))
    log.write(promise("b.test", 5))
    (path,) = find_leftovers(crawl, "000001-fetch").promises
    with (tmp_path / path).open("ab") as file:
        file.write(b'{"host": "c.te')
    assert list(read_promises(crawl.root, path)) == [promise("a.test", 120), promise("b.test", 5)]
    log.remove()
    assert find_leftovers(crawl, "000001-fetch") == NOTHING_LEFT


def test_promises_survive_a_power_cut_once_they_are_synced(tmp_path: Path) -> None:
    folder, kept = tmp_path / "crawl", tmp_path / "kept"
    (folder / "attempts").mkdir(parents=True)
    crawl, disk = CrawlDir(str(folder)), SimulatedDisk(kept, Fault("none"))
    with filesystem.mounted(str(folder), disk):
        log = PromiseLog(crawl, "000001-fetch-ab", sync_interval=0.01)
        patience = time.monotonic() + 60
        for times, host in enumerate(("a.test", "b.test"), 1):  # the second sync begins when the first has ended
            log.write(promise(host, 120))
            while disk.operations.count("sync_folder") < times:
                assert time.monotonic() < patience
        disk.restore()
        (path,) = find_leftovers(crawl, "000001-fetch").promises
        assert next(read_promises(crawl.root, path)) == promise("a.test", 120)
        log.remove()


def test_a_promise_that_has_become_a_piece_since_it_was_listed_holds(tmp_path: Path) -> None:
    crawl = CrawlDir(str(tmp_path))
    log = PromiseLog(crawl, "000001-fetch-ab")
    log.write(promise("a.test", 120))
    listed = find_leftovers(crawl, "000001-fetch")
    writer = TableWriter(crawl.root, "host_turns", 1)
    writer.write_rows([promise("a.test", 120)])
    file = writer.close()
    assert file is not None
    write_piece(crawl, "000001-fetch-ab", [file])
    log.remove()
    assert [(row["host"], row["not_before"]) for row in state_rows(crawl.root, listed)] == [
        ("a.test", NOW + timedelta(seconds=120))
    ]


def test_a_piece_counts_if_all_of_its_files_are_whole(tmp_path: Path) -> None:
    crawl, files = CrawlDir(str(tmp_path)), []
    for number in range(3):
        writer = TableWriter(crawl.root, "robots", 1)
        writer.write_rows([{"origin": f"http://{number}.test", "host": f"{number}.test"}])
        file = writer.close()
        assert file is not None
        files.append(file)
    write_piece(crawl, "000001-fetch-ab", files[:1])
    write_piece(crawl, "000001-fetch-ab", files[1:])
    write_piece(crawl, "000002-fetch-cd", [TableFile("robots", "robots/nowhere.parquet", 1, 1, {})])
    assert sorted(find_leftovers(crawl, "000001-fetch").files) == sorted(files)
    assert find_leftovers(crawl, "000002-fetch").files == []
    (tmp_path / files[2].path).write_bytes(b"PAR1 cut short")
    assert find_leftovers(crawl, "000001-fetch").files == files[:1]
    written = (tmp_path / files[0].path).read_bytes()
    footer = 8 + int.from_bytes(written[-8:-4], "little")
    (tmp_path / files[0].path).write_bytes(written[:-footer] + b"\xff" * (footer - 8) + written[-8:])
    assert find_leftovers(crawl, "000001-fetch").files == []


def test_a_piece_that_cannot_be_read_at_the_moment_is_not_given_up(tmp_path: Path) -> None:
    """A step that went on without it would ask its pages again, and `clean` would remove them."""
    folder = tmp_path / "crawl"
    crawl = CrawlDir(str(folder))
    writer = TableWriter(crawl.root, "robots", 1)
    writer.write_rows([{"origin": "http://a.test", "host": "a.test"}])
    file = writer.close()
    assert file is not None
    write_piece(crawl, "000001-fetch-ab", [file])
    at, has_failed = 0, True
    while has_failed:
        at += 1
        disk = SimulatedDisk(tmp_path / "kept", Fault("error", at))
        with filesystem.mounted(crawl.root, disk), contextlib.suppress(CrawlDirError, OSError):
            assert find_leftovers(crawl, "000001-fetch").files == [file]
        has_failed = disk.has_failed
    assert at > 3


class SilentStore(LocalDisk):
    """Tables cannot be read; the error has no number, as that of a client of an object store."""

    def open(self, path: str) -> BinaryIO:
        if path.endswith(".parquet"):
            raise StoreError(f"{path} cannot be read: the store does not answer") from OSError("no answer")
        return super().open(path)


def test_a_piece_in_a_store_that_does_not_answer_is_not_given_up(tmp_path: Path) -> None:
    crawl = CrawlDir(str(tmp_path))
    write_piece(crawl, "000001-fetch-ab", [TableFile("robots", "robots/a.parquet", 1, 1, {})])
    with filesystem.mounted(crawl.root, SilentStore()), pytest.raises(StoreError, match="the store does not answer"):
        find_leftovers(crawl, "000001-fetch")


def test_no_piece_is_closed_while_a_slow_store_closes_the_last(tmp_path: Path) -> None:
    crawl = CrawlDir(f"{slow_store.PREFIX}{tmp_path}")
    keeper = Keeper(crawl, "000001-fetch-ab", 1, piece_seconds=0.0)
    for number in range(2):
        keeper.add("robots", {"origin": f"http://{number}.test", "host": f"{number}.test"})
        assert keeper.is_due == (number == 0)
        if keeper.is_due:
            keeper.cut([])
    keeper.close([])
    assert [file.rows for file in find_leftovers(crawl, "000001-fetch").files] == [1, 1]


# the site, the media type and the megabytes of each body, and the numbers of those of each row group
ROW_GROUPS: dict[str, tuple[list[tuple[str, str, float]], list[list[int]]]] = {
    "a site: 8 MB": ([("a.test", "text/html", 3)] * 8, [[0, 1, 2], [3, 4, 5], [6, 7]]),
    "of PDF a sixth": (
        [("a.test", "text/html", 3), ("a.test", "application/pdf", 1), ("a.test", "text/html", 3)] * 3,
        [[0, 2, 3], [1, 4], [5, 6, 8], [7]],
    ),
    "sites are apart, small ones together": (
        [("a.test" if number % 2 else f"{number}.b.test", "text/html", 1) for number in range(4)]
        + [(f"{name}.test", "text/html", 0.1) for name in "cdefgi"],
        [[0, 2], [1, 3], [4, 5, 6, 7, 8, 9]],
    ),
    "256 rows": ([("a.test", "text/html", 0)] * 260, [[*range(256)], [*range(256, 260)]]),
    "of 16 MB that are held the largest group goes": (
        [(f"{name}.test", "text/html", 2) for name in "abcabcabaa"],
        [[0, 3, 6], [1, 4, 7], [2, 5], [8, 9]],
    ),
}


@pytest.mark.parametrize(("bodies", "groups"), ROW_GROUPS.values(), ids=ROW_GROUPS)
def test_a_row_group_takes_about_as_long_to_parse_as_another_and_has_few_sites(
    bodies: list[tuple[str, str, float]], groups: list[list[int]], tmp_path: Path
) -> None:
    crawl = CrawlDir(str(tmp_path))
    keeper = Keeper(crawl, "000001-fetch-ab", 1, piece_seconds=60.0)
    for number, (host, media_type, size) in enumerate(bodies):
        due = {"url_key": bytes(16), "url": f"http://{host}/{number}", "host": host, "round": 1, "kind": None}
        body = bytes(int(size * (1 << 20)))
        keeper.add("visits", due | {"outcome": "fetched", "media_type": media_type, "body": body})
    keeper.close([])
    (file,) = find_leftovers(crawl, "000001-fetch").files
    visits = pq.ParquetFile(tmp_path / file.path)
    found = [visits.read_row_group(group, ["url"])["url"].to_pylist() for group in range(visits.num_row_groups)]
    assert sorted(sorted(int(url.rpartition("/")[2]) for url in urls) for urls in found) == groups


def bundle(root: Path, servers: Servers, **more: float) -> _VisitFn:
    """The work of a bundle, as an engine starts it."""
    changes = {"politeness__delay": 0.0, **more}
    context = visit_context(servers.open_client, changes, root=str(root), attempt="000001-fetch-ab")
    visit = _VisitFn(context)
    visit.setup()
    visit.start_bundle()
    return visit


def run(visit: _VisitFn, elements: list[tuple[str, list[list[tuple]]]]) -> None:
    """All that an engine does with a bundle after its start."""
    for element in elements:
        list(visit.process(element, {}))
    list(visit.finish_bundle())


def works(*queues: list[str]) -> list[tuple[str, list[list[tuple]]]]:
    hosts = [(queue[0].split("/")[2], queue) for queue in queues]
    return [(host, [[tuple(Work(host, [tuple(due(url)) for url in queue], [], None, []))]]) for host, queue in hosts]


def test_a_bundle_that_is_run_again_asks_nothing_again(tmp_path: Path) -> None:
    """The first run fails in the middle: the second reads what it has asked, and what hosts have said."""

    def broken(url: str, headers: Mapping[str, str]) -> Reply:
        raise RuntimeError("a bug of ours")

    busy = Reply(429, [("Retry-After", "100")])
    elements = works(pages("a.test", 30), pages("busy.test", 5), pages("broken.test", 3))
    first = Servers({"http://busy.test/1": busy, "http://broken.test/1": broken})
    visit = bundle(tmp_path, first)
    with pytest.raises(RuntimeError, match="a bug of ours"):
        run(visit, elements)

    second = Servers({"http://busy.test/1": busy})
    visit = bundle(tmp_path, second)
    for element in elements:
        list(visit.process(element, {}))
    list(visit.finish_bundle())
    asked = Counter(first.urls + second.urls)
    del asked["http://broken.test/1"]  # in the first run it was never answered
    assert set(asked.values()) == {1}
    assert [url for url in second.urls if "busy" in url] == []  # neither robots.txt nor a page before its time
    leftovers = find_leftovers(CrawlDir(str(tmp_path)), "000001-fetch")
    visited = sum(file.rows for file in leftovers.files if file.table == "visits")
    assert visited == 30 + 5 + 3 and leftovers.promises == []


def test_what_lay_in_a_piece_when_a_worker_was_killed_is_not_asked_again(tmp_path: Path) -> None:
    elements = works(pages("a.test", 60), pages("busy.test", 3))
    answers = {"http://busy.test/0": Reply(503, [("Retry-After", "100")])}
    first = Servers(answers)
    visit = bundle(tmp_path, first)
    for element in elements:
        list(visit.process(element, {}))
    assert visit._scheduler
    events = visit._scheduler.pump(wait=True)
    for event in events:
        visit._keeper.add(event.table, event.row)
        if len(first.urls) > 30 and "http://busy.test/0" in first.urls:
            break
    visit._keeper.cut(visit._scheduler.turn_rows())
    durable: set[str] = set()
    while not durable:  # the keeper writes in a thread of its own
        leftovers = find_leftovers(CrawlDir(str(tmp_path)), "000001-fetch")
        durable = {row["url"] for row in visits_in(tmp_path, leftovers)}
    # Here the worker is gone: nothing of it is closed.
    second = Servers(answers)
    again = bundle(tmp_path, second)
    for element in elements:
        list(again.process(element, {}))
    list(again.finish_bundle())
    assert not durable & set(second.urls)
    assert [url for url in second.urls if url.startswith("http://busy")] == []
    events.close()
    visit._scheduler.close()


def test_a_pause_is_written_down_if_it_is_longer_than_that_of_a_resumed_step(tmp_path: Path) -> None:
    slow = {"http://a.test/0": Reply(200, elapsed_s=0.4), "http://b.test/0": Reply(200, elapsed_s=0.6)}
    visit = bundle(tmp_path, Servers(slow), politeness__response_factor=1.0)
    for element in works(["http://a.test/0"], ["http://b.test/0"]):
        list(visit.process(element, {}))
    assert visit._scheduler
    list(visit._scheduler.pump(wait=True))
    (path,) = find_leftovers(CrawlDir(str(tmp_path)), "").promises
    assert [row["host"] for row in read_promises(str(tmp_path), path)] == ["b.test"]
    visit._scheduler.close()


def visits_in(root: Path, leftovers: Leftovers) -> list[dict]:
    return [row for path in leftovers.paths("visits") for row in pq.read_table(root / path).to_pylist()]
