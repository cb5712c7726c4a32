"""Reads parts of a ZIP archive within bounds of their number, size and compression."""

import io
import posixpath
import zipfile
from typing import IO
from urllib.parse import unquote

from .content import Enough, Unreadable

MAX_ENTRIES = 20_000
MAX_INFLATED = 256 << 20
"""Maximum number of bytes read of all parts of a file."""

MAX_PART = 16 << 20
"""Maximum number of bytes of a part that is read as a whole: metadata, styles, lists of other parts."""

_MAX_RATIO = 250  # bytes inflated from one byte; office files have up to 50, a file of zeros 1,030
_FREE = 1 << 20  # bytes that a part may inflate to by any ratio
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # those of OPC (ECMA-376 part 2), OpenDocument and EPUB
_IS_ENCRYPTED = 1  # in the flags of an entry
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # a compound file, which encrypted OOXML is as well
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")  # the stream in it (MS-OFFCRYPTO, 1.3.3)


class Archive:
    """The parts of an archive by name. Names are never paths of files, so that `../x` is a name like any other."""

    def __init__(self, body: bytes, max_inflated: int = MAX_INFLATED) -> None:
        if body.startswith(_OLD_OFFICE):
            raise Unreadable("the file is encrypted" if _ENCRYPTED in body else "a file of Office 97 to 2003")
        if body.count(b"PK\x01\x02") > MAX_ENTRIES:
            raise Unreadable(f"the archive has more than {MAX_ENTRIES} entries")
        self._zip = zipfile.ZipFile(io.BytesIO(body))
        self._names = {info.filename.lower(): info for info in self._zip.infolist()}
        self._left = max_inflated

    def has(self, name: str) -> bool:
        return name.lower() in self._names

    def open(self, name: str) -> "Part":
        """The part of a name, in any letter case (ECMA-376 part 2, 6.2.2.3); Unreadable if there is none."""
        info = self._names.get(name.lower())
        if info is None:
            raise Unreadable(f"the archive has no {name[:100]}")
        if info.flag_bits & _IS_ENCRYPTED:
            raise Unreadable("the file is encrypted")
        if info.compress_type not in _METHODS:
            raise Unreadable(f"{name[:100]} is compressed by method {info.compress_type}")
        if info.file_size > max(_FREE, _MAX_RATIO * info.compress_size):  # zipfile reads no more than file_size
            raise Unreadable(f"{name[:100]} inflates to more than {_MAX_RATIO} times its size")
        return Part(self, self._zip.open(info))

    def read(self, name: str) -> bytes:
        """A part of at most MAX_PART bytes."""
        with self.open(name) as part:
            data = part.read(MAX_PART + 1)
        if len(data) > MAX_PART:
            raise Unreadable(f"{name[:100]} has more than {MAX_PART} bytes")
        return data

    def spend(self, count: int) -> None:
        """Count bytes that were read; Enough when they are too many."""
        self._left -= count
        if self._left < 0:
            raise Enough


class Part(io.BufferedIOBase):
    """A part of an archive as a stream, counted for the archive; zipfile checks its CRC when it ends."""

    def __init__(self, archive: Archive, file: IO[bytes]) -> None:
        self._archive, self._file = archive, file

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        try:
            data = self._file.read(MAX_PART if size is None or size < 0 else size)
        except EOFError:
            raise Unreadable("the archive ends within a part") from None
        self._archive.spend(len(data))
        return data


def resolved(part: str, reference: str) -> str:
    """The name of the part that a reference in another part leads to; without fragment, and unescaped.

    >>> resolved("xl/worksheets/sheet1.xml", "../sharedStrings.xml"), resolved("a/b.opf", "/c%20d.xml#e")
    ('xl/sharedStrings.xml', 'c d.xml')
    """
    path = unquote(reference.partition("#")[0])
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(part), path)).lstrip("/")
