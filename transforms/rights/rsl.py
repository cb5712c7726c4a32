"""RSL 1.0 (Really Simple Licensing, rslstandard.org/rsl): what a licence document says about uses of URLs.

The meaning is that of content signals: each `<content>` becomes statements such as `ai-train=no (prohibits, line 4)`,
of which only the part before the brackets has an effect. Section numbers are those of RSL-SPEC-1.0; docs/usage.md has
the table of what counts as reserved.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .signals import AI_INPUT, AI_TRAIN, NO, SEARCH, SIGNALS, SignalLine

NAMESPACE = "https://rslstandard.org/rsl"
MEDIA_TYPE = "application/rsl+xml"

MAX_BYTES = 500 << 10
"""A larger document is an error: what is cut off may prohibit."""

_AI = (AI_INPUT, AI_TRAIN)
_USES: Mapping[str, tuple[str, ...]] = {  # 3.4.1.1; then the words of drafts
    "all": SIGNALS,
    "ai-all": _AI,
    "ai-train": (AI_TRAIN,),
    "ai-input": (AI_INPUT,),
    "ai-index": (AI_INPUT,),
    "search": (SEARCH,),
    **dict.fromkeys(("train-ai", "train-genai", "ai-training"), (AI_TRAIN,)),
    **dict.fromkeys(("ai-use", "ai-summarize", "ai-inference"), (AI_INPUT,)),
}
_HARMLESS = frozenset({"legal", "copyright", "terms", "schema", "alternate"})  # in a license, they restrict no use
_FREE = ("free", "attribution")
_PAYING = ("standard", "custom", "amount", "accepts")
_SEPARATORS = re.compile(r"[\s,]+")  # drafts separate words by commas
_ABSOLUTE = re.compile("https?://([^/?#]*?)(?::80|:443)?(?=[/?#]|$)", re.IGNORECASE)


class Content(NamedTuple):
    """A `<content>` element."""

    url: str  # as written
    terms: tuple[SignalLine, ...]  # without paths

    def path(self, host: str) -> str | None:
        """The pattern of its URLs on a host (with `:port`, as `canonical.host`); None if it is about another host."""
        if absolute := _ABSOLUTE.match(self.url):
            return self.url[absolute.end() :] or "/" if absolute[1].lower() == host else None
        return self.url if self.url.startswith(("/", "*")) or not self.url else f"/{self.url}"


class Licence(NamedTuple):
    """A licence document; with an error, nothing of it counts, and it reserves all uses by models (4.3)."""

    contents: tuple[Content, ...] = ()
    error: str = ""

    def terms(self, host: str, source: str = "") -> Iterator[SignalLine]:
        """What it says about the URLs of a host, as lines of a licence with a URL."""
        if self.error:
            yield SignalLine(b"", unread(self.error), 0, source)
        for content in self.contents:
            if (path := content.path(host)) is not None:
                yield from (term._replace(path=path.encode(), source=source) for term in content.terms)


def is_rsl(media_type: str) -> bool:
    """Whether a media type, perhaps with parameters, is that of a licence document."""
    return media_type.partition(";")[0].strip().lower() == MEDIA_TYPE


def unread(why: str) -> str:
    """The statement of a licence that is named, and cannot be read: it grants nothing to models."""
    return f"{AI_INPUT}={NO}, {AI_TRAIN}={NO} ({why})"


def parse(body: bytes) -> Licence:
    """The licence in the bytes of a document. Never raises: what is no RSL, or declares entities, is an error.

    >>> parse(b"<html>").error[:7], parse(b"<rsl/>").error
    ('not XML', 'its root is rsl, not rsl of https://rslstandard.org/rsl')
    """
    from lxml import etree  # noqa: PLC0415 - searches of crawls without licences do not need it

    if len(body) > MAX_BYTES:
        return Licence(error=f"larger than {MAX_BYTES} bytes")
    try:
        root = etree.fromstring(body, etree.XMLParser(no_network=True, load_dtd=False, resolve_entities=False))
    except (etree.XMLSyntaxError, ValueError) as error:
        return Licence(error=f"not XML: {error}"[:200])
    if root.getroottree().docinfo.internalDTD is not None:
        return Licence(error="it has a document type, which may declare entities")
    if root.tag != f"{{{NAMESPACE}}}rsl":
        return Licence(error=f"its root is {str(root.tag)[:100]}, not rsl of {NAMESPACE}")
    contents = tuple(contents_of(root))
    return Licence(contents, "" if contents else "it has no content")


def contents_of(root: Any) -> Iterator[Content]:
    """The `<content>` elements in a tree, such as that of a feed."""
    for element in root.iter(f"{{{NAMESPACE}}}content"):
        found = list(_decided([_license(each, element) for each in _children(element, "license")], element))
        terms = (SignalLine(b"", f"{use}={value} ({why}, line {line})", line) for use, value, why, line in found)
        yield Content((element.get("url") or "").strip(), tuple(terms))


class _License(NamedTuple):
    permits: Mapping[str, int] | None  # lines by use; None: not restricted by usage (3.5)
    prohibits: Mapping[str, int]
    condition: tuple[str, int] | None  # what must be met before anything is permitted, and its line


def _license(element: Any, content: Any) -> _License:
    permits: dict[str, int] | None = None
    prohibits: dict[str, int] = {}
    stated = [name for name in ("server", "encrypted") if (content.get(name) or "false").strip().lower() != "false"]
    asked = [(f"{name} of content", content.sourceline) for name in stated]
    for child in _children(element):
        name, line = child.tag.partition("}")[2], child.sourceline
        kind = (child.get("type") or ("usage" if name in ("permits", "prohibits") else "")).strip().lower()
        words = [word for word in _SEPARATORS.split((child.text or "").lower()) if word]
        if (name, kind) == ("permits", "usage"):
            readable = (word for word in words if word != "ai-index")  # alone, it lets no model read the content
            granted = (use for word in readable for use in _USES.get(word, ()))
            permits = {**dict.fromkeys(granted, line), **(permits or {})}
        elif (name, kind) == ("prohibits", "usage"):
            named = (use for word in words if ":" not in word for use in _USES.get(word, _AI))
            prohibits = {**dict.fromkeys(named, line), **prohibits}
        elif name == "payment" and not _is_free(child, kind):
            asked.append((f"payment {kind}".strip(), line))
        elif name != "payment" and name not in _HARMLESS:  # only for some users or countries, or with reports (3.12)
            asked.append((f"{name} {kind}".strip(), line))
    return _License(permits, prohibits, asked[0] if asked else None)


def _is_free(payment: Any, kind: str) -> bool:
    """Whether a payment is known to be free or attribution: without a type it is free (3.7), unless it names a way."""
    ways = [child for name in _PAYING for child in _children(payment, name)]
    costs = any(re.fullmatch(r"\s*0*\.?0*\s*", child.text or "") is None for child in _children(payment, "amount"))
    return not costs and (kind in _FREE or not (kind or ways))


def _children(element: Any, name: str = "*") -> Iterator[Any]:
    """Its children in the namespace of RSL; others are extensions, and ignored (1.2)."""
    yield from element.iterchildren(f"{{{NAMESPACE}}}{name}")


def _decided(licenses: list[_License], content: Any) -> Iterator[tuple[str, str, str, int]]:
    """(use, yes or no, the element that decides, its line) of each use of which the licenses say something.

    A prohibition wins over a permission (3.6). Several licenses are offers, of which one that asks for nothing is
    enough. What a list of permitted uses leaves out is not permitted (3.5); a list without search is no word against
    search engines, which need no licence. A content without a license (3.3) permits nothing to models.
    """
    for use in SIGNALS:
        forbidden = [each.prohibits[use] for each in licenses if use in each.prohibits]
        offers = [each for each in licenses if each.permits is None or use in each.permits]
        granted = [each.permits[use] for each in offers if each.permits is not None and not each.condition]
        conditions = [each.condition for each in offers if each.condition]
        if forbidden:
            yield use, NO, "prohibits", forbidden[0]
        elif granted:
            yield use, "yes", "permits", granted[0]
        elif conditions:
            yield use, NO, *conditions[0]
        elif use in _AI and not offers:
            yield use, NO, "not in permits" if licenses else "content without license", content.sourceline
