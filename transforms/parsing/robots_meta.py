"""Directives of a page for robots: robots meta tags and X-Robots-Tag headers."""

import re
from collections.abc import Iterable
from typing import NamedTuple


class Directives(NamedTuple):
    """What a robot must not do with a page. Of several sources, the strictest applies."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    nosnippet: bool = False

    def __or__(self, other: "Directives") -> "Directives":
        return Directives(*(mine or theirs for mine, theirs in zip(self, other, strict=True)))


# A name before a colon is that of a robot, unless it is a directive with a value.
_AGENT = re.compile(r"\s*([\w*-]+)\s*:")
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})


def parse(content: str) -> Directives:
    """The directives in a list such as `NOINDEX, nofollow`; unknown words are ignored.

    >>> parse("None; all").nofollow
    True
    """
    words = set(re.split(r"[\s,;:]+", content.lower()))
    everything = "none" in words
    return Directives(
        noindex=everything or "noindex" in words,
        nofollow=everything or "nofollow" in words,
        noarchive="noarchive" in words,
        nosnippet="nosnippet" in words,
    )


def from_meta(tags: Iterable[tuple[str, str]], robot_name: str) -> Directives:
    """The directives of (name, content) meta tags for all robots or for ours."""
    names = ("robots", product_token(robot_name))
    return _merge(parse(content) for name, content in tags if name.strip().lower() in names)


def from_headers(headers: Iterable[tuple[str, str]], robot_name: str) -> Directives:
    """The directives of X-Robots-Tag headers for all robots or for ours.

    In `noindex, otherbot: nofollow` the name applies to all directives after it.
    """
    values = (value for name, value in headers if name.lower() == "x-robots-tag")
    return _merge(_tag(value, product_token(robot_name)) for value in values)


def product_token(robot_name: str) -> str:
    """The product token of a robot name: lower-case, without the version."""
    return robot_name.partition("/")[0].strip().lower()


def _tag(value: str, token: str) -> Directives:
    found, is_ours = Directives(), True
    for item in value.split(","):
        agent = _AGENT.match(item)
        if agent and agent[1].lower() not in _VALUED:
            is_ours = agent[1].lower() in ("*", token)
        if is_ours:
            found |= parse(item)
    return found


def _merge(parts: Iterable[Directives]) -> Directives:
    merged = Directives()
    for part in parts:
        merged |= part
    return merged
