"""Input and output of parsers: a `Source` is parsed into a `Page`."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from ..duplicates.digest import content_digest
from ..rights.licences import Licence
from ..rights.usage import Usage
from ..sections.section import Section, usable_id
from ..urls.canonical import canonicalize
from . import charsets, html_metadata, robots_meta
from .html_links import MAX_ANCHOR, MAX_LINKS, Link
from .language.detect import choose_language
from .main_text import MAX_HEADING, MAX_HEADINGS, MAX_TEXT
from .page_rules import NO_RULES, PageRules
from .spam import Traits
from .text_layout import collapse

MAX_BYTES = 10_485_760
"""Maximum number of bytes read of a body."""

MAX_MARKUP = 5_242_880
"""Maximum number of bytes read of HTML or XML: a tree takes many times the memory of its text."""

PART_END = "\f"
"""Divides the parts of a text that have an id each."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Page:
    """The content of a body. Missing text is ""; all text can be encoded as UTF-8."""

    media_type: str
    charset: str  # a name of the WHATWG Encoding standard, lower-case; "" for binary formats
    language: str  # primary subtag, lower-case
    is_language_stated: bool = False  # `language` is only what the page states; see `with_language`
    title: str = ""
    description: str = ""
    keywords: str = ""
    headings: list[str] = dataclasses.field(default_factory=list)
    text: str  # the main text; blocks on lines of their own
    published_at: datetime | None = None  # UTC
    truncated: str = ""  # the bound that was exceeded: bytes, nodes, text or links
    digest: bytes  # 16 bytes, equal for equal content
    canonical_url: str | None = None  # declared by the page
    noindex: bool  # this and the next four as in `Directives`
    nofollow: bool
    noarchive: bool
    max_snippet: int | None = None  # characters; 0: no snippet; None: any length
    unavailable_after: datetime | None = None  # UTC; from then on the page is not to be found
    nosnippet: list[int] = dataclasses.field(default_factory=list)  # see `main_text.Text`
    sections: list[Section] = dataclasses.field(default_factory=list)  # of the text, in order
    links: list[Link] = dataclasses.field(default_factory=list)
    facts: Mapping[str, str] = dataclasses.field(default_factory=dict)  # specific to its kind
    usage: Usage = dataclasses.field(default_factory=Usage)  # of the page and its headers
    licence: Licence = dataclasses.field(default_factory=Licence)  # the same
    traits: Traits = dataclasses.field(default_factory=Traits)  # input of the spam score


def with_language(page: Page) -> Page:
    """The page with the language of its text, if it has only the stated one.

    Detection reads a model of 77 MB. It takes half the time for many pages one after the other: between the other parts
    of parsing, the processor's cache loses the model.
    """
    if not page.is_language_stated:
        return page
    language = choose_language([page.language], page.text)
    return dataclasses.replace(page, language=language, is_language_stated=False)


class Source(NamedTuple):
    """At most MAX_BYTES of a body fetched from a canonical URL, with what HTTP says about it."""

    body: bytes
    media_type: str  # declared, else detected
    charset: str | None  # declared by HTTP
    url: str
    robot_name: str
    directives: robots_meta.Directives  # of the HTTP headers
    language: str  # by header
    is_truncated: bool = False  # the body is longer than MAX_BYTES
    rules: PageRules = NO_RULES  # those for the URL
    detects_language: bool = True  # else an HTML page has the language that it states; see `with_language`

    def decode(self, is_markup: bool = False) -> tuple[str, str]:
        """The text and its charset. With `is_markup`, the text may declare its charset, and MAX_MARKUP applies."""
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
        is_cut: bool = False,
        part_ids: Sequence[str] = (),
    ) -> Page:
        """A page with this content, and with the robots directives of the headers.

        `links` are (reference, anchor text); references may be relative, and unusable ones are dropped. Each line of
        the text is a block. Text is cleaned of what UTF-8 cannot encode, and cut to its bounds. `is_cut` says that
        the parser has left text out. With `part_ids`, each is what the URL of one of the parts has as fragment into
        which PART_END divides the text.
        """
        parts = [_lines(part) for part in (text.split(PART_END) if part_ids else [text])]
        text, sections = "\n".join(filter(None, parts)), list(_sections(parts, part_ids))
        found = self._links(links)
        truncated = self.truncated(False, is_cut or len(text) > MAX_TEXT, found)
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
            digest=content_digest(title, text, self.body, truncated, self.directives.display_rules()),
            links=found,
            sections=sections,
            facts={_fact(name): fact for name, value in (facts or {}).items() if (fact := _fact(value))},
            **self.directives._asdict(),
        )

    def _links(self, found: Iterable[tuple[str, str]]) -> list[Link]:
        anchors: dict[str, str] = {}
        for reference, anchor in found:
            url = canonicalize(_storable(reference).strip(), self.url)
            if url and url != self.url:
                anchors[url] = anchors.get(url) or collapse(_storable(anchor))[:MAX_ANCHOR]
            if len(anchors) == MAX_LINKS:
                break
        return [Link(url, anchor, "", "a") for url, anchor in anchors.items()]


def _lines(text: str) -> str:
    return "\n".join(filter(None, (collapse(line) for line in _storable(text).splitlines())))


def _sections(parts: Sequence[str], ids: Sequence[str]) -> Iterator[Section]:
    """The sections of a text that consists of the parts that are not empty."""
    offset = 0
    for part, id_ in zip(parts, ids, strict=False):
        if part and offset < MAX_TEXT:
            yield Section(offset, 0, 1, usable_id(id_))
            offset += len(part) + 1


def _fact(text: str) -> str:
    return collapse(_storable(text))[: html_metadata.MAX_FACT]


def _storable(text: str) -> str:
    """The text without lone surrogates, which UTF-8 cannot encode, and NUL, which ends strings of other programs."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")
