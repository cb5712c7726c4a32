"""The files of an import: WARC files, and the archives inside WACZ files."""

import contextlib
import hashlib
import io
import json
import lzma
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, cast

from ..files import filesystem

_CHUNK = 1 << 20
_MOST_METADATA = 64 << 20  # bytes of datapackage.json that are read
_MOST_DIGEST = 64 << 10  # bytes of datapackage-digest.json that are read

ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, EOFError, KeyError)
"""What reading a damaged, encrypted or odd ZIP file raises: NotImplementedError is a RuntimeError."""


class Source(NamedTuple):
    """A WARC file, or a member of a WACZ file that is one; plain values, which travel to workers."""

    path: str
    member: str = ""  # its name in the WACZ file
    bytes: int = 0
    digest: str = ""  # as "sha256:…" in datapackage.json
    start: int = 0  # of its bytes in the WACZ file, which are not compressed
    crc: int = 0

    @property
    def name(self) -> str:
        """How messages name it."""
        return f"{self.path}, {self.member}" if self.member else self.path


class Trouble(NamedTuple):
    """Something in a file that was not imported, and why."""

    name: str  # of the source
    offset: int  # in bytes, in the (compressed) file
    problem: str

    def __str__(self) -> str:
        return f"{self.name}, byte {self.offset}: {self.problem}"


def sources_of(path: str) -> tuple[list[Source], list[Trouble]]:
    """The sources of a file, and what of it cannot be imported. OSError if it cannot be opened."""
    with filesystem.open_file(path) as file:
        size = file.seek(0, io.SEEK_END)
        if not path.lower().endswith(".wacz"):
            return [Source(path, "", size)], []
        try:
            with zipfile.ZipFile(file) as wacz:
                return _members(path, wacz)
        except ZIP_ERRORS as error:
            return [], [Trouble(path, 0, f"it is no WACZ file: {error}")]


def _members(path: str, wacz: zipfile.ZipFile) -> tuple[list[Source], list[Trouble]]:
    """The archives in a WACZ file (Web Archive Collection Zipped 1.1.1, 5.2), with their digests."""
    digests, troubles = _digests(path, wacz)
    members = [info for info in wacz.infolist() if info.filename.startswith("archive/") and not info.is_dir()]
    times, found, end = Counter(info.filename for info in members), list[Source](), 0
    for info in sorted(members, key=lambda info: info.header_offset):
        source = Source(path, info.filename, info.file_size, (digests or {}).get(info.filename, ""), 0, info.CRC)
        start, problem = _start(wacz, info)
        if times[info.filename] > 1:
            problem = "several members have this name: they are left out"
        elif not problem and start < end:
            problem = "it overlaps the member before it: the file is left out"
        if problem:
            troubles.append(Trouble(source.name, info.header_offset, problem))
            continue
        if digests is not None and not source.digest:
            troubles.append(Trouble(source.name, 0, "datapackage.json has no digest of it, so that none is checked"))
        found.append(source._replace(start=start))
        end = start + source.bytes
    if not members:
        troubles.append(Trouble(path, 0, "it has no file in the folder archive/"))
    return found, troubles


_ENCRYPTED = 1  # a flag of a member (APPNOTE.TXT 6.3.10, 4.4.4)
_LOCAL_HEADER = struct.Struct("<4s22xHH")  # its magic, the lengths of the name and of extra fields (4.3.7)


