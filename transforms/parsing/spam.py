"""Spam score of a page, with reasons, from measurable signals.

Each signal has a range. Values of normal pages are below it, including those of technical reference, which is more
repetitive than prose; above it the signal has its full weight. Several signals combine as independent evidence. A score
lowers the rank of a page and never removes it; a soft 404, however, is not indexed.
"""

import itertools
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from turbohtml import Element

from ..indexing.analysis import STOP_WORDS
from ..urls.canonical import domain, host as host_of
from .html_links import Link

SOFT_404 = "soft_404"
"""The reason for a page with status 200 that says that the page does not exist."""

_LOOKED_AT = 4_000  # characters read of a text
_THIN, _THIN_TEXT = 150, 1_500  # words and characters; pages with less are thin
_ENOUGH_WORDS, _ENOUGH_BYTES = 50, 2_000  # minimum sizes for shares and compression ratios
_RUNNING = 40  # characters; shorter lines are ignored: those of lists and tables repeat words
_MANY_LINKS, _MANY_HOSTS = 50, 20
_TEXT_PER_LINK = 40  # characters; hand-made link lists have more text per link
_ANCHOR = 6  # characters; shorter anchors are symbols, such as ¶


class Traits(NamedTuple):
    """Properties that only the source of a page shows."""

    hidden_words: int = 0  # in the largest block hidden by its inline style
    leads_away: bool = False  # a script redirects to another page
    structure: int = 0  # hash of the distinct classes of its blocks, numbers left out


class Quality(NamedTuple):
    """The spam score of a page."""

    score: float  # from 0 (no signal) to 1
    reasons: list[str]  # the signals with a weight above 0, the strongest first


class _Signal(NamedTuple):
    above: float  # values up to here are normal
    full: float  # full weight from here on
    weight: float  # the score of the signal alone, at full weight


_SIGNALS = {
    "keyword_stuffing": _Signal(0.25, 0.45, 0.8),  # share of the most frequent word in running text
    "repetition": _Signal(10, 25, 0.7),  # zlib compression ratio
    "gibberish": _Signal(0.62, 0.72, 0.6),  # inverse compression ratio; random letters
    "hidden_text": _Signal(1, 4, 0.7),  # hidden words / visible words
    "link_farm": _Signal(0.7, 0.95, 0.8),  # share of links to other sites, if there are many and little text
    "repeated_anchor": _Signal(0.5, 0.9, 0.6),  # share of links with the most frequent anchor, if there are many
    "parked": _Signal(0, 1, 0.9),
    "doorway": _Signal(0, 1, 0.5),  # pages that have moved to another site look the same
    SOFT_404: _Signal(0, 1, 0.8),
}

