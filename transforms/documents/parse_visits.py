"""Parses the visits of a round into pages, links, per-URL facts and alerts, in batches."""

import dataclasses
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.pvalue import TaggedOutput

from ..batches.batch_schemas import CONTENTS, FACTS, PAGES, YIELDS, Rejection
from ..batches.found_urls import FoundUrls
from ..batches.partitions import StageFn, tagged
from ..batches.stage_progress import StageProgress
from ..directory.crawl_dir import CrawlDir
from ..duplicates.clusters import DOCUMENT, entries
from ..duplicates.exact import released_contents
from ..duplicates.minhash import signature
from ..duplicates.near import CHANGED, changed_documents, hosts_of_sites
from ..duplicates.near_rows import gone_rows
from ..http import media_types
from ..http.reply import Headers, header, stored_headers
from ..observers.registry import OpenObservers, alert_rows
from ..outcomes import Outcome
from ..parsing import rel_canonical, robots_meta
from ..parsing.boilerplate import without_boilerplate
from ..parsing.crawl_scope import CrawlScope
from ..parsing.html_links import FOLLOWED_KINDS, LATEST, Link, refresh
from ..parsing.html_page import parse_page
from ..parsing.page_rules import NO_RULES, PageRules, page_rules
from ..parsing.registry import kinds_of
from ..parsing.source import Page, with_language
from ..parsing.spam import SOFT_404, quality_of
from ..rights.usage import Usage
from ..settings import Extract, MainText
from ..tables.batches import Batch, batches_by, cuts, release_freed, split, to_ipc
from ..tables.bloom import shard, shards
from ..tables.schemas import DOCUMENTS, KEY, VISITS, Row
from ..tables.sitemap_terms import EXTERNAL, PROBE
from ..tables.table_files import conform, open_parquet
from ..urls.canonical import canonicalize, domain, host
from ..urls.index_scope import WHOLE, IndexScope
from .external import Known, external_of
from .found_links import key_of, links_column
from .mark_pages import content_bytes
from .page_yield import yield_rows
from .requisites import licences_of, requisites_of


def probe_page(visit: dict[str, Any], robot: str, kinds: tuple[str, ...], rules: PageRules = NO_RULES) -> Page | None:
    """The page that a host has answered to a path that cannot exist; None if it has answered none.

    It is no document: only trap detection reads it.
    """
    return parse_visit(visit | {"kind": None}, robot, kinds, rules)[0]


def parse_visit(
    visit: dict[str, Any],
    robot: str,
    kinds: tuple[str, ...] = ("html", "text"),
    rules: PageRules = NO_RULES,
    detects_language: bool = True,
) -> tuple[Page | None, list[Link]]:
    """The page of a visit as `parse_page` returns it, and all links of the page or of the redirect."""
    if visit["kind"] is not None:
        return None, []  # parsed elsewhere, not a document
    if visit["outcome"] == Outcome.REDIRECTED and visit["redirect_to"]:
        return None, [Link(visit["redirect_to"], "", "", "redirect")]
    if visit["outcome"] != Outcome.FETCHED:
        return None, []
    headers = stored_headers(visit)
    body, media_type = visit["body"] or b"", visit["media_type"]
    page = parse_page(body, visit["url"], media_type, headers, robot, kinds, rules, detects_language)
    if page is not None and _keeps_out(page, visit["fetched_at"]):
        page = dataclasses.replace(page, noindex=True)
    usage, signals = visit.get("robots_usage"), visit.get("robots_signals")
    if page is not None and (usage or signals):
        page = dataclasses.replace(page, usage=page.usage | Usage(usage or "", content_signals=signals or ""))
    links = [*refresh_links(visit["url"], headers), *rel_canonical.header_links(visit["url"], headers)]
    return page, [*links, *(page.links if page else ())]


def parse_batch(
    visits: list[Any], robot: str, kinds: tuple[str, ...] = ("html", "text"), rules: PageRules = NO_RULES
) -> Iterator[tuple[Any, Page | None, list[Link]]]:
    """Each visit with its `parse_visit`; removes from HTML pages the blocks that most pages of the batch share."""
    bare = [(visit, *parse_visit(visit, robot, kinds, rules, detects_language=False)) for visit in visits]
    parsed = [(visit, page and with_language(page), found) for visit, page, found in bare]
    html = {
        number: (visit["url"], page)
        for number, (visit, page, _) in enumerate(parsed)
        if page is not None and page.media_type in media_types.HTML
    }
    own = dict(zip(html, without_boilerplate(list(html.values())), strict=True))
    return ((visit, own.get(number, page), found) for number, (visit, page, found) in enumerate(parsed))


