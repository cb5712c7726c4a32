"""Writes an archive as one file: WACZ 1.1.1 (https://specs.webrecorder.net/wacz/1.1.1/).

A ZIP of the WARC files, their index in compressed blocks with an index of these, and a list of the pages with their
texts. All is written once, in one pass: pages and index lines wait in temporary files on disk.
"""

import gzip
import hashlib
import io
import itertools
import json
import shutil
import struct
import tempfile
import zipfile
from collections.abc import Iterator
from datetime import datetime
from typing import IO, Any
from urllib.parse import urlsplit

from ...transforms.directory.crawl_dir import program
from ..terminal.units import counted
from .archive_index import ArchiveIndex
from .captures import Capture
from .rows import json_line
from .warc import Counts, WarcInfo, write_parts
from .warc_records import record_id, safe_url

_BLOCK = 1024  # index lines that are compressed together


def write_wacz(
    captures: Iterator[Capture], index: ArchiveIndex, sink: IO[bytes], info: WarcInfo, max_bytes: int, now: datetime
) -> Counts:
    """Write the captures as a WACZ, whose WARC files end as those of `write_parts`."""
    with tempfile.TemporaryFile() as listed, zipfile.ZipFile(sink, "w") as file:
        pages, package = _Pages(listed), _Package(file, now)
        counts = write_parts(pages.listing(captures), index, package.archive, info, max_bytes, now)
        _write_index(package, index.lines())
        with package.create("pages/pages.jsonl", zipfile.ZIP_DEFLATED) as member:
            listed.seek(0)
            shutil.copyfileobj(listed, member)
        counts.pages = pages.count
        package.finish(_about(pages.first, counts, now))
    counts.bytes = sink.tell()
    return counts


def _about(main: dict[str, str] | None, counts: Counts, now: datetime) -> dict[str, Any]:
    """What `datapackage.json` says of an archive with this page to start with, its files apart."""
    about = {
        "profile": "data-package",
        "wacz_version": "1.1.1",
        "created": _rfc3339(now),
        "software": program(),
        "description": f"{counted(counts.responses, 'response')}, {counted(counts.revisits, 'revisit')},"
        f" {counted(counts.pages, 'page')}",
    }
    if main is not None:
        about |= {"title": urlsplit(main["url"]).netloc, "mainPageUrl": main["url"], "mainPageDate": main["ts"]}
    return about


class _Pages:
    """The list of pages, written to a file in the order of captures."""

    def __init__(self, file: IO[bytes]) -> None:
        self.count = 0
        self.first: dict[str, str] | None = None  # a seed, or where one redirects to
        self._file = file
        self._write({"format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": True})

    def listing(self, captures: Iterator[Capture]) -> Iterator[Capture]:
        """The captures as they are; their pages are put into the list."""
        for capture in captures:
            if capture.entry is not None:
                url, moment = capture.visit["url"], capture.visit["fetched_at"]
                id_ = record_id(url, moment, "response").strip("<>")
                page = {"id": id_, "url": safe_url(url), "ts": _rfc3339(moment)} | {
                    name: value for name, value in capture.entry._asdict().items() if value
                }
                self.first = self.first or page
                self.count += 1
                self._write(page)
            yield capture

    def _write(self, row: dict[str, Any]) -> None:
        self._file.write(json_line(row))


def _write_index(package: "_Package", lines: Iterator[bytes]) -> None:
    """The sorted lines in blocks, and the first key of each block with its place (ZipNum)."""
    name = "index.cdx.gz"
    blocks = [b"!meta 0 %s\n" % json.dumps({"format": "cdxj-gzip-1.0", "filename": name}).encode()]
    with package.create(f"indexes/{name}") as member:
        while some := list(itertools.islice(lines, _BLOCK)):
            block = gzip.compress(b"".join(some), mtime=0)
            place = {"offset": member.size, "length": len(block), "digest": _named(hashlib.sha256(block))}
            blocks.append(b"%s %s\n" % (some[0].partition(b" {")[0], json.dumps(place).encode()))
            member.write(block)
    with package.create("indexes/index.idx", zipfile.ZIP_DEFLATED) as member:
        member.write(b"".join(blocks))


class _Package:
    """The files of a ZIP, one at a time, and what `datapackage.json` says of them."""

    def __init__(self, file: zipfile.ZipFile, now: datetime) -> None:
        self._file, self._now = file, now
        # The time as an extra field ("UT"). The local headers have one of ZIP64 besides, since sizes are not known yet;
        # wabac.js 2.27 looks for it only in files whose central header has an extra field, too.
        self._time = struct.pack("<HHBL", 0x5455, 5, 1, int(now.timestamp()))
        self._resources: list[dict[str, Any]] = []

    def archive(self, name: str) -> "_Member":
        """A new WARC file."""
        return self.create(f"archive/{name}")

    def create(self, path: str, compression: int = zipfile.ZIP_STORED) -> "_Member":
        """A new file, which is to be closed before the next one. Parts of stored ones can be read where they lie."""
        about = zipfile.ZipInfo(path, self._now.timetuple()[:6])
        about.compress_type, about.extra = compression, self._time
        return _Member(self._file.open(about, "w", force_zip64=True), path, self._resources)

    def finish(self, about: dict[str, Any]) -> None:
        """Write the list of the files, and its digest."""
        name = "datapackage.json"
        text = json.dumps(about | {"resources": self._resources}, indent=2).encode()
        digest = {"path": name, "hash": _named(hashlib.sha256(text))}
        for path, data in ((name, text), ("datapackage-digest.json", json.dumps(digest, indent=2).encode())):
            with self.create(path, zipfile.ZIP_DEFLATED) as member:
                member.write(data)


class _Member(io.RawIOBase):
    """A file of a ZIP that is being written: its size and its digest, which are noted once it is closed."""

    def __init__(self, file: IO[bytes], path: str, resources: list[dict[str, Any]]) -> None:
        self.size = 0
        self._digest = hashlib.sha256()
        self._file, self._path, self._resources = file, path, resources

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._file.write(data)
        self._digest.update(data)
        self.size += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._file.close()
            name = self._path.rpartition("/")[2]
            self._resources.append({"name": name, "path": self._path, "hash": _named(self._digest), "bytes": self.size})


def _named(digest: "hashlib._Hash") -> str:
    return f"{digest.name}:{digest.hexdigest()}"


def _rfc3339(moment: datetime) -> str:
    """A time in UTC, to the second, as in the index."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
