"""Conditional writes to object stores: one of several writers takes a lock, takes it over, or commits a step."""

import dataclasses
import json
import threading
import time
from collections.abc import Callable

import pytest

from beamtrawl.runners.process.lock import Lock
from beamtrawl.runners.terminal.errors import LockedError
from beamtrawl.transforms.directory.claims import LOCK, read_owner
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest, render_manifest
from beamtrawl.transforms.files import filesystem
from beamtrawl.transforms.outcomes import CrawlDirError
from tests.support.prerequisites import lacks

try:
    import obstore  # noqa: F401

    from tests.support.object_stores import Store
except ModuleNotFoundError as error:
    lacks(f"a client and a server of S3 (pip install '.[test]'): {error}", whole_module=True)

pytestmark = pytest.mark.slow("object stores")

WRITERS = 8


@pytest.fixture
def crawl(store: Store) -> CrawlDir:
    return CrawlDir(f"{store.root}/crawl")


def successes(work: Callable[[], object]) -> int:
    """The number of concurrent calls that end without an error of a crawl directory."""
    ready, done = threading.Barrier(WRITERS), []

    def attempt() -> None:
        ready.wait(60)
        try:
            work()
            done.append(True)
        except (LockedError, CrawlDirError):
            pass

    threads = [threading.Thread(target=attempt) for _ in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(done)


def manifest() -> Manifest:
    return Manifest("fetch", 1, "", (), {"writer": threading.get_ident()}, (), "", "")


BEFORE = {
    "there is no lock": None,
    "it was released": {"released": 0},
    "its owner gave no heartbeat": {"host": "elsewhere", "pid": 1, "beat": 0, "token": "old"},
    "it cannot be read": [],
}


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
def test_one_of_several_takes_a_lock(crawl: CrawlDir, before: object) -> None:
    if before is not None:
        crawl.write_text(LOCK, json.dumps(before))
    taken = []

    def take() -> None:
        lock = Lock(crawl, stale=1.0)
        lock.__enter__()
        taken.append(lock)

    assert successes(take) == 1
    for lock in taken:  # a heartbeat that goes on is a request to the store of a later test
        lock.__exit__(None, None, None)


def test_a_lock_that_ended_can_be_taken(crawl: CrawlDir) -> None:
    for _ in range(2):
        with Lock(crawl), pytest.raises(LockedError, match="is in use by process"), Lock(crawl):
            pytest.fail("two writers")
        assert "released" in (read_owner(crawl.root, LOCK) or {})


def test_a_heartbeat_is_one_request_and_ends_with_the_ownership(store: Store, crawl: CrawlDir) -> None:
    lost = threading.Event()
    lock = Lock(crawl, on_lost=lost.set, heartbeat=0.05)
    claimed = lock.__enter__()
    store.requests.clear()
    patience = time.monotonic() + 60
    while sum(store.requests.values()) < 3:
        assert time.monotonic() < patience
    assert set(store.requests) == {"PUT if"}
    crawl.write_text(LOCK, json.dumps({"host": "elsewhere", "pid": 1, "beat": time.time(), "token": "another"}))
    assert lost.wait(60)
    with pytest.raises(CrawlDirError, match="was taken over by process 1 on elsewhere"):
        claimed.commit(manifest())
    with pytest.raises(LockedError, match="was taken over"):
        lock.__exit__(None, None, None)
    assert (read_owner(crawl.root, LOCK) or {})["token"] == "another"


def test_one_of_several_commits_a_step_and_the_others_say_so(crawl: CrawlDir) -> None:
    refused = []

    def commit() -> None:
        try:
            CrawlDir(crawl.root).commit(manifest())
        except CrawlDirError as error:
            refused.append(str(error))
            raise

    assert successes(commit) == 1
    assert len(crawl.manifests()) == 1
    assert set(refused) == {COMMITTED}
    assert len(refused) == WRITERS - 1


COMMITTED = "manifests/000001-fetch.json exists already: another program has committed this step; start again to go on"


class PausedCrawl(CrawlDir):
    """A crawl directory whose writer is paused after it has checked its claim, before it writes the manifest."""

    meanwhile: Callable[[], object]

    def require_claim(self) -> None:
        super().require_claim()
        self.meanwhile()


def test_an_owner_that_is_paused_after_the_check_of_its_claim_commits_no_step_twice(crawl: CrawlDir) -> None:
    def take_over() -> None:
        crawl.write_text(LOCK, json.dumps((read_owner(crawl.root, LOCK) or {}) | {"beat": time.time() - 120}))
        with Lock(crawl, stale=0.1) as successor:
            successor.commit(manifest())

    first = Lock(crawl)
    paused = PausedCrawl(crawl.root, first.__enter__().claim)
    paused.meanwhile = take_over
    with pytest.raises(CrawlDirError) as raised:
        paused.commit(dataclasses.replace(manifest(), counters={"writer": 0}))
    assert str(raised.value) == COMMITTED
    assert [one.counters for one in crawl.manifests()] == [{"writer": threading.get_ident()}]
    with pytest.raises(LockedError, match="was taken over by another process"):
        first.__exit__(None, None, None)


def test_concurrent_changes_of_a_text_are_all_kept(crawl: CrawlDir) -> None:
    assert successes(lambda: crawl.change_text("list.txt", lambda text: f"{text}{threading.get_ident()}\n")) == WRITERS
    assert len(set(crawl.read_text("list.txt").splitlines())) == WRITERS


def test_manifests_are_requested_once(store: Store, crawl: CrawlDir) -> None:
    for round_ in range(1, 21):
        crawl.write_new(f"manifests/{round_:06d}-fetch.json", render(round_))
    store.requests.clear()
    assert len(crawl.manifests()) == 20
    assert (store.requests["LIST"], store.requests["GET"]) == (1, 20)
    crawl.manifests()
    assert (store.requests["LIST"], store.requests["GET"]) == (2, 20)


def render(round_: int) -> str:
    return render_manifest(Manifest("fetch", round_, "", (), {}, (), "", ""))


def test_a_put_that_was_repeated_counts_as_written(store: Store) -> None:
    """The answer to the first request was lost, so the client sent it again."""
    path = f"{store.root}/file"
    objects = filesystem.store_of(path)
    first = objects.replace(path, b"mine", None)
    assert objects.replace(path, b"mine", None) == first
    second = objects.replace(path, b"newer", first)
    assert objects.replace(path, b"newer", first) == second
    assert objects.replace(path, b"of another", first) is None
    assert filesystem.read_bytes(path) == b"newer"
