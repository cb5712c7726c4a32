"""Writes an archive: WARC files of limited size, and their index. The only module that needs warcio."""

import contextlib
import dataclasses
import gzip
import io
import itertools
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from warcio.recordloader import ArcWarcRecord
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from ...transforms.directory.crawl_dir import program
from ...transforms.http.request_headers import Identity
from .archive_index import ArchiveIndex, index_line
from .captures import Capture
from .output import Drafts
from .warc_records import Record, named_fields, record_id, records, warc_date

INDEX = "index.cdxj"
_LEVEL = 6  # of gzip; warcio's 9 takes half as long again, for files that are half a percent smaller


@dataclasses.dataclass
class Counts:
    """What an archive holds."""

    responses: int = 0
    revisits: int = 0
    parts: int = 0
    bytes: int = 0
    pages: int = 0  # in the list of a WACZ


class WarcInfo(NamedTuple):
    """What a file says of its crawl."""

    identity: Identity
    crawl_toml: str  # the settings without secrets


class Output(Protocol):
    """A file that is being written, once, from its beginning."""

    size: int

    def write(self, data: bytes, /) -> Any: ...
    def __enter__(self) -> Any: ...
    def __exit__(self, *error: Any) -> Any: ...


def write_archive(
    captures: Iterator[Capture], index: ArchiveIndex, out: Drafts, info: WarcInfo, max_bytes: int, now: datetime
) -> Counts:
    """Write the captures as `write_parts` does, their texts to `part-00000.warc.wet.gz` …, and the index.

    The texts have files of their own because replay tools take any record with a URL for an answer.
    """
    counts = write_parts(captures, index, out.create, info, max_bytes, now, texts=True)
    with out.create(INDEX) as sink:
        for line in index.lines():
            sink.write(line)
    return counts


def write_parts(
    captures: Iterator[Capture],
    index: ArchiveIndex,
    create: Callable[[str], Output],
    info: WarcInfo,
    max_bytes: int,
    now: datetime,
    texts: bool = False,
) -> Counts:
    """Write the captures to files `part-00000.warc.gz` …, one after the other, and put them into the index.

    A file ends after the capture that reaches `max_bytes`. Each record is compressed on its own.
    """
    counts, about = Counts(), warcinfo(info)
    first = next(captures, None)
    while first is not None:
        with _Part(create, counts.parts, texts) as part:
            part.begin(about, now)
            for capture in itertools.chain([first], captures):
                original = index.original(capture)
                for record in records(capture, original, info.identity):
                    at = part.write(record)
                    if record.type in ("response", "revisit"):
                        index.add(capture, original, index_line(capture, original, *at))
                counts.responses += original is None
                counts.revisits += original is not None
                if part.answers.size >= max_bytes:
                    break
        counts.parts += 1
        counts.bytes += part.size
        first = next(captures, None)
    return counts


def warcinfo(info: WarcInfo) -> bytes:
    """Program, standards and settings of the crawl."""
    plain = [row for row in info.crawl_toml.splitlines() if row and not row.startswith("#")]
    table, fields = "", []
    for row in plain:
        if row.startswith("["):
            table = row.strip("[]")
        else:
            fields.append(("setting", f"{table}.{row}"))
    about = [
        ("software", program()),
        ("format", "WARC File Format 1.1"),
        ("conformsTo", "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"),
        ("robots", "RFC 9309"),
        ("http-header-user-agent", info.identity.user_agent),
        *([("http-header-from", info.identity.contact)] if info.identity.contact else ()),
    ]
    return named_fields([*about, *fields])


class _Block(StatusAndHeaders):
    """The head of a record's block, written as it is."""

    def __init__(self, head: bytes) -> None:
        super().__init__("", [])
        self.headers_buff = head

    def __bool__(self) -> bool:
        return True

    def compute_headers_buffer(self, header_filter: object = None) -> None:
        pass


class _Part:
    """The files of a part: answers, and their texts if they are asked for."""

    def __init__(self, create: Callable[[str], Output], number: int, texts: bool) -> None:
        self.answers = _File(create, f"part-{number:05d}.warc.gz")
        self._texts = _File(create, f"part-{number:05d}.warc.wet.gz") if texts else None

    def begin(self, info: bytes, now: datetime) -> None:
        """Write what the files say of their crawl, first of all."""
        self.answers.begin(info, now)
        if self._texts:
            self._texts.begin(info, now)

    @property
    def size(self) -> int:
        return self.answers.size + (self._texts.size if self._texts else 0)

    def write(self, record: Record) -> tuple[str, int, int]:
        """Write a record; returns its file, offset and length."""
        if record.type != "conversion":
            return self.answers.write(record)
        return self._texts.write(record) if self._texts else ("", 0, 0)

    def __enter__(self) -> "_Part":
        return self

    def __exit__(self, *error: Any) -> None:
        with self.answers.sink, self._texts.sink if self._texts else contextlib.nullcontext():
            pass


class _File:
    """A WARC file, which starts with a warcinfo record."""

    def __init__(self, create: Callable[[str], Output], name: str) -> None:
        self.name = name
        self.sink = create(name)
        self._info_id = ""

    def begin(self, info: bytes, now: datetime) -> None:
        self._info_id = record_id(self.name, now, "warcinfo")
        fields = (("WARC-Filename", self.name), ("WARC-Date", warc_date(now)))
        self.write(Record("warcinfo", self._info_id, fields, "application/warc-fields", body=info))

    @property
    def size(self) -> int:
        return self.sink.size

    def write(self, record: Record) -> tuple[str, int, int]:
        """Write a record; returns file, offset and length."""
        start, length = self.sink.size, len(record.body)
        fields = [("WARC-Type", record.type), ("WARC-Record-ID", record.id), *record.fields]
        if record.type != "warcinfo":
            fields.append(("WARC-Warcinfo-ID", self._info_id))
        head = StatusAndHeaders("", fields, protocol="WARC/1.1")
        block = _Block(record.head) if record.head else None
        made = ArcWarcRecord("warc", record.type, head, io.BytesIO(record.body), block, record.content_type, length)
        made.payload_length = length
        plain = io.BytesIO()
        WARCWriter(plain, gzip=False, warc_version="1.1").write_record(made)
        self.sink.write(gzip.compress(plain.getvalue(), _LEVEL, mtime=0))
        return self.name, start, self.sink.size - start