def refresh_links(url: str, headers: Headers) -> list[Link]:
    """The link of a Refresh header, which is equivalent to a meta refresh."""
    seconds, reference = refresh(header(headers, "refresh") or "") or (0, "")
    target = canonicalize(reference, url)
    return [Link(target, "", "", "redirect" if seconds <= LATEST else "a")] if target and target != url else []


def page_row(visit: dict[str, Any], page: Page | None, links: list[Link]) -> dict[str, Any]:
    """A row of PAGES without the links."""
    row = {
        name: visit.get(name)
        for name in ("url_key", "url", "host", "round", "fetched_at", "depth", "links_without_news", "foreign")
    }
    is_new = page is not None and page.digest != visit.get("digest_before")
    row |= {"is_document": is_new, "score": visit["priority"], "domain": domain(visit["host"])}
    if page is not None:
        row |= {name: None if (value := getattr(page, name)) == "" else value for name in _PAGE_COLUMNS}
        row |= page.usage.columns(page.media_type)
        row |= {name: value or None for name, value in page.licence._asdict().items()}
        row["outlinks"], row["facts"] = len(links), list(page.facts.items()) or None
        row["stays"] = visit.get("digest_before") is not None
        row["truncated"] = "bytes" if visit.get("truncated") else row["truncated"]
        declared = rel_canonical.declared(visit["url"], page.canonical_url, stored_headers(visit))
        row["canonical_url"], row["canonical_ignored"] = declared
    return row


def judged(url: str, page: Page, near: bool, index_scope: IndexScope = WHOLE) -> dict[str, Any]:
    """The quality of a document, and its signature if it may be indexed."""
    columns: dict[str, Any] = {}
    if page.media_type in media_types.HTML:
        quality = quality_of(url, page.title, page.headings, page.text, page.links, page.traits)
        columns |= {"spam_score": quality.score, "quality_reasons": quality.reasons}
    is_indexed = not (page.noindex or page.usage.search() is False or index_scope.keeps_out(url))
    if near and is_indexed and SOFT_404 not in columns.get("quality_reasons", ()):
        columns["signature"] = signature(page.title, page.text)
    return columns


_PAGE_COLUMNS = [field for field in Page.__dataclass_fields__ if field in DOCUMENTS.names]

_MOST_RESPELLED = 3  # consecutive redirects; a site that requires cookies may redirect endlessly


def respelled(visit: dict[str, Any], links: pa.ListScalar) -> str | None:
    """The target of a redirect to another spelling of its own URL, such as one with or without a session; else None.

    `links` are its rows of LINK. Both spellings have the same key, so the target would not count as a new URL.
    """
    if visit["outcome"] != Outcome.REDIRECTED or not len(links):
        return None
    link = links[0].as_py()
    is_same = link["target_key"] == visit["url_key"] and link["target_url"] != visit["url"]
    is_followed = link["rejected"] is None and link["redirects"] <= _MOST_RESPELLED
    return link["target_url"] if is_same and is_followed else None


def _keeps_out(directives: Page | robots_meta.Directives, at: datetime) -> bool:
    """Whether a page asks not to be indexed, at a time."""
    return directives.noindex or (directives.unavailable_after is not None and directives.unavailable_after <= at)


def fact_row(visit: dict[str, Any], page: Page | None, robot: str) -> dict[str, Any]:
    """A row of FACTS, without `respelled`. A 304 says in its headers what holds from now on (RFC 9111, 3.2)."""
    headers = stored_headers(visit)
    row = {name: visit.get(name) for name in FACTS.names}
    if visit["kind"] != EXTERNAL:  # nothing is stored that a server could say is still the same
        row["etag"], row["last_modified"] = header(headers, "etag"), header(headers, "last-modified")
    if page is not None:
        row["digest"], row["denied_meta"] = page.digest, page.noindex
        row["denied_search"] = page.usage.search() is False
    elif visit["outcome"] == Outcome.NOT_MODIFIED and visit["kind"] is None:
        directives = robots_meta.from_headers(headers, robot)
        row["denied_meta"] = _keeps_out(directives, visit["fetched_at"])
        row["denied_search"] = directives.usage.search() is False
    return row


_OPEN = pa.array([Outcome.FETCHED, Outcome.NOT_MODIFIED, Outcome.DEFERRED, Outcome.UNREACHABLE_ROBOTS], pa.string())


class Taken(NamedTuple):
    """What `ParseFn` takes from pages besides documents and links."""

    near_duplicates: bool  # bands of words, by which near duplicates are found
    requisites: bool
    yields: bool  # what the detection of traps counts
    index_scope: IndexScope = WHOLE
    extract: Sequence[Extract] = ()
    main: Sequence[MainText] = ()
    external: tuple[Sequence[str], int] | None = None  # files of table external, and how many URLs it may have


