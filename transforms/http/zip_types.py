"""The media type of a ZIP file that is a book or an office file, from the names of its entries; inflates nothing."""

import re

_OFFICE = "application/vnd.openxmlformats-officedocument."
_OPEN = "application/vnd.oasis.opendocument."

ZIP_EXTENSIONS = {
    "docx": f"{_OFFICE}wordprocessingml.document",
    "pptx": f"{_OFFICE}presentationml.presentation",
    "xlsx": f"{_OFFICE}spreadsheetml.sheet",
    "odt": f"{_OPEN}text",
    "odp": f"{_OPEN}presentation",
    "ods": f"{_OPEN}spreadsheet",
    "epub": "application/epub+zip",
}
"""Media types by the extension of a file."""

_BY_PART = {
    b"META-INF/container.xml": "epub",
    b"word/document": "docx",
    b"ppt/presentation": "pptx",
    b"xl/workbook": "xlsx",
}
_TYPES = {essence.encode(): essence for essence in ZIP_EXTENSIONS.values()}

# APPNOTE 6.3.10: 4.3.16 (end of central directory), 4.3.12 (its entries), 4.3.7 (the header of a local file).
_END = b"PK\x05\x06"
_LONGEST_END = 22 + 65_535
_NAMES = b"|".join(map(re.escape, (b"mimetype", b"[Content_Types].xml", *_BY_PART)))
_ENTRY = re.compile(rb"PK\x01\x02.{42}(" + _NAMES + b")", re.DOTALL)
_MIMETYPE = re.compile(rb"PK\x03\x04.{4}\0\0.{16}\x08\0(..)mimetype", re.DOTALL)  # stored, not deflated
_ESSENCE = re.compile(rb"[\w./+-]{1,100}?(?=PK|[^\w./+-]|\Z)")


def zip_type(body: bytes) -> str | None:
    """The media type of an EPUB, an OpenDocument or an Office Open XML file; None for other bytes.

    The first two have an entry `mimetype` (EPUB 3.3, 4.2; OpenDocument 1.3 part 2, 3.3), which should be the first, but
    many tools write it elsewhere. The third has an entry `[Content_Types].xml` (ECMA-376 part 2, 10.1.2), and the
    usual name of its main part tells its kind.

    >>> zip_type(b"PK\\x03\\x04 and more")
    """
    if not body.startswith(b"PK\x03\x04"):
        return None
    names = set(_ENTRY.findall(_directory(body)))
    if b"mimetype" in names and (match := _MIMETYPE.search(body)):
        essence = _ESSENCE.match(body, match.end() + int.from_bytes(match[1], "little"))
        return _TYPES.get(essence[0]) if essence else None
    found = next((extension for part, extension in _BY_PART.items() if part in names), "")
    return ZIP_EXTENSIONS[found] if found == "epub" or (found and b"[Content_Types].xml" in names) else None


def _directory(body: bytes) -> bytes:
    """The entries of the central directory; b"" without one, as of a file that is cut."""
    end = body.rfind(_END, max(0, len(body) - _LONGEST_END))
    size = int.from_bytes(body[end + 12 : end + 16], "little")
    return body[max(0, end - size) : end] if end > 0 else b""
