"""Canonical links: which page a page declares itself a copy of, and whether to accept that (docs/aliases.md, RFC 6596).

Only equal or nearly equal contents join pages. A page whose canonical link is accepted is joined to the page that the
link names; a page with different content stays a document of its own.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from enum import StrEnum

from ..duplicates.shingles import shingles
from ..http.link_header import parse_link
from ..http.reply import Headers
from ..tables.schemas import DocumentRow
from ..urls.canonical import canonicalize, domain, host, owner, url_key
from .html_links import MAX_ANCHOR, Link, followed, lacks_scheme, link_kind

CROWD = 5
"""Number of pages of a site with different contents that name one page from which on the links are a template error."""

NEARLY = 0.8
"""Minimum resemblance (Broder 1997) of two texts that count as nearly equal: the share of common shingles."""


class Ignored(StrEnum):
    """Why a canonical link is ignored."""

    ITSELF = "itself"
    """It names the page itself."""
    AMBIGUOUS = "ambiguous"
    """The page and its headers name different URLs."""
    NO_SCHEME = "no_scheme"
    """It was meant to be `http://www.a.org/x` and is `www.a.org/x`, a path: `html_links.lacks_scheme`."""
    OTHER_DOMAIN = "other_domain"
    """It names a page of another registered domain."""
    DEAD = "dead"
    """The visit to its target in this round returned no page: an error, a refusal, a redirect."""
    CHAIN = "chain"
    """Its target has a canonical link of its own."""
    CROWD = "crowd"
    """At least CROWD different pages of the site, or of the user, name the same target."""
    DIFFERENT = "different"
    """Its target has different content."""


def header_links(url: str, headers: Headers) -> list[Link]:
    """The links in the HTTP headers of a page that are followed, as those of `link` elements; one may be canonical."""
    found: dict[tuple[str, str], Link] = {}
    for link in (link for name, value in headers if name.lower() == "link" for link in parse_link(value)):
        target, kind = canonicalize(link.target, url), link_kind(link.relations, link.media_type)
        if target and not link.anchor and (target != url or kind == "canonical"):
            found[target, kind] = Link(target, "", " ".join(sorted(link.relations))[:MAX_ANCHOR], kind)
    return [link for link in found.values() if followed(link, nofollow=False)]


def declared(url: str, in_page: str | None, headers: Headers) -> tuple[str | None, str | None]:
    """(the canonical URL of a page, why it is ignored regardless of its target); None for what does not apply."""
    in_headers = [link.url for link in header_links(url, headers) if link.kind == "canonical"]
    named = list(dict.fromkeys([*([in_page] if in_page else []), *in_headers]))
    if not named:
        return None, None
    if len(set(map(url_key, named))) > 1:
        return named[0], Ignored.AMBIGUOUS
    if url_key(named[0]) == url_key(url):
        return named[0], Ignored.ITSELF
    if lacks_scheme(named[0]):
        return named[0], Ignored.NO_SCHEME
    return named[0], None if domain(host(named[0])) == domain(host(url)) else Ignored.OTHER_DOMAIN


def judge(
    pages: Iterable[DocumentRow], dead: Iterable[bytes], texts: Callable[[Collection[bytes]], Mapping[bytes, str]]
) -> tuple[dict[bytes, str], dict[bytes, bytes]]:
    """({url_key: why its canonical link is ignored}, {url_key: the key of the page that it is joined to}).

    `pages` are the documents of some hosts in one round, `dead` the keys of URLs whose visit returned no document. A
    page whose target is not among them is in neither result: the link is followed, and the target is compared later.
    `texts` gives the texts of the few documents that are compared, by key.
    """
    known = {page["url_key"]: page for page in pages}
    naming = {
        key: url_key(page["canonical_url"])
        for key, page in known.items()
        if page["canonical_url"] is not None and page["canonical_ignored"] is None
    }
    gone, ignored, compared = set(dead), dict[bytes, str](), dict[bytes, bytes]()
    owners = {key: owner(host(known[key]["url"]), known[key]["url"]) for key in naming}
    different: dict[tuple[bytes, str], set[bytes]] = {}
    for key, target in naming.items():
        if target in known and known[target]["digest"] != known[key]["digest"]:
            different.setdefault((target, owners[key]), set()).add(known[key]["digest"])
    for key, target in naming.items():
        page, other = known[key], known.get(target)
        if target in gone:
            ignored[key] = Ignored.DEAD
        elif other is None or other["digest"] == page["digest"]:
            continue
        elif target in naming:
            ignored[key] = Ignored.CHAIN
        elif len(different[target, owners[key]]) >= CROWD:
            ignored[key] = Ignored.CROWD
        elif other["duplicate_of"] is None and page["duplicate_of"] is None:
            compared[key] = target
        else:
            ignored[key] = Ignored.DIFFERENT
    text = texts({*compared, *compared.values()})
    joined = {key: target for key, target in compared.items() if _are_near(text[key], text[target])}
    ignored |= {key: Ignored.DIFFERENT for key in compared if key not in joined}
    return ignored, joined


def _are_near(one: str, other: str) -> bool:
    first, second = shingles(one), shingles(other)
    return len(first & second) >= NEARLY * len(first | second) > 0
