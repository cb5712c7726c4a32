"""The files of TDMRep that a crawl has fetched, by the host that they speak for."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple

from .. import urls
from ..directory.crawl_dir import CrawlDir, Manifest, files_of
from ..outcomes import Outcome
from ..tables.other_visits import visits_without_page
from ..tables.sitemap_terms import TDMREP, TDMREP_VISITS
from .reservations import PATH, Reservation, Reservations, parse


class TdmFile(NamedTuple):
    """The newest version of a file."""

    url: str
    fetched_at: datetime
    reservations: Reservations


TdmRules = Mapping[str, TdmFile]
"""By host."""


class Effect(NamedTuple):
    """What a rule states about a document."""

    file: str
    fetched_at: datetime
    rule: Reservation


_COLUMNS = ("host", "url", "outcome", "fetched_at", "body", "sitemap")


def read_tdm_rules(crawl: CrawlDir, manifests: Sequence[Manifest]) -> TdmRules:
    """The rules of all hosts. Only files of visits that count such visits are read.

    A file that is gone states nothing. One that cannot be fetched for now counts as it was.
    """
    paths = [file.path for file in files_of(manifests, "visits") if file.counts.get(TDMREP_VISITS)]
    found: dict[str, TdmFile] = {}
    visits = (visit for path in paths for visit in visits_without_page(path, crawl.root, _COLUMNS))
    for visit in sorted((visit for visit in visits if visit["kind"] == TDMREP), key=itemgetter("fetched_at")):
        url, fetched_at = visit["url"], visit["fetched_at"]
        for host in {visit["host"], *(visit["sitemap"] or {"hosts": ()})["hosts"]}:
            if visit["outcome"] == Outcome.FETCHED:
                found[host] = TdmFile(url, fetched_at, parse(visit["body"] or b""))
            elif visit["outcome"] == Outcome.GONE and host in found and (found[host].url == url or url.endswith(PATH)):
                del found[host]
    return found


def effect(rules: TdmRules, url: str) -> Effect | None:
    """What the file of its host states about a URL. A statement of the page or of its header replaces it."""
    file = rules.get(urls.host(url))
    rule = file.reservations.match(url) if file else None
    return Effect(file.url, file.fetched_at, rule) if file and rule else None


def concluded(training: bool | None, reserved: bool) -> bool:
    """The conclusion about training of a document without a `tdm_reservation` of its own, by the rule of the file.

    `training` is its `ai_training`. As in `Usage.training`, a reservation of any kind wins.
    """
    return not reserved and training is not False
