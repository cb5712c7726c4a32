"""Extracts the metadata of a page: meta tags, title, description, keywords, publication date, canonical URL."""

import itertools
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from turbohtml import Element

from ..rights import licences
from ..rights.licences import Licence
from ..urls.canonical import canonicalize
from .dates import json_ld_dates, json_ld_nodes, parse_date
from .html_tree import Elements, is_html
from .text_layout import collapse

MAX_FACT = 2_000
"""Maximum number of characters kept of a title, a description or keywords."""

_MAX_TAGS = 1_000  # meta tags read per page
_MAX_TITLES = 10  # title elements read per page, to skip those of SVG images

_TITLES = ("og:title", "twitter:title", "dc.title", "dcterms.title")
_DESCRIPTIONS = ("description", "og:description", "twitter:description", "dc.description", "dcterms.description")
_KEYWORDS = ("keywords", "news_keywords", "dc.subject", "dcterms.subject")
_TAG = "article:tag"  # holds one keyword; repeated

_DATE_NAMES = (
    "article:published_time og:published_time datepublished citation_publication_date citation_date dc.date.issued"
    " dcterms.issued dc.date.created dcterms.created dc.date dc:date dcterms.date parsely-pub-date publish-date"
    " publishdate pubdate og:article:published_time shareaholic:article_published_time rnews:datepublished"
    " publication_date published_date date_published sailthru.date date"
)
"""Names of meta tags with a publication date, the most reliable first."""

_JSON_LD = "application/ld+json"
# Of HTML and WordPress, microdata, and microformats: hAtom, of all blogs of a large host, has the date in `title`.
_PUBLISHED = (
    "time:is([pubdate], .dt-published, .published, .entry-date), [itemprop=datepublished i], abbr.published"
    ", [property='schema:dateCreated']"
)
_DATED = f"time, {_PUBLISHED}"
_MAX_TIMES = 1_000  # time elements read per page
_RIGHTS = ("dc.rights", "dcterms.rights")
_MAX_NODES = 2_000  # of JSON-LD read per page for licences
# An article in an article is a comment on it (HTML, 4.3.2).
_COMMENTS = (
    "article article, #comments, .comments, .comment, .comment-list, .commentlist, .comment-body"
    ", [itemtype$='/Comment']"
)


class Meta(NamedTuple):
    """The meta tags of a page."""

    tags: tuple[tuple[str, str], ...]  # lower-case name, property or itemprop, and content
    language: str  # http-equiv content-language

    def first(self, *names: str) -> str:
        """The first non-empty content, in the order of the names; "" if there is none."""
        return next(iter(self.contents(names)), "")

    def contents(self, names: Iterable[str]) -> list[str]:
        """The first non-empty content of each name that has one, in the order of the names."""
        first = {name: content for name, content in reversed(self.tags) if content}
        return [first[name] for name in names if name in first]


def meta(elements: Elements) -> Meta:
    """The meta tags of a parsed page."""
    tags: list[tuple[str, str]] = []
    language = ""
    for element in elements.describing["meta"][:_MAX_TAGS]:
        get = element.attr
        if content := get("content"):
            if name := get("name") or get("property") or get("itemprop"):
                tags.append((name.strip().lower(), collapse(content)[:MAX_FACT]))
            elif (get("http-equiv") or "").strip().lower() == "content-language":
                language = language or content
    return Meta(tuple(tags), language)


def title(elements: Elements, tags: Meta) -> str:
    """The text of the page's title element, else its title for social media; "" if there is neither.

    Title elements within SVG images are ignored.
    """
    for element in elements.describing["title"][:_MAX_TITLES]:
        if is_html(element) and (text := collapse(element.text)[:MAX_FACT]):
            return text
    return tags.first(*_TITLES)


def description(tags: Meta) -> str:
    """The description in the meta tags; "" if there is none."""
    return tags.first(*_DESCRIPTIONS)


def keywords(tags: Meta) -> str:
    """The keywords in the meta tags as written, mostly separated by commas; "" if there are none."""
    return tags.first(*_KEYWORDS) or ", ".join(content for name, content in tags.tags if name == _TAG)[:MAX_FACT]


def published_at(root: Element, elements: Elements, tags: Meta) -> datetime | None:
    """The publication date that the page states, in UTC; None if there is no valid one.

    Taken from meta tags, else JSON-LD, else an element marked as publication date, else the only `time` element; those
    of comments are none of the page.
    """
    return next((moment for text in _stated_dates(root, elements, tags) if (moment := parse_date(text))), None)


def _stated_dates(root: Element, elements: Elements, tags: Meta) -> Iterator[str]:
    yield from tags.contents(_DATE_NAMES.split())
    yield from json_ld_dates(_json_ld(elements))
    times = set()
    dated = itertools.islice(root.select(_DATED), _MAX_TIMES)
    for element in (element for element in dated if element.closest(_COMMENTS) is None):
        get = element.attr
        when = get("datetime") or get("content") or get("title") or element.text
        if element.tag == "time":
            times.add(when)
        if element.closest(_PUBLISHED) is element:
            yield when
    if len(times) == 1:
        yield from times


def _json_ld(elements: Elements) -> Iterator[str]:
    """The texts of the page's JSON-LD."""
    for script in elements.describing["script"]:
        if (script.attr("type") or "").partition(";")[0].strip().lower() == _JSON_LD:
            yield script.text


def licence(root: Element, elements: Elements, tags: Meta, url: str, base: str) -> Licence:
    """The licences that a page states."""
    rights = (licences.of_rights(content, base) for name, content in tags.tags if name in _RIGHTS)
    stated = ((value, "meta") for value in rights if value)
    scripts = (script for script in _json_ld(elements) if "license" in script)
    nodes = itertools.chain.from_iterable(json_ld_nodes(script) or () for script in scripts)
    in_data = licences.of_nodes((node for _, node in itertools.islice(nodes, _MAX_NODES)), base)
    own = (element for element in root.select(licences.STATING) if element.closest(_COMMENTS) is None)
    return licences.combined(itertools.chain(licences.of_elements(own, url, base), stated, in_data))


def canonical_url(elements: Elements, base: str, charset: str = "utf-8") -> str | None:
    """The canonical form of the usable `<link rel=canonical>`; None if there is none, or if several differ."""
    found = (link for link in elements.describing["link"] if "canonical" in (link.attr("rel") or "").lower().split())
    named = {canonicalize(link.attr("href") or "", base, charset) for link in found} - {None}
    return named.pop() if len(named) == 1 else None
