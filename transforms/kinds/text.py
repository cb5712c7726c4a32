"""Parses plain text."""

from ..http import media_types
from ..parsing.source import Page, Source


class Text:
    """Parses plain text; each line is a block."""

    media_types = media_types.TEXT
    extensions = frozenset({"txt"})

    def parse(self, source: Source) -> Page | None:
        text, charset = source.decode()
        return source.page(text, charset=charset)
