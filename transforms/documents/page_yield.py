"""Rows of YIELDS: the input of trap detection for the URLs that a round has requested for the first time."""

from ..exchange.batch_schemas import YieldRow
from ..outcomes import Outcome
from ..parsing.html_page import Page, followed
from ..tables.schemas.fetching import VisitRow
from ..tables.sitemap_terms import REQUISITE
from ..traps.novelty import page_words

_TEXT, _LINKS, _ANCHOR = 1500, 100, 60  # maximum characters of a text, links, and characters of an anchor

WITHOUT_PAGE = frozenset(
    {
        Outcome.GONE,
        Outcome.CLIENT_ERROR,
        Outcome.REDIRECTED,
        Outcome.UNWANTED_TYPE,
        Outcome.TOO_LONG,
        Outcome.BAD_RESPONSE,
    }
)
"""Outcomes without a page that count as evidence about the URL."""


def yield_row(visit: VisitRow, page: Page | None) -> YieldRow | None:
    """The row of a URL requested for the first time; None if it was visited before or the outcome is no evidence.

    Requisites of pages are no evidence.
    """
    if visit["kind"] == REQUISITE:
        return None
    if visit["digest_before"] is not None or (page is None and visit["outcome"] not in WITHOUT_PAGE):
        return None
    row = YieldRow(
        url_key=visit["url_key"],
        url=visit["url"],
        host=visit["host"],
        depth=visit["depth"],
        priority=visit["priority"],
        links_without_news=visit["links_without_news"],
        foreign=visit["foreign"],
        referrer=visit["referrer"],
        redirects=visit["redirects"],
        outcome=visit["outcome"],
        title_words=None,
        words=None,
        own_words=None,
        kind=visit["kind"],
    )
    if page is not None:
        links = [link for link in page.links[:_LINKS] if followed(link, page.nofollow)]
        text = " ".join([page.text[:_TEXT], *(link.anchor[:_ANCHOR] for link in links)])
        words = page_words(page.title, text, visit["url"], (link.url for link in links))
        row["title_words"], row["words"], row["own_words"] = words
    return row
