"""Extracts the links of a parsed page."""

import functools
import itertools
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple
from urllib.parse import unquote

from turbohtml import Element

from ..sections.section import usable_id
from ..urls.canonical import canonicalize, resolve, site
from ..urls.relations import NOT_ENDORSING, UNENDORSED
from .html_tree import URL_ATTRIBUTES, Elements, is_html
from .text_layout import BLOCK_TAGS, LAYOUT, beginning, collapse

MAX_LINKS = 20_000
"""Maximum number of links kept per page; the largest index pages have 8,000."""

MAX_FRAGMENTS = 20_000
"""Maximum number of links to sections kept per page; the contents of Python's documentation have 13,456."""

MAX_ANCHOR = 200
"""Maximum number of characters kept of an anchor text, and of a rel."""

LATEST = 100
"""Seconds until a refresh redirects, at most: later ones end sessions, or show newer news (METAREFRESH_MAXDELAY)."""


class Fragment(NamedTuple):
    """A section of a page that a link leads to."""

    id: str  # the fragment, percent-decoded; at most `section.MAX_ID` characters
    anchor: str  # the text of the first link to it


class Link(NamedTuple):
    """A link of a page; one per target and kind."""

    url: str  # canonical
    anchor: str  # its text, or the alternative text of an image; at most MAX_ANCHOR characters
    rel: str  # as written in the page, but for commas, which search engines accept between words: spaces
    kind: str  # a area frame iframe link alternate img form srcset object embed redirect canonical
    fragments: tuple[Fragment, ...] = ()  # of `a` that endorse, whatever `rel` is: distinct ids, in order


FOLLOWED_KINDS = frozenset({"a", "area", "frame", "iframe", "link", "redirect", "canonical"})
"""Kinds whose targets are pages; `link` for some relations only. `alternate` is a feed or another format."""

_PAGE_RELATIONS = frozenset({"alternate", "next", "prev"})

_MAX_REFERENCES = 200_000  # read per page; the largest pages have 40,000
_MAX_ANCHORS = 10_000_000  # characters of the texts of links read per page; more than a page has, unless nested
_MAX_PIECES = 64  # of text, and elements, read per anchor
_MAX_READ = 8 * MAX_ANCHOR  # characters, before spaces are collapsed
_MAX_CANDIDATES = 100  # read per srcset; real ones have ten
_MAX_REFERENCE = 16_384  # characters; a longer reference is a data: URL
_REMEMBERED = 1_024  # characters; longer references are not cached, which bounds the memory of the cache
_remembered = functools.lru_cache(maxsize=2**14)(canonicalize)

_BLANK = "".join(map(chr, range(33)))  # stripped by the URL standard
_WS = r"\t\n\x0c\r "
_REFRESH = re.compile(
    rf"[{_WS}]*(?=[0-9.])(?P<seconds>[0-9]*)[0-9.]*(?:$|(?=[;,{_WS}])[{_WS}]*[;,]?[{_WS}]*(?P<url>.*))", re.DOTALL
)
_REFRESH_URL = re.compile(rf"(?:url[{_WS}]*=[{_WS}]*)?(?:\"([^\"]*)|'([^']*)|(.*))", re.DOTALL | re.IGNORECASE)
_SRCSET_URL = re.compile(rf"[{_WS},]*([^{_WS}]+)")
_SRCSET_DESCRIPTORS = re.compile(r"(?:\([^)]*\)?|[^(,])*")


def followed(link: Link, nofollow: bool, kinds: frozenset[str] = FOLLOWED_KINDS) -> bool:
    """Whether a link of one of the kinds becomes a candidate of the crawl; `nofollow` is the page's own directive."""
    if nofollow or link.kind not in kinds:
        return False
    if not link.rel:
        return link.kind != "link"
    relations = set(link.rel.lower().split())
    if relations & UNENDORSED or (link.kind == "canonical" and lacks_scheme(link.url)):
        return False
    return link.kind != "link" or (bool(relations & _PAGE_RELATIONS) and "stylesheet" not in relations)


def why_not_followed(link: Link, nofollow: bool, kinds: frozenset[str] = FOLLOWED_KINDS) -> str:
    """Why a link is not followed, in words; empty if it is `followed`."""
    if followed(link, nofollow, kinds):
        return ""
    if nofollow:
        return "its page asks that its links are not followed"
    if link.kind not in kinds:
        return f"links of kind {link.kind} are not followed"
    if unendorsed := sorted(set(link.rel.lower().split()) & UNENDORSED):
        return f"rel={' '.join(unendorsed)}"
    if link.kind == "canonical":
        return "it has no http:// before the name of its host, so it is a path"
    return f"link rel={' '.join(link.rel.split()) or chr(34) * 2} leads to no page"


