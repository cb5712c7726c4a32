"""The licence of a page, as the page and its headers state it, and the family that a licence belongs to.

Sources: HTML, 4.6.7.10 (link type "license"); ccREL (W3C member submission, 2008); DCMI Metadata Terms and "Expressing
Dublin Core metadata using HTML"; schema.org; RFC 4946 (license extension for Atom); the creativeCommons module of RSS.
"""

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from turbohtml import Element

from ..http.link_header import parse_link
from ..http.reply import Headers
from ..urls.canonical import resolve
from .rsl import is_rsl

_DIVIDER = ", "
_LONGEST, _MOST = 500, 100  # characters of a statement; statements read of a page or a node

_URL = re.compile(
    r"(?:https?:)?(?://)?(?:www\.)?(?:creativecommons\.org/(?:licen[sc]es|publicdomain)/([a-z-]+)(?![a-z+])"
    r"|(?:(?:spdx|opensource)\.org/licenses?|choosealicense\.com/licenses|gnu\.org/(?:licenses(?:/old-licenses)?|copyleft)"
    r"|apache\.org/licenses|mozilla\.org(?:/[a-z]{2}-us)?"
    r"|en(?:\.m)?\.wikipedia\.org/wiki/wikipedia:text-of(?:-the)?)[/-]([\w.+/-]+))"
)
# What may follow: a version, a country, a word of the title. Any other word could be a condition.
_REST = (
    r"(?:[-/.,]*+(?:v?\d++(?:\.\d++)*+\+?+|(?!or|by|cc|nc|nd|sa)[a-z]{2}|igo|only|or-later|clause|licen[sc]e|version"
    r"|international|unported|generic|universal|public-domain|dedication|mark|deed|legalcode|html|txt|php|standalone)"
    r"(?![a-z]))*+[-/.,]*+"
)
_CC = r"(?:cc-?|creative-commons-)"
_CC_BY = re.compile(rf"{_CC}?by((?:-(?:nc|sa|nd))*+){_REST}")
_CC_PARTS = {
    **{"attribution": "by", "sharealike": "sa", "share-alike": "sa", "noncommercial": "nc", "non-commercial": "nc"},
    **dict.fromkeys(("noderivatives", "noderivs", "no-derivatives", "no-derivs"), "nd"),
}
_CC_WORD = re.compile("|".join(_CC_PARTS))
_TITLES = {
    "cc0": rf"{_CC}(?:0|zero)",
    "public-domain": rf"{_CC}?(?:public-?domain|pdm|pddl|unlicense)|cc-mark",
    "mit": r"(?:the-)?(?:mit|expat)",
    "apache": r"apache|license-2\.0",
    "bsd": r"0?bsd|modified-bsd",
    "isc": "isc",
    "mpl": "mpl|mozilla-public",
    "agpl": "(?:gnu-)?(?:agpl|affero-general-public)",
    "lgpl": "(?:gnu-)?(?:lgpl|lesser-general-public)",
    "gpl": "(?:gnu-)?(?:gpl|general-public)",
    "gfdl": "(?:gnu-)?(?:g?fdl|free-documentation)",
}
_BY_TITLE = {name: re.compile(f"(?:{pattern}){_REST}") for name, pattern in _TITLES.items()}
FAMILIES = ("cc-by", "cc-by-sa", "cc-by-nd", "cc-by-nc", "cc-by-nc-sa", "cc-by-nc-nd", *_TITLES)
"""The families of licences that `family` knows; the versions and countries of a licence are one."""


def family(licence: str) -> str:
    """The family of a licence by its URL, its SPDX identifier or its title; "" for one that is not known.

    >>> family("http://creativecommons.org/licenses/by-nc-sa/3.0/de/deed.en"), family("CC BY-SA 4.0"), family("MIT")
    ('cc-by-nc-sa', 'cc-by-sa', 'mit')
    >>> family("https://a.test/terms"), family("CC-BY-4.0 AND LicenseRef-a"), family("CC BY, except pictures")
    ('', '', '')
    """
    text = re.sub(r"[\s_]+", "-", licence.strip().lower())
    if found := _URL.match(text):
        text = f"cc-{found[1]}" if found[1] else found[2]
    title, _, short = text.removesuffix(")").partition("-(")
    return _of_title(title) if not short or _of_title(title) == _of_title(short) else ""


def _of_title(title: str) -> str:
    title = _CC_WORD.sub(lambda word: _CC_PARTS[word[0]], title)
    if found := _CC_BY.fullmatch(title):
        name = "-".join(["cc-by", *sorted(found[1].split("-")[1:])])  # nc, nd, sa
        return name if name in FAMILIES else ""
    return next((name for name, pattern in _BY_TITLE.items() if pattern.fullmatch(title)), "")


def families(licence: str) -> set[str]:
    """The known families in a value of column `license`, which may have several licences."""
    return {family(part) for part in licence.split(_DIVIDER)} - {""}


