"""Reads format and size of images from their headers."""

import re
import struct
from typing import NamedTuple

from ..parsing.source import Page, Source

_PNG = re.compile(rb"\x89PNG\r\n\x1a\n.{4}IHDR(.{8})", re.DOTALL)
_GIF = re.compile(rb"GIF8[79]a(.{4})", re.DOTALL)
_BMP = re.compile(rb"BM.{12}(?:\x0c\0{3}(.{4})|.{4}(.{8}))", re.DOTALL)
_WEBP = re.compile(rb"RIFF.{4}WEBP(?:VP8 .{10}(.{4})|VP8L.{4}/(.{4})|VP8X.{8}(.{6}))", re.DOTALL)
_NO_FRAME = frozenset({0xC4, 0xC8, 0xCC})  # markers from C0 to CF that begin no frame (ITU T.81, table B.1)


class Size(NamedTuple):
    """Format and size of an image."""

    format: str  # png, gif, jpeg, bmp, webp
    width: int  # pixels
    height: int


class Image:
    """Parses an image into a page without text; alternative texts are anchors in table links."""

    media_types = frozenset({"image/bmp", "image/gif", "image/jpeg", "image/png", "image/webp", "image/x-ms-bmp"})
    extensions = frozenset({"bmp", "gif", "jpe", "jpeg", "jpg", "png", "webp"})
    link_kinds = frozenset({"img"})

    def parse(self, source: Source) -> Page | None:
        size = read_size(source.body)
        if size is None:
            raise ValueError("not an image of a supported format")
        return source.page("", facts={name: str(value) for name, value in size._asdict().items()})


def read_size(body: bytes) -> Size | None:
    """The format and size of an image; None for an unsupported format or an incomplete header."""
    if match := _PNG.match(body):
        return Size("png", *struct.unpack(">II", match[1]))
    if match := _GIF.match(body):
        return Size("gif", *struct.unpack("<HH", match[1]))
    if match := _BMP.match(body):
        width, height = struct.unpack("<HH" if match[1] else "<Ii", match[1] or match[2])
        return Size("bmp", width, abs(height))  # negative if rows are stored from top to bottom
    if match := _WEBP.match(body):
        return _webp(*match.groups())
    return _jpeg(body) if body.startswith(b"\xff\xd8\xff") else None


def _webp(lossy: bytes | None, lossless: bytes | None, extended: bytes | None) -> Size:
    """By RFC 9649, sections 2.5 to 2.7."""
    if lossy:
        width, height = struct.unpack("<HH", lossy)
        return Size("webp", width & 0x3FFF, height & 0x3FFF)
    if lossless:
        (bits,) = struct.unpack("<I", lossless)
        return Size("webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    sides = extended or b""
    return Size("webp", int.from_bytes(sides[:3], "little") + 1, int.from_bytes(sides[3:], "little") + 1)


def _jpeg(body: bytes) -> Size | None:
    """The size in the frame header, which follows any number of segments with a length field (ITU T.81, B.2.2)."""
    position = 2
    while position + 9 <= len(body) and body[position] == 0xFF:
        marker, length = body[position + 1], int.from_bytes(body[position + 2 : position + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in _NO_FRAME:
            height, width = struct.unpack(">HH", body[position + 5 : position + 9])
            return Size("jpeg", width, height)
        position += 1 if marker == 0xFF else 2 + max(length, 2)
    return None
