"""Parses HTML and XHTML."""

from ..http import media_types
from ..parsing.html_page import html_page
from ..parsing.source import Page, Source


class Html:
    """Parses HTML pages."""

    media_types = media_types.HTML
    extensions = frozenset({"htm", "html", "shtml", "xht", "xhtml"})

    def parse(self, source: Source) -> Page | None:
        return html_page(source)
