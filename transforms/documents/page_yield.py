"""Rows of YIELDS: the input of trap detection for the URLs that a round has requested for the first time."""

import zlib
from collections.abc import Iterable
from typing import cast

from ..batches.batch_schemas import YieldRow
from ..outcomes import Outcome
from ..parsing.html_links import followed
from ..parsing.source import Page
from ..tables.schemas.fetching import VisitRow
from ..tables.sitemap_terms import LESSER
from ..traps.novelty import unpack
from ..traps.page_words import PageWords, hashes, page_words

_TEXT, _LINKS, _ANCHOR = 1500, 100, 60  # maximum characters of a text, links, and characters of an anchor

WITHOUT_PAGE = frozenset(
    {
        Outcome.GONE,
        Outcome.PAYMENT_REQUIRED,
        Outcome.FORBIDDEN,
        Outcome.CLIENT_ERROR,
        Outcome.REDIRECTED,
        Outcome.UNWANTED_TYPE,
        Outcome.TOO_LONG,
        Outcome.BAD_RESPONSE,
    }
)
"""Outcomes without a page that count as evidence about the URL."""


def yield_rows(visits: Iterable[tuple[VisitRow, Page | None]]) -> list[YieldRow]:
    """The rows of the URLs that are evidence, of all visits of a batch with their pages."""
    found = [(visit, page) for visit, page in visits if _is_evidence(visit, page)]
    rows = [cast(YieldRow, {name: visit.get(name) for name in YieldRow.__annotations__}) for visit, _ in found]
    for row, (_, page) in zip(rows, found, strict=True):
        if page is not None:
            links = [link for link in page.links[:_LINKS] if followed(link, page.nofollow)]
            text = " ".join([page.text[:_TEXT], *(link.anchor[:_ANCHOR] for link in links)])
            words = page_words(page.title, text, row["url"], urls := [link.url for link in links])
            row["links"] = hashes(urls)
            row["title_words"], row["words"], row["own_words"] = words
            row["frame"] = _frame(words, page)
    return rows


def _is_evidence(visit: VisitRow, page: Page | None) -> bool:
    """Whether a URL was requested for the first time, with a result that is evidence about it.

    Requisites of pages and external targets are no evidence.
    """
    if visit["kind"] in LESSER or visit["digest_before"] is not None:
        return False
    return page is not None or visit["outcome"] in WITHOUT_PAGE


def _frame(words: PageWords, page: Page) -> int:
    """What answers to paths that cannot exist have in common: title, number of links, and classes of elements.

    Headings are left out: those that most pages of a batch share are removed, but not from answers to probes.
    """
    title = sorted(unpack(words.title) - unpack(words.own))
    return zlib.crc32(repr((title, len(page.links), page.media_type, page.traits.structure)).encode())
