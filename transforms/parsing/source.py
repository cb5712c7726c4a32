"""What a parser gets, a `Source`, and what it gives, a `Page`."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from .. import urls
from ..duplicates.digest import content_digest
from . import charsets, html_metadata, robots_meta
from .html_links import MAX_ANCHOR, MAX_LINKS, Link
from .language import choose_language
from .main_text import MAX_HEADING, MAX_HEADINGS, MAX_TEXT, collapse
from .spam import Traits

MAX_BYTES = 10_485_760
"""Bytes of a body that are looked at."""

MAX_MARKUP = 5_242_880
"""Bytes of HTML or XML that are read: a tree takes many times its text."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Page:
    """What a body was found to say. Text that is not there is ""; all text can be encoded as UTF-8."""

    media_type: str
    charset: str  # a name of the WHATWG Encoding standard, lower-case; "" for what is no text
    language: str  # primary subtag, lower-case
    title: str = ""
    description: str = ""
    keywords: str = ""
    headings: list[str] = dataclasses.field(default_factory=list)
    text: str  # the main text; blocks on lines of their own
    published_at: datetime | None = None  # UTC
    truncated: str = ""  # the bound that kept the rest from being read: bytes, nodes, depth, text or links
    digest: bytes  # 16 bytes, equal for equal content
    canonical_url: str | None = None  # what the page says of itself
    noindex: bool
    nofollow: bool
    noarchive: bool
    links: list[Link] = dataclasses.field(default_factory=list)
    facts: Mapping[str, str] = dataclasses.field(default_factory=dict)  # what only pages of its kind have
    traits: Traits = dataclasses.field(default_factory=Traits)  # that tell of its quality


class Source(NamedTuple):
    """A body that came from a canonical URL, at most MAX_BYTES of it, and what is known about it from outside."""

    body: bytes
    media_type: str  # declared, or found where nothing is
    charset: str | None  # as HTTP declares it
    url: str
    robot_name: str
    asked: robots_meta.Directives  # by headers
    language: str  # by header
    is_truncated: bool = False  # there was more of it

    def decode(self, is_markup: bool = False) -> tuple[str, str]:
        """The text and its charset, by declaration first; what `is_markup` may declare its charset itself."""
        return charsets.decode(self.body[:MAX_MARKUP] if is_markup else self.body, self.charset, is_markup)

    def truncated(self, by_bytes: bool, by_text: bool, links: Sequence[Link]) -> str:
        """`Page.truncated` of a page with these links."""
        if by_bytes or self.is_truncated:
            return "bytes"
        return "text" if by_text else "links" if len(links) == MAX_LINKS else ""

    def page(
        self,
        text: str,
        *,
        charset: str = "",
        title: str = "",
        description: str = "",
        keywords: str = "",
        headings: Iterable[str] = (),
        language: str = "",
        published_at: datetime | None = None,
        links: Iterable[tuple[str, str]] = (),
        facts: Mapping[str, str] | None = None,
    ) -> Page:
        """A page that says this; robots directives are those of the headers.

        `links` are (reference, anchor text): references may be relative, and those that lead nowhere are dropped.
        Blocks of the text are its lines. Everything is cleaned of what cannot be stored, and cut to its bounds.
        """
        lines = (collapse(line) for line in _storable(text).splitlines())
        text = "\n".join(filter(None, lines))
        found = self._links(links)
        truncated = self.truncated(False, len(text) > MAX_TEXT, found)
        text = text[:MAX_TEXT]
        title, description, keywords = (_fact(part) for part in (title, description, keywords))
        return Page(
            media_type=self.media_type,
            charset=charset,
            language=choose_language([_storable(language), self.language], text),
            title=title,
            description=description,
            keywords=keywords,
            headings=[line[:MAX_HEADING] for part in headings if (line := _fact(part))][:MAX_HEADINGS],
            text=text,
            published_at=published_at,
            truncated=truncated,
            digest=content_digest(title, text, self.body, truncated),
            noindex=self.asked.noindex,
            nofollow=self.asked.nofollow,
            noarchive=self.asked.noarchive,
            links=found,
            facts={_fact(name): fact for name, value in (facts or {}).items() if (fact := _fact(value))},
        )

    def _links(self, found: Iterable[tuple[str, str]]) -> list[Link]:
        anchors: dict[str, str] = {}
        for reference, anchor in found:
            url = urls.canonicalize(_storable(reference).strip(), self.url)
            if url and url != self.url:
                anchors[url] = anchors.get(url) or collapse(_storable(anchor))[:MAX_ANCHOR]
            if len(anchors) == MAX_LINKS:
                break
        return [Link(url, anchor, "", "a") for url, anchor in anchors.items()]


def _fact(text: str) -> str:
    return collapse(_storable(text))[: html_metadata.MAX_FACT]


def _storable(text: str) -> str:
    """The text without lone surrogates, which UTF-8 has no bytes for."""
    return text.encode("utf-8", "replace").decode()
