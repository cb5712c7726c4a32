"""`beamtrawl import warc` with archives that are damaged, lie or hold nothing: the rest is imported, all is told."""

import copy
import gzip
import hashlib
import json
import sys
import tracemalloc
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from beamtrawl.transforms.archives.reader import Record, read_records
from beamtrawl.transforms.archives.sources import Trouble, digest_trouble, sources_of
from tests.support.command_line import beamtrawl, failure
from tests.support.crawls import rows


def record(path: str, body: str = "<title>T</title><p>Some text.", type_: str = "text/html", **fields: str) -> bytes:
    block = f"HTTP/1.1 {fields.pop('Status', '200 OK')}\r\nContent-Type: {type_}\r\n\r\n{body}".encode()
    named = {"Type": "response", "Target-URI": f"http://a.test/{path}", "Date": "2025-01-02T03:04:05Z"} | fields
    head = "".join(f"WARC-{name}: {value}\r\n" for name, value in named.items())
    head += f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n"
    return gzip.compress(f"WARC/1.1\r\n{head}\r\n".encode() + block + b"\r\n\r\n")


def imported(*words: object, code: int = 0) -> dict[str, Any]:
    ran = beamtrawl("import", "warc", *words, "--workers", 1, "--json")
    assert ran.code == code, ran.err
    found: dict[str, Any] = json.loads(ran.out.splitlines()[-1])
    return found


def urls(folder: Path) -> list[str]:
    return sorted(row["url"] for row in rows(folder, "visits"))


def test_damage_is_told_by_file_and_byte_and_the_rest_is_imported(tmp_path: Path) -> None:
    good = record("a")
    (tmp_path / "1.warc.gz").write_bytes(good + record("cut")[:70] + record("b"))
    (tmp_path / "2.arc").write_bytes(b"filedesc://2.arc 0.0.0.0 20200101000000 text/plain 76\n")
    (tmp_path / "3.warc.gz").write_bytes(record("picture", type_="image/png") * 3)
    (tmp_path / "4.warc.gz").write_bytes(b"")
    said = imported(tmp_path / "crawl", tmp_path / "*.*arc*", code=3)
    assert urls(tmp_path / "crawl") == ["http://a.test/a", "http://a.test/b"]
    assert (said["visits"], said["records"], said["skipped"]) == (
        2,
        5,
        {"unwanted_type": 3},
    )
    troubles = [(Path(trouble["name"]).name, trouble["offset"]) for trouble in said["troubles"]]
    assert troubles == [("1.warc.gz", 0), ("2.arc", 0), ("4.warc.gz", 0)]
    ran = beamtrawl("import", "warc", tmp_path / "crawl", tmp_path / "2.arc", "--workers", 1)
    assert ran.code == 1 and "0 records in 1 file" in ran.out
    assert f"beamtrawl: {tmp_path}/2.arc, byte 0: it is an ARC file; " in ran.err


def test_a_payload_digest_that_differs_is_an_outcome_and_hides_no_older_capture(tmp_path: Path) -> None:
    lie = {"Payload-Digest": f"sha1:{hashlib.sha1(b'other').hexdigest()}", "Date": "2025-05-05T00:00:00Z"}
    chunks = "5\r\n<p>ab\r\n0\r\n\r\n"
    true = {"Payload-Digest": f"sha1:{hashlib.sha1(b'<p>ab').hexdigest()}"}
    chunked = record("b", chunks, "text/html\r\nTransfer-Encoding: chunked", **true)
    records = [record("a", "<p>Good."), record("a", **lie), chunked, record("b", **lie), record("c", **lie)]
    (tmp_path / "a.warc.gz").write_bytes(b"".join(records))
    assert imported(tmp_path / "crawl", tmp_path / "a.warc.gz")["skipped"] == {"older": 2}
    found = {row["url"][-1]: row for row in rows(tmp_path / "crawl", "visits")}
    assert {name: (row["outcome"], row["body"]) for name, row in found.items()} == {
        "a": ("fetched", b"<p>Good."),
        "b": ("fetched", b"<p>ab"),
        "c": ("bad_response", b""),
    }
    assert "payload digest sha1:" in found["c"]["error"]
    assert imported(tmp_path / "crawl", tmp_path / "a.warc.gz")["skipped"] == {"known": 5}


