"""Rows of YIELDS: what trap detection needs of a page."""

from typing import Any

from ..parsing.html_page import Page, followed
from ..traps.novelty import page_words


def yield_row(visit: dict[str, Any], page: Page) -> dict[str, Any]:
    """A row of YIELDS for a page that was visited for the first time."""
    links = dict.fromkeys(link.url for link in page.links if followed(link, page.nofollow))
    row = {name: visit[name] for name in ("url_key", "url", "host", "depth", "priority", "links_without_news")}
    return row | {"words": page_words(page.title, page.text, visit["url"], links)}
