"""A page: what a body says, whatever its bytes are."""

import dataclasses
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from lxml import etree

from transforms import charsets, digests, directives, media_types, page_facts, page_links, page_text
from transforms.page_links import FOLLOWED_KINDS, Link, followed

__all__ = ["FOLLOWED_KINDS", "Link", "Page", "followed", "parse_page"]

MAX_BYTES = 10_485_760
"""Bytes of a body that are looked at."""

# Without huge_tree lxml drops in silence what is nested deeper than 254; with it, than 2,047.
_PARSER = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, collect_ids=False)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Page:
    """What a body was found to say. Text that is not there is ""; all text can be encoded as UTF-8."""

    media_type: str
    charset: str  # a name of the WHATWG Encoding standard, lower-case
    language: str  # primary subtag, lower-case
    title: str = ""
    description: str = ""
    keywords: str = ""
    headings: list[str] = dataclasses.field(default_factory=list)
    text: str  # the main text; blocks on lines of their own
    published_at: datetime | None = None  # UTC
    digest: bytes  # 16 bytes, equal for equal content
    canonical_url: str | None = None  # what the page says of itself
    noindex: bool
    nofollow: bool
    noarchive: bool
    links: list[Link] = dataclasses.field(default_factory=list)


class _Source(NamedTuple):
    """A decoded body, and what is known about it from outside."""

    body: bytes
    text: str
    media_type: str
    charset: str
    url: str
    robot_name: str
    asked: directives.Directives  # by headers
    language: str  # by header


def parse_page(
    body: bytes, url: str, content_type: str | None, headers: Sequence[tuple[str, str]], robot_name: str
) -> Page | None:
    """The page in a body that came from a canonical URL; None for a kind that is not parsed.

    Kinds are HTML, XHTML and plain text, by the Content-Type or, without one, by the first bytes. Never
    raises for anything that a server may send.
    """
    body = body[:MAX_BYTES]
    media_type = media_types.media_type(content_type, body)
    is_html = media_type in media_types.HTML
    if not is_html and media_type not in media_types.TEXT:
        return None
    text, charset = charsets.decode(body, media_types.parse(content_type)[1], is_html)
    language = next((value for name, value in headers if name.lower() == "content-language"), "")
    asked = directives.from_headers(headers, robot_name)
    source = _Source(body, text, media_type, charset, url, robot_name, asked, language)
    return _html_page(source) if is_html else _text_page(source)


def _html_page(source: _Source) -> Page:
    root = _tree(source.text)
    base = page_links.base_url(root, source.url)
    meta = page_facts.meta(root)
    asked = source.asked | directives.from_meta(meta.tags, source.robot_name)
    links = page_links.links(root, source.url, base)
    canonical_url = page_facts.canonical_url(root, base)
    published_at = page_facts.published_at(root, meta)
    title = page_facts.title(root)
    languages = (root.get("lang") or "", root.get("xml:lang") or "", meta.language, source.language)
    text, headings = page_text.main_text(root)  # the last to see the tree, which it changes
    title = title or next(iter(headings), "")
    return Page(
        media_type=source.media_type,
        charset=source.charset,
        language=page_facts.language(languages, text),
        title=title,
        description=meta.first("description", "og:description"),
        keywords=meta.first("keywords"),
        headings=headings,
        text=text,
        published_at=published_at,
        digest=digests.content_digest(title, text, source.body),
        canonical_url=canonical_url,
        noindex=asked.noindex,
        nofollow=asked.nofollow,
        noarchive=asked.noarchive,
        links=links,
    )


def _text_page(source: _Source) -> Page:
    text = "\n".join(line for raw in source.text.splitlines() if (line := page_text.collapse(raw)))
    return Page(
        media_type=source.media_type,
        charset=source.charset,
        language=page_facts.language([source.language], text),
        text=text,
        digest=digests.content_digest("", text, source.body),
        noindex=source.asked.noindex,
        nofollow=source.asked.nofollow,
        noarchive=source.asked.noarchive,
    )


def _tree(text: str) -> Any:
    """The root element of an HTML text; an empty one if there is nothing to parse."""
    try:
        # As bytes: lxml refuses a str with an encoding declaration, which XHTML has.
        root = etree.fromstring(text.encode(), _PARSER)
    except etree.ParseError:
        root = None
    return etree.Element("html") if root is None else root
