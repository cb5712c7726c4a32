"""A page: what a body says, whatever its bytes are."""

import dataclasses
import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from transforms import charsets, directives, languages, media_types, page_facts, page_links, page_text, trees
from transforms.page_links import FOLLOWED_KINDS, Link, followed

__all__ = ["FOLLOWED_KINDS", "Link", "Page", "followed", "parse_page"]

MAX_BYTES = 5_242_880
"""Bytes of a body that are read."""

_ENOUGH_TEXT = 64  # characters; less says nothing about two pages being the same


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
    truncated: str = ""  # the bound that kept the rest from being read: bytes, nodes, depth, links or text
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
    media_type = media_types.media_type(content_type, body)
    is_html = media_type in media_types.HTML
    if not is_html and media_type not in media_types.TEXT:
        return None
    text, charset = charsets.decode(body[:MAX_BYTES], media_types.parse(content_type)[1], is_html)
    language = next((value for name, value in headers if name.lower() == "content-language"), "")
    asked = directives.from_headers(headers, robot_name)
    source = _Source(body, text, media_type, charset, url, robot_name, asked, language)
    return _html_page(source) if is_html else _text_page(source)


def _html_page(source: _Source) -> Page:
    root, truncated = trees.parse(source.text)
    base = page_links.base_url(root, source.url)
    meta = page_facts.meta(root)
    asked = source.asked | directives.from_meta(meta.tags, source.robot_name)
    links = page_links.links(root, source.url, base)
    canonical_url = page_facts.canonical_url(root, base)
    published_at = page_facts.published_at(root, meta)
    title = page_facts.title(root, meta)
    stated = (root.get("lang") or "", root.get("xml:lang") or "", meta.language, source.language)
    main = page_text.main_text(root)  # the last to see the tree, which it changes
    title = title or next(iter(main.headings), "")
    truncated = truncated or _truncated(source, main.truncated, len(links) == page_links.MAX_LINKS)
    return Page(
        media_type=source.media_type,
        charset=source.charset,
        language=languages.language(stated, main.text),
        title=title,
        description=page_facts.description(meta),
        keywords=page_facts.keywords(meta),
        headings=main.headings,
        text=main.text,
        published_at=published_at,
        truncated=truncated,
        digest=_digest(title, main.text, source.body, truncated),
        canonical_url=canonical_url,
        noindex=asked.noindex,
        nofollow=asked.nofollow,
        noarchive=asked.noarchive,
        links=links,
    )


def _text_page(source: _Source) -> Page:
    text = "\n".join(line for raw in source.text.splitlines() if (line := page_text.collapse(raw)))
    truncated = _truncated(source, len(text) > page_text.MAX_TEXT)
    text = text[: page_text.MAX_TEXT]
    return Page(
        media_type=source.media_type,
        charset=source.charset,
        language=languages.language([source.language], text),
        text=text,
        truncated=truncated,
        digest=_digest("", text, source.body, truncated),
        noindex=source.asked.noindex,
        nofollow=source.asked.nofollow,
        noarchive=source.asked.noarchive,
    )


def _truncated(source: _Source, by_text: bool, by_links: bool = False) -> str:
    if len(source.body) > MAX_BYTES:
        return "bytes"
    return "text" if by_text else "links" if by_links else ""


def _digest(title: str, text: str, body: bytes, truncated: str) -> bytes:
    """A digest of what a reader sees, or of the very bytes where that is too little to tell pages apart."""
    content = f"{title}\n{text}".encode() if len(text) >= _ENOUGH_TEXT and not truncated else body
    return hashlib.blake2b(content, digest_size=16).digest()
