"""A page: what a body says, whatever its bytes are."""

from collections.abc import Sequence
from typing import Any

from lxml import etree

from transforms import directives, media_types, page_facts, page_links, page_text, quality
from transforms.digests import content_digest
from transforms.page_links import FOLLOWED_KINDS, Link, followed
from transforms.parsers import kinds_of
from transforms.sources import MAX_BYTES, Page, Source

__all__ = ["FOLLOWED_KINDS", "Link", "Page", "followed", "html_page", "html_tree", "parse_page"]

# Without huge_tree lxml drops in silence what is nested deeper than 254; with it, than 2,047.
_PARSER = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, collect_ids=False)


def parse_page(
    body: bytes,
    url: str,
    content_type: str | None,
    headers: Sequence[tuple[str, str]],
    robot_name: str,
    kinds: tuple[str, ...] = ("html", "text"),
) -> Page | None:
    """The page in a body that came from a canonical URL; None for a kind that is not among these.

    The kind is told by the Content-Type or, without one, by the first bytes. Never raises for anything that a server
    may send.
    """
    body = body[:MAX_BYTES]
    language = next((value for name, value in headers if name.lower() == "content-language"), "")
    source = Source(
        body=body,
        media_type=media_types.media_type(content_type, body),
        charset=media_types.parse(content_type)[1],
        url=url,
        robot_name=robot_name,
        asked=directives.from_headers(headers, robot_name),
        language=language,
    )
    return kinds_of(kinds).parse(source)


def html_page(source: Source) -> Page:
    """The page in a body of HTML."""
    text, charset = source.decode(is_markup=True)
    root = html_tree(text)
    base = page_links.base_url(root, source.url)
    meta = page_facts.meta(root)
    asked = source.asked | directives.from_meta(meta.tags, source.robot_name)
    links = page_links.links(root, source.url, base)
    canonical_url = page_facts.canonical_url(root, base)
    published_at = page_facts.published_at(root, meta)
    title = page_facts.title(root)
    languages = (root.get("lang") or "", root.get("xml:lang") or "", meta.language, source.language)
    traits = quality.traits(root, text)
    text, headings = page_text.main_text(root)  # the last to see the tree, which it changes
    title = title or next(iter(headings), "")
    return Page(
        media_type=source.media_type,
        charset=charset,
        language=page_facts.language(languages, text),
        title=title,
        description=meta.first("description", "og:description"),
        keywords=meta.first("keywords"),
        headings=headings,
        text=text,
        published_at=published_at,
        digest=content_digest(title, text, source.body),
        canonical_url=canonical_url,
        noindex=asked.noindex,
        nofollow=asked.nofollow,
        noarchive=asked.noarchive,
        links=links,
        traits=traits,
    )


def html_tree(text: str) -> Any:
    """The root element of an HTML text; an empty one if there is nothing to parse."""
    try:
        # As bytes: lxml refuses a str with an encoding declaration, which XHTML has.
        root = etree.fromstring(text.encode(), _PARSER)
    except etree.ParseError:
        root = None
    return etree.Element("html") if root is None else root
