"""The files of TDMRep that a crawl has fetched, by the host that they speak for."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from ..directory.crawl_dir import CrawlDir, Manifest
from ..outcomes import Outcome
from ..tables.sitemap_terms import TDMREP
from ..urls.canonical import host as host_of
from .licence_files import visits_of_kind
from .reservations import PATH, Reservation, Reservations, parse


class TdmFile(NamedTuple):
    """The newest version of a file."""

    url: str
    fetched_at: datetime
    reservations: Reservations


TdmRules = Mapping[str, TdmFile]
"""By host."""


def read_tdm_rules(crawl: CrawlDir, manifests: Sequence[Manifest]) -> TdmRules:
    """The rules of all hosts. Only files of visits that count such visits are read.

    A file that is gone states nothing. One that cannot be fetched for now counts as it was.
    """
    found: dict[str, TdmFile] = {}
    columns = ("host", "url", "outcome", "fetched_at", "body", "sitemap")
    for visit in visits_of_kind(crawl, manifests, TDMREP, columns):
        url, fetched_at = visit["url"], visit["fetched_at"]
        for host in {visit["host"], *(visit["sitemap"] or {"hosts": ()})["hosts"]}:
            if visit["outcome"] == Outcome.FETCHED:
                found[host] = TdmFile(url, fetched_at, parse(visit["body"] or b""))
            elif visit["outcome"] == Outcome.GONE and host in found and (found[host].url == url or url.endswith(PATH)):
                del found[host]
    return found


def effect(rules: TdmRules, url: str) -> tuple[TdmFile, Reservation] | None:
    """What the file of its host states about a URL. A statement of the page or of its header replaces it."""
    file = rules.get(host_of(url))
    rule = file.reservations.match(url) if file else None
    return (file, rule) if file and rule else None


def concluded(training: bool | None, reserved: bool) -> bool:
    """The conclusion about training of a document without a `tdm_reservation` of its own, by the rule of the file.

    `training` is its `ai_training`. As in `Usage.training`, a reservation of any kind wins.
    """
    return not reserved and training is not False
