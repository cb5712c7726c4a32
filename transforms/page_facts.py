"""Facts that a page states about itself: title, description, language, date, directives, canonical URL."""

import email.utils
import functools
import itertools
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import py3langid.langid

from transforms import urls
from transforms.page_text import collapse

MAX_FACT = 2_000
"""Characters of a title, a description or keywords that are kept."""

_MAX_TITLES = 10  # looked at for one that is the page's

_DATE_NAMES = (
    "article:published_time",
    "datepublished",
    "dc.date.issued",
    "dcterms.issued",
    "dc.date",
    "dcterms.date",
    "pubdate",
    "date",
)
"""Meta tags with a publication date, the most certain first."""

_EARLIEST_YEAR, _LATEST_YEAR = 1900, 2100  # anything else is a slip of the pen
_MAX_DATE = 64

_LANGUAGE = re.compile(r"([A-Za-z]{2,3})(?:[-_][\w-]*)?")
_NO_LANGUAGE = frozenset({"mis", "mul", "und", "zxx"})  # ISO 639's words for "none" and "several"
_DETECT_AT_LEAST, _DETECT_AT_MOST = 50, 300  # characters


class Meta(NamedTuple):
    """The meta tags of a page."""

    tags: tuple[tuple[str, str], ...]  # lower-case name, property or itemprop, and content
    language: str  # http-equiv content-language

    def first(self, *names: str) -> str:
        """The first content that is not empty, by the names in order; "" if there is none."""
        return next((c for name in names for n, c in self.tags if n == name and c), "")


def meta(root: Any) -> Meta:
    """The meta tags of a parsed page."""
    tags: list[tuple[str, str]] = []
    language = ""
    for element in root.iter("meta"):
        get = element.get
        if content := get("content"):
            if name := get("name") or get("property") or get("itemprop"):
                tags.append((name.strip().lower(), collapse(content)[:MAX_FACT]))
            elif (get("http-equiv") or "").strip().lower() == "content-language":
                language = language or content
    return Meta(tuple(tags), language)


def title(root: Any) -> str:
    """The page's title element; pictures in SVG have titles of their own. "" if there is none."""
    for element in itertools.islice(root.iter("title"), _MAX_TITLES):
        text = collapse(element.text or "")[:MAX_FACT]
        if text and next(element.iterancestors("svg"), None) is None:
            return text
    return ""


def published_at(root: Any, tags: Meta) -> datetime | None:
    """When the page says it was published, in UTC; None if it does not, or not so that it makes sense."""
    stated = [tags.first(name) for name in _DATE_NAMES]
    for element in root.iter("time"):
        if element.get("pubdate") is not None or (element.get("itemprop") or "").lower() == "datepublished":
            stated.append(element.get("datetime") or element.text or "")
    return next((moment for text in stated if (moment := parse_date(text))), None)


def parse_date(text: str) -> datetime | None:
    """A date in ISO 8601 or as in mail, in UTC, which is also taken for what names no zone.

    >>> parse_date("Tue, 05 Mar 2024 10:00:00 +0900").isoformat()
    '2024-03-05T01:00:00+00:00'
    """
    text = text.strip()
    if not text or len(text) > _MAX_DATE:
        return None
    for parser in (datetime.fromisoformat, email.utils.parsedate_to_datetime):
        try:
            moment = parser(text)
            if _EARLIEST_YEAR <= moment.year <= _LATEST_YEAR:
                return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
    return None


def canonical_url(root: Any, base: str) -> str | None:
    """The first usable `<link rel=canonical>`."""
    for element in root.iter("link"):
        is_canonical = "canonical" in (element.get("rel") or "").lower().split()
        if is_canonical and (url := urls.canonical(element.get("href") or "", base)):
            return url
    return None


def language(stated: Iterable[str], text: str) -> str:
    """The primary language subtag, lower-case: the first one stated that is one, else a guess from the text.

    A list of several languages states none. "" if there is nothing to guess from.

    >>> language(["de, fr", "pt-BR"], "")
    'pt'
    """
    for tag in stated:
        match = _LANGUAGE.fullmatch(tag.strip())
        if match and (primary := match[1].lower()) not in _NO_LANGUAGE:
            return primary
    if len(text) < _DETECT_AT_LEAST:
        return ""
    return str(_identifier().classify(text[:_DETECT_AT_MOST])[0])


@functools.cache
def _identifier() -> py3langid.langid.LanguageIdentifier:
    return py3langid.langid.LanguageIdentifier.from_model_file(py3langid.langid.MODEL_FILE)
