"""Directives of a page for robots: robots meta tags and X-Robots-Tag headers."""

import functools
import operator
import re
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from ..rights import usage
from ..rights.licences import Licence
from ..rights.usage import Usage
from .dates import parse_date


class Directives(NamedTuple):
    """What a robot must not do with a page. Of several sources, the strictest applies."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    max_snippet: int | None = None  # characters; 0: no snippet (also nosnippet); None: any length
    unavailable_after: datetime | None = None  # in UTC; from then on the page is not to be found
    usage: Usage = Usage()
    licence: Licence = Licence()

    def __or__(self, other: "Directives") -> "Directives":
        if other == _NONE:  # nearly always
            return self
        return Directives(
            self.noindex or other.noindex,
            self.nofollow or other.nofollow,
            self.noarchive or other.noarchive,
            min((limit for limit in (self.max_snippet, other.max_snippet) if limit is not None), default=None),
            min(filter(None, (self.unavailable_after, other.unavailable_after)), default=None),
            self.usage | other.usage,
            self.licence | other.licence,
        )

    def display_rules(self) -> str:
        """The directives that concern search results and use, as text for the content digest; "" if there are none.

        A page that changes them must be indexed again. `noindex` and `nofollow` are no part: they are state of the URL.
        """
        expires = self.unavailable_after.date().isoformat() if self.unavailable_after else ""
        limit = "" if self.max_snippet is None else f"max-snippet:{self.max_snippet}"
        stated = (self.usage.text(), self.licence.license)
        return " ".join(filter(None, ["noarchive" if self.noarchive else "", limit, expires, *stated]))


_NONE = Directives()

# A name before a colon is that of a robot, unless it is a directive with a value.
_AGENT = re.compile(r"\s*([\w*-]+)\s*:")
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
# A comma before a digit stands within a date: "Friday, 25-Jun-10 15:00:00 GMT" (RFC 850).
_SEPARATOR = re.compile(r",(?!\s*\d)")
_VALUE = re.compile(rf"(?:{'|'.join(sorted(_VALUED))})\s*[:=]\s*[\w-]*")  # `max-image-preview:none` is no `none`
_UNAVAILABLE_AFTER = re.compile(r"unavailable_after\s*[:=]?\s*([^,]*(?:,\s*\d[^,]*)?)", re.IGNORECASE)
_MAX_SNIPPET = re.compile(r"max-snippet\s*[:=]\s*(-?\d{1,9})", re.IGNORECASE)


def parse(content: str) -> Directives:
    """The directives in a list such as `NOINDEX, nofollow`; unknown words and invalid values are ignored.

    A date without a zone is in UTC. Sources: developers.google.com/search/docs, "Robots meta tag", and RFC 850.

    >>> parse("None; all").nofollow, parse("max-snippet:20, nosnippet").max_snippet
    (True, 0)
    >>> parse("unavailable_after: 25 Jun 2010 15:00:00 PST").unavailable_after.isoformat()
    '2010-06-25T23:00:00+00:00'
    """
    words = set(re.findall(r"[\w-]+", _VALUE.sub(" ", content.lower())))
    everything = "none" in words
    limits = [int(limit) for limit in _MAX_SNIPPET.findall(content) if int(limit) >= 0]  # -1: any length
    dates = [date for text in _UNAVAILABLE_AFTER.findall(content) if (date := parse_date(text))]
    return Directives(
        noindex=everything or "noindex" in words,
        nofollow=everything or "nofollow" in words,
        noarchive="noarchive" in words,
        max_snippet=0 if "nosnippet" in words else min(limits, default=None),
        unavailable_after=min(dates, default=None),
        usage=Usage(noai="noai" in words, noimageai="noimageai" in words),
    )


def from_meta(tags: Iterable[tuple[str, str]], robot_name: str) -> Directives:
    """The directives of (name, content) meta tags for all robots or for ours."""
    tags, names = list(tags), ("robots", product_token(robot_name))
    found = (parse(content) for name, content in tags if name.strip().lower() in names)
    return functools.reduce(operator.or_, found, Directives(usage=usage.from_meta(tags)))


def from_headers(headers: Iterable[tuple[str, str]], robot_name: str) -> Directives:
    """The directives of X-Robots-Tag headers for all robots or for ours.

    In `noindex, otherbot: nofollow` the name applies to all directives after it.
    """
    headers = list(headers)
    values = (value for name, value in headers if name.lower() == "x-robots-tag")
    found = (_tag(value, product_token(robot_name)) for value in values)
    return functools.reduce(operator.or_, found, Directives(usage=usage.from_headers(headers)))


def product_token(robot_name: str) -> str:
    """The product token of a robot name: lower-case, without the version."""
    return robot_name.partition("/")[0].strip().lower()


def _tag(value: str, token: str) -> Directives:
    ours, is_ours = list[str](), True
    for item in _SEPARATOR.split(value):
        agent = _AGENT.match(item)
        if agent and agent[1].lower() not in _VALUED:
            is_ours = agent[1].lower() in ("*", token)
        if is_ours:
            ours.append(item)
    return parse(",".join(ours))
