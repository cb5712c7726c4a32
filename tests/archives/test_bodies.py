"""Bodies in archives: codings that are there or only named, chunks, truncation, bombs and digests."""

import base64
import gzip
import hashlib
import zlib
from pathlib import Path

import brotli
import pytest

from beamtrawl.transforms.archives.answers import reply_of
from beamtrawl.transforms.archives.digests import PayloadDigest
from beamtrawl.transforms.archives.http_block import original_headers
from beamtrawl.transforms.archives.reader import Record, read_records
from beamtrawl.transforms.archives.sources import Source
from beamtrawl.transforms.http.reply import Reply
from beamtrawl.transforms.outcomes import Outcome

PAGE = b"<html><title>A page</title><p>" + b"text " * 200
CHUNKED = b"".join(b"%x\r\n%s\r\n" % (len(PAGE[i : i + 100]), PAGE[i : i + 100]) for i in range(0, len(PAGE), 100))
CHUNKED += b"0\r\n\r\n"


def reply(path: Path, body: bytes, http: str = "", fields: str = "", digest: str = "", limit: int = 100_000) -> Reply:
    block = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{http}\r\n".encode() + body
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nContent-Type: application/http\r\n{fields}Content-Length: {len(block)}\r\n"
    )
    path.write_bytes(head.encode() + b"\r\n" + block + b"\r\n\r\n")
    for record in read_records(Source(str(path))):
        assert isinstance(record, Record)
        return reply_of(record, digest or None, limit, 65_536)
    raise AssertionError


@pytest.mark.parametrize(
    ("body", "http"),
    [
        (PAGE, ""),
        (CHUNKED, "Transfer-Encoding: chunked\r\n"),
        (PAGE, "Transfer-Encoding: chunked\r\n"),
        (gzip.compress(PAGE, mtime=0), "Content-Encoding: gzip\r\n"),
        (zlib.compress(PAGE), "Content-Encoding: deflate\r\n"),
        (brotli.compress(PAGE), "Content-Encoding: br\r\n"),
        (PAGE, "Content-Encoding: gzip\r\n"),
        (PAGE, "Content-Encoding: br\r\n"),
        (PAGE, "X-Archive-Orig-Content-Encoding: gzip\r\nX-Archive-Orig-Transfer-Encoding: chunked\r\n"),
    ],
)
def test_codings_are_undone_where_they_are(tmp_path: Path, body: bytes, http: str) -> None:
    found = reply(tmp_path / "a.warc", body, http)
    assert (found.status, found.failure, found.body, found.truncated) == (200, None, PAGE, False)


def test_chunks_of_a_coded_body(tmp_path: Path) -> None:
    coded = gzip.compress(PAGE)
    body = b"%x;name=1\r\n%s\r\n0\r\n\r\n" % (len(coded), coded)
    assert reply(tmp_path / "a.warc", body, "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n").body == PAGE


def test_chunks_that_are_missing_and_what_only_looks_like_one(tmp_path: Path) -> None:
    chunked = "Transfer-Encoding: chunked\r\n"
    for body, kept, is_cut in (
        (b"3\r\nabc\r\n", b"abc", True),  # no last chunk
        (b"100\r\nabc", b"abc", True),
        (b"3\r\nabc\r\nno size", b"abc", True),
        (b"3\r\nabc\r\n0\r\n\r\n", b"abc", False),
        (b"2024\nname,value\n", b"2024\nname,value\n", False),  # chunks that were undone: its first line is no size
        (b" 5\r\nabcdefgh", b" 5\r\nabcdefgh", False),
    ):
        found = reply(tmp_path / "a.warc", body, chunked)
        assert (found.failure, found.body, found.truncated) == (None, kept, is_cut), body


def test_headers_set_aside_are_as_the_server_sent_them() -> None:
    stored = [("X-Archive-Orig-Content-Encoding", "gzip"), ("A", "b"), ("Content-Length", "9")]
    assert original_headers(stored) == [("Content-Encoding", "gzip"), ("A", "b")]
    assert original_headers([("Content-Length", "9")]) == [("Content-Length", "9")]


def test_truncation(tmp_path: Path) -> None:
    cut = reply(
        tmp_path / "a.warc", gzip.compress(PAGE)[:-20], "Content-Encoding: gzip\r\n", "WARC-Truncated: length\r\n"
    )
    assert cut.failure is None and cut.truncated and PAGE.startswith(cut.body) and cut.body
    assert reply(tmp_path / "a.warc", b"", "", "WARC-Truncated: length\r\n").failure is Outcome.TOO_LONG
    broken = reply(tmp_path / "a.warc", gzip.compress(PAGE)[:-20], "Content-Encoding: gzip\r\n")
    assert broken.failure is None and broken.truncated and broken.error == "the compressed body ends too early"


def test_a_bomb_is_cut_at_the_limit(tmp_path: Path) -> None:
    found = reply(tmp_path / "a.warc", gzip.compress(b"\0" * 50_000_000), "Content-Encoding: gzip\r\n", limit=10_000)
    assert len(found.body) == 10_000 and found.truncated


@pytest.mark.parametrize("name", ["sha1", "sha256", "md5"])
def test_payload_digests(tmp_path: Path, name: str) -> None:
    for body, http, hashed in (
        (PAGE, "", PAGE),
        (CHUNKED, "Transfer-Encoding: chunked\r\n", PAGE),
        (CHUNKED, "Transfer-Encoding: chunked\r\n", CHUNKED),
    ):
        value = hashlib.new(name, hashed)
        for text in (value.hexdigest(), base64.b32encode(value.digest()).decode()):
            assert reply(tmp_path / "a.warc", body, http, digest=f"{name}:{text}").failure is None
        wrong = base64.b32encode(hashlib.new(name, hashed + b"x").digest()).decode()
        found = reply(tmp_path / "a.warc", body, http, digest=f"{name}:{wrong}")
        assert found.failure is Outcome.BAD_RESPONSE and found.body == b"" and wrong in (found.error or "")


def test_the_digest_is_of_the_whole_payload_although_the_body_is_cut(tmp_path: Path) -> None:
    body = b"a" * 300_000
    digest = f"sha1:{hashlib.sha1(body).hexdigest()}"
    found = reply(tmp_path / "a.warc", body, digest=digest, limit=1_000)
    assert (found.failure, len(found.body), found.truncated) == (None, 1_000, True)


@pytest.mark.parametrize("text", ["", "crc32:00", "sha1:!!!", "sha1", "sha1:" + "A" * 31])
def test_digests_that_are_none_agree_or_not_without_an_error(text: str) -> None:
    check = PayloadDigest(text)
    check.as_it_is(b"a")
    assert check.agrees in (True, False)
