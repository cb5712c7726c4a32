"""A crawl directory that somebody else has made: it names no file outside, and holds nothing up."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from tests.support.command_line import beamtrawl, failure
from tests.support.committed import commit_rows

OUTSIDE = (
    "/etc/passwd",
    "../outside.parquet",
    "documents/../../outside.parquet",
    "s3://bucket/x",
    "C:\\x",
    "",
    7,
    "a\0",
)

FIELDS: dict[str, Any] = {
    "files": lambda path: [{"table": "documents", "path": path, "rows": 1, "bytes": 1, "counts": {}}],
    "index_files": lambda path: [{"table": "index", "path": path, "rows": 1, "bytes": 1, "counts": {}}],
    "consumed": lambda path: [path],
    "replaced": lambda path: [path],
    "index": lambda path: [path],
    "index_replaced": lambda path: [path],
    "index_dropped": lambda path: [path],
    "index_links": lambda path: {"index/round=000001/a": path},
}

READING = (
    ("status",),
    ("search", "word"),
    ("sql", "SELECT count(*) FROM documents"),
    ("export", "documents"),
    ("clean",),
    ("compact",),
    ("check", "crawl"),
)


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    commit_rows(tmp_path / "crawl", "update", 1, {"documents": [{"url": "http://a.test/", "text": "word"}]})
    (tmp_path / "outside.parquet").write_bytes(b"precious")
    return tmp_path / "crawl"


def words(kind: tuple[str, ...], crawl: Path) -> list[object]:
    if kind[0] in ("export", "check"):
        return [*kind, crawl, *([crawl.parent / "out.csv"] if kind[0] == "export" else [])]
    return [kind[0], crawl, *kind[1:]]


@pytest.mark.parametrize("field", FIELDS)
def test_a_manifest_names_nothing_outside(crawl: Path, field: str) -> None:
    path = crawl / "manifests" / "000001-update.json"
    written = json.loads(path.read_text())
    for named in OUTSIDE:
        path.write_text(json.dumps(written | {field: FIELDS[field](named)}))
        code, said = failure("clean", crawl)
        assert (code, "which is no path below the crawl directory" in said) == (1, True), said
    assert (crawl.parent / "outside.parquet").read_bytes() == b"precious"
    for kind in READING:
        code, said = failure(*words(kind, crawl))
        assert code == 1 and "manifests/000001-update.json" in said, (kind, said)


@pytest.mark.parametrize("name", ["crawl.toml", "manifests/000002-fetch.json", "attempts/lock.json"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_is_no_file_holds_nothing_up(crawl: Path, name: str, kind: str) -> None:
    """A pipe that nobody writes, and a link to a device that never ends."""
    (crawl / name).parent.mkdir(exist_ok=True)
    (crawl / name).unlink(missing_ok=True)
    os.mkfifo(crawl / name) if kind == "pipe" else (crawl / name).symlink_to("/dev/zero")
    for command in READING:
        ran = beamtrawl(*words(command, crawl))
        assert ran.code in (0, 1), (command, ran)
        expected = ("is a pipe or a device", "cannot be used", "has no index yet")
        said = ran.err or ran.out  # a check prints the faults
        assert ran.code == 0 or command[0] == "check" or any(text in said for text in expected), (command, said)
        assert "Traceback" not in said


def test_a_file_that_is_replaced_keeps_who_may_read_it(tmp_path: Path) -> None:
    """crawl.toml may hold passwords."""
    crawl, path = CrawlDir(str(tmp_path)), tmp_path / "crawl.toml"
    crawl.write_text("crawl.toml", "a")
    assert path.stat().st_mode & 0o600 == 0o600
    path.chmod(0o600)
    crawl.write_text("crawl.toml", "b")
    assert (path.stat().st_mode & 0o777, path.read_text()) == (0o600, "b")
    crawl.change_text("crawl.toml", lambda text: text + "c")
    assert (path.stat().st_mode & 0o777, path.read_text()) == (0o600, "bc")


HOSTILE = {
    "deep": "[" * 100_000,
    "deep settings": '{"format": "beamtrawl-crawl", "settings": ' + "[" * 100_000,
    "a number without end": '{"format": "beamtrawl-crawl", "round": ' + "9" * 5_000 + "}",
    "no object": "[]",
    "not a number": '{"format": "beamtrawl-crawl", "round": NaN}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_manifest_that_is_no_manifest_is_one_line(crawl: Path, name: str) -> None:
    (crawl / "manifests" / "000002-fetch.json").write_text(HOSTILE[name])
    for command in READING:
        code, said = failure(*words(command, crawl))
        assert code == 1 and "manifests/000002-fetch.json cannot be used" in said, (command, said)
