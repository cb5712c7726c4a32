"""Turns the sitemaps in robots.txt and the entries of sitemaps into candidates of the crawl (docs/sitemaps.md).

A file of rules about text and data mining (TDMRep), and a licence (RSL), is found, and redirected, like a sitemap.

A sitemap may name pages of its own host, and of hosts whose robots.txt names the sitemap or an index above it
(https://www.sitemaps.org/protocol.html#sitemaps_cross_submits). Whatever only the robots.txt of other hosts leads to,
such as an upload or a redirect, does not speak for its own host: what it names there is foreign.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.pvalue import TaggedOutput

from ..batches.batch_schemas import CandidateRow, Rejection
from ..batches.found_urls import FoundUrls, candidate
from ..outcomes import Outcome
from ..parsing.crawl_scope import CrawlScope
from ..rights import reservations
from ..settings import Sitemaps
from ..tables.batches import Batch
from ..tables.other_visits import visits_without_page
from ..tables.schemas import ROBOTS, RobotsRow, VisitRow
from ..tables.sitemap_terms import MAX_LEVEL, PROBE, RSL, SITEMAP, SITEMAP_VISITS, TDMREP, share, terms
from ..tables.table_files import TableFile, read_table
from ..urls.canonical import canonicalize, host, is_foreign
from ..urls.filters import UrlFilter
from .parse import INDEX, Entry, parse_sitemap

WEIGHT = 0.1
"""An entry adds this times its priority to the score of a page: about as much as one of eight links on a seed."""

_PRIORITY = 0.5  # the protocol's default
_ENTRY_BYTES = 10  # minimum bytes per entry in gzip; six times as many otherwise
_TOGETHER = 5_000  # candidates in a batch, unless one sitemap has more
_SCORE = 1.0  # of a sitemap itself: that of a seed, because many pages depend on it

FOREIGN = "sitemap_foreign"
INVALID = "sitemap_invalid"
NESTED = "sitemap_nested"
TOO_MANY = "sitemap_too_many"
TRUNCATED = "sitemap_truncated"


def from_robots(row: RobotsRow, url_filter: UrlFilter, settings: Sitemaps, tdmrep: bool = False) -> FoundUrls:
    """The sitemaps and licences named in a row of table robots, and with `tdmrep` the origin's rules of TDMRep.

    The depth of the sitemaps' pages is one more than the row's depth. References are relative to the origin, also if
    its robots.txt was redirected elsewhere.
    """
    links = FoundUrls.none()
    if row["depth"] is None:
        return links
    base = f"{row['origin']}/robots.txt"
    if tdmrep:
        own = terms(0, 0, ())
        _add_sitemap(links, row["origin"] + reservations.PATH, base, row["depth"], 0, own, url_filter, TDMREP)
    if row["licenses"] and not url_filter.reject_sitemap(base, 0, 0):  # those of a host that only has a licence lead on
        for name in filter(None, (canonicalize(name, base) for name in row["licenses"])):
            _add_sitemap(links, name, base, row["depth"], 0, terms(0, 0, ()), url_filter, RSL)
    if not settings.follow:
        return links
    names = row["sitemaps"] or (["/sitemap.xml"] if settings.guess else [])
    found = [canonicalize(name, base) for name in names]
    links.rejected[INVALID, base] += found.count(None)
    source = _Source(base, row["depth"] + 1, 0, [row["host"]], settings.max_per_host)
    _add_sitemaps(links, filter(None, found), source, url_filter)
    return links


def from_visit(visit: VisitRow, url_filter: UrlFilter, settings: Sitemaps) -> FoundUrls:
    """The pages in a visited sitemap; the sitemaps in an index; or the target of a redirect, also of other kinds."""
    links = FoundUrls.none()
    if visit["kind"] == PROBE:
        return links
    known = visit["sitemap"] or terms(0, settings.max_per_host, ())  # a seed
    is_named_elsewhere = bool(visit.get("foreign"))
    authorities = sorted({*known["hosts"], *([] if is_named_elsewhere else [visit["host"]])})
    hosts, url = {visit["host"], *authorities}, visit["url"]
    if visit["outcome"] == Outcome.REDIRECTED and visit["redirect_to"]:
        # A host that redirects its sitemap elsewhere authorises the target.
        moved = known | {"hosts": authorities} if visit["sitemap"] or visit["kind"] != RSL else None
        redirects, kind = visit["redirects"] + 1, visit["kind"] or SITEMAP  # a seed
        _add_sitemap(
            links, visit["redirect_to"], url, visit["depth"], redirects, moved, url_filter, kind, is_named_elsewhere
        )
    if visit["outcome"] != Outcome.FETCHED or visit["kind"] in (TDMREP, RSL):
        return links
    links.rejected[TRUNCATED, url] += bool(visit["truncated"])
    sitemap = parse_sitemap(visit["body"] or b"", url, settings.max_urls)
    links.rejected[INVALID, url] += 1 if sitemap is None else sitemap.invalid
    if sitemap is None:
        return links
    links.rejected[TOO_MANY, url] += sitemap.beyond
    entries = {entry.url: entry for entry in sitemap.entries}
    own = [entry for entry in entries.values() if host(entry.url) in hosts]
    links.rejected.update((FOREIGN, name) for name in entries if host(name) not in hosts)
    if sitemap.form != INDEX:
        _add_pages(links, own, visit, url_filter, authorities)
    elif known["level"] >= MAX_LEVEL:
        links.rejected[NESTED, url] += len(own)
    else:
        source = _Source(url, visit["depth"], known["level"] + 1, authorities, known["budget"], is_named_elsewhere)
        _add_sitemaps(links, (entry.url for entry in own), source, url_filter)
    return links


class _Source(NamedTuple):
    """A robots.txt or a sitemap index that names sitemaps."""

    url: str
    depth: int  # of the pages in the sitemaps
    level: int  # of the sitemaps
    hosts: list[str]  # hosts that authorise the sitemaps
    budget: int  # of sitemaps
    is_foreign: bool = False  # only other hosts name it


def _add_sitemaps(links: FoundUrls, found: Iterable[str], source: _Source, url_filter: UrlFilter) -> None:
    """Add the first sitemaps of a source, within its budget; the rest of the budget is divided among them."""
    names = list(dict.fromkeys(found))
    taken = names[: source.budget]
    links.rejected.update((TOO_MANY, url) for url in names[source.budget :])
    known = terms(source.level, share(source.budget, len(taken)), source.hosts)
    for url in taken:
        _add_sitemap(links, url, source.url, source.depth, 0, known, url_filter, SITEMAP, source.is_foreign)


def _add_sitemap(
    links: FoundUrls,
    url: str,
    referrer: str,
    depth: int,
    redirects: int,
    known: dict[str, Any] | None,
    url_filter: UrlFilter,
    kind: str = SITEMAP,
    is_foreign_source: bool = False,
) -> None:
    if reason := url_filter.reject_waiting(url, depth, redirects, kind):
        links.rejected[reason, url] += 1
    else:
        is_of_others = is_foreign_source or is_foreign(url, referrer)
        row = candidate(url, referrer, depth, _SCORE, redirects)
        links.candidates.append(row | CandidateRow(kind=kind, sitemap=known, foreign=is_of_others))


def _add_pages(
    links: FoundUrls, entries: Iterable[Entry], visit: VisitRow, url_filter: UrlFilter, authorities: Collection[str]
) -> None:
    for entry in entries:
        if reason := url_filter.reject(entry.url, visit["depth"], redirects=0):
            links.rejected[reason, entry.url] += 1
        else:
            score = WEIGHT * (_PRIORITY if entry.priority is None else entry.priority)
            is_of_others = host(entry.url) not in authorities
            row = candidate(entry.url, visit["url"], visit["depth"], score)
            links.candidates.append(row | CandidateRow(sitemap_lastmod=entry.lastmod, foreign=is_of_others))


def robots_rows(path: str, root: str) -> Iterator[RobotsRow]:
    """The columns of the rows of a robots file that concern sitemaps."""
    yield from read_table(root, [path], ROBOTS, ["origin", "host", "sitemaps", "depth", "licenses"]).to_pylist()


def count_entries(root: str, files: Iterable[TableFile], max_urls: int) -> int:
    """An upper estimate of the number of entries of the sitemaps in visits files, from their sizes.

    Files that count no visit to a sitemap are not opened.
    """
    paths = (file.path for file in files if file.counts.get(SITEMAP_VISITS))
    visits = (visit for path in paths for visit in visits_without_page(path, root, ["body_bytes"]))
    return sum(min(max_urls, visit["body_bytes"] // _ENTRY_BYTES) for visit in visits)


class Followed(NamedTuple):
    """What the robots.txt files and sitemaps of a round name."""

    candidates: "beam.PCollection[Batch]"  # CANDIDATES by url_key
    rejections: "beam.PCollection[tuple[int, list[Rejection]]]"  # by shard of the host


class _FollowFn(beam.DoFn):
    def __init__(self, scope: CrawlScope, sitemaps: Sitemaps, tdmrep: bool, shards: int, partitions: int) -> None:
        self._scope, self._root, self._sitemaps, self._tdmrep = scope, scope.root, sitemaps, tdmrep
        self._shards, self._partitions = shards, partitions

    def setup(self) -> None:
        self._filter = self._scope.url_filter()

    def process(self, file: tuple[str, str]) -> "Iterator[TaggedOutput]":
        found = FoundUrls.none()
        for links in self._links(*file):
            found.add(links)
            if len(found.candidates) >= _TOGETHER:
                yield from found.outputs("candidates", self._shards, self._partitions)
                found = FoundUrls.none()
        yield from found.outputs("candidates", self._shards, self._partitions)

    def _links(self, table: str, path: str) -> Iterator[FoundUrls]:
        if table == "robots":
            for row in robots_rows(path, self._root):
                yield from_robots(row, self._filter, self._sitemaps, self._tdmrep)
        else:
            for visit in visits_without_page(path, self._root):
                yield from_visit(visit, self._filter, self._sitemaps)


class FollowSitemaps(beam.PTransform):
    """Finds the pages named by the robots.txt files and the sitemaps of a round, in files of these tables."""

    def __init__(
        self,
        scope: CrawlScope,
        sitemaps: Sitemaps,
        tdmrep: bool,
        files: Sequence[tuple[str, str]],
        shards: int,
        partitions: int,
    ) -> None:
        super().__init__()
        self._fn, self._files = _FollowFn(scope, sitemaps, tdmrep, shards, partitions), files

    def expand(self, pipeline: beam.Pipeline) -> "Followed":
        files = pipeline | "Files" >> beam.Create(self._files)
        return Followed(*(files | "Follow" >> beam.ParDo(self._fn).with_outputs(*Followed._fields)))
