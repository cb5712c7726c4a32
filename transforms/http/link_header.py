"""Parses the `Link` header of a response (RFC 8288), as tolerantly as browsers do."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_MAX_HEADER = 16_384  # characters that are parsed; hundreds of preloads occur in practice
_PARAMETER = re.compile(r'[\s;]*([^\s=;,<"]*)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"?|([^;,<"]*))|"[^;,<"]*)?', re.DOTALL)


class HeaderLink(NamedTuple):
    """An unresolved link."""

    target: str  # relative to the URL of the response
    relations: frozenset[str]  # lower-case
    anchor: str | None  # context of the link, if not the response itself
    media_type: str = ""  # lower-case, of the target


def parse_link(value: str) -> Iterator[HeaderLink]:
    """The links of a header's value, several headers joined by commas. Never raises; skips invalid links.

    Of several parameters with the same name, the first counts (section 3.3).

    >>> [(link.target, sorted(link.relations)) for link in parse_link('</a>; rel="next canonical", </b>; rel=prev')]
    [('/a', ['canonical', 'next']), ('/b', ['prev'])]
    """
    value, position = value[:_MAX_HEADER], 0
    while (start := value.find("<", position)) >= 0 and (end := value.find(">", start)) >= 0:
        parameters: dict[str, str] = {}
        position = end + 1
        while (match := _PARAMETER.match(value, position)) and match.end() > position:
            text = re.sub(r"\\(.)", r"\1", match[2]) if match[2] is not None else match[3] or ""
            parameters.setdefault(match[1].lower(), text)
            position = match.end()
        relations = frozenset(parameters.get("rel", "").lower().split())
        media_type = parameters.get("type", "").strip().lower()
        yield HeaderLink(value[start + 1 : end].strip(), relations, parameters.get("anchor"), media_type)
