"""What robots.txt files say about uses of content, for pages of archives."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from beamtrawl.pipeline.imports.import_archives import Job
from beamtrawl.transforms.archives.sources import sources_of
from tests.imports.test_bad_input import imported, record
from tests.imports.test_resume import Dying, Killed, run
from tests.support.command_line import beamtrawl
from tests.support.crawls import rows, without_times

SAID = """User-agent: *
Content-Usage: train-ai=y
Content-Usage: /own/ train-ai=n
Content-Signal: search=yes
Content-Signal: /hidden/ search=no, ai-train=no
"""
PAGES = ["free", "own/a", "hidden/a"]


def page(name: str, host: str = "a.test", **fields: str) -> bytes:
    at = {"Target-URI": f"http://{host}/{name}"}
    return record(name, f"<title>{name}</title><p>Lighthouse {name}.", **at, **fields)


def robots(text: str = SAID, host: str = "a.test", **fields: str) -> bytes:
    return record("robots.txt", text, "text/plain", **{"Target-URI": f"http://{host}/robots.txt"}, **fields)


def rights(folder: Path, host: str = "a.test") -> dict[str, tuple[str | None, str | None]]:
    """(robots_usage, robots_signals) of the visits to a host, by path."""
    origin = f"http://{host}/"
    return {
        row["url"].removeprefix(origin): (row["robots_usage"], row["robots_signals"])
        for row in rows(folder, "visits")
        if row["url"].startswith(origin)
    }


EXPECTED = {
    "free": ("train-ai=y", "search=yes"),
    "own/a": ("train-ai=n", "search=yes"),
    "hidden/a": ("train-ai=y", "search=no, ai-train=no"),
}


def files(folder: Path, *contents: bytes) -> list[Path]:
    paths = [folder / f"{number}.warc.gz" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return paths


def test_what_a_robots_txt_says_holds_for_searches_and_training(tmp_path: Path) -> None:
    given = files(tmp_path, b"".join(map(page, PAGES)), robots())  # in another file, which is read later
    assert imported(tmp_path / "c", *given)["robots"] == 1
    assert rights(tmp_path / "c") == EXPECTED
    assert {row["robots_at"] for row in rows(tmp_path / "c", "visits")} == {
        row["fetched_at"] for row in rows(tmp_path / "c", "robots")
    }
    found = beamtrawl("search", tmp_path / "c", "lighthouse").out
    assert "own/a" in found and "hidden/a" not in found
    assert beamtrawl("export", "corpus", tmp_path / "c", tmp_path / "out", "--format", "parquet").code == 0
    (shard,) = (tmp_path / "out").rglob("data-*.parquet")
    assert pq.read_table(shard)["url"].to_pylist() == ["http://a.test/free"]


NOTHING = dict.fromkeys(PAGES, (None, None))
LAST = {"Date": "2025-01-09T00:00:00Z"}
# host: the answers to requests for its robots.txt, and what holds for its pages of the second of January
ANSWERED: dict[str, tuple[list[tuple[str, dict[str, str]]], dict[str, tuple[str | None, str | None]]]] = {
    "older.test": ([(SAID, {"Date": "2025-01-01T00:00:00Z"})], EXPECTED),
    "newer.test": ([(SAID, {"Date": "2025-01-03T00:00:00Z"})], EXPECTED),
    "withdrawn.test": ([(SAID, {"Date": "2025-01-01T00:00:00Z"}), ("User-agent: *\nAllow: /\n", LAST)], NOTHING),
    "failed.test": ([(SAID, {}), ("", LAST | {"Status": "503 Busy"})], EXPECTED),
    "moved.test": ([(SAID, {}), ("", LAST | {"Status": "301 Moved\r\nLocation: /other"})], EXPECTED),
}


def test_the_newest_one_counts_also_for_earlier_parts(tmp_path: Path) -> None:
    """It may be older or newer than a page, and in a later part; one that says nothing withdraws what was said.

    An answer that is none withdraws nothing.
    """
    pages = [page(name, host, Date="2025-01-02T00:00:00Z") for host in ANSWERED for name in PAGES]
    answers = [robots(text, host, **fields) for host, (given, _) in ANSWERED.items() for text, fields in given]
    said = imported(tmp_path / "c", *files(tmp_path, b"".join([*pages, *answers])), "--part", 4)
    assert {host: rights(tmp_path / "c", host) for host in ANSWERED} == {
        host: held for host, (_, held) in ANSWERED.items()
    }
    assert said["skipped"] == {"older": 1, "robots_failure": 1, "robots_redirect": 1}


def test_what_the_crawl_knows_holds_unless_the_archive_knows_better(tmp_path: Path) -> None:
    imported(tmp_path / "c", *files(tmp_path, robots()))
    imported(tmp_path / "c", *files(tmp_path, b"".join(map(page, PAGES))))
    assert rights(tmp_path / "c") == EXPECTED
    older = robots("User-agent: *\nContent-Usage: search=n\n", Date="2024-01-01T00:00:00Z")
    assert imported(tmp_path / "c", *files(tmp_path, older + page("more")))["skipped"] == {"known": 1}
    assert rights(tmp_path / "c")["more"] == ("train-ai=y", "search=yes")
    newer = robots("User-agent: *\nContent-Usage: search=n\n", Date="2025-02-01T00:00:00Z")
    imported(tmp_path / "c", *files(tmp_path, newer + page("last")))
    assert rights(tmp_path / "c")["last"] == ("search=n", None)
    assert "last" not in beamtrawl("search", tmp_path / "c", "lighthouse").out


def test_after_a_kill_the_same_is_said(tmp_path: Path) -> None:
    paths = files(tmp_path, b"".join(map(page, PAGES)), robots())
    job = Job([source for path in paths for source in sources_of(str(path))[0]], [])
    run(tmp_path / "whole", job)
    for pipelines in (1, 2):
        killed = tmp_path / f"killed-{pipelines}"
        with pytest.raises(Killed):
            run(killed, job, Dying(pipelines))
        run(killed, job)
        assert rights(killed) == EXPECTED
        assert without_times(killed) == without_times(tmp_path / "whole")
