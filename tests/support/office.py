"""Small office files and books."""

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import NamedTuple

_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_EXTERNAL = ' TargetMode="External"'
_OPEN = "urn:oasis:names:tc:opendocument:xmlns:"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
SLIDE = "http://schemas.openxmlformats.org/presentationml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"

Parts = Mapping[str, str | bytes]


def archive(parts: Parts, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A ZIP file with these entries; one named `mimetype` is stored."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as target:
        for name, data in parts.items():
            target.writestr(name, data, zipfile.ZIP_STORED if name == "mimetype" else None)
    return file.getvalue()


class Entry(NamedTuple):
    """An entry of an archive as its headers tell it, true or not."""

    data: bytes  # as it is stored
    crc: int
    compressed: int  # bytes
    size: int  # bytes
    method: int = zipfile.ZIP_STORED
    flags: int = 0


def stored(data: str | bytes) -> Entry:
    body = data.encode() if isinstance(data, str) else data
    return Entry(body, zlib.crc32(body), len(body), len(body))


def told(parts: Parts, **entries: Entry) -> bytes:
    """A ZIP file of stored entries; of those that `entries` names by the end of their name, the headers say that."""
    local, directory = b"", b""
    for name, data in parts.items():
        entry = next((told for end, told in entries.items() if name.endswith(end)), None) or stored(data)
        about = struct.pack("<HHIIII", entry.flags, entry.method, 0, entry.crc, entry.compressed, entry.size)
        directory += b"PK\x01\x02\x14\0\x14\0" + about + struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, len(local))
        directory += name.encode()
        local += b"PK\x03\x04\x14\0" + about + struct.pack("<HH", len(name), 0) + name.encode() + entry.data
    counts = struct.pack("<HHHHIIH", 0, 0, len(parts), len(parts), len(directory), len(local), 0)
    return local + directory + b"PK\x05\x06" + counts


def relationships(targets: Mapping[str, tuple[str, str]]) -> str:
    """The relationships of a part: type and target by identifier; targets with a colon are external."""
    items = "".join(
        f'<Relationship Id="{name}" Type="{_RELATIONS}/{kind}" Target="{target}"{_EXTERNAL if ":" in target else ""}/>'
        for name, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{_PACKAGE}">{items}</Relationships>'


def ooxml(main: str, parts: Parts, properties: str = "") -> dict[str, str | bytes]:
    """The parts of an Office Open XML file; `properties` are elements of Dublin Core."""
    names = 'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"'
    targets = {"m": ("officeDocument", main), "c": ("metadata/core-properties", "docProps/core.xml")}
    return {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": relationships(targets),
        "docProps/core.xml": f"<coreProperties {names}>{properties}</coreProperties>",
        **parts,
    }


def docx(body: str, parts: Parts | None = None, properties: str = "") -> dict[str, str | bytes]:
    """The parts of a docx file with this body, whose elements are without prefix."""
    document = f'<document xmlns="{WORD}" xmlns:r="{_RELATIONS}"><body>{body}</body></document>'
    return ooxml("word/document.xml", {"word/document.xml": document, **(parts or {})}, properties)


def xlsx(sheets: Mapping[str, str], strings: str = "", more: Parts | None = None) -> dict[str, str | bytes]:
    """The parts of an xlsx file: rows by the attributes of a sheet, and the table of strings."""
    listed = "".join(f'<sheet {head} r:id="s{n}"/>' for n, head in enumerate(sheets))
    targets = {f"s{n}": ("worksheet", f"worksheets/sheet{n}.xml") for n in range(len(sheets))}
    parts: dict[str, str | bytes] = {
        "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{_RELATIONS}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relationships({**targets, "t": ("sharedStrings", "sharedStrings.xml")}),
        "xl/sharedStrings.xml": f'<sst xmlns="{SHEET}">{strings}</sst>',
    }
    for n, rows in enumerate(sheets.values()):
        parts[f"xl/worksheets/sheet{n}.xml"] = (
            f'<worksheet xmlns="{SHEET}" xmlns:r="{_RELATIONS}"><sheetData>{rows}</sheetData></worksheet>'
        )
    return ooxml("xl/workbook.xml", parts | dict(more or {}))


def pptx(slides: list[str], more: Parts | None = None) -> dict[str, str | bytes]:
    """The parts of a pptx file: shapes of slides, with prefixes `p` and `a`; the slides are shown backwards.

    Attributes of a slide may stand before its shapes and `|`.
    """
    names = f'xmlns:p="{SLIDE}" xmlns:a="{DRAWING}" xmlns:r="{_RELATIONS}"'
    listed = "".join(f'<p:sldId id="{256 + n}" r:id="s{n}"/>' for n in reversed(range(len(slides))))
    targets = {f"s{n}": ("slide", f"slides/slide{n}.xml") for n in range(len(slides))}
    parts: dict[str, str | bytes] = {
        "ppt/presentation.xml": f"<p:presentation {names}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relationships(targets),
    }
    for n, slide in enumerate(slides):
        head, _, shapes = slide.rpartition("|")
        parts[f"ppt/slides/slide{n}.xml"] = (
            f"<p:sld {names} {head}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
        )
    return ooxml("ppt/presentation.xml", parts | dict(more or {}))


def shape(text: str, placeholder: str = "") -> str:
    """A shape of a slide with one paragraph."""
    mark = f'<p:nvSpPr><p:nvPr><p:ph type="{placeholder}"/></p:nvPr></p:nvSpPr>' if placeholder else ""
    return f"<p:sp>{mark}<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"


def odf(kind: str, content: str, meta: str = "", manifest: str = "") -> dict[str, str | bytes]:
    """The parts of an OpenDocument file of a kind: text, presentation or spreadsheet; prefixes as in the standard."""
    used = ("office", "text", "table", "meta", "manifest", "presentation")
    names = " ".join(f'xmlns:{name}="{_OPEN}{name}:1.0"' for name in used)
    names += f' xmlns:draw="{_OPEN}drawing:1.0" xmlns:fo="{_OPEN}xsl-fo-compatible:1.0"'
    names += ' xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    body = f"<office:body><office:{kind}>{content}</office:{kind}></office:body>"
    return {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}",
        "content.xml": f"<office:document-content {names}>{body}</office:document-content>",
        "meta.xml": f"<office:document-meta {names}><office:meta>{meta}</office:meta></office:document-meta>",
        "META-INF/manifest.xml": f"<manifest:manifest {names}>{manifest}</manifest:manifest>",
    }


def epub(chapters: Mapping[str, str], metadata: str = "", more: Parts | None = None) -> dict[str, str | bytes]:
    """The parts of an EPUB with these bodies of chapters by file name, in reverse order in its manifest."""
    items = "".join(
        f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in reversed(chapters)
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    package = (
        f'<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<metadata>{metadata}</metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = "urn:oasis:names:tc:opendocument:xmlns:container"
    return {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": f'<container xmlns="{container}"><rootfiles><rootfile full-path="OPS/b.opf"/>'
        "</rootfiles></container>",
        "OPS/b.opf": package,
        **{
            f"OPS/{name}": f"<html xmlns='http://www.w3.org/1999/xhtml'><body>{b}</body></html>"
            for name, b in chapters.items()
        },
        **(more or {}),
    }
