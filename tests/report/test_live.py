"""The page of a crawl that may be running, from what is stored in its directory."""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.runners.commands.serving.watch import create_app
from beamtrawl.runners.process.lock import Lock
from beamtrawl.runners.report.live import LivePage
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest
from beamtrawl.transforms.outcomes import CrawlDirError
from beamtrawl.transforms.settings import render
from tests.report.hostile import BAD, EVIL
from tests.report.pages import figures, paragraphs, tables
from tests.support.command_line import contents, failure
from tests.support.committed_steps import commit, listed, waiting
from tests.support.crawls import crawl as run_crawl, settings
from tests.support.web import MUTE, Web, html

BEGAN = 1_800_000_000.0  # POSIX time, 08:00:00 UTC
QUEUES = [
    {"name": "a.test", "urls": 3, "why": "crawl_delay", "delay_s": 5.0, "seconds": 12.0, "holds": True},
    {"name": "b.test", "urls": 1, "why": "answer", "delay_s": 8.0, "seconds": 9.0, "holds": True},
    {"name": "c.test", "urls": 9, "why": "dead", "delay_s": 600.0, "seconds": 600.0, "holds": False},
]
REPORT = {
    "outcomes": {"fetched": 18, "gone": 2, "timeout": 1},
    **{"bytes": 2000, "active": 1, "waiting": 2, "backing_off": 3, "queued": 13, "longest_queue_s": 12.0},
    "requests": {"rate": 1.5, "began": BEGAN, "width_s": 2.0, "buckets": [10, 8, 3]},
    "queues": QUEUES,
    "failures": [{"at": BEGAN + 4, "url": "http://c.test/x", "outcome": "timeout", "error": "nothing came"}],
}


def begun(root: str, step: str = "fetch") -> CrawlDir:
    """A crawl whose next step is a fetch or an update."""
    crawl = CrawlDir(root)
    crawl.write_text("crawl.toml", render(settings()))
    seeds = [("a.test", "seed", None), ("b.test", "seed", None)]
    commit(crawl, "seeds", 0, [waiting(crawl, 1, *seeds)])
    if step == "update":
        counters = {"visits_rows": 9, "fetched": 9}
        crawl.commit(Manifest("fetch", 1, "", (listed("visits", "a", 9),), counters, (), "", ""))
    return crawl


def hold(crawl: CrawlDir, step: str = "fetch", **report: Any) -> None:
    """Write what a process writes that runs a step."""
    owner = {"pid": 7, "host": "box", "beat": time.time(), "since": BEGAN - 60}
    crawl.write_text("lock.json", json.dumps(owner))
    if report:
        crawl.write_text(f"attempts/000001-{step}-ab-progress-{int(BEGAN * 1e9):x}.json", json.dumps(report))


def page_of(crawl: CrawlDir, seconds: float = 7.0) -> str:
    return LivePage(crawl, lambda: BEGAN + seconds)()


def test_the_page_beside_a_fetch_step(tmp_path: Path) -> None:
    crawl = begun(str(tmp_path))
    hold(crawl, **REPORT)
    before = contents(tmp_path)
    page = page_of(crawl)
    assert "Process 7 on box: fetch of round 1, since 2027-01-15 08:00:00 UTC." in paragraphs(page)
    found = figures(page)
    assert found["visits of this round"] == "21"
    assert (found["requests a second, now"], found["requests a second, mean"]) == ("1.5", "3")
    assert (found["left of this round, about"], found["time"]) == ("12 s", "7 s")
    assert (found["hosts backing off"], found["URLs queued"]) == ("3", "13")
    shown = tables(page)
    assert shown["Hosts that hold the round"] == [
        ["a.test", "3", "Crawl-delay 5 s", "08:00:19"],
        ["b.test", "1", "no answer for 8 s", "08:00:16"],
        ["c.test", "9", "did not answer", "a later round"],
    ]
    rates = [["0:00", "5"], ["0:02", "4"], ["0:04", "1.5"]]
    assert shown["Rate of this round (requests a second)"] == rates
    assert shown["Visits of this step that failed, newest first"] == [
        ["08:00:04", "http://c.test/x", "timeout", "nothing came"]
    ]
    assert ["timeout", "1", "0"] in shown["Visits by outcome"]
    assert contents(tmp_path) == before


def test_the_page_beside_an_update_step(tmp_path: Path) -> None:
    crawl = begun(str(tmp_path), "update")
    hold(crawl, "update", stage=1, stages=9, name="parsing pages", rows=4)
    page = page_of(crawl)
    state = "Process 7 on box: update of round 1, since 2027-01-15 08:00:00 UTC: parsing pages."
    assert state in paragraphs(page)
    found = figures(page)
    assert (found["stage"], found["done"], found["visits to process"]) == ("1 of 9", "4", "9")
    assert tables(page)["Committed rounds, newest first"] == [["1", "9", "0 s", "", "", "", ""]]
    assert found["URLs in the frontier before"] == "2"


def test_the_page_of_a_crawl_that_waits_and_of_one_that_nobody_runs(tmp_path: Path) -> None:
    crawl = begun(str(tmp_path))
    hold(crawl)
    assert "Process 7 on box is between two steps, or waits for URLs to be due." in paragraphs(page_of(crawl))
    (tmp_path / "lock.json").unlink()
    page = page_of(crawl)
    assert "No process works on this crawl. The next step is fetch of round 1." in paragraphs(page)
    assert (figures(page)["URLs in the frontier"], figures(page)["due"]) == ("2", "2")