def lacks_scheme(url: str) -> bool:
    """Whether a canonical link was written without `http://`: it has the name of its site in its path."""
    _, _, name, *path = url.lower().split("/")
    return site(name) in map(site, path)


def base_url(elements: Elements, url: str) -> str:
    """The URL that relative references resolve against: the first `<base href>` if usable, else the page's URL.

    A `<base>` within `<noscript>` is ignored, as browsers with scripts do.
    """
    for element in elements.describing["base"]:
        if (href := element.attr("href")) is not None and is_html(element) and element.closest("noscript") is None:
            base = resolve(href, url)
            return url if base is None or base.startswith(("data:", "javascript:")) else base
    return url


def refresh(content: str) -> tuple[int, str] | None:
    """(seconds, URL as given) of a meta refresh, as the HTML standard's "shared declarative refresh steps".

    An empty URL means the page itself. None if the content is no refresh.

    >>> refresh("5; URL='next.html'")
    (5, 'next.html')
    """
    match = _REFRESH.match(content)
    if match is None:
        return None
    seconds = int(match["seconds"][:9] or "0")  # nine digits are thirty years; converting more may take long
    target = _REFRESH_URL.match(match["url"] or "")
    return seconds, "".join(target.groups("")) if target else ""


def srcset(value: str) -> Iterator[str]:
    """The URLs of a srcset attribute, as written."""
    position = 0
    while start := _SRCSET_URL.match(value, position):
        url, position = start[1], start.end()
        if url.endswith(","):
            url = url.rstrip(",")
        elif descriptors := _SRCSET_DESCRIPTORS.match(value, position):
            position = descriptors.end()
        if url:
            yield url


def links(elements: Elements, url: str, base: str, charset: str = "utf-8") -> list[Link]:
    """The http and https links of a page at a canonical URL, in document order, without those to itself.

    `base` is the page's `base_url`, `charset` the one of its bytes, in which queries are sent. At most
    MAX_LINKS, with at most MAX_FRAGMENTS fragments.
    """
    directory = _directory(base)
    targets: dict[str, str | None] = {"": None} if base == url else {}  # by reference, without fragment
    found: dict[tuple[str, str], Link] = {}
    fragments: dict[tuple[str, str], str] = {}  # the anchor of each reference to a section, by target and id as written
    anchor_of, settled = _Anchors().anchor, set[str]()  # references of which another link adds nothing
    for element, kind, as_given in itertools.islice(_references(elements), _MAX_REFERENCES):
        if as_given in settled and kind == "a":
            continue
        reference, has_fragment, fragment = as_given.partition("#")
        if reference and (reference[0] <= " " or reference[-1] <= " "):
            reference = _without_blanks(as_given)
        target = targets.get(reference, "")
        if target == "":
            target = targets[reference] = _target(reference, url, base, directory, charset)
        if target is None:
            continue
        rel = element.attr("rel")
        rel = rel.replace(",", " ").strip()[:MAX_ANCHOR] if rel else ""
        key = target, kind
        earlier = found.get(key)
        anchor = None  # read once, if at all
        is_first = has_fragment and kind == "a" and not fragments.get((target, fragment))
        if is_first and len(fragments) < MAX_FRAGMENTS and NOT_ENDORSING.isdisjoint(rel.lower().split()):
            anchor = fragments[target, fragment] = anchor_of(element, kind)
        if earlier is None:
            found[key] = link = Link(target, anchor_of(element, kind) if anchor is None else anchor, rel, kind)
            if kind == "a" and not rel and (anchor if has_fragment else link.anchor):
                settled.add(as_given)
            if len(found) == MAX_LINKS:
                break
        elif not earlier.anchor or earlier.rel != rel:
            later = earlier._replace(rel=rel)  # the link stays as it was, unless only this one is followed
            link = later if followed(later, False) and not followed(earlier, False) else earlier
            found[key] = link._replace(anchor=earlier.anchor or anchor_of(element, kind))
    return _with_fragments(found, fragments) if fragments else list(found.values())


