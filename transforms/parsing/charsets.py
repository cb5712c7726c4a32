"""Decodes a body to text. The charset is the declared one; without a declaration it is detected."""

import codecs
import re

import chardet
import webencodings

_PRESCAN_BYTES = 65_536  # browsers read 1,024; pages in the wild declare later
_DETECT_BYTES = 16_384

_WS = rb"\t\n\x0c\r "
# Where the prescan stops: at a comment, a tag, or another markup declaration.
_MARKUP = re.compile(rb"<(?:(!--)|(/?[A-Za-z])|[!/?])")
_META = re.compile(rb"<meta[\t\n\x0c\r /]", re.IGNORECASE)
_TAG_NAME = re.compile(rb"[^\t\n\x0c\r >]*")
_ATTRIBUTE = re.compile(
    rb"[%(ws)s/]*([^%(ws)s/>][^%(ws)s/>=]*)"
    rb"(?:[%(ws)s]*=[%(ws)s]*(?:\"([^\"]*)\"|'([^']*)'|(?![\"'])([^%(ws)s>]*+)(?=[%(ws)s>])))?" % {b"ws": _WS}
)
_CHARSET_IN_CONTENT = re.compile(
    rb"charset[%(ws)s]*=[%(ws)s]*(?:\"([^\"]*)\"|'([^']*)'|(?![\"'])([^%(ws)s;]*))" % {b"ws": _WS},
    re.IGNORECASE,
)
_XML_ENCODING = re.compile(rb"<\?xml[^>]*?encoding[\x01-\x20]*=[\x01-\x20]*(?:\"([^\">]*)\"|'([^'>]*)')")

_WHATWG_NAMES = {
    "cp874": "windows-874",
    "cp932": "shift_jis",
    "cp949": "euc-kr",
    "utf-16-be": "utf-16be",
    "utf-16-le": "utf-16le",
}
"""WHATWG names of charsets that the detector names differently."""


def decode(body: bytes, http_charset: str | None, is_html: bool) -> tuple[str, str]:
    """The text of a body and the name of its charset, a name of the WHATWG Encoding standard in lower case.

    Invalid bytes become U+FFFD. U+0000 is removed, as browsers do in HTML, so that most text in undeclared UTF-16 is
    readable. Never raises; the text holds no lone surrogates.
    """
    text, name = _decode(body, http_charset, is_html)
    return text.replace("\0", "") if b"\0" in body else text, name


def _decode(body: bytes, http_charset: str | None, is_html: bool) -> tuple[str, str]:
    charset = declared(body, http_charset, is_html)
    if charset is None:
        try:
            # Not final: a body that was truncated at a size limit may end within a character.
            return codecs.utf_8_decode(body)[0], "utf-8"
        except UnicodeDecodeError:
            charset = _detected(body)
    return webencodings.decode(body, charset, errors="replace")[0], charset.name


def declared(body: bytes, http_charset: str | None, is_html: bool) -> webencodings.Encoding | None:
    """The charset of the byte order mark, else of HTTP, else (in HTML) the one that the page declares; or None."""
    for mark, name in ((codecs.BOM_UTF8, "utf-8"), (b"\xfe\xff", "utf-16be"), (b"\xff\xfe", "utf-16le")):
        if body.startswith(mark):
            return webencodings.lookup(name)
    return (webencodings.lookup(http_charset) if http_charset else None) or (prescan(body) if is_html else None)


def prescan(body: bytes) -> webencodings.Encoding | None:
    """The encoding that an HTML page declares.

    "Prescan a byte stream to determine its encoding" of the HTML standard, on the first 64 kB, then an XML
    declaration.
    """
    head = body[:_PRESCAN_BYTES]
    position = 0
    while markup := _MARKUP.search(head, position):
        position = markup.start()
        if markup[1]:
            # The two dashes of `<!-->` open and close the comment.
            position = head.find(b"-->", position + 2) + 3
            if position < 3:
                break
        elif meta := _META.match(head, position):
            attributes, position = _attributes(head, meta.end() - 1)
            if encoding := _meta_encoding(attributes):
                return _usable(encoding)
        elif markup[2]:
            _, position = _attributes(head, _TAG_NAME.match(head, position).end())  # type: ignore[union-attr]
        else:
            position = head.find(b">", position) + 1
            if not position:
                break
    xml = _XML_ENCODING.match(head)
    encoding = webencodings.lookup((xml[1] or xml[2] or b"").decode("latin-1")) if xml else None
    return _usable(encoding) if encoding else None


def _attributes(head: bytes, position: int) -> tuple[dict[bytes, bytes], int]:
    """The attributes of a tag by lower-case name (the first of each name), and the offset of their end."""
    attributes: dict[bytes, bytes] = {}
    while match := _ATTRIBUTE.match(head, position):
        position = match.end()
        attributes.setdefault(match[1].lower(), match[2] or match[3] or match[4] or b"")
    return attributes, position


def _meta_encoding(attributes: dict[bytes, bytes]) -> webencodings.Encoding | None:
    if b"charset" in attributes:
        return webencodings.lookup(attributes[b"charset"].decode("latin-1"))
    if attributes.get(b"http-equiv", b"").lower() != b"content-type":
        return None
    match = _CHARSET_IN_CONTENT.search(attributes.get(b"content", b""))
    return webencodings.lookup((match[1] or match[2] or match[3] or b"").decode("latin-1")) if match else None


def _usable(encoding: webencodings.Encoding) -> webencodings.Encoding:
    """The encoding to use for a declared one: a declaration that is readable as ASCII rules out UTF-16."""
    override = {"utf-16be": "utf-8", "utf-16le": "utf-8", "x-user-defined": "windows-1252"}
    return webencodings.lookup(override.get(encoding.name, encoding.name))


def _detected(body: bytes) -> webencodings.Encoding:
    # A superset, because more bytes are decoded than the detector has read.
    found = chardet.detect(body[:_DETECT_BYTES], prefer_superset=True, encoding_era=chardet.EncodingEra.MODERN_WEB)
    name = str(found["encoding"]).lower()
    return webencodings.lookup(_WHATWG_NAMES.get(name, name)) or webencodings.lookup("windows-1252")
