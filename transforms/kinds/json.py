"""Parses JSON: its strings become text."""

import json
from collections.abc import Iterator
from typing import Any

from ..parsing.source import Page, Source

_TITLES = ("title", "name", "headline")


class Json:
    """All string values become text, in document order. Member names are dropped, and URLs are not links."""

    media_types = frozenset(
        {"application/json", "text/json", "application/ld+json", "application/geo+json", "application/feed+json"}
    )
    extensions = frozenset({"json", "jsonld", "geojson"})

    def parse(self, source: Source) -> Page | None:
        text, charset = source.decode()
        value = json.loads(text.removeprefix("\ufeff"))
        named = value if isinstance(value, dict) else {}
        title = next((named[name] for name in _TITLES if isinstance(named.get(name), str)), "")
        return source.page("\n".join(_strings(value)), charset=charset, title=title)


def _strings(value: Any) -> Iterator[str]:
    """The strings in a value, in document order; iterative, because documents may be nested deeply."""
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            left.extend(reversed(list(value.values()) if isinstance(value, dict) else value))
