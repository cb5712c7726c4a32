"""The media type of a body, by its Content-Type, or by its first bytes if that is missing, unknown, or wrong."""

import functools
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

HTML = frozenset({"text/html", "application/xhtml+xml"})
TEXT = frozenset({"text/plain"})
MARKDOWN = frozenset({"text/markdown", "text/x-markdown"})
PACKED = frozenset({"application/pdf", "application/x-pdf", *ZIP_EXTENSIONS.values()})
"""Types of documents that are compressed in themselves."""

GENERIC = frozenset(
    {
        *("application/octet-stream", "application/x-octet-stream", "binary/octet-stream"),
        *("application/zip", "application/x-zip", "application/x-zip-compressed"),
        *("application/download", "application/force-download", "application/x-download"),
    }
)
"""Types that servers declare for files whose type they do not know."""

BY_EXTENSION = {
    **ZIP_EXTENSIONS,
    **{f"{name[:-1]}m": essence for name, essence in ZIP_EXTENSIONS.items() if name.endswith("x")},  # with macros
    **dict.fromkeys(("md", "markdown"), "text/markdown"),
    **{"rss": "application/rss+xml", "rdf": "application/rss+xml", "atom": "application/atom+xml"},
    "pdf": "application/pdf",
}
"""Types of files that are often declared as one of GENERIC or as text, by their extension."""

_WS = "\t\n\r "
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_PARAMETER = re.compile(r';[\t\n\r ;]*([^;=]*)(?:=(?:"((?:[^"\\]|\\.)*+)(?:"|\\?$)[^;]*|([^;]*)))?', re.DOTALL)
_LIST_ITEM = re.compile(r'(?:[^",]++|"(?:[^"\\]|\\.)*+(?:"|\\?$))++', re.DOTALL)
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")

UNKNOWN = frozenset({None, "*/*", "unknown/unknown", "application/unknown"})
_SNIFF_BYTES = 1445
_HTML_START = re.compile(
    rb"[\t\n\x0c\r ]*<(?:!--|(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body"
    rb"|br|p)[ >])",
    re.IGNORECASE,
)
_UTF_8_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xfe\xff", b"\xff\xfe")
_BINARY_MARKS = (b"%!PS-Adobe-", b"ID3")
_XML_START = re.compile(rb"[\t\n\x0c\r ]*<\?xml")
_XML = frozenset({"application/xml", "text/xml"})  # in which XHTML is a page, as in browsers
_XHTML_START = re.compile(
    rb"(?s)(?:[^<]*+(?><!--.*?-->|<\?[^>]*>|<![^-][^>]*>))*+[^<]*+<html\s[^>]*xmlns=.http://www\.w3\.org/1999/xhtml[\"']"
)
_FEED_START = re.compile(
    rb"(?s)(?:\xef\xbb\xbf)?(?:\s*+<(?:!--.*?--|[!?][^>]*)>)*+\s*+<(?:rss|(feed)|rdf:RDF(?=[^>]*http://purl\.org/rss/))[\s>]"
)
_KNOWN_MARKS = {
    b"%PDF-": "application/pdf",
    b"BM": "image/bmp",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"\xff\xd8\xff": "image/jpeg",
    b"\x89PNG\r\n\x1a\n": "image/png",
}
_WEBP = re.compile(rb"RIFF.{4}WEBPVP", re.DOTALL)
_BINARY_BYTE = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_PDF_START = re.compile(rb"%PDF-\d\.\d[ \t]*[\r\n]\s*(?:%[^\r\n]{0,9}[\x80-\xff]{2}|\d+ \d+ obj\b)")
_BINARY_START = re.compile(  # of files of which at least one further byte is no text
    rb"PK(?:\x03\x04|\x05\x06|\x07\x08)|\x1f\x8b|BZh\d1AY&SY|\xfd7zXZ\0|7z\xbc\xaf|Rar!\x1a\x07|\x28\xb5\x2f\xfd|.{257}ustar"
    rb"|\x7fELF|MZ..(?:.\0){2}|\xfe\xed\xfa[\xce\xcf]|[\xce\xcf]\xfa\xed\xfe|\xca\xfe\xba\xbe|\0asm"
    rb"|\xd0\xcf\x11\xe0|SQLite format 3\0|PAR1|wOF[F2]|\0\x01\0\0\0|OTTO\0|\0\0[\x01\x02]\0|II\*\0|MM\0\*"
    rb"|ID3[\x02-\x04]|OggS\0|fLaC\0|.{4}ftyp|RIFF.{4}(?:WAVE|AVI )|\x1a\x45\xdf\xa3|\0\0\x01\xba",
    re.DOTALL,
)
_BITMAP = re.compile(rb"BM.{4}\0{4}", re.DOTALL)
_NOT_IN_TEXT = re.compile(rb"[\x01-\x07\x0b\x10-\x1a\x1c-\x1f]")  # NUL, BS, SO and SI occur in text of some charsets
_NOT_IN_TEXT_LEAST, _NOT_IN_TEXT_SHARE = 8, 0.04  # of the first bytes; compressed data has 0.09

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