def wacz(path: Path, members: dict[str, bytes], lies: str = "", package_lies: bool = False) -> Path:
    digests = {
        name: hashlib.sha256(data + (b"x" if name == lies else b"")).hexdigest() for name, data in members.items()
    }
    resources = [{"path": name, "hash": f"sha256:{digest}"} for name, digest in digests.items()]
    package = json.dumps({"profile": "data-package", "resources": resources}).encode()
    own = hashlib.sha256(package + (b"x" if package_lies else b"")).hexdigest()
    with zipfile.ZipFile(path, "w") as file:
        for name, data in members.items():
            file.writestr(name, data)
        file.writestr("datapackage.json", package)
        file.writestr("datapackage-digest.json", json.dumps({"path": "datapackage.json", "hash": f"sha256:{own}"}))
    return path


def test_of_a_wacz_what_agrees_with_its_digest_is_imported(tmp_path: Path) -> None:
    members = {"archive/1.warc.gz": record("a"), "archive/2.warc.gz": record("b"), "pages/pages.jsonl": b"{}"}
    said = imported(tmp_path / "c", wacz(tmp_path / "a.wacz", members, lies="archive/2.warc.gz"), code=3)
    assert urls(tmp_path / "c") == ["http://a.test/a"]
    assert [trouble["name"] for trouble in said["troubles"]] == [f"{tmp_path}/a.wacz, archive/2.warc.gz"]
    assert said["files"] == 2
    said = imported(tmp_path / "d", wacz(tmp_path / "b.wacz", members, package_lies=True), code=3)
    assert urls(tmp_path / "d") == ["http://a.test/a", "http://a.test/b"]
    assert ["datapackage-digest.json" in trouble["problem"] for trouble in said["troubles"]] == [True]


def test_files_that_are_no_wacz(tmp_path: Path) -> None:
    (tmp_path / "a.wacz").write_bytes(b"PK no zip")
    empty = wacz(tmp_path / "b.wacz", {"pages/pages.jsonl": b""})
    said = imported(tmp_path / "c", tmp_path / "a.wacz", empty, code=1)
    assert [trouble["problem"] for trouble in said["troubles"]] == [
        "it is no WACZ file: File is not a zip file",
        "it has no file in the folder archive/",
    ]
    assert said["rounds"] == 0


def test_files_without_a_record_begin_no_crawl(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<p>no archive")
    (tmp_path / "made").mkdir()
    for folder in ("new", "made"):
        ran = beamtrawl("import", "warc", tmp_path / folder, tmp_path / "page.html")
        assert (ran.code, ran.err) == (1, f"beamtrawl: {tmp_path}/page.html, byte 0: it is no WARC file\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made", "page.html"]
    assert list((tmp_path / "made").iterdir()) == []


def test_a_store_of_an_unknown_kind_is_named_in_one_line(tmp_path: Path) -> None:
    ran = beamtrawl("import", "warc", tmp_path / "new", "ftp://a.test/a.warc.gz")
    assert (ran.code, ran.err) == (
        1,
        "beamtrawl: ftp://a.test/a.warc.gz: ftp:// is no file system that Beam has here; give a local"
        " path, without a scheme, or one on s3://, gs:// or hdfs://\n",
    )
    assert not (tmp_path / "new").exists()


def odd(path: Path, hash_: str = "", compression: int = zipfile.ZIP_STORED, old: bytes = b"", new: bytes = b"") -> Path:
    """A WACZ file with some of its bytes changed."""
    package = json.dumps({"resources": [{"path": "archive/a.warc", "hash": hash_}] if hash_ else []})
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("archive/a.warc", gzip.decompress(record("odd")), compression)
        file.writestr("datapackage.json", package, zipfile.ZIP_DEFLATED)
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))
    return path


