"""Prepares hits for display on a page of results."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from .facets import Facets
from .hits import Hit

KINDS = {
    "application/pdf": "PDF",
    "application/epub+zip": "EPUB",
    "application/vnd.oasis.opendocument.presentation": "ODP",
    "application/vnd.oasis.opendocument.spreadsheet": "ODS",
    "application/vnd.oasis.opendocument.text": "ODT",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "PPTX",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "XLSX",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "DOCX",
    "text/markdown": "Markdown",
    "application/rss+xml": "Feed",
    "application/atom+xml": "Feed",
    "text/plain": "Text",
}
"""Display names of media types; HTML is not named."""

MAX_TITLE = 150
"""The most characters of a title that are displayed."""

_HTML = ("text/html", "application/xhtml+xml")
_BEYOND_ASCII = re.compile("(?:%[89A-F][0-9A-F])+", re.IGNORECASE)


class Shown(NamedTuple):
    """A hit as it is displayed. All texts are as crawled: escape them."""

    hit: Hit
    title: str
    host: str
    path: str
    link: str | None  # to the section of the snippet; None for a URL that is not safe to follow
    sections: tuple[str, ...]  # the headings above the snippet, without one that is the title
    notes: tuple[str, ...]  # kind, language and date
    more: str | None  # a query for the other hits of its host


def shown(hits: Sequence[Hit], titles: Sequence[str], query: str, per_host: int) -> Iterator[Shown]:
    """The hits of a page that is grouped with `per_host`, with the titles by which they are displayed."""
    languages, hosts = {hit.language for hit in hits}, [hit.host for hit in hits]
    has_several_dates = len({_date(hit) for hit in hits}) > 1
    for number, (hit, title) in enumerate(zip(hits, titles, strict=True)):
        place = readable(hit.url)
        host, slash, path = place.partition("/")
        is_last = hosts[: number + 1].count(hit.host) == hosts.count(hit.host) >= per_host
        yield Shown(
            hit,
            bounded(title) or bounded(place),
            host,
            slash + path,
            (hit.section_url or hit.url) if is_web_url(hit.url) else None,
            below_title(hit),
            tuple(_notes(hit, len(languages) > 1, has_several_dates)),
            f"{query} site:{hit.host}" if is_last and len(set(hosts)) > 1 else None,
        )


def below_title(hit: Hit) -> tuple[str, ...]:
    """The headings above the snippet of a hit, each `bounded`, without the first if the title begins with it."""
    repeats = bool(hit.path) and hit.title.casefold().startswith(hit.path[0].casefold())
    return tuple(map(bounded, hit.path[repeats:]))


class Narrower(NamedTuple):
    """A value of a facet as it is displayed."""

    label: str
    documents: int
    query: str


def narrowing(facets: Facets, query: str, longest: int) -> dict[str, list[Narrower]]:
    """The queries, of at most `longest` characters, that narrow a query by a facet with several values."""
    found: dict[str, list[Narrower]] = {}
    for name, values in facets.items():
        some = [Narrower(_label(name, v.value), v.documents, f"{query} {v.filter}") for v in values]
        some = [narrower for narrower in some if len(narrower.query) <= longest]
        if len(values) > 1 and some:
            found[_FACETS[name]] = some
    return found


_FACETS = {"crawl": "Crawl", "site": "Site", "lang": "Language", "type": "Type", "year": "Year published, else fetched"}


def _label(facet: str, value: str) -> str:
    if facet != "type":
        return value
    return "HTML" if value in _HTML else KINDS.get(value, value)


def bounded(title: str) -> str:
    """A title in one line of at most MAX_TITLE characters, cut after a word if one ends in its last third.

    >>> bounded(" Of   fish "), bounded("fish " * 100)[-11:], len(bounded("x" * 1_000))
    ('Of fish', 'fish fish …', 150)
    """
    title = " ".join(title.split())
    if len(title) <= MAX_TITLE:
        return title
    start = title[: MAX_TITLE - 1]
    space = start.rfind(" ")
    return start[:space] + " …" if space > MAX_TITLE * 2 // 3 else start + "…"


def is_web_url(url: str) -> bool:
    """Whether a URL may become a link: only http and https may.

    >>> is_web_url("https://example.org/"), is_web_url("javascript:alert(1)"), is_web_url("//[")
    (True, False, False)
    """
    try:
        return urlsplit(url).scheme in ("http", "https")
    except ValueError:
        return False


def is_language(code: str | None) -> bool:
    """Whether a code is a language tag of two or three letters, safe for the attribute `lang`.

    >>> is_language("ko"), is_language('"><b'), is_language(None)
    (True, False, False)
    """
    return re.fullmatch("[a-z]{2,3}", code or "") is not None


def readable(url: str) -> str:
    """A URL for display: without scheme, with letters beyond ASCII in place of their escapes.

    Unprintable characters, such as marks that change the direction of text, stay escaped.

    >>> readable("https://ko.example.org/wiki/%EA%B2%80%EC%83%89?a=%20%E2%80%AE"), readable("http://example.org/")
    ('ko.example.org/wiki/검색?a=%20%E2%80%AE', 'example.org')
    """
    return _BEYOND_ASCII.sub(_letters, url.partition("://")[2]).removesuffix("/")


def _letters(escapes: re.Match[str]) -> str:
    try:
        text = unquote(escapes[0], errors="strict")
    except UnicodeDecodeError:
        return escapes[0]
    return text if text.isprintable() else escapes[0]


def _date(hit: Hit) -> str:
    """The date of publication, or else of the fetch; empty if neither is known."""
    if hit.published_at:
        return f"published {hit.published_at:%Y-%m-%d}"
    return f"fetched {hit.fetched_at:%Y-%m-%d}" if hit.fetched_at else ""


def _notes(hit: Hit, has_several_languages: bool, has_several_dates: bool) -> Iterator[str]:
    if hit.crawl:
        yield hit.crawl
    if hit.media_type and hit.media_type not in _HTML:
        yield KINDS.get(hit.media_type, hit.media_type)
    if has_several_languages and hit.language:
        yield hit.language
    if (has_several_dates or hit.published_at) and (date := _date(hit)):
        yield date
