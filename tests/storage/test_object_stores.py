"""Crawl directories on object stores: every command, exclusion, kills and failures, on servers on loopback."""

import functools
import json
import os
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.imports.test_bad_input import record, wacz as wacz_file
from tests.support.command_line import LOOPBACK, PROGRAM, Ran, in_one_process
from tests.support.prerequisites import lacks
from tests.support.web import Answer, Web, html, slow

try:
    import obstore  # noqa: F401

    from tests.support.object_stores import STORES, Store
except ModuleNotFoundError as error:
    lacks(f"a client and a server of S3 (pip install '.[test]'): {error}", whole_module=True)

pytestmark = pytest.mark.slow("object stores")

PAGES = 40


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    with STORES[request.param]() as store:
        yield store


def site(seconds: float = 0.0) -> dict[str, Answer]:
    """Pages that the first one links to: two rounds."""
    first = html("Page 1", "What the first page says of lighthouses.", [f"/{n}" for n in range(2, PAGES)])
    others = {f"/{n}": html(f"Page {n}", f"What page {n} says of lighthouses. " * 9) for n in range(2, PAGES)}
    return {path: slow(seconds, page) if seconds else page for path, page in {"/1": first, **others}.items()}


def environment(store: Store) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "GOOGLE_", "STORAGE_"))}
    return clean | store.environment


def start(store: Store, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*PROGRAM, *words],
        env=environment(store),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ran(process: subprocess.Popen[str]) -> Ran:
    out, err = process.communicate(timeout=120)
    return Ran(process.returncode, out, err)


def run(store: Store, *words: str) -> Ran:
    return ran(start(store, *words))


def answer(store: Store, *words: str) -> str:
    code, out, err = run(store, *words)
    assert (code, err) == (0, "")
    return out


def crawl_words(directory: str, web: Web, *more: str) -> list[str]:
    return ["crawl", directory, *LOOPBACK, "--seed", web.url("site.test", "/1"), *more]


COUNT = "SELECT count(*) AS visits, count(DISTINCT url) AS urls FROM visits WHERE outcome = 'fetched'"


def counts(answered: str) -> dict[str, int]:
    """What the program answers to COUNT as JSON."""
    return dict(json.loads(answered)[0])


def test_every_command(store: Store) -> None:
    directory = f"{store.root}/a folder/crawl"
    with Web({"site.test": site()}) as web:
        commands = [crawl_words(directory, web, "--rounds", "1"), crawl_words(directory, web)]
        for ended in in_one_process(commands, environment(store)):
            assert ended.code == 0, ended.err
        unseen = web.url("site.test", "/new")
    # Each in a process of its own, whose end may find reads under way.
    store.requests.clear()
    assert json.loads(answer(store, "search", directory, "lighthouses", "--json"))["total"] == PAGES - 1
    print(f"{store.root}: a search in {dict(store.requests)} requests")
    store.requests.clear()
    assert json.loads(answer(store, "status", directory, "--json"))["outcomes"]["fetched"] == PAGES - 1
    print(f"{store.root}: status in {dict(store.requests)} requests")
    assert serves(store, directory)
    query, check = ["sql", directory, COUNT, "--json"], ["check", "crawl", directory]
    writing = [["seeds", "add", directory, unseen], ["compact", directory], ["clean", directory]]
    commands = [query, check, *writing, check, ["search", directory, "lighthouses", "--json"], query]
    before, *others, found, after = in_one_process(commands, environment(store))
    assert [ended for ended in (before, *others, found, after) if ended.code] == []
    assert json.loads(found.out)["total"] == PAGES - 1
    assert counts(before.out) == counts(after.out) == {"visits": PAGES - 1, "urls": PAGES - 1}


def serves(store: Store, directory: str) -> bool:
    process = start(store, "serve", directory, "--port", "0")
    try:
        assert process.stdout
        url = next(word for word in process.stdout.readline().split() if word.startswith("http://127.0.0.1"))
        with urllib.request.urlopen(f"{url.rstrip('/')}/api/search?q=lighthouses") as found:
            return bool(json.load(found)["total"] == PAGES - 1)
    finally:
        process.terminate()
        ran(process)


def put(store: Store, name: str, data: bytes) -> None:
    bucket = store.root.partition("://")[2]
    url = f"{store.environment.get('AWS_ENDPOINT_URL') or store.environment['STORAGE_EMULATOR_HOST']}/{bucket}/{name}"
    given = urllib.request.Request(url, data, {"Content-Type": "application/octet-stream"}, method="PUT")
    with urllib.request.urlopen(given, timeout=60) as answer:
        assert answer.status == 200


def test_objects_of_others_stay(store: Store) -> None:
    """Below the prefix of a crawl, and where there is none."""
    users = ["documents/thesis.odt", "index/round=000001/notes.parquet", "attempts/notes.txt"]
    garbage = "links/round=000001/part-0123456789abcdef.parquet"
    for prefix in ("crawl", "mine"):
        for name in [*users, garbage] if prefix == "crawl" else users:
            put(store, f"{prefix}/{name}", b"of somebody")
    with Web({"site.test": site()}) as web:
        crawl = crawl_words(f"{store.root}/crawl", web, "--rounds", "1", "--into-nonempty")
        commands = [crawl_words(f"{store.root}/mine", web), crawl, ["clean", f"{store.root}/crawl"]]
        refused, ended, cleaned = in_one_process(commands, environment(store))
    assert (refused.code, ended.code) == (2, 0), refused.err + ended.err
    assert "/mine is not empty and holds no crawl (it has " in refused.err
    assert f"removed: {garbage}\n1 file removed\n3 files left alone" in cleaned.out
    listed = in_one_process([["clean", f"{store.root}/crawl"]], environment(store))
    assert "0 files removed\n3 files left alone" in listed[0].out