def is_among(licence: str, wanted: Collection[str]) -> bool:
    """Whether a value of column `license` is of wanted families: all known ones, and at least one. Of none: yes."""
    return not wanted or (bool(found := families(licence)) and found <= set(wanted))


Statement = tuple[str, str]
"""(licence, where it is stated: header, link, a, area, meta, rdfa, microdata, json-ld, feed)"""


class Licence(NamedTuple):
    """The columns of table documents; "" without a statement. Several licences and their sources are in one order."""

    license: str = ""
    license_source: str = ""

    def __or__(self, other: "Licence") -> "Licence":
        is_both = self.license and other.license
        return combined([*self.statements(), *other.statements()]) if is_both else max(self, other)

    def statements(self) -> Iterator[Statement]:
        """What it was combined from."""
        return zip(self.license.split(_DIVIDER), self.license_source.split(_DIVIDER), strict=True)


def combined(statements: Iterable[Statement]) -> Licence:
    """The first statement of each family; of those of no known family, the first one."""
    found: dict[str, Statement] = {}
    for text, source in itertools.islice(statements, _MOST):
        licence = " ".join(text.replace(_DIVIDER, " ").split())[:_LONGEST]
        if licence and licence.isprintable():
            found.setdefault(family(licence), (licence, source))
    return Licence(*map(_DIVIDER.join, zip(*found.values(), strict=True)))


def of_headers(url: str, headers: Headers) -> Licence:
    """The licences in the `Link` headers of a response."""
    links = (link for name, value in headers if name.lower() == "link" for link in parse_link(value))
    named = (link for link in links if "license" in link.relations and not is_rsl(link.media_type) and not link.anchor)
    return combined((target, "header") for link in named if (target := _target(link.target, url)))


_NAME = re.compile(r"(?:\S*[:.#/])?license|copyright")  # with a prefix: cc:, dct:, dcterms., dc.rights., schema:
_OF_PART = re.compile(r"(?:\w*Object|Comment|Person|Review|Software\w*|\w*Organization)")
_OF_NODE = ("@id", "url", "@value", "name")


def of_rights(text: str, base: str) -> str | None:
    """The licence in a statement of rights (Dublin Core): a URL, or the name of a known licence; prose is none."""
    value = of_text(text, base)
    return value if value and ("://" in value or family(value)) else None


STATING = (
    "[rel*=license i], [itemprop*=license i], [property*=license i], meta[name*=license i], link[rel~=copyright i]"
)
"""Selects the elements that may state a licence."""


def of_elements(elements: Iterable[Element], url: str, base: str) -> Iterator[Statement]:
    """The statements in elements of a page: rel=license, Dublin Core, RDFa and microdata.

    Those about a part of the page are none of the page: an image, another document.
    """
    for element in elements:
        get, tag = element.attr, element.tag
        rel, item, name = (_names(get(attribute) or "") for attribute in ("rel", "itemprop", "property"))
        if tag == "meta":
            name = name or _names(get("name") or "")
        value = _target(reference, base) if (reference := get("href") or get("resource")) else None
        value = value or of_text(get("content") or ("" if rel else element.text), base)
        # HTML has `copyright` for a synonym, by which most sites name a page about their owner.
        is_doubtful = not (rel or item or name) or (rel == ["copyright"] and not family(value or ""))
        if not value or is_doubtful or is_rsl(get("type") or "") or _is_of_part(element, url, base):
            continue
        is_rdfa = ":" in (rel or name or [""])[0]
        yield value, "microdata" if item and not rel else "rdfa" if is_rdfa else tag


def _names(words: str) -> list[str]:
    return [word for word in words.lower().split() if _NAME.fullmatch(word)]


def _is_of_part(element: Element, url: str, base: str) -> bool:
    around = element.closest("figure, [about], [itemscope]")
    if around is None or around.tag == "figure":
        return around is not None
    if (about := around.attr("about")) is not None:
        return bool(about.strip()) and resolve(about.strip(), base) != url
    return bool(_OF_PART.fullmatch((around.attr("itemtype") or "").rpartition("/")[2]))


def of_nodes(nodes: Iterable[Mapping[str, Any]], base: str) -> Iterator[Statement]:
    """The statements in nodes of JSON-LD that describe a page."""
    for node in nodes:
        kinds, stated = node.get("@type"), node.get("license")
        if any(_OF_PART.fullmatch(str(kind)) for kind in (kinds if isinstance(kinds, list) else [kinds])):
            continue
        for each in stated[:_MOST] if isinstance(stated, list) else [stated]:
            names = [each.get(name) for name in _OF_NODE] if isinstance(each, dict) else [each]
            name = next((name for name in names if isinstance(name, str) and name), "")
            if value := of_text(name, base):
                yield value, "json-ld"


def of_text(text: str, base: str) -> str | None:
    """A URL or a name as it is stated; None for what is neither."""
    text = text.strip()
    return _target(text, base) if text.startswith(("/", ".", "http:", "https:")) else text or None


def _target(reference: str, base: str) -> str | None:
    target = resolve(reference.strip(), base) if reference else None
    return target if target and target.startswith(("http://", "https://")) else None