def _start(wacz: zipfile.ZipFile, info: zipfile.ZipInfo) -> tuple[int, str]:
    """Where the bytes of a member begin, and why they cannot be read as they are; empty if they can."""
    if info.compress_type != zipfile.ZIP_STORED:
        return 0, "it is compressed within the WACZ file: unpack that, and import this one"
    if info.flag_bits & _ENCRYPTED:
        return 0, "it is encrypted, a password required"
    if info.compress_size != info.file_size:
        return 0, "the directory of the WACZ file lies about its size"
    assert wacz.fp
    wacz.fp.seek(max(0, info.header_offset))
    header = wacz.fp.read(_LOCAL_HEADER.size)
    if len(header) < _LOCAL_HEADER.size or not header.startswith(b"PK\3\4"):
        return 0, "Bad magic number for file header"
    _, name, extra = _LOCAL_HEADER.unpack(header)
    start = info.header_offset + _LOCAL_HEADER.size + name + extra
    if start + info.file_size > wacz.fp.seek(0, io.SEEK_END):
        return 0, "the directory of the WACZ file lies about its size"
    return start, ""


def _digests(path: str, wacz: zipfile.ZipFile) -> tuple[dict[str, str] | None, list[Trouble]]:
    """The digests in datapackage.json by path, also if its own digest says that it was changed; None: it has none."""
    try:
        data = _read_member(wacz, "datapackage.json", _MOST_METADATA)
        resources = json.loads(data)["resources"]
        digests = {str(each["path"]): str(each.get("hash") or "") for each in resources}
    except (*ZIP_ERRORS, OSError, TypeError, ValueError, AttributeError) as error:
        return None, [Trouble(path, 0, f"datapackage.json cannot be used, so that no digest is checked: {error}")]
    try:
        promised = str(json.loads(_read_member(wacz, "datapackage-digest.json", _MOST_DIGEST)).get("hash") or "")
        if promised and not _agrees(promised, hashlib.new(promised.partition(":")[0], data).hexdigest()):
            return digests, [Trouble(path, 0, "datapackage.json has another digest than datapackage-digest.json says")]
    except KeyError:
        pass  # it is optional
    except (*ZIP_ERRORS, OSError, TypeError, ValueError, AttributeError) as error:
        return digests, [Trouble(path, 0, f"datapackage-digest.json cannot be used: {error}")]
    return digests, []


def _read_member(wacz: zipfile.ZipFile, name: str, most: int) -> bytes:
    with wacz.open(name) as file:
        return file.read(most)


def _agrees(promised: str, found: str) -> bool:
    return promised.rpartition(":")[2].lower() == found


@contextlib.contextmanager
def open_source(source: Source) -> Iterator[BinaryIO]:
    """The bytes of a source, seekable."""
    with filesystem.open_file(source.path) as file:
        yield cast(BinaryIO, _Part(file, source.start, source.bytes)) if source.member else file


class _Part(io.RawIOBase):
    """Some bytes of a file, as a file."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file, self._start, self._size, self._place = file, start, size, 0

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._place = max(0, offset + (0, self._place, self._size)[whence])
        return self._place

    def tell(self) -> int:
        return self._place

    def read(self, size: int = -1) -> bytes:
        rest = max(0, self._size - self._place)
        self._file.seek(self._start + self._place)
        data = self._file.read(rest if size < 0 else min(size, rest))
        self._place += len(data)
        return data


def digest_trouble(source: Source) -> Trouble | None:
    """What is wrong if the bytes of a member are not those that its digest, or else its CRC, promises; reads them."""
    if not source.member:
        return None
    if not source.digest:
        crc = 0
        with open_source(source) as file:
            while chunk := file.read(_CHUNK):
                crc = zlib.crc32(chunk, crc)
        return None if crc == source.crc else Trouble(source.name, 0, "Bad CRC-32: the file is left out")
    algorithm = source.digest.partition(":")[0]
    if algorithm not in hashlib.algorithms_guaranteed or not hashlib.new(algorithm).digest_size:
        return Trouble(source.name, 0, f"its digest {source.digest[:40]!r} cannot be checked: the file is left out")
    state = hashlib.new(algorithm)
    with open_source(source) as file:
        while chunk := file.read(_CHUNK):
            state.update(chunk)
    if not _agrees(source.digest, state.hexdigest()):
        return Trouble(source.name, 0, "its digest is not the one in datapackage.json: the file is left out")
    return None