_HIDING = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?:px|pt|em|%)?\s*(?:[;!\"']|$)"
    r"|(?:text-indent|left|top)\s*:\s*-\d{4,}px|opacity\s*:\s*0(?:\.0+)?\s*(?:[;!\"']|$)",
    re.IGNORECASE,
)
_MOST_HIDDEN = 20  # blocks read per page
_SOURCE_LOOKED_AT = 50_000
_LEADING_AWAY = re.compile(r"location(?:(?:\.href)?\s*=\s*|\.(?:replace|assign)\(\s*)[\"']https?://")

_PARKED = re.compile(
    r"domain(?: name)? (?:is|may be|might be) for sale|buy this domain|domain has (?:expired|been registered)"
    r"|this domain is parked|parked (?:free|domain)|sponsored listings|related searches|diese domain (?:steht|ist)"
    r"|domaine? (?:est )?à vendre|dominio (?:está )?en venta|このドメインは|域名出售|도메인 판매",
    re.IGNORECASE,
)
_NOT_FOUND = re.compile(
    r"\b(?:page|file|site|document|url|resource) (?:was |is |could |can )?(?:not |n['’]t )(?:be )?found\b"
    r"|\b(?:page|file|document) (?:does not|doesn['’]t|no longer) exists?\b|\bseite (?:wurde )?nicht gefunden\b"
    r"|\bpage (?:introuvable|non trouvée)\b|\bpágina no (?:encontrada|existe)\b|\bpágina não encontrada\b"
    r"|\bpagina non trovata\b|ページ[はが](?:見つかりません|存在しません)|페이지를 찾을 수 없"
    r"|页面不存在|找不到该?页面|頁面不存在",
    re.IGNORECASE,
)
_ONLY_NOT_FOUND = re.compile(
    r"(?:error|http|status|fehler|erreur)?[\s:]*404(?:[\s:,-]*(?:error|(?:page )?not found|nicht gefunden))?[!.]*"
    r"|not found[!.]*",
    re.IGNORECASE,
)
_DIGITS = re.compile("[0-9]+")
_BETWEEN = re.compile(r"\s+[|·•–—-]+\s+|\s*::\s*")


def traits(root: Element, source: str) -> Traits:
    """The traits of a parsed page and its source."""
    styled = [(block.attr("style") or "", block) for block in root.select("[style]")]
    hiding = set(filter(_HIDING.search, {style for style, _ in styled})) if styled else ()
    hidden = itertools.islice((block for style, block in styled if style in hiding), _MOST_HIDDEN)
    start = source[:_SOURCE_LOOKED_AT]
    leads_away = "location" in start and _LEADING_AWAY.search(start) is not None
    classes = {element.attr("class") or "" for element in root.select("div[class], section[class]")}
    structure = zlib.crc32(_DIGITS.sub("", " ".join(sorted(classes))).encode())
    return Traits(max((len(block.text.split()) for block in hidden), default=0), leads_away, structure)


def quality_of(
    url: str, title: str, headings: Sequence[str], text: str, links: Sequence[Link], seen: Traits
) -> Quality:
    """The spam score of a page with status 200.

    >>> quality_of("http://a.test/x", "404 Not Found - A shop", [], "Sorry!", [], Traits()).reasons
    ['soft_404']
    """
    start = text[:_LOOKED_AT].lower()
    thin = len(text) < _THIN_TEXT and len(start.split()) < _THIN
    values = _text_values(start) | _link_values(url, len(text), links)
    if seen.hidden_words >= _ENOUGH_WORDS:
        values["hidden_text"] = seen.hidden_words / max(1, len(text.split()) - seen.hidden_words)
    if thin:
        leaves = any(link.kind == "redirect" and host_of(link.url) != host_of(url) for link in links)
        values["parked"] = _PARKED.search(text) is not None
        values["doorway"] = leaves or seen.leads_away
        values[SOFT_404] = any(map(_says_not_found, (title, *headings[:1])))
    strengths = {name: _strength(_SIGNALS[name], value) for name, value in values.items()}
    left = 1.0
    for strength in strengths.values():
        left *= 1 - strength
    counting = [name for name, strength in strengths.items() if strength > 0]
    return Quality(round(1 - left, 3), sorted(counting, key=lambda name: -strengths[name]))


def _says_not_found(name: str) -> bool:
    """Whether a title or a heading says so; titles often contain the site name as well."""
    parts = (name, *_BETWEEN.split(name))
    return bool(_NOT_FOUND.search(name)) or any(_ONLY_NOT_FOUND.fullmatch(part.strip()) for part in parts)


def _strength(signal: _Signal, value: float) -> float:
    share = (value - signal.above) / (signal.full - signal.above)
    return signal.weight * min(1.0, max(0.0, share))


def _text_values(text: str) -> dict[str, float]:
    values = {}
    words = [word for line in text.split("\n") if len(line) >= _RUNNING for word in line.split()]
    if len(words) >= _ENOUGH_WORDS:
        most = 0
        for word, count in Counter(words).items():
            if count > most and word.isalpha() and word not in STOP_WORDS:
                most = count
        values["keyword_stuffing"] = most / len(words)
    data = text.encode()
    if len(data) >= _ENOUGH_BYTES:
        ratio = len(data) / len(zlib.compress(data, 1))
        values |= {"repetition": ratio, "gibberish": 1 / ratio}
    return values


def _link_values(url: str, length: int, links: Sequence[Link]) -> dict[str, float]:
    values: dict[str, float] = {}
    if len(links) < _MANY_LINKS:
        return values
    ways = {(link.anchor.lower(), link.url) for link in links if link.kind == "a"}
    if len(ways) >= _MANY_LINKS:
        anchors = Counter(anchor for anchor, _ in ways if len(anchor) >= _ANCHOR)
        values["repeated_anchor"] = max(anchors.values(), default=0) / len(ways)
    targets = {target for _, target in ways}
    if len(targets) >= _MANY_LINKS and length < _TEXT_PER_LINK * len(targets):
        home = domain(host_of(url))
        away = [host for host in map(host_of, targets) if domain(host) != home]
        values["link_farm"] = len(away) / len(targets) if len(set(away)) >= _MANY_HOSTS else 0.0
    return values
