"""The media type of a body, by its Content-Type, or by its first bytes if that is missing or unknown."""

import re

HTML = frozenset({"text/html", "application/xhtml+xml"})
TEXT = frozenset({"text/plain"})

_WS = "\t\n\r "
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_PARAMETER = re.compile(r';[\t\n\r ]*([^;=]*)(?:=(?:"((?:[^"\\]|\\.)*+)(?:"|\\?$)[^;]*|([^;]*)))?', re.DOTALL)
_LIST_ITEM = re.compile(r'(?:[^",]++|"(?:[^"\\]|\\.)*+(?:"|\\?$))++', re.DOTALL)
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")

UNKNOWN = frozenset({None, "*/*", "unknown/unknown", "application/unknown"})
_SNIFF_BYTES = 1445
_HTML_START = re.compile(
    rb"[\t\n\x0c\r ]*<(?:!--|(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body"
    rb"|br|p)[ >])",
    re.IGNORECASE,
)
_TEXT_MARKS = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")
_BINARY_MARKS = (b"%!PS-Adobe-", b"ID3")
_XML_START = re.compile(rb"[\t\n\x0c\r ]*<\?xml")
_KNOWN_MARKS = {
    b"%PDF-": "application/pdf",
    b"BM": "image/bmp",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"\xff\xd8\xff": "image/jpeg",
    b"\x89PNG\r\n\x1a\n": "image/png",
}
_IMAGE_MARKS = {mark: name for mark, name in _KNOWN_MARKS.items() if name.startswith("image/")}
_WEBP = re.compile(rb"RIFF.{4}WEBPVP", re.DOTALL)
_BINARY_BYTE = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


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


def media_type(content_type: str | None, body: bytes) -> str:
    """The declared essence; the sniffed one if none is declared, or if an image is declared as text."""
    essence = parse(content_type)[0]
    if essence is None or essence in UNKNOWN:
        return sniff(body)
    return _image(body) or essence if essence in HTML | TEXT else essence


def _image(body: bytes) -> str | None:
    """The type of an image whose first bytes cannot be text; None for anything else."""
    head = body[:_SNIFF_BYTES]
    found = next((name for mark, name in _IMAGE_MARKS.items() if head.startswith(mark)), None)
    found = found or ("image/webp" if _WEBP.match(head) else None)
    return found if _BINARY_BYTE.search(head) else None


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
    if head.startswith(_TEXT_MARKS):
        return "text/plain"
    if known := next((name for mark, name in _KNOWN_MARKS.items() if head.startswith(mark)), None):
        return known
    if _WEBP.match(head):
        return "image/webp"
    if head.startswith(_BINARY_MARKS) or _BINARY_BYTE.search(head):
        return "application/octet-stream"
    return "text/plain"


def _charset(parameters: str) -> str | None:
    for name, quoted, plain in _PARAMETER.findall(parameters):
        value = re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL) or plain.rstrip(_WS)
        if name.lower() == "charset" and value and _VALUE.fullmatch(value):
            return str(value)
    return None
