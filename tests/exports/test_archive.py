"""`beamtrawl export warc` and `export cdxj`, read back by two other libraries and their own checkers."""

import doctest
import io
import json
import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator
from warcio.cli import main as warcio_main

from beamtrawl.runners.exports import archive_index, output, warc_records
from beamtrawl.runners.exports.captures import Capture, captures
from beamtrawl.runners.exports.warc import WarcInfo, write_archive
from beamtrawl.runners.exports.warc_records import Original, records
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.files import filesystem
from beamtrawl.transforms.http.request_headers import Identity
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.settings import Robot, parse, render
from tests.support.command_line import LOOPBACK, PROGRAM, beamtrawl, contents, failure, success
from tests.support.committed import commit_rows
from tests.support.crawls import rows
from tests.support.disks import Fault, SimulatedDisk
from tests.support.web import Answer, Web, html


def page(body: str, *headers: tuple[str, str]) -> Answer:
    return Answer(body=body.encode("latin-1"), headers=(("Content-Type", "text/html; charset=latin-1"), *headers))


ROBOTS = b"User-agent: *\nDisallow: /private\n"
SITE = {
    "/robots.txt": Answer(body=ROBOTS, headers=(("Content-Type", "text/plain"),)),
    "/": html(
        "Home", "Start here.", ["/a", "/copy", "/hidden", "/secret", "/gone", "/moved", "/odd?x=%0d%0aWARC-Type:y"]
    ),
    "/a": page("<title>A</title><p>The same café.", ("X-Odd", "caf\xe9"), ("Set-Cookie", "a=1")),
    "/copy": page("<title>A</title><p>The same café."),
    "/hidden": html("Hidden", "Not in an archive.", head='<meta name="robots" content="noarchive">'),
    "/secret": page("<title>S</title><p>Nor this.", ("X-Robots-Tag", "NOARCHIVE")),
    "/moved": Answer(301, b"", (("Location", "/a"),)),
    "/odd?x=%0D%0AWARC-Type:y": html("Odd\r\n\x00 <script>alert(1)</script>", "An odd URL.\r\n\r\nWARC/1.1\r\n"),
}


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two rounds of a site with copies, pages that want no copy, a redirect, and text that imitates WARC."""
    folder = tmp_path_factory.mktemp("crawl") / "crawl"
    with Web({"a.test": SITE}) as web:
        success("crawl", folder, "--seed", web.url("a.test"), "--rounds", "2", *LOOPBACK)
    return folder


@pytest.fixture(scope="module")
def archive(crawl: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("archive") / "warc"
    ran = beamtrawl("export", "warc", crawl, out)
    assert re.fullmatch(r"6 responses, 1 revisit in 1 part, \d+ bytes: .*/warc\n", ran.out), ran
    return out


def read(folder: Path) -> list[tuple[dict[str, str], bytes, bytes]]:
    """Record headers, HTTP head and payload of all records."""
    found = []
    for path in sorted(folder.glob("*.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                head = record.http_headers.to_str() if record.http_headers else ""
                found.append((dict(record.rec_headers.headers), head, record.content_stream().read()))
    return found


def is_valid(*paths: Path) -> bool:
    """Whether `warcio check` finds no fault."""
    with pytest.raises(SystemExit) as ended:
        warcio_main(["check", *map(str, paths)])
    return ended.value.code == 0


def path_of(headers: dict[str, str]) -> str:
    return "/" + headers["WARC-Target-URI"].split("/", 3)[3]


def test_other_tools_find_it_whole(archive: Path) -> None:
    names = sorted(path.name for path in archive.iterdir())
    assert names == ["index.cdxj", "part-00000.warc.gz", "part-00000.warc.wet.gz"]
    for path in archive.glob("*.gz"):
        assert is_valid(path)
        with path.open("rb") as file:
            assert all(record.verify_block_digest() for record in FastIterator(file, parse_http=False))
        with path.open("rb") as file:
            of_http = [record for record in FastIterator(file) if record.is_http]
            assert of_http == [] or path.name.endswith("warc.gz")


def test_each_answer_has_its_records(archive: Path, crawl: Path) -> None:
    found = read(archive)
    assert [headers["WARC-Type"] for headers, _, _ in found].count("warcinfo") == 2
    by_type: dict[str, list[str]] = {}
    for headers, _, _ in found:
        if headers["WARC-Type"] != "warcinfo":
            by_type.setdefault(headers["WARC-Type"], []).append(path_of(headers))
    answered = ["/", "/a", "/copy", "/gone", "/moved", "/odd?x=%0D%0AWARC-Type:y"]
    visits = {row["url"].split("/", 3)[3]: row for row in rows(crawl, "visits") if row["status"]}
    assert sorted("/" + path for path in visits) == sorted([*answered, "/hidden", "/secret"])
    answered = ["/robots.txt", *answered]
    assert sorted(by_type["response"] + by_type["revisit"]) == sorted(answered)
    assert len(by_type["revisit"]) == 1 and by_type["revisit"][0] in ("/a", "/copy")
    assert sorted(by_type["request"]) == sorted(by_type["metadata"]) == sorted(answered)
    assert sum(payload == ROBOTS for _, _, payload in found) == 1
    assert "/" in by_type["conversion"] and "/gone" not in by_type["conversion"]
    for headers, _, payload in found:
        if headers["WARC-Type"] == "response":
            assert payload == (ROBOTS if path_of(headers) == "/robots.txt" else visits[path_of(headers)[1:]]["body"])


def test_headers_are_as_they_were_sent_and_nothing_is_injected(archive: Path) -> None:
    found = {(headers["WARC-Type"], path_of(headers)): (headers, head) for headers, head, _ in read(archive) if head}
    of_a = next(head for (type_, path), (_, head) in found.items() if path == "/a" and type_ in ("response", "revisit"))
    assert "X-Odd: caf\xe9\r\n" in of_a
    assert "Set-Cookie: a=1" in of_a
    headers, head = found["response", "/odd?x=%0D%0AWARC-Type:y"]
    assert [name for name in headers if name == "WARC-Type"] == ["WARC-Type"]
    assert head.startswith("HTTP/1.1 200 OK\r\n")


def test_the_index_has_a_line_for_each_answer_and_leads_to_it(archive: Path, crawl: Path) -> None:
    lines = (archive / "index.cdxj").read_bytes().splitlines()
    assert lines == sorted(lines) and len(lines) == 7
    for line in lines:
        key, moment, text = line.decode("ascii").split(" ", 2)
        fields = json.loads(text)
        start, length = int(fields["offset"]), int(fields["length"])
        piece = (archive / fields["filename"]).read_bytes()[start : start + length]
        (record,) = ArchiveIterator(io.BytesIO(piece))
        assert record.rec_headers["WARC-Target-URI"] == fields["url"]
        assert re.sub(r"\D", "", record.rec_headers["WARC-Date"])[:14] == moment
        assert record.rec_headers["WARC-Payload-Digest"] == fields["digest"]
        assert record.http_headers.get_statuscode() == fields["status"]
        is_page = fields["status"] == "200" and not fields["url"].endswith("/robots.txt")
        mime = "text/html" if is_page else "unk"
        assert fields["mime"] == {"revisit": "warc/revisit", "response": mime}[record.rec_type]
        assert key.startswith("1,0,0,127:")


def test_cdxj_alone_has_the_same_lines_without_places(archive: Path, crawl: Path, tmp_path: Path) -> None:
    ran = beamtrawl("export", "cdxj", crawl, tmp_path / "index.cdxj")
    lines = len((tmp_path / "index.cdxj").read_bytes().splitlines())
    assert (ran.code, ran.out) == (0, f"{lines} answers: {tmp_path / 'index.cdxj'}\n")
    places = re.compile(rb', "length": "\d+", "offset": "\d+", "filename": "[^"]+"')
    assert (tmp_path / "index.cdxj").read_bytes() == places.sub(b"", (archive / "index.cdxj").read_bytes())
    piped = subprocess.run([*PROGRAM, "export", "cdxj", str(crawl), "-"], capture_output=True, check=True)
    assert piped.stdout == (tmp_path / "index.cdxj").read_bytes()
    ran = beamtrawl("export", "cdxj", crawl, tmp_path / "all", "--noarchive")
    answered = [row for row in rows(crawl, "visits") if row["status"] is not None]
    assert len((tmp_path / "all").read_bytes().splitlines()) == len(answered) + 1 == 9


def test_pages_that_want_no_copy_are_there_if_asked_for(crawl: Path, tmp_path: Path) -> None:
    ran = beamtrawl("export", "warc", crawl, tmp_path / "warc", "--noarchive")
    assert ran.out.startswith("8 responses, 1 revisit"), ran
    found = {path_of(headers) for headers, _, _ in read(tmp_path / "warc") if headers["WARC-Type"] == "response"}
    assert found >= {"/hidden", "/secret"}


def test_what_is_blocked_is_left_out(crawl: Path, tmp_path: Path) -> None:
    shutil.copytree(crawl, tmp_path / "crawl")
    assert beamtrawl("block", tmp_path / "crawl", "127.*/a").code == 0
    assert beamtrawl("export", "warc", tmp_path / "crawl", tmp_path / "out").out.startswith("6 responses, 0 revisits")
    assert beamtrawl("export", "cdxj", tmp_path / "crawl", tmp_path / "x").code == 0
    for lines in ((tmp_path / "x").read_bytes(), (tmp_path / "out" / "index.cdxj").read_bytes()):
        assert (lines.count(b"\n"), b'/a"' in lines) == (6, False)


def test_an_export_names_no_secret(archive: Path) -> None:
    info = read(archive)[0][2].decode()
    assert "setting: fetch.credentials = []\r\n" in info
    assert "setting: politeness.delay = 0.0\r\n" in info


VISIT: dict[str, Any] = {
    "url": "http://a.test/x",
    "fetched_at": datetime(2026, 1, 2, 3, 4, 5, 678, UTC),
    "outcome": Outcome.FETCHED,
    "status": 200,
    "address": "192.0.2.1",
    "headers": [{"name": "Content-Type", "value": "text/html"}, {"name": "Content-Encoding", "value": "gzip"}],
    "body": b"<p>hi",
    "truncated": False,
    "elapsed_ms": 12.4,
    "depth": 1,
    "referrer": "http://a.test/",
}
ORIGINAL = Original("http://a.test/y", "2026-01-01T00:00:00.000000Z", "sha1:X")
ROBOT = Identity.of(Robot(name="Bot/1", contact="me@a.test", info_url="http://a.test/bot"), "text/html")


def made(original: Original | None = None, **changes: Any) -> list[warc_records.Record]:
    return list(records(Capture(VISIT | changes, False, "hi", (("http://a.test/z", "a"),)), original, ROBOT))


def test_the_records_of_an_answer() -> None:
    response, request, metadata, conversion = made()
    assert dict(response.fields) == {
        "WARC-Target-URI": "http://a.test/x",
        "WARC-Date": "2026-01-02T03:04:05.000678Z",
        "WARC-IP-Address": "192.0.2.1",
        "WARC-Payload-Digest": warc_records.payload_digest(b"<p>hi"),
    }
    assert response.head == (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Archive-Orig-Content-Encoding: gzip\r\n"
        b"Content-Length: 5\r\n\r\n"
    )
    assert request.head == (
        b"GET /x HTTP/1.1\r\nHost: a.test\r\nUser-Agent: Bot/1 (+http://a.test/bot)\r\nAccept: text/html\r\n"
        b"Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: *\r\nFrom: me@a.test\r\nReferer: http://a.test/\r\n\r\n"
    )
    assert metadata.body == (
        b"via: http://a.test/\r\nhopsFromSeed: 1\r\nfetchTimeMs: 12\r\noutlink: http://a.test/z a\r\n"
    )
    assert (conversion.body, conversion.content_type) == (b"hi", "text/plain; charset=utf-8")
    assert dict(conversion.fields)["WARC-Refers-To"] == response.id == dict(request.fields)["WARC-Concurrent-To"]


REVISITS = [
    ({}, warc_records.SAME_PAYLOAD),
    ({"status": 304, "outcome": Outcome.NOT_MODIFIED, "body": b""}, warc_records.NOT_MODIFIED),
]


@pytest.mark.parametrize(("changes", "profile"), REVISITS)
def test_a_revisit_refers_to_the_original(changes: dict[str, Any], profile: str) -> None:
    first = made(ORIGINAL, **changes)[0]
    fields = dict(first.fields)
    assert (first.type, first.body, fields["WARC-Profile"]) == ("revisit", b"", profile)
    assert fields["WARC-Refers-To-Target-URI"] == ORIGINAL.url
    assert (fields["WARC-Refers-To-Date"], fields["WARC-Payload-Digest"]) == (ORIGINAL.date, ORIGINAL.digest)


TRUNCATED = [
    ({"truncated": True}, "length"),
    ({"outcome": Outcome.UNWANTED_TYPE, "body": b""}, "unspecified"),
    ({}, None),
]


@pytest.mark.parametrize(("changes", "reason"), TRUNCATED)
def test_a_body_that_was_not_read_whole_says_so(changes: dict[str, Any], reason: str | None) -> None:
    assert dict(made(**changes)[0].fields).get("WARC-Truncated") == reason


HOSTILE = [
    {"name": "X-A", "value": "b\r\nContent-Length: 0\r\n\r\nWARC/1.1"},
    {"name": "X-B\r\nX-C", "value": "dropped"},
    {"name": "X-D", "value": "\u2028\x00e"},
]


def test_headers_cannot_end_a_line() -> None:
    head = made(headers=HOSTILE, url="http://a.test/\r\nWARC-Type: x", status=799)[0].head
    assert head == b"HTTP/1.1 799 \r\nX-A: b Content-Length: 0 WARC/1.1\r\nX-D: ? e\r\nContent-Length: 5\r\n\r\n"


def test_a_page_left_out_is_nobodys_original() -> None:
    """A 304 of a page whose newest content is left out refers to nothing."""
    index = archive_index.ArchiveIndex()
    first = Capture(VISIT, False, None, ())
    again = Capture(VISIT | {"outcome": Outcome.NOT_MODIFIED, "status": 304, "body": b""}, False, None, ())
    index.add(first, None, "line")
    assert index.original(again) == Original(
        "http://a.test/x", "2026-01-02T03:04:05.000678Z", warc_records.payload_digest(b"<p>hi")
    )
    index.leave_out(first)
    assert index.original(again) is None


def test_files_end_by_size(crawl: Path, tmp_path: Path) -> None:
    directory = CrawlDir(str(crawl))
    index = archive_index.ArchiveIndex()
    found = captures(directory, directory.manifests(), "beamtrawl")
    with output.whole_folder(str(tmp_path / "warc")) as out:
        settings = parse(directory.read_text("crawl.toml"))
        info = WarcInfo(Identity.of(settings.robot), render(settings))
        counts = write_archive(found, index, out, info, 1, datetime(2026, 1, 1, tzinfo=UTC))
    assert counts.parts == 9 == len(list((tmp_path / "warc").glob("*.warc.gz")))
    assert is_valid(*(tmp_path / "warc").glob("*.gz"))


def test_trouble_leaves_nothing_behind(crawl: Path, tmp_path: Path) -> None:
    before = contents(tmp_path)
    empty = tmp_path / "empty"
    assert failure("export", "warc", empty, tmp_path / "out")[0] == 1
    disk = SimulatedDisk(tmp_path / "kept", Fault("full", 3))
    with filesystem.mounted(str(tmp_path), disk):
        code, said = failure("export", "warc", crawl, tmp_path / "out")
    assert (code, said.partition(":")[0]) == (1, f"cannot write {tmp_path}/out")
    assert "No space left on device" in said
    assert contents(tmp_path) == before
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    code, said = failure("export", "warc", crawl, tmp_path / "full")
    assert (code, said) == (2, f"{tmp_path}/full has files already; name a new or empty folder")


def test_drafts_of_an_export_that_was_killed_are_removed_by_the_next(crawl: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / f"draft-{'0a' * 16}-part-00000.warc.gz").touch()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "draft-of-a-letter").touch()
    beamtrawl("export", "warc", crawl, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").glob("draft-*")] == []
    assert failure("export", "warc", crawl, tmp_path / "other")[0] == 2
    assert contents(tmp_path / "other") != {}


def test_a_crawl_without_answers(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    beamtrawl("crawl", crawl, "--seed", "http://127.0.0.1:1/", "--rounds", "1", *LOOPBACK)
    nothing = "nothing to export: the crawl has no answers yet; run beamtrawl crawl first"
    assert failure("export", "warc", crawl, tmp_path / "out") == (1, nothing)
    assert failure("export", "cdxj", crawl, tmp_path / "out.cdxj") == (1, nothing)
    assert list(tmp_path.glob("out*/*")) == []
    assert not (tmp_path / "out.cdxj").exists()


@pytest.mark.parametrize("module", [archive_index, warc_records])
def test_examples(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


def test_the_robots_txt_of_a_round_comes_before_its_visits(tmp_path: Path) -> None:
    """Also that of the last round."""
    for round_ in (1, 2):
        fetched = {"host": "a.test", "status": 200, "fetched_at": datetime(2026, 3, round_, tzinfo=UTC)}
        answer = fetched | {"origin": f"http://{round_}.test", "body": ROBOTS}
        visit = fetched | {"url": f"http://{round_}.test/"}
        found = commit_rows(tmp_path, "fetch", round_, {"robots": [answer], "visits": [visit]})
    urls = [capture.visit["url"] for capture in captures(found, found.manifests(), "bot")]
    assert sorted(urls) == sorted(f"http://{n}.test{path}" for n in (1, 2) for path in ("/", "/robots.txt"))
    assert urls.index("http://2.test/robots.txt") < urls.index("http://2.test/")


def test_probes_are_in_no_archive(tmp_path: Path) -> None:
    """A host answers a URL that the crawler has made up as if it were a page."""
    visit = {"host": "a.test", "status": 200, "fetched_at": datetime(2026, 3, 1, tzinfo=UTC), "body": b"<p>hi"}
    visits = [visit | {"url": f"http://a.test/{kind}", "kind": kind} for kind in (None, "probe", "requisite")]
    found = commit_rows(tmp_path, "fetch", 1, {"visits": visits})
    urls = [capture.visit["url"] for capture in captures(found, found.manifests(), "bot")]
    assert urls == ["http://a.test/None", "http://a.test/requisite"]
