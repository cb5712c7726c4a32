"""Turns what pages and stylesheets need to look like themselves, for archives, and licences into candidates.

These requisites are requested as politely as pages, and never become documents.
"""

from collections.abc import Iterable

from ..batches.batch_schemas import CandidateRow
from ..batches.found_urls import FoundUrls, candidate
from ..http import media_types
from ..outcomes import Outcome
from ..parsing.requisites import Requisite, of_page, of_stylesheet
from ..parsing.source import Page
from ..tables.schemas import VisitRow
from ..tables.sitemap_terms import MAX_LEVEL, REQUISITE, RSL, terms
from ..urls.canonical import is_foreign
from ..urls.filters import UrlFilter

MAX_OF_PAGE = 100
"""Maximum number of requisites that are taken of a page."""

MAX_OF_STYLESHEETS = 200
"""Maximum number of further requisites that all stylesheets of a page may name, those that they import included."""


def requisites_of(visit: VisitRow, page: Page | None, url_filter: UrlFilter) -> FoundUrls:
    """The requisites of a page or of a stylesheet, or the target of a requisite that redirects.

    A page whose directives forbid to follow its links has none. The depth is that of the page.
    """
    found = FoundUrls.none()
    if visit["kind"] == REQUISITE:
        _follow(found, visit, url_filter)
    elif page is not None and page.media_type in media_types.HTML and not page.nofollow:
        named = of_page(visit["body"] or b"", visit["url"], visit["media_type"])[:MAX_OF_PAGE]
        _add(found, named, visit, url_filter, 0, _shared(MAX_OF_STYLESHEETS, named))
    return found


def licences_of(visit: VisitRow, page: Page, url_filter: UrlFilter) -> FoundUrls:
    """The licence documents (RSL) that a page names."""
    found = FoundUrls.none()
    named = [Requisite(line, False) for line in page.usage.rsl.splitlines() if line.startswith("http")]
    _add(found, named, visit, url_filter, 0, 0, kind=RSL)
    return found


def _follow(found: FoundUrls, visit: VisitRow, url_filter: UrlFilter) -> None:
    """Add what a visited requisite leads to."""
    known = visit["sitemap"]
    if visit["outcome"] == Outcome.REDIRECTED and visit["redirect_to"]:
        target = Requisite(visit["redirect_to"], known is not None)
        level, budget = (known["level"], known["budget"]) if known else (0, 0)
        _add(found, [target], visit, url_filter, level, budget, visit["redirects"] + 1)
    elif visit["outcome"] == Outcome.FETCHED and known and known["level"] <= MAX_LEVEL:
        named = of_stylesheet(visit["body"] or b"", visit["url"], visit["media_type"])[: known["budget"]]
        _add(found, named, visit, url_filter, known["level"] + 1, _shared(known["budget"] - len(named), named))


def _shared(budget: int, named: Iterable[Requisite]) -> int:
    """The part of each stylesheet in a budget of further requisites."""
    return budget // max(1, sum(one.is_stylesheet for one in named))


def _add(
    found: FoundUrls,
    named: Iterable[Requisite],
    visit: VisitRow,
    url_filter: UrlFilter,
    level: int,
    budget: int,
    redirects: int = 0,
    kind: str = REQUISITE,
) -> None:
    """Add candidates; `level` and `budget` are those of each stylesheet among them."""
    for url, is_stylesheet in named:
        if reason := url_filter.reject_waiting(url, visit["depth"], redirects, kind):
            found.rejected[reason, url] += 1
            continue
        # Without a score, it adds nothing to that of a page, nor takes anything from its links.
        row = candidate(url, visit["url"], visit["depth"], redirects=redirects)
        is_of_others = is_foreign(url, visit["url"]) or (redirects > 0 and bool(visit.get("foreign")))
        sitemap = terms(level, budget, ()) if is_stylesheet else None
        found.candidates.append(row | CandidateRow(kind=kind, sitemap=sitemap, foreign=is_of_others))