def test_all_who_look_share_a_page_and_a_commit_renews_it(tmp_path: Path) -> None:
    crawl, now = begun(str(tmp_path)), [BEGAN]
    page = LivePage(crawl, lambda: now[0])
    first = page()
    crawl.commit(Manifest("fetch", 1, "", (), {"fetched": 5, "visits_rows": 5}, (), "", ""))
    now[0] += 0.5
    assert page() is first
    now[0] += 5.0  # what is cheap to know
    assert ["fetched", "0", "5"] in tables(page())["Visits by outcome"]
    now[0] += 600.0
    assert "The next step is update of round 1." in page()
    assert ["fetched", "0", "5"] in tables(page())["Visits by outcome"]


def test_a_file_that_a_merge_removed_is_read_again_later(tmp_path: Path) -> None:
    crawl, now = begun(str(tmp_path)), [BEGAN]
    page = LivePage(crawl, lambda: now[0])
    page()
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}
    crawl.commit(Manifest("fetch", 1, "", (), {"fetched": 5, "visits_rows": 5}, (), "", ""))
    for path in kept:
        path.unlink()
    now[0] += 600.0
    assert ["fetched", "0", "5"] not in tables(page()).get("Visits by outcome", [])
    with pytest.raises(CrawlDirError):
        page_of(crawl)
    for path, content in kept.items():
        path.write_bytes(content)
    now[0] += 600.0
    assert ["fetched", "0", "5"] in tables(page())["Visits by outcome"]


def test_crawled_text_has_no_effect(tmp_path: Path) -> None:
    crawl = begun(str(tmp_path))
    queue, failed = QUEUES[0] | {"name": EVIL}, {"at": BEGAN, "url": EVIL, "outcome": EVIL, "error": EVIL}
    hold(crawl, **REPORT | {"queues": [queue], "failures": [failed], "outcomes": {EVIL: 3}})
    page = page_of(crawl)
    assert page.count("<script>") == page.count("<style>") == 1
    assert f"<script>{BAD}" not in page
    assert "<img" not in page
    assert "⟨U+202E⟩" in page


# method, path, Host; status
REQUESTS = {
    "the page": ("GET", "/", "localhost:8001", "200 OK"),
    "its head": ("HEAD", "/", "127.0.0.1", "200 OK"),
    "another path": ("GET", "/crawl.toml", "localhost", "404 Not Found"),
    "something to change": ("POST", "/", "localhost", "405 Method Not Allowed"),
    "a foreign name": ("GET", "/", "evil.test", "400 Bad Request"),
}


@pytest.mark.parametrize(("method", "path", "host", "status"), REQUESTS.values(), ids=REQUESTS)
def test_a_request(method: str, path: str, host: str, status: str) -> None:
    found: list[Any] = []
    app = create_app(lambda: "<p>page", ["localhost", "127.0.0.1"])
    environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "HTTP_HOST": host}
    body = b"".join(app(environ, lambda *answer: found.append(answer)))
    ((shown, headers),) = found
    assert shown == status
    assert ("X-Frame-Options", "DENY") in headers
    assert ("Cache-Control", "no-store") in headers
    assert (body == b"<p>page") == (status == "200 OK" and method == "GET")


def test_a_crawl_that_cannot_be_read_is_one_line() -> None:
    def gone() -> str:
        raise CrawlDirError("/c holds no crawl")

    found: list[Any] = []
    app = create_app(gone, [])
    body = app({"REQUEST_METHOD": "GET", "HTTP_HOST": "a"}, lambda *answer: found.append(answer[0]))
    assert (found, list(body)) == (["503 Service Unavailable"], [b"The crawl cannot be read: /c holds no crawl\n"])


def test_what_cannot_be_watched_is_one_line(tmp_path: Path) -> None:
    code, line = failure("watch", tmp_path / "none")
    assert (code, str(tmp_path / "none") in line) == (1, True)


def test_a_host_that_holds_a_round_is_named_while_the_round_runs(tmp_path: Path) -> None:
    answering = {"/": html("Home", links=["/b"]), "/b": html("B")}
    with Web({"a.test": answering, "mute.test": MUTE}) as web:
        seeds = [web.url("a.test"), web.url("mute.test")]
        with Lock(crawl := CrawlDir(str(tmp_path))):
            work = threading.Thread(target=run_crawl, args=(tmp_path, seeds), kwargs={"rounds": 1}, daemon=True)
            work.start()
            name = web.authority("mute.test").partition(":")[0]  # ports of a name share its queue
            row = wait_for(lambda: _row(crawl, name))
    work.join()
    assert row[:2] == [name, "1"]
    assert row[2].startswith("no answer for ")


def _row(crawl: CrawlDir, host: str) -> list[str] | None:
    if not crawl.manifests():
        return None
    found = [row for row in tables(LivePage(crawl)()).get("Hosts that hold the round", ()) if row[0] == host]
    return found[0] if found and found[0][2].startswith("no answer") else None


def wait_for(look: Callable[[], list[str] | None], seconds: float = 60.0) -> list[str]:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if found := look():
            return found
        threading.Event().wait(0.1)
    raise AssertionError("it did not happen")
