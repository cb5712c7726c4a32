"""`beamtrawl export warc --wacz`, held to the rules of WACZ 1.1.1 and read back from where the index says."""

import gzip
import hashlib
import io
import json
import re
import shutil
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from beamtrawl.runners.exports.archive_index import ArchiveIndex
from beamtrawl.runners.exports.captures import Capture, Entry
from beamtrawl.runners.exports.wacz import write_wacz
from beamtrawl.runners.exports.warc import WarcInfo
from beamtrawl.transforms.files import filesystem
from beamtrawl.transforms.http.request_headers import Identity
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.settings import Robot
from tests.support.command_line import LOOPBACK, beamtrawl, contents, failure, success
from tests.support.crawls import rows
from tests.support.disks import Fault, SimulatedDisk
from tests.support.web import Web, html, redirect

SITE = {
    "/": redirect("/start"),
    "/start": html("Start", "Where it begins.", ["/a", "/copy", "/unlisted", "/quiet", "/partly", "/hidden", "/gone"]),
    "/a": html("A", "The same text, twice, in a page of its own."),
    "/copy": html("A", "The same text, twice, in a page of its own."),
    "/unlisted": html("Unlisted", "Searches must not find it.", head='<meta name="robots" content="noindex">'),
    "/quiet": html("Quiet", "Nothing to quote.", head='<meta name="robots" content="nosnippet">'),
    "/partly": "<title>Partly</title><p>Quote this.<p data-nosnippet>Never that.",
    "/hidden": html("Hidden", "Not in an archive.", head='<meta name="robots" content="noarchive">'),
}


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with a redirect at its root, a copy, and pages that restrict what is shown of them."""
    folder = tmp_path_factory.mktemp("crawl") / "crawl"
    with Web({"a.test": SITE}) as web:
        success("crawl", folder, "--seed", web.url("a.test"), *LOOPBACK)
    return folder


@pytest.fixture(scope="module")
def wacz(crawl: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("archive") / "site.wacz"
    ran = beamtrawl("export", "warc", crawl, out, "--wacz")
    size = out.stat().st_size
    expected = f"8 responses, 1 revisit in 1 part, 5 pages listed, {size} bytes: {out}\n"
    assert ran.out.replace(",", "") == expected.replace(",", ""), ran
    return out


def check_rules(path: Path) -> dict[str, bytes]:
    """Hold a file to the rules of WACZ 1.1.1; returns its files."""
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None
        found = {about.filename: file.read(about) for about in file.infolist()}
        # wabac.js 2.27 reads the length of a local header's extra fields only if the central one has any.
        assert all(about.extra for about in file.infolist())
        stored = {about.filename for about in file.infolist() if about.compress_type == zipfile.ZIP_STORED}
    package = json.loads(found["datapackage.json"])
    assert (package["profile"], package["wacz_version"]) == ("data-package", "1.1.1")
    listed = {resource["path"]: resource for resource in package["resources"]}
    names = [resource["name"] for resource in package["resources"]]
    assert len(set(names)) == len(names) == len(listed)
    assert all(re.fullmatch(r"[-a-z0-9._/]+", name) for name in names)  # Frictionless Data Package
    assert set(listed) == set(found) - {"datapackage.json", "datapackage-digest.json"}
    for name, resource in listed.items():
        assert (resource["hash"], resource["bytes"]) == (named(found[name]), len(found[name])), name
    assert json.loads(found["datapackage-digest.json"]) == {
        "path": "datapackage.json",
        "hash": named(found["datapackage.json"]),
    }
    archives = {name for name in found if name.startswith("archive/")}
    assert archives and all(name.endswith(".warc.gz") for name in archives)
    assert stored == archives | {"indexes/index.cdx.gz"}
    head, *pages = map(json.loads, found["pages/pages.jsonl"].splitlines())
    assert head["format"] == "json-pages-1.0"
    assert len({page["id"] for page in pages}) == len(pages)
    captured = {(fields["url"], moment) for _, moment, fields in index_of(found)}
    assert {(page["url"], re.sub(r"\D", "", page["ts"])) for page in pages} <= captured
    return found


def named(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def index_of(found: dict[str, bytes]) -> list[tuple[str, str, dict[str, str]]]:
    """The lines of the index, read block by block as the index of the blocks says."""
    meta, *blocks = found["indexes/index.idx"].decode().splitlines()
    assert meta == '!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}'
    data, end, lines = found["indexes/index.cdx.gz"], 0, list[str]()
    for block in blocks:
        key, _, text = block.partition(" {")
        place = json.loads("{" + text)
        assert place["offset"] == end
        end += place["length"]
        piece = data[place["offset"] : end]
        assert place["digest"] == named(piece)
        own = gzip.decompress(piece).decode().splitlines()
        assert own[0].startswith(f"{key} {{") and len(own) <= 1024
        lines += own
    assert end == len(data)
    assert lines == sorted(lines)
    parts = [line.split(" ", 2) for line in lines]
    return [(key, moment, json.loads(text)) for key, moment, text in parts]


def records_of(data: bytes) -> list[tuple[str, str, bytes]]:
    """Type, URL and content of the records of a file, its warcinfo apart."""
    return [
        (record.rec_type, record.rec_headers["WARC-Target-URI"], record.content_stream().read())
        for record in ArchiveIterator(io.BytesIO(data))
        if record.rec_type != "warcinfo"
    ]


def test_it_obeys_the_rules_and_its_index_leads_to_each_answer(wacz: Path) -> None:
    found = check_rules(wacz)
    lines = index_of(found)
    assert len(lines) == 9
    for _, moment, fields in lines:
        start, length = int(fields["offset"]), int(fields["length"])
        (record,) = ArchiveIterator(io.BytesIO(found[f"archive/{fields['filename']}"][start : start + length]))
        assert record.rec_headers["WARC-Target-URI"] == fields["url"]
        assert re.sub(r"\D", "", record.rec_headers["WARC-Date"])[:14] == moment


def test_the_answers_are_those_of_a_folder(wacz: Path, crawl: Path, tmp_path: Path) -> None:
    """Without the texts, which replay tools would take for answers."""
    assert beamtrawl("export", "warc", crawl, tmp_path / "out").code == 0
    name = "part-00000.warc.gz"
    expected = records_of((tmp_path / "out" / name).read_bytes())
    assert records_of(check_rules(wacz)[f"archive/{name}"]) == expected
    assert len(expected) == 27 and not any(url.endswith("/hidden") for _, url, _ in expected)


def test_pages_have_the_titles_and_texts_that_may_be_shown(wacz: Path, crawl: Path) -> None:
    found = check_rules(wacz)
    head, *pages = map(json.loads, found["pages/pages.jsonl"].splitlines())
    shown = {"/" + page["url"].split("/", 3)[3]: (page["title"], page.get("text")) for page in pages}
    texts = {row["url"].split("/", 3)[3]: row["text"] for row in rows(crawl, "documents")}
    assert shown.pop("/quiet") == ("Quiet", None)
    title, text = shown.pop("/partly")
    assert title == "Partly" and "Quote this." in text and "Never that." not in text
    assert shown.pop("/start") == ("Start", texts["start"])
    assert set(shown) == {"/a", "/copy"}
    about = json.loads(found["datapackage.json"])
    (start,) = (page for page in pages if page["title"] == "Start")
    assert head["hasText"] is True
    assert (about["mainPageUrl"], about["mainPageDate"]) == (start["url"], start["ts"])
    assert about["title"] == start["url"].split("/")[2]
    assert about["description"] == "8 responses, 1 revisit, 5 pages"


def test_what_is_blocked_is_in_no_part_of_it(crawl: Path, tmp_path: Path) -> None:
    shutil.copytree(crawl, tmp_path / "crawl")
    assert beamtrawl("block", tmp_path / "crawl", "127.*/quiet").code == 0
    assert beamtrawl("export", "warc", tmp_path / "crawl", tmp_path / "a.wacz", "--wacz").code == 0
    found = check_rules(tmp_path / "a.wacz")
    for name, data in found.items():
        plain = gzip.decompress(data) if name.endswith(".gz") else data
        assert (b"Quiet" in plain, b"Not in an archive" in plain) == (False, False), name
        if name.endswith((".cdx.gz", ".jsonl")):
            assert b'/quiet"' not in plain


INFO = WarcInfo(Identity.of(Robot(name="Bot/1"), "text/html"), "")
NOW = datetime(2026, 1, 2, 3, 4, 5, 678, UTC)


def capture(number: int, entry: Entry | None = None) -> Capture:
    visit: dict[str, Any] = {
        "url": f"http://a.test/{number}",
        "fetched_at": NOW,
        "outcome": Outcome.FETCHED,
        "status": 200,
        "address": None,
        "headers": [],
        "body": b"%d" % number,
        "truncated": False,
        "elapsed_ms": None,
        "depth": 0,
        "referrer": None,
    }
    return Capture(visit, False, None, (), entry)


def test_large_indexes_have_blocks_and_large_archives_parts(tmp_path: Path) -> None:
    captures = [capture(number, Entry("\u2028\ud800", "") if number == 7 else None) for number in range(1030)]
    with (tmp_path / "a.wacz").open("wb") as sink:
        counts = write_wacz(iter(captures), ArchiveIndex(), sink, INFO, 700_000, NOW)
    found = check_rules(tmp_path / "a.wacz")
    assert found["indexes/index.idx"].count(b"\n") == 3
    assert len(index_of(found)) == counts.responses == 1030
    assert (counts.parts, counts.bytes) == (2, (tmp_path / "a.wacz").stat().st_size)
    assert {fields["filename"] for _, _, fields in index_of(found)} == {"part-00000.warc.gz", "part-00001.warc.gz"}
    page = json.loads(found["pages/pages.jsonl"].splitlines()[1])
    assert (page["url"], page["ts"], page["title"]) == ("http://a.test/7", "2026-01-02T03:04:05Z", "\u2028\ud800")


def test_an_archive_without_pages_has_an_empty_list_of_them(tmp_path: Path) -> None:
    with (tmp_path / "a.wacz").open("wb") as sink:
        assert write_wacz(iter([capture(1)]), ArchiveIndex(), sink, INFO, 1, NOW).pages == 0
    found = check_rules(tmp_path / "a.wacz")
    assert found["pages/pages.jsonl"].count(b"\n") == 1
    assert "mainPageUrl" not in json.loads(found["datapackage.json"])


def test_names_that_are_no_wacz(crawl: Path, tmp_path: Path) -> None:
    said = "OUT is a folder for WARC files, or with --wacz a file that ends in .wacz"
    for name, *flags in (["a.zip", "--wacz"], ["a.wacz"], ["a.warc.gz"], ["a.warc"]):
        out = tmp_path / name
        assert failure("export", "warc", crawl, out, *flags) == (2, f"{out}: {said}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("at", range(1, 6))
def test_a_full_disk_leaves_nothing_behind(crawl: Path, tmp_path: Path, at: int) -> None:
    (out := tmp_path / "out").mkdir()
    disk = SimulatedDisk(tmp_path / "kept", Fault("full", at))
    with filesystem.mounted(str(out), disk):
        code, said = failure("export", "warc", crawl, out / "a.wacz", "--wacz")
    assert (code, said.partition(":")[0], disk.has_failed) == (1, f"cannot write {out}/a.wacz", True)
    assert contents(out) == {}
