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


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstd.compress])
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_bytes_between_records_hide_no_other(tmp_path: Path, line_end: bytes, compress: Callable) -> None:
    records = [record(number).replace(b"\r\n", line_end, 5) for number in range(5)]  # in the head
    for strays, troubles in {b"\0": 0, b"\r\n" * 9: 0, b"x": 1, b"x\n": 1, b"two\nlines": 1, b"\0" * 9: 1}.items():
        one = [*records[:2], records[2] + strays, *records[3:]]
        for data in (b"".join(map(compress, one)), compress(b"".join(one))):
            whole, told = read(tmp_path / "a.warc", data)
            assert (whole, len(told)) == (list("01234"), troubles), strays


def test_lines_that_lost_a_byte_each_are_told(tmp_path: Path) -> None:
    """As by a tool that took the file for a text: its blocks are shorter than they say, and reach into what follows."""
    block = b"HTTP/1.1 200 OK\nA: b\n\ntext"
    head = b"WARC/1.0\nWARC-Target-URI: http://a.test/%d\nContent-Length: %d\n\n%s\n\n"
    lines = [head % (number, len(block) + 3, block) for number in range(4)]
    whole, told = read(tmp_path / "a.warc", b"".join(lines))
    assert whole == [] and len(told) == 4
    assert [line.partition(": ")[0].rpartition(" ")[2] for line in told] == [str(n * len(lines[0])) for n in range(4)]


def test_field_names_have_any_case_and_values_go_on_in_the_next_line(tmp_path: Path) -> None:
    given = record(1).replace(b"Content-Length", b"content-length").replace(b"http://", b"\r\n http://")
    assert read(tmp_path / "a.warc", record(0) + given + record(2)) == (list("012"), [])


def test_any_version_is_read(tmp_path: Path) -> None:
    versions = [b"1.1", b"1.2", b"0.17", b"1.1 "]
    given = [record(number).replace(b"1.0", version, 1) for number, version in enumerate(versions)]
    assert read(tmp_path / "a.warc", b"".join(given)) == (list("0123"), [])


def test_a_record_without_a_length_is_told(tmp_path: Path) -> None:
    for length in (b"", b"-1", b"many", b"1e3"):
        given = record(1).replace(b"Length: 344", b"Length: " + length)
        whole, told = read(tmp_path / "a.warc", record(0) + given + record(2))
        assert whole == list("02") and len(told) == 1 and f"the length of a record is {length.decode()!r}" in told[0]


def test_a_file_that_is_cut_anywhere_says_so_or_is_whole(tmp_path: Path) -> None:
    for compress in (bytes, gzip.compress, zstd.compress):
        members = [compress(record(number)) for number in range(2)]
        for cut in range(len(members[0]) + 1, len(b"".join(members))):
            whole, told = read(tmp_path / "a.warc", b"".join(members)[:cut])
            assert whole[:1] == ["0"] and (len(told) == 1 or whole == ["0", "1"]), cut


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