def _with_fragments(found: dict[tuple[str, str], Link], fragments: dict[tuple[str, str], str]) -> list[Link]:
    of_target: dict[str, dict[str, str]] = {}
    for (target, fragment), anchor in fragments.items():
        id_ = fragment
        if "%" in id_:
            id_ = unquote(id_) if len(id_) <= _REMEMBERED else ""
        if id_ := usable_id(id_.rstrip(_BLANK)):
            ids = of_target.setdefault(target, {})
            ids[id_] = ids.get(id_) or anchor
    for target, ids in of_target.items():
        if link := found.get((target, "a")):  # none if the page has too many links
            found[target, "a"] = link._replace(fragments=tuple(map(Fragment, ids, ids.values())))
    return list(found.values())


def _target(reference: str, url: str, base: str, directory: str, charset: str) -> str | None:
    """The canonical URL of a reference; None if it is unusable or the page itself."""
    if len(reference) > _MAX_REFERENCE:
        return None
    # A relative path depends only on the directory of the base, and one from the root only on its host: all pages of a
    # directory, or of a host, share cache entries.
    nearest = base if not reference or reference[0] == "?" else directory
    if reference[:1] == "/" and directory.startswith(("http://", "https://")):
        nearest = directory[: directory.find("/", 8) + 1]
    canonical = _remembered if len(reference) <= _REMEMBERED else canonicalize
    target = canonical(reference, nearest, charset)
    return None if target == url else target


def _references(elements: Elements) -> Iterator[tuple[Element, str, str]]:
    """Each (element, kind, reference as written) in document order.

    The first refresh redirects, as in browsers; further ones are links: without a click, a page leads to one other. So
    are those within `<noscript>`, as without scripts, and late ones.
    """
    has_refresh = False
    for tag, element in elements.all:
        get = element.attr
        if tag == "a":  # nearly all of them
            if reference := get("href") or (None if is_html(element) else get("xlink:href")):  # SVG 2, 16.1.3
                yield element, tag, reference
            continue
        if (attribute := URL_ATTRIBUTES.get(tag)) and (reference := get(attribute)):
            if tag == "link":
                relations = (get("rel") or "").lower().split()
                yield element, link_kind(relations, get("type") or ""), reference
            elif tag != "form" or (get("method") or "get").strip().lower() == "get":
                yield element, tag, reference
        if tag in ("img", "source") and (value := get("srcset")):
            for reference in itertools.islice(srcset(value), _MAX_CANDIDATES):
                yield element, "srcset", reference
        elif tag == "meta" and (get("http-equiv") or "").lower() == "refresh":
            found = refresh(get("content") or "")
            if found and found[1]:
                redirects = not has_refresh and found[0] <= LATEST and element.closest("noscript") is None
                yield element, "redirect" if redirects else "a", found[1]
                has_refresh |= redirects


def link_kind(relations: Collection[str], media_type: str) -> str:
    """The kind of a `link` element, or of a link in a header, with these relations in lower case."""
    if "canonical" in relations:
        return "canonical"
    is_page = not media_type.strip() or "html" in media_type.lower()
    return "link" if is_page or "alternate" not in relations else "alternate"


def _without_blanks(reference: str) -> str:
    """A reference without fragment and the blanks around it."""
    reference = reference.strip(_BLANK)
    path = reference.partition("#")[0]
    # A blank before the fragment is part of the URL. This is rare, so such a reference is left unchanged.
    return path if not path or path[-1] > " " else reference


def _directory(base: str) -> str:
    path = base.partition("#")[0].partition("?")[0]
    return path[: path.rfind("/") + 1] if path.startswith(("http://", "https://")) else base


class _Anchors:
    """Reads the texts of links. A page that nests links may have all of them extend to its end: then they are cut."""

    def __init__(self) -> None:
        self._left = _MAX_ANCHORS

    def anchor(self, element: Element, kind: str) -> str:
        if kind != "a":
            return _label(element)
        if self._left <= 0:
            text = beginning(itertools.islice(element.strings, _MAX_PIECES), _MAX_READ)
        else:  # most links are of text alone, and to look for fifty names takes a microsecond
            block = next(element.iter_elements(), None) and next(element.iter_elements(BLOCK_TAGS), None)
            text = element.text if block is None else element.to_text(LAYOUT)
        self._left -= len(text)
        if text := collapse(text[:_MAX_READ])[:MAX_ANCHOR]:
            return text
        inside = itertools.islice(element.iter_elements(), _MAX_PIECES)
        return next((label for node in inside if node.tag == "img" and (label := _label(node))), _label(element))


def _label(element: Element) -> str:
    """The alternative text, label or title of an image or a link (Accname 1.2, 4.3.2)."""
    return collapse(element.attr("alt") or element.attr("aria-label") or element.attr("title") or "")[:MAX_ANCHOR]