@functools.lru_cache(64)
def parse(content_type: str | None) -> tuple[str | None, str | None]:
    """The lower-case essence (`type/subtype`) and the charset of a Content-Type, each None if absent.

    As "extract a MIME type" of the Fetch standard: of several types between commas the last valid one counts, with
    the charset of an earlier one of the same essence if it has none. Each is parsed by "parse a MIME type" of the MIME
    Sniffing standard: invalid text between parameters is skipped, and the first valid charset counts.

    >>> parse('Text/HTML; charset="UTF-8"; charset=x')
    ('text/html', 'UTF-8')
    """
    essence = charset = None
    for item in _LIST_ITEM.findall(content_type or ""):
        found, semicolon, rest = item.strip(_WS).partition(";")
        kind, _, subtype = found.rstrip(_WS).partition("/")
        found = f"{kind}/{subtype}".lower()
        if _TOKEN.fullmatch(kind) and _TOKEN.fullmatch(subtype) and not (essence and found == "*/*"):
            charset = _charset(semicolon + rest) or (charset if found == essence else None)
            essence = found
    return essence, charset


def is_text(content_type: str | None) -> bool:
    """Whether a Content-Type declares text of any kind, also XML, JSON and scripts.

    >>> is_text("application/rss+xml; charset=utf-8"), is_text("application/gzip"), is_text(None)
    (True, False, False)
    """
    essence = parse(content_type)[0] or ""
    return essence.startswith("text/") or essence.endswith(("xml", "json", "javascript"))


def media_type(content_type: str | None, body: bytes) -> str:
    """The declared essence; that of the bytes if none or a generic one is declared, or if they are no text as declared.

    >>> media_type("text/html", b"PK\\x03\\x04"), media_type("text/html", b"PK is the mark of ZIP files")
    ('application/octet-stream', 'text/html')
    """
    essence, charset = parse(content_type)
    if essence is None or essence in UNKNOWN:
        essence = sniff(body)
    elif essence in GENERIC:
        essence = _marked(body) or _feed(body) or essence
    elif essence in HTML | TEXT:
        essence = _not_text(body, charset) or (_feed(body) if essence == "text/html" else None) or essence
    return "application/xhtml+xml" if essence in _XML and _XHTML_START.match(body[:_SNIFF_BYTES]) else essence


def _feed(body: bytes) -> str | None:
    """The type of a feed, which servers often declare as HTML; None for other bytes."""
    return (match := _FEED_START.match(body[:_SNIFF_BYTES])) and f"application/{'atom' if match[1] else 'rss'}+xml"


def _not_text(body: bytes, charset: str | None) -> str | None:
    """The type of a body whose first bytes cannot be text in a charset; None for text.

    Scripts often send line ends or a byte order mark before a file.
    """
    head = body[:_SNIFF_BYTES]
    if head.startswith(_UTF_16_MARKS) or (charset or "").lower().startswith("utf-16"):
        return None
    start = head.removeprefix(_UTF_8_MARK).lstrip(b"\t\n\x0c\r ")
    if _PDF_START.match(start):
        return "application/pdf"
    if not _BINARY_BYTE.search(head):
        return None
    marked = next((name for mark, name in _KNOWN_MARKS.items() if start.startswith(mark)), None)
    if marked and (marked != "image/bmp" or _BITMAP.match(start)):
        return marked
    if _WEBP.match(start):
        return "image/webp"
    if _BINARY_START.match(start):
        return zip_type(body) or "application/octet-stream"
    least = max(_NOT_IN_TEXT_LEAST, _NOT_IN_TEXT_SHARE * len(head))
    is_noise = len(_NOT_IN_TEXT.findall(head)) > least and not _HTML_START.match(start)
    return "application/octet-stream" if is_noise else None


def sniff(body: bytes) -> str:
    """The essence of a body, from its first bytes.

    The MIME Sniffing standard's rules for an unknown type; binary types without a parser are
    `application/octet-stream`.
    """
    head = body[:_SNIFF_BYTES]
    if _HTML_START.match(head):
        return "text/html"
    if _XML_START.match(head):
        return "text/xml"
    if head.startswith((_UTF_8_MARK, *_UTF_16_MARKS)):
        return "text/plain"
    is_binary = head.startswith(_BINARY_MARKS) or _BINARY_BYTE.search(head)
    return _marked(body) or ("application/octet-stream" if is_binary else "text/plain")


def _marked(body: bytes) -> str | None:
    """The essence of a file that begins with the mark of its type; None for other bytes."""
    known = next((name for mark, name in _KNOWN_MARKS.items() if body.startswith(mark)), None)
    return known or ("image/webp" if _WEBP.match(body) else zip_type(body))


def _charset(parameters: str) -> str | None:
    for name, quoted, plain in _PARAMETER.findall(parameters):
        if name.lower() != "charset":
            continue
        value = re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL) or plain.rstrip(_WS)
        if value and _VALUE.fullmatch(value):
            return str(value)
    return None


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