def test_a_damaged_wacz_ends_no_import(tmp_path: Path) -> None:
    central, local = b"PK\x01\x02\x14\x03\x14\0", b"PK\x03\x04\x14\0"
    given = [
        odd(tmp_path / "1.wacz", "shake_128:00"),
        odd(tmp_path / "2.wacz", old=b"Some text", new=b"Same text"),
        odd(tmp_path / "3.wacz", old=central + b"\0\0", new=central + b"\1\0"),
        odd(tmp_path / "4.wacz", old=central + b"\0\0\0\0", new=central + b"\0\0\x63\0"),
        odd(tmp_path / "5.wacz", compression=zipfile.ZIP_DEFLATED),
        odd(tmp_path / "6.wacz", old=local, new=b"PK\0\0\0\0"),
        wacz(tmp_path / "7.wacz", {"archive/1.warc.gz": record("good")}),
    ]
    said = imported(tmp_path / "c", *given, code=3)
    assert urls(tmp_path / "c") == ["http://a.test/good"]
    problems: dict[str, str] = {}
    for trouble in said["troubles"]:
        name = Path(trouble["name"].partition(",")[0]).stem
        problems[name] = problems.get(name, "") + trouble["problem"]
    for name, part in {
        "1": "its digest 'shake_128:00' cannot be checked",
        "2": "Bad CRC-32",
        "3": "password required",
        "4": "it is compressed within",
        "5": "it is compressed within",
        "6": "Bad magic number",
    }.items():
        assert part in problems[name], problems
    assert "7" not in problems


