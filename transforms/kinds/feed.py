"""Parses feeds: RSS 0.9 to 2.0 and Atom, also malformed ones."""

import html
import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urljoin

from lxml import etree

from ..parsing import html_tree, main_text, xml_tree
from ..parsing.dates import feed_date
from ..parsing.robots_meta import Directives
from ..parsing.source import Page, Source
from ..rights import licences, page_rsl
from ..rights.rsl import is_rsl
from ..rights.usage import Usage

_ROOTS = frozenset({"rss", "RDF", "feed"})
_ENTRIES = frozenset({"item", "entry"})
_CONTENTS = ("content", "description", "summary")  # the fullest first
_ATOM = "{http://www.w3.org/2005/Atom}"
_BINARY = re.compile(r"(?!text/)[^/]+/(?!.*\bxml\s*(?:;|$)).*", re.IGNORECASE | re.DOTALL)
_TAG_PREFIX = re.compile(r"(</?)[\w.-]+:")
_DATES = ("lastBuildDate", "updated", "pubDate", "date", "modified")
_MAX_ENTRIES = 1_000


class Feed:
    """Parses a feed into a page: titles of entries become headings and anchors, their contents the text."""

    media_types = frozenset(
        {"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/xml", "text/xml"}
    )
    extensions = frozenset({"atom", "rdf", "rss", "xml"})

    def parse(self, source: Source) -> Page | None:
        text, charset = source.decode(is_markup=True)
        root = xml_tree.tree(text)
        if root is None or xml_tree.local_name(root) not in _ROOTS:
            return None
        channel = next((e for e in root if xml_tree.local_name(e) == "channel"), root)
        head = _read(channel)
        items = [e for e in root.iter() if xml_tree.local_name(e) in _ENTRIES]
        found = items[:_MAX_ENTRIES]
        entries = [_read(element) for element in found]
        stated = licences.combined(
            (value, "feed") for element in (root, channel, *found) for value in _licences(element, source.url)
        )
        usage = Usage(rsl=page_rsl.of_items(items, source.url))
        source = source._replace(directives=source.directives | Directives(licence=stated, usage=usage))
        dates = (feed_date("".join(field.itertext())) for name in _DATES for field in _fields(channel, name)[:1])
        return source.page(
            "\n".join(part for entry in entries for part in (entry.title, entry.text)),
            charset=charset,
            title=head.title,
            description=_text(channel, "subtitle", "description"),
            headings=[entry.title for entry in entries],
            language=_text(channel, "language") or root.get(_XML_LANG) or "",
            published_at=next(filter(None, dates), None),
            links=[(link, entry.title) for entry in (head, *entries) for link in entry.links],
            facts={"entries": str(len(entries))},
        )


_RESOURCE = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}resource"
_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


class _Entry(NamedTuple):
    title: str
    links: list[str]
    text: str


def _read(element: Any) -> _Entry:
    content = _text(element, "encoded") or _text(element, *_CONTENTS)
    return _Entry(_text(element, "title"), list(_links(element)), content)


def _links(element: Any) -> Iterator[str]:
    """The references to pages: text of a link element in RSS, `href` of an alternate link in Atom (with xml:base).

    An item of RSS without a link has its guid, unless that says that it is no URL, or is none.
    """
    has_link = False
    for child in element:
        name = xml_tree.local_name(child)
        if name == "link" and child.get("rel", "alternate") == "alternate":
            reference = (child.get("href") or child.text or "").strip()
            has_link = has_link or bool(reference)
            yield _absolute(reference, child.base) if child.base else reference
    guid = next((child for child in element if xml_tree.local_name(child) == "guid" and not has_link), None)
    if guid is not None and guid.get("isPermaLink", "true").strip().lower() == "true":
        yield from re.findall(r"^\s*(https?:.*)", guid.text or "", re.IGNORECASE | re.DOTALL)


def _licences(element: Any, url: str) -> Iterator[str]:
    """The licences of a feed or of an entry: elements `license` of RSS, links of Atom, Dublin Core."""
    for child in element:
        name, base, text = xml_tree.local_name(child), child.base or url, child.text or ""
        if name == "link" and child.get("rel") == "license" and not is_rsl(child.get("type") or ""):
            yield licences.of_text(child.get("href") or "", base) or ""
        elif name == "license":
            yield licences.of_text(text.strip() or child.get(_RESOURCE) or child.get("url") or "", base) or ""
        elif name == "rights":
            yield licences.of_rights(text, base) or ""


def _absolute(reference: str, base: str) -> str:
    try:
        return urljoin(base, reference)
    except ValueError:  # no URL
        return ""


def _text(element: Any, *names: str) -> str:
    """The text of the first child of these names that has any; "" if there is none."""
    return next(filter(None, map(_plain, _fields(element, *names))), "")


def _fields(element: Any, *names: str) -> list[Any]:
    """The children of these names, in the order of names; those of another namespace, and of Media RSS, come last."""
    space = element.tag.rpartition("}")[0]
    named = [child for child in (*element, *element.iterfind("{*}group/*")) if xml_tree.local_name(child) in names]
    return sorted(
        named, key=lambda child: (child.tag.rpartition("}")[0] != space, names.index(xml_tree.local_name(child)))
    )


def _plain(field: Any) -> str:
    """The text of a field: the literal one of Atom's type `text`, the default there (RFC 4287, 3.1.1); else of HTML.

    None of Base64: what is neither text nor XML by its media type (4.1.3.3), and that mode of Atom 0.3.
    """
    if field.get("mode") == "base64" or _BINARY.fullmatch(field.get("type", "")):
        return ""
    text = "".join(field.itertext())
    if len(field):
        text = "".join(etree.tostring(node, encoding="unicode") for node in field)
        text = html.escape(field.text or "", quote=False) + _TAG_PREFIX.sub(r"\1", text)
    elif field.tag.startswith(_ATOM) and field.get("type", "text") == "text":
        return text
    return main_text.main_text(html_tree.parse(text, html_tree.XHTML).root).text if "<" in text or "&" in text else text
