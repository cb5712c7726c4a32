"""Parses malformed XML without expanding entities or accessing the network."""

import html
import re
from typing import Any

from lxml import etree

_DECLARATION = re.compile(r"[\s\ufeff]*(?:<\?xml\b[^>]*>)?")
# An & that starts none of XML's predefined references. CDATA sections hold no references.
_AMPERSAND = re.compile(
    r"<!\[CDATA\[(?:.*?\]\]>|.*)|&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)([A-Za-z]{1,31};)?",
    re.DOTALL,
)
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def clean(text: str) -> bytes:
    """The text in UTF-8 without XML declaration; entities that the document defines are removed unread."""
    text = text[_DECLARATION.match(text).end() :]  # type: ignore[union-attr]  # it matches anything
    return _NOT_XML.sub(" ", _AMPERSAND.sub(_escaped, text)).encode()


def tree(text: str) -> Any:
    """The root element of a text, recovered from malformed XML as far as possible; None if there is none."""
    parser = etree.XMLParser(recover=True, no_network=True, load_dtd=False, resolve_entities=False, encoding="utf-8")
    try:
        return etree.fromstring(clean(text), parser)
    except etree.XMLSyntaxError:  # beyond recovery
        return None


def local_name(element: Any) -> str:
    """The name of an element without namespace; "" for a comment or a processing instruction."""
    tag = element.tag
    return tag.rpartition("}")[2].rpartition(":")[2] if isinstance(tag, str) else ""


def _escaped(match: re.Match[str]) -> str:
    """The replacement of an &: `&amp;` for a stray one, the character for an HTML entity, "" for other entities."""
    if match[0].startswith("<"):
        return match[0]
    character = html.unescape(match[0])
    return "" if match[1] and character == match[0] else html.escape(character, quote=False)
