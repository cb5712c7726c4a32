"""HTML and XHTML."""

from transforms import media_types
from transforms.pages import html_page
from transforms.sources import Page, Source


class Html:
    """Pages."""

    media_types = media_types.HTML
    extensions = frozenset({"htm", "html", "shtml", "xht", "xhtml"})

    def parse(self, source: Source) -> Page | None:
        return html_page(source)
