"""Canonical links: which page a page says it is a copy of, and whether that is believed (SPEC E7, RFC 6596).

Only contents join pages. A page whose canonical link is believed yields to the page that it names, where both have one
content or nearly so; a page with a content of its own stays a document whatever it says.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from .. import urls
from ..duplicates.shingles import shingles
from ..http.link_header import parse_link
from ..http.reply import Headers
from .html_links import Link

CROWD = 5
"""Pages with contents of their own that name one other page: a slip of a template, often to the front page."""

NEARLY = 0.8
"""The share of runs of words that two texts must have in common to count as nearly one (resemblance, Broder 1997)."""

Row = dict[str, Any]


class Ignored(StrEnum):
    """Why a canonical link is not believed."""

    ITSELF = "itself"
    """It is the page's own URL."""
    AMBIGUOUS = "ambiguous"
    """The page and its headers name different ones."""
    OTHER_DOMAIN = "other_domain"
    """It lies under another registered domain."""
    DEAD = "dead"
    """Its visit in this round gave no page: an error, a refusal, a redirect."""
    CHAIN = "chain"
    """The page that it names, names a third one, or this one."""
    CROWD = "crowd"
    """Many different pages of the host name it."""
    DIFFERENT = "different"
    """The page that it names has another content."""


def header_links(url: str, headers: Headers) -> list[Link]:
    """The canonical links in the headers of a page."""
    links = (link for name, value in headers if name.lower() == "link" for link in parse_link(value))
    targets = (
        urls.canonicalize(link.target, url) for link in links if "canonical" in link.relations and not link.anchor
    )
    return [Link(target, "", "canonical", "canonical") for target in dict.fromkeys(targets) if target]


def declared(url: str, in_page: str | None, headers: Headers) -> tuple[str | None, str | None]:
    """(the canonical URL of a page, why it is not believed whatever else is known)."""
    named = list(dict.fromkeys([*([in_page] if in_page else []), *(link.url for link in header_links(url, headers))]))
    if not named:
        return None, None
    if len(set(map(urls.url_key, named))) > 1:
        return named[0], Ignored.AMBIGUOUS
    if urls.url_key(named[0]) == urls.url_key(url):
        return named[0], Ignored.ITSELF
    is_near = urls.domain(urls.host(named[0])) == urls.domain(urls.host(url))
    return named[0], None if is_near else Ignored.OTHER_DOMAIN


def judge(pages: Iterable[Row], dead: Iterable[bytes]) -> tuple[dict[bytes, str], dict[bytes, bytes]]:
    """({url_key: why its canonical link is not believed}, {url_key: the key of the page that it yields to}).

    `pages` are the documents of some hosts in one round, `dead` keys of URLs that gave none. Where nothing is known of
    the page that is named, neither has the key: the link is followed, and contents will tell.
    """
    known = {page["url_key"]: page for page in pages}
    naming = {key: urls.url_key(page["canonical_url"]) for key, page in known.items() if _is_open(page)}
    gone, ignored, joined = set(dead), dict[bytes, str](), dict[bytes, bytes]()
    different: dict[bytes, set[bytes]] = {}
    for key, target in naming.items():
        if target in known and known[target]["digest"] != known[key]["digest"]:
            different.setdefault(target, set()).add(known[key]["digest"])
    for key, target in naming.items():
        page, other = known[key], known.get(target)
        if target in gone:
            ignored[key] = Ignored.DEAD
        elif other is None or other["digest"] == page["digest"]:
            continue
        elif target in naming:
            ignored[key] = Ignored.CHAIN
        elif len(different[target]) >= CROWD:
            ignored[key] = Ignored.CROWD
        elif other["duplicate_of"] is None and page["duplicate_of"] is None and _are_near(page["text"], other["text"]):
            joined[key] = target
        else:
            ignored[key] = Ignored.DIFFERENT
    return ignored, joined


def _is_open(page: Mapping[str, Any]) -> bool:
    return page["canonical_url"] is not None and page["canonical_ignored"] is None


def _are_near(one: str | None, other: str | None) -> bool:
    first, second = shingles(one or ""), shingles(other or "")
    return len(first & second) >= NEARLY * len(first | second) > 0
