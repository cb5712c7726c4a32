"""The licences (RSL) that a crawl has fetched, by URL."""

from collections.abc import Mapping, Sequence
from operator import itemgetter

from ..directory.crawl_dir import CrawlDir, Manifest, files_of
from ..outcomes import Outcome
from ..tables.other_visits import visits_without_page
from ..tables.schemas import VisitRow
from ..tables.sitemap_terms import RSL
from .rsl import Licence, parse

Licences = Mapping[str, Licence]
NOT_FETCHED = Licence(error="not fetched yet")
_HOPS = 10


def visits_of_kind(crawl: CrawlDir, manifests: Sequence[Manifest], kind: str, columns: Sequence[str]) -> list[VisitRow]:
    """The visits of a kind, oldest first. Only files of visits that count such visits are read."""
    paths = [file.path for file in files_of(manifests, "visits") if file.counts.get(f"{kind}_visits")]
    visits = (visit for path in paths for visit in visits_without_page(path, crawl.root, columns))
    return sorted((visit for visit in visits if visit["kind"] == kind), key=itemgetter("fetched_at"))


def read_licences(crawl: CrawlDir, manifests: Sequence[Manifest]) -> Licences:
    """The newest version of each licence document, through redirects; one that cannot be read has an error.

    One that cannot be fetched for now counts as it was. What is gone, denied, or was never fetched is an error.
    """
    found: dict[str, Licence | str] = {}  # a string is the target of a redirect
    for visit in visits_of_kind(
        crawl, manifests, RSL, ("url", "outcome", "status", "redirect_to", "fetched_at", "body")
    ):
        url, outcome = visit["url"], visit["outcome"]
        if outcome == Outcome.FETCHED:
            found[url] = parse(visit["body"] or b"")
        elif outcome == Outcome.REDIRECTED and visit["redirect_to"]:
            found[url] = visit["redirect_to"]
        elif outcome == Outcome.GONE or (outcome != Outcome.NOT_MODIFIED and url not in found):
            found[url] = Licence(error=f"{outcome}, status {visit['status']}" if visit["status"] else outcome)
    return {url: _resolved(found, url) for url in found}


def _resolved(found: Mapping[str, Licence | str], licence: Licence | str) -> Licence:
    for _ in range(_HOPS):
        if isinstance(licence, Licence):
            return licence
        licence = found.get(licence, NOT_FETCHED)
    return Licence(error="too many redirects")
