"""What a record says: a capture, or the reason why it is skipped."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.transforms.archives.captures import Admission, parse_date
from beamtrawl.transforms.archives.scan import DAMAGED, RECORDS, read_scanned, scan_file
from beamtrawl.transforms.archives.sources import Source
from beamtrawl.transforms.blocks.rules import Block, Blocks
from beamtrawl.transforms.settings import Scope
from beamtrawl.transforms.tables.table_files import open_parquet
from beamtrawl.transforms.urls.filters import UrlFilter

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ADMISSION = Admission(
    UrlFilter(Scope(mode="any", exclude=["private"]), frozenset()),
    Blocks([Block("blocked.test", "2026-01-01T00:00:00Z", False, "")]),
    {"text/html"},
    NOW,
    65_536,
    "beamtrawl",
)
OK = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


def record(block: str = OK, **fields: str) -> bytes:
    defaults = {"Type": "response", "Target-URI": "http://a.test/p", "Date": "2025-01-02T03:04:05Z"}
    head = "".join(
        f"WARC-{name.replace('_', '-')}: {value}\r\n" for name, value in (defaults | fields).items() if value
    )
    kind = "" if "Content-Type" in fields else "Content-Type: application/http; msgtype=response\r\n"
    data = block.encode()
    return f"WARC/1.1\r\n{head}{kind}Content-Length: {len(data)}\r\n\r\n".encode() + data + b"\r\n\r\n"


def scan(folder: Path, *records: bytes) -> tuple[list[dict[str, Any]], dict[str, int], list[str]]:
    """(captures, counts, troubles)"""
    (folder / "a.warc").write_bytes(b"".join(records))
    (folder / "scan").unlink(missing_ok=True)
    scan_file(str(folder), Source(str(folder / "a.warc")), "scan", ADMISSION)
    scanned = read_scanned(str(folder), "scan")
    assert scanned is not None
    with open_parquet(str(folder), "scan") as file:
        return file.read().to_pylist(), scanned.counts, [trouble.problem for trouble in scanned.troubles]


def test_a_capture(tmp_path: Path) -> None:
    facts = "via: http://a.test/\r\nhopsFromSeed: LRLE\r\nfetchTimeMs: 12\r\n"
    (row,), counts, troubles = scan(
        tmp_path,
        record(**{"Record-ID": "<urn:x:1>", "Target-URI": "<HTTP://A.test:80/p#f>", "Payload-Digest": "sha1:AB"}),
        record(facts, Type="metadata", **{"Concurrent-To": "<urn:x:1>"}).replace(
            b"application/http", b"application/warc-fields"
        ),
    )
    assert {name: row[name] for name in ("number", "url", "host", "depth", "referrer", "elapsed_ms", "digest")} == {
        "number": 0,
        "url": "http://a.test/p",
        "host": "a.test",
        "depth": 2,
        "referrer": "http://a.test/",
        "elapsed_ms": 12.0,
        "digest": "sha1:ab",
    }
    assert row["fetched_at"] == datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert not (row["is_robots"] or row["is_failure"] or row["is_revisit"])
    assert (counts, troubles) == ({RECORDS: 2, "metadata": 1}, [])


@pytest.mark.parametrize(
    ("given", "reason", "problem"),
    [
        (record(Type="request"), "request", None),
        (record(Type="warcinfo"), "warcinfo", None),
        (record(Type="conversion"), "conversion", None),
        (record(Type="odd"), "unknown", None),
        (record(**{"Target-URI": "dns:a.test"}), "not_http", None),
        (record(**{"Target-URI": "http://[bad"}), "bad_record", "its URL is 'http://[bad'"),
        (record(**{"Target-URI": ""}), "bad_record", "its URL is ''"),
        (record(Date="yesterday"), "bad_record", "its date is 'yesterday'"),
        (record(Date="1970-01-01T00:00:00Z"), "bad_date", "its date is 1970-01-01"),
        (record(Date="2036-01-01T00:00:00Z"), "bad_date", "its date is 2036-01-01"),
        (record(Date="0001-01-01T00:00:00+14:00"), "bad_record", "its date is '0001-01-01T00:00:00+14:00'"),
        (record("<html>no status line"), "bad_http", "the answer does not begin as HTTP does"),
        (record("HTTP/1.1 200 OK\r\nA: " + "b" * 70_000), "bad_http", "the head of the answer is longer"),
        (record("HTTP/1.1 206 Partial\r\n\r\n"), "partial", None),
        (record("HTTP/1.1 304 Not Modified\r\n\r\n"), "partial", None),
        (record("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n"), "unwanted_type", None),
        (record(**{"Target-URI": "http://a.test/a.png"}), "extension", None),
        (record(**{"Target-URI": "http://a.test/private"}), "exclude", None),
        (record(**{"Target-URI": "http://blocked.test/"}), "blocked", None),
        (record("HTTP/1.1 301 Moved\r\n\r\n", **{"Target-URI": "http://a.test/robots.txt"}), "robots_redirect", None),
        (record(OK + 'x' * 100)[:-20], DAMAGED, "the file ends after"),
    ],
)  # fmt: skip
def test_skipped(tmp_path: Path, given: bytes, reason: str, problem: str | None) -> None:
    rows, counts, troubles = scan(tmp_path, given)
    assert rows == []
    assert counts == {RECORDS: 1, reason: 1}
    assert len(troubles) == (problem is not None)
    assert all(trouble.startswith(problem or "") for trouble in troubles)


@pytest.mark.parametrize(
    ("block", "is_failure"),
    [
        (OK, False),
        ("HTTP/1.0 404 Not Found\r\n\r\n", False),
        ("HTTP/1.1 302 Found\r\nLocation: /q\r\n\r\n", False),
        ("HTTP/1.1 503 Busy\r\n\r\n", True),
    ],
)
def test_temporary_failures_are_marked(tmp_path: Path, block: str, is_failure: bool) -> None:
    (row,), _, _ = scan(tmp_path, record(block))
    assert row["is_failure"] == is_failure


def test_resources_and_robots_are_captures(tmp_path: Path) -> None:
    page = record("<html>", Type="resource").replace(b"application/http; msgtype=response", b"text/html")
    robots = record("HTTP/1.1 200 OK\r\n\r\nUser-agent: *\r\n", **{"Target-URI": "http://a.test/robots.txt"})
    rows, _, _ = scan(tmp_path, page, robots)
    assert [(row["url"], row["is_robots"]) for row in rows] == [
        ("http://a.test/p", False),
        ("http://a.test/robots.txt", True),
    ]


def test_troubles_are_named_up_to_a_number(tmp_path: Path) -> None:
    _, counts, troubles = scan(tmp_path, *[record(Date="1970-01-01T00:00:00Z")] * 30)
    assert (len(troubles), counts["more_troubles"], counts["bad_date"]) == (20, 10, 30)


def test_a_scan_that_was_cut_is_made_again(tmp_path: Path) -> None:
    scan(tmp_path, record())
    whole = (tmp_path / "scan").read_bytes()
    (tmp_path / "scan").write_bytes(whole[:-10])
    assert read_scanned(str(tmp_path), "scan") is None
    scan_file(str(tmp_path), Source(str(tmp_path / "a.warc")), "scan", ADMISSION)
    assert read_scanned(str(tmp_path), "scan") is not None


@pytest.mark.parametrize(
    "text", ["20250102030405", "2025-01-02T03:04:05Z", "2025-01-02T04:04:05+01:00", "2025-01-02T03:04:05"]
)
def test_dates(text: str) -> None:
    assert parse_date(text) == datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)