class Parsed(NamedTuple):
    """What the visits of a round have brought."""

    pages: "beam.PCollection[Batch]"  # PAGES by shard of the host
    yields: "beam.PCollection[Batch]"  # YIELDS by shard
    facts: "beam.PCollection[Batch]"  # FACTS by url_key
    requisites: "beam.PCollection[Batch]"  # CANDIDATES by url_key
    contents: "beam.PCollection[Batch]"  # CONTENTS by digest
    released: "beam.PCollection[Batch]"  # RELEASED by digest
    bands: "beam.PCollection[Batch]"  # ENTRIES by band
    external: "beam.PCollection[Batch]"  # CANDIDATES outside the hosts of the crawl, new to it
    alerts: "beam.PCollection[tuple[int, list[Row]]]"  # of table alerts, by shard
    gone: "beam.PCollection[tuple[int, list[Row]]]"  # of table near, by shard
    rejections: "beam.PCollection[tuple[int, list[Rejection]]]"  # of requisites, by shard
    sites: "beam.PCollection[str]"  # the hosts of the documents' sites
    changed: "beam.PCollection[Batch]"  # CHANGED by shard
    dead: "beam.PCollection[bytes]"  # the keys of URLs that were requested without getting a page


class ParseFn(StageFn):
    """Takes row groups of a visits file. Keeps all their pages in memory, but only one parse tree at a time."""

    def __init__(
        self,
        scope: CrawlScope,
        taken: Taken,
        open_observers: OpenObservers,
        robot: str,
        shards: int,
        partitions: int,
        round_: int,
        progress: StageProgress | None = None,
    ) -> None:
        super().__init__(progress)
        self._scope, self._root, self._kinds = scope, scope.root, scope.kinds
        self._taken, self._open_observers, self._robot, self._round = taken, open_observers, robot, round_
        self._shards, self._partitions = shards, partitions

    def setup(self) -> None:
        self._observers = self._open_observers(CrawlDir(self._root).read_bytes)
        self._filter = self._scope.url_filter()
        self._known = Known.read(self._root, *self._taken.external) if self._taken.external else None

    def process(self, row_groups: tuple[str, Sequence[int]]) -> "Iterator[TaggedOutput]":
        path, numbers = row_groups
        tables: dict[str, list[pa.Table]] = {"facts": [], "yields": [], "pages": []}
        requisites = FoundUrls.none()
        with open_parquet(self._root, path) as file:
            for number in numbers:
                visits = conform(file.read_row_group(number), VISITS).to_pylist()
                yield from self._parse(visits, tables, requisites)
        yield from requisites.outputs("requisites", self._shards, self._partitions)
        facts, yields, pages = (pa.concat_tables(some).combine_chunks() if some else None for some in tables.values())
        if facts is not None:
            yield from self._facts(facts)
        if yields is not None:
            yield from tagged("yields", batches_by(yields, shards(yields["host"], self._shards)))
        if pages is not None:
            del tables
            yield from self._pages(pages)
            release_freed(pages.nbytes)

    def _parse(
        self, visits: list[Any], tables: dict[str, list[pa.Table]], requisites: FoundUrls
    ) -> "Iterator[TaggedOutput]":
        """Parse the visits of a row group: adds FACTS, YIELDS and PAGES to `tables`."""
        link_kinds = FOLLOWED_KINDS | kinds_of(self._kinds).link_kinds
        rules = page_rules(self._taken.extract, self._taken.main)
        parsed = list(parse_batch(visits, self._robot, self._kinds, rules))
        links = links_column(parsed, self._filter, link_kinds)
        pages, facts, seen = [], [], []
        alerts: dict[int, list[Any]] = {}
        for number, (visit, page, found) in enumerate(parsed):
            facts.append(fact_row(visit, page, self._robot) | {"respelled": respelled(visit, links[number])})
            if page is not None or found:
                pages.append(page_row(visit, page, found))
            if self._taken.requisites:
                requisites.add(requisites_of(visit, page, self._filter))
            if page is not None and page.usage.rsl:
                requisites.add(licences_of(visit, page, self._filter))
            if self._taken.yields:
                is_probe = visit["kind"] == PROBE
                seen.append((visit, probe_page(visit, self._robot, self._kinds, rules) if is_probe else page))
            if page is not None and pages[-1]["is_document"]:
                pages[-1] |= judged(visit["url"], page, self._taken.near_duplicates, self._taken.index_scope)
                if found_alerts := list(alert_rows(self._observers, visit, page)):
                    alerts.setdefault(shard(visit["host"], self._shards), []).extend(found_alerts)
        if self._stage_progress:
            self._stage_progress.report(len(visits))
        yield from tagged("alerts", alerts.items())
        if self._known:
            external = external_of([visit for visit, *_ in parsed], links, self._filter, self._known)
            if external.num_rows:
                yield TaggedOutput("external", (0, to_ipc(external)))
        tables["facts"].append(pa.Table.from_pylist(facts, schema=FACTS))
        if yields := yield_rows(seen):
            tables["yields"].append(pa.Table.from_pylist(yields, schema=YIELDS))
        if pages:
            table = pa.Table.from_pylist(pages, schema=pa.schema([PAGES.field(name) for name in PAGES.names[:-2]]))
            has_row = [page is not None or bool(found) for _, page, found in parsed]
            table = table.append_column(PAGES.field("links"), links.filter(pa.array(has_row)))
            tables["pages"].append(table.append_column(PAGES.field("content_bytes"), content_bytes(table)))

    def _facts(self, facts: pa.Table) -> "Iterator[TaggedOutput]":
        yield from tagged("facts", split(facts, "url_key", self._partitions))
        dead = facts.filter(pc.invert(pc.is_in(facts["outcome"], _OPEN)))  # requested without getting a page
        yield from tagged("dead", dead["url_key"].to_pylist())
        released = released_contents(facts)
        if released.num_rows:
            yield from tagged("released", split(released, "digest", self._partitions))
            yield from self._changed(released)
        gone: dict[int, list[Any]] = {}
        for row in gone_rows(released, self._round):
            gone.setdefault(shard(row["host"], self._shards), []).append(row)
        yield from tagged("gone", gone.items())

    def _pages(self, table: pa.Table) -> "Iterator[TaggedOutput]":
        numbers = shards(table["host"], self._shards)
        yield from tagged("pages", batches_by(table, numbers))
        yields = pc.and_(pc.is_valid(table["canonical_url"]), pc.is_null(table["canonical_ignored"]))
        table = table.append_column("yields", yields).append_column("shard", pa.array(numbers, pa.int32()))
        named = [key_of(url) if url else None for url in table["canonical_url"].to_pylist()]
        own = table["url_key"].to_pylist()
        named = [key if key != other else None for key, other in zip(named, own, strict=True)]
        table = table.append_column("canonical_key", pa.array(named, KEY))
        contents = conform(table, CONTENTS).filter(pc.and_(table["is_document"], self._may_be_found(table)))
        yield from tagged("contents", split(contents, "digest", self._partitions))
        if self._taken.near_duplicates:
            documents = conform(table, DOCUMENT).filter(table["is_document"])
            yield from tagged("bands", split(entries(documents), "band", self._partitions))
            yield from tagged("sites", hosts_of_sites(documents))
            yield from self._changed(changed_documents(documents))

    def _changed(self, pages: pa.Table) -> "Iterator[TaggedOutput]":
        hosts = pa.chunked_array([[host(url) for url in pages["url"].to_pylist()]], pa.string())
        yield from tagged("changed", batches_by(conform(pages, CHANGED), shards(hosts, self._shards)))

    def _may_be_found(self, pages: pa.Table) -> pa.ChunkedArray:
        """Whether neither the author of each page nor the index scope keeps it from searches.

        A page that is kept from them owns no content: other pages with the same one would not be found either.
        """
        kept = pc.or_(pc.fill_null(pages["noindex"], False), pc.fill_null(pc.invert(pages["search"]), False))
        return pc.invert(pc.or_(kept, self._taken.index_scope.mask(pages["url"])))


