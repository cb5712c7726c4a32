"""Reads of a stored page what the tables do not have: places of links, fragments, ids, and what the page lacks.

A pure function of the bytes. The page is parsed a second time, because few crawls are checked, and no other reader pays
for it then; so old crawls can be checked, too.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from turbohtml import Element

from ...transforms.http import media_types
from ...transforms.parsing import charsets, html_links, html_metadata, html_tree, rel_canonical, robots_meta
from ...transforms.parsing.source import MAX_MARKUP
from ...transforms.parsing.text_layout import HEADINGS, beginning, collapse
from ...transforms.sections.element_ids import Ids, settled_ids
from ...transforms.urls.canonical import canonicalize

MAX_REFERENCES = html_links.MAX_LINKS
"""Maximum number of references kept per page, each target, fragment and kind once."""

MAX_LABEL = 200
"""Maximum number of characters kept of an anchor text and of a heading."""

SUBRESOURCES = frozenset(
    {
        *("img", "srcset", "script", "stylesheet", "iframe", "frame", "video", "audio", "source", "track", "embed"),
        *("object", "input", "poster"),
    }
)
"""Kinds of references that a browser loads with the page."""

_ATTRIBUTES = {
    **{tag: name for tag, name in html_tree.URL_ATTRIBUTES.items() if tag != "form"},
    **dict.fromkeys(("script", "video", "audio", "source", "track", "input"), "src"),
}
_WALKED = tuple(sorted({*HEADINGS, *_ATTRIBUTES}))
_RELATIONS = ("canonical", "stylesheet", "alternate", "icon")  # of which a link has the first as its kind
_NO_REFERENCES = frozenset({"preconnect", "dns-prefetch"})  # relations to hosts, not to resources
_SCRIPT_TYPE = re.compile(r"|module|(?:text|application)/(?:x-)?(?:java|ecma)script", re.IGNORECASE)
_PERMALINKS = " ¶§🔗\u200b"  # appended to headings by generators of documentation
_MAX_PIECES = 64  # of text, and elements, read per label
_MAX_READ = 8 * MAX_LABEL  # characters, before spaces are collapsed
_MAX_CANDIDATES = 100  # read per srcset
_MAX_REFERENCE = 16_384  # characters; a longer reference is a data: URL
_DECORATION = frozenset({"none", "presentation"})
_ALT = ("alt", "aria-label", "aria-labelledby")
_MAX_MALFORMED = 100
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*(?=:)", re.ASCII | re.IGNORECASE)
_WEB = ("http", "https")
_BY_SCRIPTS = ("/", "!")  # a fragment that begins so is the route of an application, and no id
_TEXT_DIRECTIVE = ":~:"  # https://wicg.github.io/scroll-to-text-fragment/


class Reference(NamedTuple):
    """What a page refers to, and where it does so first."""

    url: str  # canonical
    fragment: str  # as written; "" if it asks for no element by its id
    fragment_id: str  # the same, decoded
    kind: str  # the tag, or what a link or an attribute is for: stylesheet, icon, alternate, canonical, srcset, poster
    anchor: str  # text of the link, or alternative text
    section: str  # the nearest heading before it; "" if there is none
    section_id: str  # what leads to that heading; "" if nothing does


class PageFacts(NamedTuple):
    """What an HTML page shows to those who check it."""

    title: str  # of the title element
    has_description: bool
    h1_count: int
    without_alt: Sequence[str]  # URLs of images without alternative text, each once; "" without a usable URL
    references: Sequence[Reference]  # in document order
    malformed: Sequence[str]  # references that are no URL, as written, each once
    ids: frozenset[str]  # what a fragment can lead to
    canonical_url: str | None  # that it, or its header, declares
    languages: Sequence[str]  # canonical URLs of its versions in other languages (hreflang)
    noindex: bool
    is_whole: bool  # False if a limit cut it


def is_html(body: bytes, content_type: str | None) -> bool:
    """Whether a body is read as HTML."""
    return media_types.media_type(content_type, body) in media_types.HTML


def page_facts(
    body: bytes, url: str, content_type: str | None, headers: Sequence[tuple[str, str]], robot_name: str
) -> PageFacts:
    """The facts of an HTML page at a canonical URL; never raises for any bytes."""
    media_type, declared = media_types.parse(content_type)
    text, charset = charsets.decode(body[:MAX_MARKUP], declared, True)
    root, truncated = html_tree.parse(text, media_type)
    elements = html_tree.elements(root)
    base = html_links.base_url(elements, url)
    meta = html_metadata.meta(elements)
    directives = robots_meta.from_headers(headers, robot_name) | robots_meta.from_meta(meta.tags, robot_name)
    canonical_url, _ = rel_canonical.declared(url, html_metadata.canonical_url(elements, base, charset), headers)
    ids = Ids(root)
    names = {name for element in root.iter_elements("a") if (name := element.attr("name"))}
    settled = settled_ids(root.iter_elements(HEADINGS), ids)
    malformed = list[str]()
    all_references = _references(root, url, base, settled, charset, malformed)
    references = list(itertools.islice(all_references, MAX_REFERENCES))
    return PageFacts(
        title=html_metadata.title(elements, html_metadata.Meta((), "")),
        has_description=bool(meta.first("description")),
        h1_count=sum(1 for _ in _shown(root, "h1")),
        without_alt=list(dict.fromkeys(_without_alt(root, base))),
        references=references,
        malformed=malformed[:_MAX_MALFORMED],
        ids=frozenset(ids.all | names),
        canonical_url=canonical_url,
        languages=list(dict.fromkeys(_languages(elements, base))),
        noindex=directives.noindex,
        is_whole=not truncated and len(body) <= MAX_MARKUP and len(references) < MAX_REFERENCES,
    )


def _references(
    root: Element, url: str, base: str, ids: Mapping[Element, str], charset: str, malformed: list[str]
) -> Iterator[Reference]:
    """The http and https references of a page, each (target, fragment, kind) once; of those to itself, fragments.

    What has no scheme or one of these, and is no URL, is appended to `malformed`.
    """
    section = section_id = ""
    seen = set[tuple[str, str]]()
    targets = dict[str, str | None]()  # many references differ in their fragments only
    yielded = set[tuple[str, str, str]]()
    for element in root.iter_elements(_WALKED):
        if element.tag in HEADINGS:
            section, section_id = _text(element).rstrip(_PERMALINKS), ids.get(element, "")
            continue
        for kind, reference in _of_element(element):
            if (reference, kind) in seen or len(reference) > _MAX_REFERENCE:
                continue
            seen.add((reference, kind))
            path = reference.partition("#")[0]
            if path not in targets:
                targets[path] = canonicalize(path, base, charset)
                if targets[path] is None and (_SCHEME.match(path) or ["http"])[0].lower() in _WEB:
                    malformed.append(path)
            target = targets[path]
            fragment = _fragment(reference) if kind in ("a", "area") else ""
            key = (target or "", fragment, kind)
            if target is None or key in yielded or (target == url and not fragment and kind != "canonical"):
                continue
            yielded.add(key)
            yield Reference(target, fragment, unquote(fragment), kind, _anchor(element), section, section_id)


def _of_element(element: Element) -> Iterator[tuple[str, str]]:
    """(kind, reference as written) of an element."""
    get, tag = element.attr, element.tag
    if reference := (get(_ATTRIBUTES[tag]) or "").strip():
        if tag == "link":
            relations = (get("rel") or "").lower().split()
            if not _NO_REFERENCES.intersection(relations):
                yield next((name for name in _RELATIONS if name in relations), "link"), reference
        elif tag != "script" or _SCRIPT_TYPE.fullmatch((get("type") or "").strip()):
            yield tag, reference
    if tag in ("img", "source") and (value := get("srcset")):
        yield from (("srcset", one) for one in itertools.islice(html_links.srcset(value), _MAX_CANDIDATES))
    elif tag == "video" and (poster := (get("poster") or "").strip()):
        yield "poster", poster


def _fragment(reference: str) -> str:
    """The fragment by which a reference asks for an id; "" for the top, and for what is sought or done by scripts.

    >>> [_fragment(reference) for reference in ("a#b%20c", "#", "#TOP", "#/route", "a#:~:text=b", "#x:~:text=b")]
    ['b%20c', '', '', '', '', 'x']
    """
    fragment = reference.partition("#")[2].partition(_TEXT_DIRECTIVE)[0]
    if fragment.lower() == "top" or fragment.startswith(_BY_SCRIPTS):
        return ""
    return fragment


def _without_alt(root: Element, base: str) -> Iterator[str]:
    """Images that have no alternative text, and are not marked as decoration (HTML, 4.8.4.4)."""
    for image in _shown(root, "img"):
        get = image.attr
        if any(get(name) is not None for name in _ALT) or (get("role") or "").strip().lower() in _DECORATION:
            continue
        if (get("aria-hidden") or "").lower() != "true":
            reference = get("src") or ""
            yield (canonicalize(reference, base) or "") if len(reference) <= _MAX_REFERENCE else ""


def _languages(elements: html_tree.Elements, base: str) -> Iterator[str]:
    for element in elements.describing["link"]:
        is_version = "alternate" in (element.attr("rel") or "").lower().split() and element.attr("hreflang")
        if is_version and (target := canonicalize(element.attr("href") or "", base)):
            yield target


def _shown(root: Element, tag: str) -> Iterator[Element]:
    """The elements of a tag that are not within a `noscript`, which browsers with scripts do not show."""
    return (element for element in root.iter_elements(tag) if element.closest("noscript") is None)


def _anchor(element: Element) -> str:
    text = _text(element) if element.tag == "a" else ""
    if not text:
        inside = itertools.islice(element.iter_elements(include_self=True), _MAX_PIECES)
        labels = (one.attr("alt") or one.attr("title") for one in inside)
        text = _label(next(filter(None, labels), ""))
    return text


def _text(element: Element) -> str:
    return _label(beginning(itertools.islice(element.strings, _MAX_PIECES), _MAX_READ))


def _label(text: str) -> str:
    return collapse(text[:_MAX_READ])[:MAX_LABEL]
