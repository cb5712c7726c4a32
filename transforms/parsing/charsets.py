"""Decodes a body to text, as the Encoding standard does. The charset is the declared one, or else detected."""

import codecs
import functools
import re
from collections.abc import Iterator

import turbohtml
from turbohtml.detect import detect  # it registers the codecs `whatwg-*`, the decoders of the standard

_STANDARD_BYTES, _PRESCAN_BYTES = 1_024, 65_536  # browsers read the former; pages in the wild declare later
_DETECT_BYTES = 16_384
_DEFAULT = "windows-1252"
_CONTEXT = 1_024  # bytes before the first that are not ASCII

_COMMENT = re.compile(rb"<!--(?:>|.*?(?:-->|\Z))", re.DOTALL)
# The case is not ignored by a flag: without one, a search goes from one "<" to the next.
_META = re.compile(rb"<[mM][eE][tT][aA][\t\n\x0c\r /][^>]{0,1000}>")
_XML_ENCODING = re.compile(rb"<\?xml[^>]*?encoding[\x01-\x20]*=[\x01-\x20]*(\"[^\">]*\"|'[^'>]*')")

_GB = ("gbk", "gb18030")
_PRIVATE = "\ue7c7"
"""What 81 35 F4 37 is since GB 18030-2022: a private character, which no page means. The editions before, and the
encoders of Python and iconv, have U+1E3F there."""

_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_ISO_2022_JP = re.compile(rb"\x1b(?:\$[@B]|\([IJ])")
_META_IN_TEXT = re.compile(rb"<(?=meta)", re.IGNORECASE)


def decode(body: bytes, http_charset: str | None, is_html: bool) -> tuple[str, str]:
    """The text of a body and the name of its charset, a name of the WHATWG Encoding standard in lower case.

    Invalid bytes become U+FFFD. U+0000 is removed, as browsers do in HTML. Never raises; the text holds no lone
    surrogates.
    """
    charset = declared(body, http_charset, is_html)
    text = None
    if charset is None:
        text, charset = _undeclared(body)
    if text is None:
        decoder = "utf-8" if charset == "utf-8" else f"whatwg-{charset}"  # Python's is the same, and faster
        text = codecs.decode(body, decoder, "replace").removeprefix("\ufeff")
        if charset in _GB:
            text = text.replace(_PRIVATE, "ḿ")
    return text.replace("\0", "") if b"\0" in body else text, charset


def _undeclared(body: bytes) -> tuple[str | None, str]:
    """The charset of a body that declares none, with its text if that is known already."""
    if b"\x1b" in body and _ISO_2022_JP.search(body) and not _NOT_ASCII.search(body):
        return None, "iso-2022-jp"
    try:
        # Not final: a body that was truncated at a size limit may end within a character.
        text = codecs.utf_8_decode(body)[0]
    except UnicodeDecodeError:
        return None, _utf_16(body, 0.02) or _detected(body)
    utf_16 = _utf_16(body, 0.4)  # also of ASCII, which is then valid UTF-8
    return None if utf_16 else text, utf_16 or "utf-8"


def declared(body: bytes, http_charset: str | None, is_html: bool) -> str | None:
    """The charset of the byte order mark, else of HTTP, else (in HTML) the one that the page declares; or None."""
    for mark, name in ((codecs.BOM_UTF8, "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le")):
        if body.startswith(mark):
            return name
    return (named(http_charset) if http_charset else None) or (prescan(body) if is_html else None)


@functools.lru_cache(maxsize=256)
def named(label: str) -> str | None:
    """The name of the encoding that a label means in the Encoding standard, in lower case; None for other labels."""
    try:
        encoding = turbohtml.parse(b"", encoding=label).encoding
    except (LookupError, ValueError):
        return None
    return encoding.lower() if encoding else None


def prescan(body: bytes) -> str | None:
    """The encoding that an HTML page declares in its first 64 kB, or else an XML declaration; None if neither does.

    "Prescan a byte stream to determine its encoding" of the HTML standard, by the parser for the first kilobyte.
    """
    for markup in _declarations(body[:_PRESCAN_BYTES]):
        document = turbohtml.parse(markup)
        name = (document.encoding or _DEFAULT).lower()
        if name != _DEFAULT or document.encoding_confidence == "certain":
            return name
    return None


def _declarations(head: bytes) -> Iterator[bytes]:
    """Markup that may declare an encoding, the most certain first; short, or without what a parser repeats."""
    yield head[:_STANDARD_BYTES]
    if len(head) > _STANDARD_BYTES:
        yield b"".join(_META.findall(_COMMENT.sub(b"", head)))
    if xml := _XML_ENCODING.match(head):
        yield b"<meta charset=%s>" % xml[1]


def _utf_16(body: bytes, least: float) -> str | None:
    """UTF-16 without a mark: at least this share of the bytes is NUL, and nearly all are first, or second, bytes.

    Browsers know it by an XML declaration only; text files of Windows have it without any.
    """
    if b"\0" not in body:
        return None
    head = body[:_DETECT_BYTES]
    first, second = head[::2].count(0), head[1::2].count(0)
    if 20 * min(first, second) > max(first, second) or max(first, second) < least * len(head):
        return None
    return "utf-16be" if first > second else "utf-16le"


def _detected(body: bytes) -> str:
    """The charset of bytes that are not UTF-8, by those around the first that are not ASCII."""
    start = max(0, _NOT_ASCII.search(body).start() - _CONTEXT)  # type: ignore[union-attr]  # ASCII is UTF-8
    sample = _META_IN_TEXT.sub(b" ", body[start : start + _DETECT_BYTES])  # a declaration that counts was read before
    if len(body) > start + _DETECT_BYTES:
        sample = sample[: max(map(sample.rfind, (b"<", b" ", b"\n")))]  # not within a character
    return (detect(sample).encoding or _DEFAULT).lower()