def row_groups(path: str, root: str, most_bytes: int) -> Iterator[tuple[str, Sequence[int]]]:
    """The row groups of a file of visits, in parts of so many bytes, more if it is one group."""
    with open_parquet(root, path) as visits:
        sizes = [visits.metadata.row_group(number).total_byte_size for number in range(visits.num_row_groups)]
    yield from ((path, range(start, start + count)) for start, count in cuts(sizes, most_bytes))


class ParseVisits(beam.PTransform):
    """Parses the visits in some files, so many bytes of them at a time.

    What is parsed together goes to a shard in one batch: batches of few rows take most of their time for themselves.
    """

    def __init__(self, root: str, paths: Sequence[str], most_bytes: int, parse: ParseFn) -> None:
        super().__init__()
        self._root, self._paths, self._most_bytes, self._parse = root, paths, most_bytes, parse

    def expand(self, pipeline: beam.Pipeline) -> "Parsed":
        groups = (
            pipeline
            | "Files" >> beam.Create(self._paths)
            | "ListRowGroups" >> beam.FlatMap(row_groups, self._root, self._most_bytes)
            | "SpreadRowGroups" >> beam.Reshuffle()
        )
        return Parsed(*(groups | "Parse" >> beam.ParDo(self._parse).with_outputs(*Parsed._fields)))
