"""The reader of WARC files: what is damaged is named by its place, and the rest is read."""

import gzip
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from beamtrawl.transforms.archives.reader import HEAD_BYTES, Record, read_records
from beamtrawl.transforms.archives.sources import Source, Trouble

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def record(number: int, length: int | None = None, fields: bytes = b"") -> bytes:
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + b"%d" % number * 300
    head = b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/%d\r\n%s" % (number, fields)
    return head + b"Content-Length: %d\r\n\r\n%s\r\n\r\n" % (length or len(block), block)


def read(path: Path, data: bytes) -> tuple[list[str], list[str]]:
    """(paths of the URLs of whole records, messages about the others)"""
    path.write_bytes(data)
    found = list(read_records(Source(str(path))))
    whole = [item.field("WARC-Target-URI")[14:] for item in found if isinstance(item, Record) and item.is_whole]
    return whole, [str(item) for item in found if isinstance(item, Trouble)]


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstd.compress])
def test_records_are_numbered_and_have_their_places(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    members = [compress(record(number)) for number in range(3)]
    (tmp_path / "a.warc").write_bytes(b"".join(members))
    found = list(read_records(Source(str(tmp_path / "a.warc"))))
    assert all(isinstance(item, Record) and item.is_whole for item in found)
    assert [(item.number, item.offset) for item in found if isinstance(item, Record)] == [
        (number, sum(map(len, members[:number]))) for number in range(3)
    ]


@pytest.mark.parametrize("compress", [gzip.compress, zstd.compress])
def test_after_damage_it_goes_on_at_the_next_member(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    members = [compress(record(number)) for number in range(4)]
    flipped = bytearray(members[1])
    flipped[len(flipped) // 2] ^= 255
    for damaged in (members[1][:60], bytes(flipped), b"", b"\0" * 500):
        whole, troubles = read(tmp_path / "a.warc", members[0] + damaged + members[2] + members[3])
        assert whole == ["0", "2", "3"]
        assert len(troubles) == bool(damaged)
        start = len(members[0] + damaged)
        assert all(line.endswith(f"; the import goes on at byte {start}") for line in troubles)


def test_what_stands_behind_a_record_hides_no_other(tmp_path: Path) -> None:
    """As the zero byte behind each record of StormCrawler until 2018 (pull request 652), and so of CC-NEWS."""
    members = [gzip.compress(record(number) + b"\0") for number in range(5)]
    assert read(tmp_path / "a.warc", b"".join(members)) == (list("01234"), [])
    assert read(tmp_path / "a.warc", b"".join(members[:2])) == (list("01"), [])
    inner = gzip.compress(b"".join(members))  # a page that is an archive
    block = b"WARC/1.0\r\nWARC-Target-URI: http://a.test/9\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n" % (
        len(inner),
        inner,
    )
    assert read(tmp_path / "a.warc", gzip.compress(block, 0) + members[0]) == (list("90"), [])


def test_a_wrong_length_is_told(tmp_path: Path) -> None:
    members = [gzip.compress(record(0)), gzip.compress(record(1, 2000)), *(gzip.compress(record(n)) for n in (2, 3))]
    whole, troubles = read(tmp_path / "a.warc", b"".join(members))
    assert {"0", "3"} <= set(whole)
    assert len(troubles) == 1 and f"a.warc, byte {len(members[0])}: " in troubles[0]


def test_a_file_that_ends_within_a_record_is_told(tmp_path: Path) -> None:
    for data in (record(0) + record(1)[:-100], record(0) + record(1, 4 << 30)):
        whole, troubles = read(tmp_path / "a.warc", data)
        assert whole == ["0"]
        assert len(troubles) == 1
        assert f"a.warc, byte {len(record(0))}: the file ends after" in troubles[0]


def test_a_header_of_a_megabyte_is_left_out(tmp_path: Path) -> None:
    whole, troubles = read(
        tmp_path / "a.warc", record(0) + record(1, fields=b"X: %s\r\n" % (b"y" * 16 * HEAD_BYTES)) + record(2)
    )
    assert whole == ["0", "2"]
    assert troubles and "Maximum header length exceeded" in troubles[0]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "the file is empty"),
        (
            b"filedesc://a.arc 0.0.0.0 20200101000000 text/plain 76\n1 0 x\n",
            "it is an ARC file; make a WARC file of it",
        ),
        (gzip.compress(b"filedesc://a.arc 0.0.0.0 20200101000000 text/plain 76\n", mtime=0), "it is an ARC file; make"),
        (b"<html>no archive</html>", "it is no WARC file"),
        (gzip.compress(b"no archive", mtime=0), "it is no WARC file"),
    ],
)
def test_other_files_are_refused_with_a_word(tmp_path: Path, data: bytes, problem: str) -> None:
    whole, troubles = read(tmp_path / "a.warc", data)
    assert whole == []
    assert len(troubles) == 1 and f"byte 0: {problem}" in troubles[0]


def test_a_page_cannot_forge_a_record_in_an_undamaged_file(tmp_path: Path) -> None:
    forged = record(7)
    block = b"HTTP/1.1 200 OK\r\n\r\n" + forged
    outer = b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/0\r\n"
    outer += b"Content-Length: %d\r\n\r\n%s\r\n\r\n" % (len(block), block)
    assert read(tmp_path / "a.warc", outer + record(1)) == (["0", "1"], [])
    assert read(tmp_path / "a.warc", record(1) + outer) == (["1", "0"], [])


def test_many_damaged_places_end_a_file(tmp_path: Path) -> None:
    whole, troubles = read(tmp_path / "a.warc", (gzip.compress(record(0)) + b"\0" * 9) * 300)
    assert len(whole) == len(troubles) == 100
    assert troubles[-1].endswith("what follows in this file is left out")


def test_a_disk_that_fails_is_no_damage(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(read_records(Source(str(tmp_path / "missing.warc"))))