def test_archives_in_a_store(store: Store, tmp_path: Path) -> None:
    """Into a directory on the disk, and into one on the store; one listing finds the files."""
    files = 10
    for number in range(files):
        put(store, f"in/{number:02}.warc.gz", record(f"{number}", f"<title>Page {number}</title>"))
    put(store, "in/notes.txt", b"no archive")
    put(store, "in/one.wacz", wacz_file(tmp_path / "one.wacz", {"archive/a.warc.gz": record("zipped")}).read_bytes())
    for directory in (str(tmp_path / "local"), f"{store.root}/imported"):
        store.requests.clear()
        given = (f"{store.root}/in/*.warc.gz", f"{store.root}/in/one.wacz")
        code, out, err = run(store, "import", "warc", directory, *given, "--workers", "1", "--json")
        assert code == 0, err
        assert json.loads(out.splitlines()[-1])["visits"] == files + 1
        print(f"{store.root}: an import into {directory} in {dict(store.requests)} requests")
        if directory.startswith("/"):
            assert store.requests["LIST"] == 1
        counted = answer(store, "sql", directory, COUNT, "--json")
        assert counts(counted) == {"visits": files + 1, "urls": files + 1}
    for name, error in (("*.zip", "matches no file"), ("none.warc.gz", "is no file")):
        code, _, err = run(store, "import", "warc", directory, f"{store.root}/in/{name}")
        assert (code, err.splitlines()[-1].endswith(f"{store.root}/in/{name} {error}")) == (2, True), err


def test_of_two_crawls_at_once_one_refuses(store: Store) -> None:
    """The one that fetches waits for the other, which may start late."""
    directory = f"{store.root}/crawl"
    both: list[subprocess.Popen[str]] = []

    def waiting(page: Answer, headers: Mapping[str, str]) -> Answer:
        has_ended = any(process.poll() is not None for process in both)
        return page if has_ended else slow(0.5, page)

    with Web({"site.test": {path: functools.partial(waiting, page) for path, page in site().items()}}) as web:
        both += [start(store, *crawl_words(directory, web)) for _ in range(2)]
        first, second = sorted((ran(process) for process in both), key=lambda ended: ended.code)
    assert (first.code, second.code) == (0, 1), second.err
    assert "is in use by process" in second.err or "was taken by another process just now" in second.err
    assert counts(answer(store, "sql", directory, COUNT, "--json")) == {"visits": PAGES - 1, "urls": PAGES - 1}


def test_status_and_the_page_beside_a_running_crawl(store: Store) -> None:
    directory = f"{store.root}/crawl"
    with Web({"site.test": site(0.5)}) as web:
        process = start(store, *crawl_words(directory, web))
        _wait(lambda: len(web.requests) >= 5)
        found = answer(store, "status", directory)
        watch = start(store, "watch", directory, "--port", "0")
        try:
            url = watch.stdout.readline().split(" at ")[1].split()[0]  # type: ignore[union-attr]
            _wait(lambda: b"Hosts that hold the round" in urllib.request.urlopen(url).read())
        finally:
            watch.terminate()
            watch.communicate()
            process.terminate()
            ran(process)
    assert f"running: process {process.pid} since " in found
    assert "; round 2 fetch" in found


def test_kill_and_resume(store: Store) -> None:
    directory = f"{store.root}/crawl"
    with Web({"site.test": site(0.05)}) as web:
        for requests in (5, 20):
            process = start(store, *crawl_words(directory, web))
            _wait(lambda least=requests: len(web.requests) >= least)
            os.killpg(process.pid, signal.SIGKILL)
            ran(process)
        code, _, err = run(store, *crawl_words(directory, web))
        assert code == 0, err
    commands = [["sql", directory, COUNT, "--json"], ["check", "crawl", directory]]
    counted, checked = in_one_process(commands, environment(store))
    assert counts(counted.out) == {"visits": PAGES - 1, "urls": PAGES - 1}
    assert (checked.code, checked.err) == (0, "")


def _wait(happened: Callable[[], bool]) -> None:
    patience = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < patience
        threading.Event().wait(0.02)


def test_a_missing_bucket(store: Store) -> None:
    directory = store.root.replace("crawls", "elsewhere")
    with Web({"site.test": site()}) as web:
        commands = [["status", directory], ["search", directory, "x"]]
        crawled = run(store, *crawl_words(f"{directory}/crawl", web))
        for code, out, err in (*in_one_process(commands, environment(store)), crawled):
            assert (code, out, err.count("\n")) == (1, "", 1), err
            assert f"there is no bucket {directory}; create it, or name another one" in err


def test_a_store_that_goes_away_in_the_middle(store: Store) -> None:
    directory = f"{store.root}/crawl"
    with Web({"site.test": site(0.1)}) as web:
        process = start(store, *crawl_words(directory, web))
        _wait(lambda: len(web.requests) >= 8)
        store.stop()
        code, _, err = ran(process)
    assert code == 1
    assert "does not answer; run the command again, what is committed is safe" in err.splitlines()[-1]
    assert "Traceback" not in err
