"""Licences (RSL 1.0, section 4) that pages name or hold, as `Usage.rsl` has them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..http.link_header import parse_link
from ..http.reply import Headers
from ..urls.canonical import canonicalize, host
from . import rsl
from .signals import SignalLine, text_of

_MOST = 3
"""Licence documents that a page may name: each may be a request. Further ones count as unread."""

_MAX_LINES = 3_000


def of_headers(headers: Headers, url: str) -> str:
    """The licence documents in `Link` headers (4.5); those of other media types are no RSL."""
    values = [value for name, value in headers if name.lower() == "link" and rsl.MEDIA_TYPE in value.lower()]
    found = (link for value in values for link in parse_link(value))
    return _named([link.target for link in found if "license" in link.relations and rsl.is_rsl(link.media_type)], url)


def of_page(elements: Mapping[str, Sequence[Any]], base: str, url: str) -> str:
    """The licence documents that `link` elements name (4.6.1), and what those in `script` elements say (4.6.2).

    Those within an element count for the whole page.
    """
    links = (link for link in elements["link"] if rsl.is_rsl(link.attr("type") or ""))
    named = [link.attr("href") or "" for link in links if "license" in (link.attr("rel") or "").lower().split()]
    found = [_named(named, base)]
    for script in elements["script"]:
        if rsl.is_rsl(script.attr("type") or ""):
            terms = rsl.parse(script.text.strip().encode("utf-8", "replace")).terms(host(url))
            found.append(text_of(term._replace(path=b"") for term in terms) or "")
    return "\n".join(filter(None, found))


def of_items(items: Iterable[Any], url: str) -> str:
    """What the items of a feed say of their pages, which must be on its own host (4.7)."""
    terms = [
        term._replace(path=(path if "*" in path or path.endswith("$") else f"{path}$").encode())
        for element in items
        for content in rsl.contents_of(element)
        if content.url and (path := content.path(host(url)))
        for term in content.terms
    ]
    if len(terms) > _MAX_LINES:  # what is left out may prohibit
        terms[_MAX_LINES:] = [SignalLine(b"/", rsl.unread("further licences of the feed are not read"), 0)]
    return text_of(terms) or ""


def _named(references: Iterable[str], base: str) -> str:
    found = dict.fromkeys(canonicalize(reference, base) for reference in references)
    stated = [url or rsl.unread("its URL is invalid") for url in found]
    return "\n".join([*stated[:_MOST], *([rsl.unread("further licences are not read")] if len(stated) > _MOST else [])])