def entries(path: Path, data: bytes, names: list[str], step: int = 0, size: int | None = None) -> Path:
    """A WACZ file whose directory names the bytes of its first member, each time `step` bytes later."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("archive/first.warc", data)
        first = file.infolist()[0]
        for number, name in enumerate(names):
            info = copy.copy(first)
            info.filename = info.orig_filename = name
            info.header_offset += step * number
            info.file_size = info.compress_size = first.file_size if size is None else size
            file.filelist.append(info)
    return path


def test_members_that_overlap_have_one_name_or_lie_are_left_out(tmp_path: Path) -> None:
    data = gzip.decompress(record("a"))
    given = {
        "over": entries(tmp_path / "1.wacz", data, ["archive/b.warc", "archive/c.warc"]),
        "same": entries(tmp_path / "2.wacz", data, ["archive/first.warc"]),
        "size": entries(tmp_path / "3.wacz", data, ["archive/b.warc"], size=1 << 40),
        "zip64": entries(tmp_path / "4.wacz", data, ["archive/b.warc", "archive/c.warc"], step=1 << 33),
    }
    found = {name: sources_of(str(path)) for name, path in given.items()}
    assert {name: [source.member for source in sources] for name, (sources, _) in found.items()} == {
        "over": ["archive/first.warc"],
        "same": [],
        "size": ["archive/first.warc"],
        "zip64": ["archive/first.warc"],
    }
    said = {
        name: {trouble.problem.partition(":")[0] for trouble in troubles[1:]} for name, (_, troubles) in found.items()
    }
    assert said == {
        "over": {"it overlaps the member before it"},
        "same": {"several members have this name"},
        "size": {"the directory of the WACZ file lies about its size"},
        "zip64": {"it overlaps the member before it", "Bad magic number for file header"},
    }


def test_a_directory_is_read_once_however_many_members_it_names(tmp_path: Path) -> None:
    """20,000 names of one member, and 2,000 members of which each has a digest: no member costs a directory."""
    bomb = entries(tmp_path / "a.wacz", gzip.decompress(record("a")), [f"archive/{n}.warc" for n in range(20_000)])
    members = {f"archive/{number}.warc.gz": record(str(number)) for number in range(2_000)}
    honest = wacz(tmp_path / "b.wacz", members)
    parsed = zipfile.ZipFile._RealGetContents.__code__  # type: ignore[attr-defined]
    directories = 0

    def count(frame: Any, event: str, _: object) -> None:
        nonlocal directories
        directories += event == "call" and frame.f_code is parsed

    sys.setprofile(count)
    try:
        assert len(sources_of(str(bomb))[0]) == 1
        sources = sources_of(str(honest))[0]
        found = [digest_trouble(source) for source in sources]
        records = sum(isinstance(item, Record) for source in sources[:20] for item in read_records(source))
    finally:
        sys.setprofile(None)
    assert (len(sources), found, records, directories) == (2_000, [None] * 2_000, 20, 2)


def test_names_of_members_are_nothing_but_names(tmp_path: Path) -> None:
    """Nothing is unpacked to a file, nor twice; what is damaged beside the archives is one line."""
    inner = wacz(tmp_path / "inner.wacz", {"archive/1.warc.gz": record("inner")})
    names = ("archive/../../../a.warc.gz", "archive//b.warc.gz", "archive/C.warc.gz", "archive/c.warc.gz")
    members = {name: record(str(number)) for number, name in enumerate(names)}
    path = wacz(tmp_path / "a.wacz", members | {"archive/\x1b[2J.wacz": inner.read_bytes()})
    said = imported(tmp_path / "c", path, code=3)
    assert urls(tmp_path / "c") == [f"http://a.test/{number}" for number in range(len(names))]
    assert [trouble["problem"] for trouble in said["troubles"]] == ["it is no WARC file"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.wacz", "c", "inner.wacz"]
    with zipfile.ZipFile(tmp_path / "deep.wacz", "w") as file:
        file.writestr("archive/1.warc.gz", record("deep"))
        file.writestr("datapackage.json", "[" * 100_000)
    (trouble,) = sources_of(str(tmp_path / "deep.wacz"))[1]
    assert trouble.problem.startswith("datapackage.json cannot be used")


def test_a_robots_txt_of_an_archive_is_asked_for_again(tmp_path: Path) -> None:
    """One that is dated now, and allows all, is no reason to request what the host itself forbids."""
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    (tmp_path / "a.warc.gz").write_bytes(record("robots.txt", "User-agent: *\nAllow: /", "text/plain", Date=now))
    assert imported(tmp_path / "c", tmp_path / "a.warc.gz")["robots"] == 1
    (row,) = rows(tmp_path / "c", "robots")
    assert row["expires_at"] == row["fetched_at"]


def test_what_a_datapackage_does_not_list_is_named_and_a_changed_one_is_used(tmp_path: Path) -> None:
    members = {"archive/1.warc.gz": record("a"), "archive/2.warc.gz": record("b")}
    path = wacz(tmp_path / "a.wacz", members, lies="archive/2.warc.gz", package_lies=True)
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("archive/3.warc.gz", record("c"))
    sources, troubles = sources_of(str(path))
    assert [(source.member, bool(source.digest), digest_trouble(source) is None) for source in sources] == [
        ("archive/1.warc.gz", True, True),
        ("archive/2.warc.gz", True, False),
        ("archive/3.warc.gz", False, True),
    ]
    assert [trouble.name.partition(", ")[2] for trouble in troubles] == ["", "archive/3.warc.gz"]


def test_a_digest_file_that_expands_without_end_is_read_a_little(tmp_path: Path) -> None:
    path = wacz(tmp_path / "a.wacz", {"archive/1.warc.gz": record("a")})
    bomb = tmp_path / "b.wacz"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as new:
        for name in ("archive/1.warc.gz", "datapackage.json"):
            new.writestr(name, old.read(name), zipfile.ZIP_STORED)
        new.writestr("datapackage-digest.json", json.dumps({"hash": "sha256:00"}) + " " * (20 << 20))
    tracemalloc.start()
    sources, troubles = sources_of(str(bomb))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(sources) == 1 and len(troubles) == 1 and peak < 2 << 20


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "a[1].warc.gz").write_bytes(record("a"))
    (tmp_path / "a1.warc.gz").write_bytes(record("b"))
    assert imported(tmp_path / "c", tmp_path / "a[1].warc.gz")["visits"] == 1
    assert urls(tmp_path / "c") == ["http://a.test/a"]


def test_what_is_blocked_or_out_of_scope_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.warc.gz").write_bytes(record("a") + record("private/b") + record("bad"))
    (folder := tmp_path / "c").mkdir()
    (folder / "crawl.toml").write_text('[scope]\nexclude = ["/private/"]\n')
    assert imported(folder, tmp_path / "a.warc.gz")["skipped"] == {"exclude": 1}
    assert beamtrawl("block", folder, "a.test/bad").code == 0
    later = record("bad", Date="2025-02-02T03:04:05Z") + record("a", Date="2025-02-02T03:04:05Z")
    (tmp_path / "b.warc.gz").write_bytes(later)
    said = imported(folder, tmp_path / "b.warc.gz")
    assert (said["visits"], said["skipped"]) == (1, {"blocked": 1})


def test_the_same_file_under_other_names_counts_once(tmp_path: Path) -> None:
    """A copy has only older captures; a symbolic link, and a path written in another way, are the same file."""
    (tmp_path / "a.warc.gz").write_bytes(record("a") + record("b"))
    (tmp_path / "copy.warc.gz").write_bytes((tmp_path / "a.warc.gz").read_bytes())
    (tmp_path / "link.warc.gz").symlink_to(tmp_path / "a.warc.gz")
    said = imported(tmp_path / "c", tmp_path / "*.warc.gz", tmp_path / ".." / tmp_path.name / "a.warc.gz")
    assert (said["files"], said["visits"], said["skipped"]) == (2, 2, {"older": 2})


def test_a_file_of_descriptions_only_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "a.warc.gz").write_bytes(record("a", Type="warcinfo"))
    said = imported(tmp_path / "c", tmp_path / "a.warc.gz")
    assert (said["records"], said["rounds"], said["skipped"], said["troubles"]) == (1, 0, {"warcinfo": 1}, [])
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("form", ["compressed", "plain"])
def test_a_file_that_is_cut_anywhere_in_its_last_record_is_told_with_the_byte(tmp_path: Path, form: str) -> None:
    """A copy that ended early: in the head of a record, its body or the first bytes of a member."""
    records = [record(name, "<title>Page</title>" + "x" * 300) for name in "abc"]
    records = records if form == "compressed" else list(map(gzip.decompress, records))
    whole, last = b"".join(records[:2]), records[2]
    for cut in range(1, len(last) - 4, 7):
        (tmp_path / "a.warc").write_bytes(whole + last[:cut])
        (source,), _ = sources_of(str(tmp_path / "a.warc"))
        found = list(read_records(source))
        assert any(isinstance(each, Trouble) and each.offset >= len(records[0]) for each in found), cut
    (tmp_path / "a.warc").write_bytes(whole + last[:30])
    said = imported(tmp_path / "crawl", tmp_path / "a.warc", code=3)
    assert (said["visits"], [trouble["offset"] >= len(records[0]) for trouble in said["troubles"]][:1]) == (2, [True])


def test_an_archive_in_the_place_of_the_directory_is_seen(tmp_path: Path) -> None:
    (tmp_path / "site.wacz").write_bytes(record("a"))
    code, line = failure("import", "warc", tmp_path / "site.wacz", tmp_path / "new")
    expected = f"{tmp_path}/site.wacz is an archive, and the crawl directory comes first: "
    assert (code, line) == (2, f"{expected}beamtrawl import warc {tmp_path}/new {tmp_path}/site.wacz")
