"""Reads all that the tables of a crawl hold on a batch of URLs, with a few queries for each table."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from ...transforms.aliases.learned_rules import KnownRules, known_rules
from ...transforms.blocks.files import read_blocks
from ...transforms.directory.index_scopes import scopes_of
from ...transforms.frontier.excluded import has_changed
from ...transforms.indexing.live_segments import live_index
from ...transforms.indexing.segment_files import read_file
from ...transforms.outcomes import REQUESTED
from ...transforms.rights.tdm_rules import read_tdm_rules
from ...transforms.robots.stored_signals import read_signals
from ...transforms.tables.key_scan import Wanted
from ...transforms.tables.schemas import KEY, TABLES, Row
from ...transforms.tables.table_files import read_table
from ...transforms.traps.template_rows import State
from ...transforms.urls import canonical as urls
from ...transforms.urls.filters import NEVER_TEXT, UrlFilter, extension
from ...transforms.urls.index_scope import IndexScope
from .sources import Sources, of_urls

MOST = 20
"""Maximum number of referrers, visits and other rows of one kind; the counts are complete."""

LONGEST_PATH = 100  # links from a seed


class UrlTables:
    """What the tables hold on a batch of canonical URLs: rows by the key of the URL in hexadecimal, unless noted.

    Memory grows with their number and their visits.
    """

    def __init__(self, sources: Sources, asked: Sequence[str]) -> None:
        rows, learns = sources.rows, sources.settings.aliases.learn
        wanted, hosts = of_urls(asked), Wanted("host", sorted({urls.host(url) for url in asked}))
        for table in ("urls", "seeds", "visits", "documents", "frontier", "ranks"):
            sources.load(table, wanted)
        for table in ("hosts", "host_changes", "traps", "robots"):
            sources.load(table, hosts)
        sources.load("tombstones", of_keys := Wanted("url_key", sorted({urls.url_key(url) for url in asked})))
        self.robot = sources.robot  # product token
        self.filter = _url_filter(sources, asked)
        # whether earlier links were judged with other settings, so that it holds for waiting URLs too
        self.has_changed = has_changed(sources.settings, sources.manifests)
        self.limit = _limit_reached(sources)  # limits.max_pages if as many were requested, else 0
        self.blocks = read_blocks(sources.crawl)
        self.aliases = known_rules(sources.crawl, sources.manifests) if learns else KnownRules.of([])
        self.states = _by_key(rows("SELECT * FROM urls"), keep=True)
        self.seeds = frozenset(row["url_key"] for row in rows("SELECT url_key FROM seeds"))
        self.visits = _grouped(rows(_VISITS), "url_key")  # oldest first
        unknown = {_hex(url): url for url in asked if _hex(url) not in self.states}
        accepted = {key for key, url in unknown.items() if not self.filter.reject_url(url)}
        self.documents = _by_key(rows(_DOCUMENTS))  # the newest
        # sources: how many pages link to it; links: MOST of them, as `_with_reasons` returns them
        self.links = _by_key(rows(_LINKS, of_keys.values))
        self.links |= _with_reasons(sources, self.links, accepted)
        self.redirects = _redirects(sources, asked)  # the URLs that redirect to a URL, by URL
        # url, discovered_from, depth, of pages that lead or link to the URLs, by URL
        self.origins = _origins(
            sources, self.states.values(), [self.links[key] for key in unknown if key in self.links]
        )
        # the URL of each key of which a URL is a copy
        self.originals = _originals(sources, self.states.values(), self.documents.values())
        self.frontier = _by_key(rows("SELECT * EXCLUDE (digest) FROM frontier"))
        self.indexed = _indexed(sources, pa.array(of_keys.values, KEY))  # segment, round
        self.ranks = _by_key(rows("SELECT url_key, link_rank, links, link_hosts, round FROM ranks"))
        self.tombstones = _by_key(rows(_TOMBSTONES))  # the newest
        # by host, as the next two
        self.hosts = _by_key(rows("SELECT * EXCLUDE (latency) FROM hosts"), "host", keep=True)
        self.host_changes = _by_key(rows("SELECT * FROM host_changes"), "host", keep=True)
        self.traps = _grouped([row for row in rows(_TRAPS) if row["state"] != State.OPEN], "host")
        self.robots = _by_key(rows("SELECT * FROM robots"), "origin", keep=True)  # the newest, by origin
        # by origin and time
        self.robots_then = {(row["origin"], row["fetched_at"]): row for row in rows("SELECT * FROM robots_history")}
        self.tdm_rules = read_tdm_rules(sources.crawl, sources.manifests)  # by host
        self.stated = read_signals(sources.crawl, sources.manifests)  # of the newest robots.txt and licences
        self.index_scope = IndexScope.of(sources.settings.index)
        # whether the index was made by other patterns, too
        self.index_scope_before = bool(scopes_of(sources.manifests) - {self.index_scope})


_TRAPS = "SELECT host, template, kind, state, since, pages, fresh, failed, redirected, samples FROM traps"
_LINKS = (
    "SELECT target_key AS url_key, count(DISTINCT source_key) AS sources, min({'round': round, 'source_url':"
    " source_url, 'kind': kind, 'anchor': anchor, 'rel': rel, 'target_url': target_url, 'from_duplicate':"
    f" from_duplicate}}, {MOST}) AS links FROM links WHERE target_key IN (SELECT unnest(?)) GROUP BY 1"
)
_VISITS = "SELECT * EXCLUDE (headers, body) FROM visits ORDER BY fetched_at"
_NEWEST = "QUALIFY row_number() OVER (PARTITION BY url_key ORDER BY round DESC) = 1"
_DOCUMENTS = f"SELECT * EXCLUDE (text, headings) FROM documents {_NEWEST}"
_TOMBSTONES = f"SELECT url_key, round, reason FROM tombstones {_NEWEST}"


def _by_key(rows: Iterable[Row], column: str = "url_key", keep: bool = False) -> dict[str, Row]:
    """Rows by a column, which they keep or lose."""
    return {row[column] if keep else row.pop(column): row for row in rows}


def _grouped(rows: Iterable[Row], column: str) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.pop(column), []).append(row)
    return groups


def _with_reasons(sources: Sources, links: Mapping[str, Row], accepted: Collection[str]) -> dict[str, Row]:
    """The rows of links to URLs that are not in the crawl although the scope accepts them, with `not_followed`."""
    wanted = {key: row for key, row in links.items() if key in accepted}
    if not wanted:
        return {}
    from .link_reasons import read_link_facts, with_reason  # noqa: PLC0415  # it loads the parsers

    facts = read_link_facts(sources, (link for row in wanted.values() for link in row["links"]))
    return {key: row | {"links": [with_reason(facts, link) for link in row["links"]]} for key, row in wanted.items()}


def _limit_reached(sources: Sources) -> int:
    """limits.max_pages if the crawl has requested so many, else 0."""
    fetched = [manifest.counters for manifest in sources.manifests if manifest.step == "fetch"]
    most = sources.settings.limits.max_pages
    return most if sum(counts.get(outcome, 0) for counts in fetched for outcome in REQUESTED) >= most else 0


def _hex(url: str) -> str:
    return urls.url_key(url).hex()


def _url_filter(sources: Sources, asked: Iterable[str]) -> UrlFilter:
    """The filter of the crawl; without the extensions of its kinds, which loads the parsers, if no URL has one."""
    if not any(extension(url) in NEVER_TEXT for url in asked):
        return UrlFilter(sources.scope.scope, sources.seed_hosts)
    return sources.scope.url_filter()


def _origins(sources: Sources, states: Iterable[Row], links: Iterable[Row]) -> dict[str, Row]:
    """The URLs on the ways from the seeds, link by link, and those that link to URLs without a state."""
    origins: dict[str, Row] = {row["url"]: row for row in states}
    wanted = {row["discovered_from"] for row in origins.values()}
    wanted |= {link["source_url"] for row in links for link in row["links"]}
    for _ in range(LONGEST_PATH):
        wanted = {url for url in wanted if url and url not in origins}
        sources.load("urls", of_urls(wanted))
        rows = sources.rows("SELECT url, discovered_from, depth FROM urls")
        if not rows:
            break
        origins |= {row["url"]: row for row in rows}
        wanted = {row["discovered_from"] for row in rows}
    return origins


def _originals(sources: Sources, states: Iterable[Row], documents: Iterable[Row]) -> dict[str, str]:
    wanted = {row[name] for row in documents for name in ("duplicate_of", "near_duplicate_of", "same_content_as")}
    wanted |= {row["joined_to"] for row in states}
    of_keys = Wanted("url_key", sorted(bytes.fromhex(key) for key in wanted if key))
    found = sources.read("urls", of_keys, ["url_key", "url"])
    return {row["url_key"].hex(): row["url"] for rows in found for row in rows.to_pylist()}


def _redirects(sources: Sources, asked: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    for rows in sources.read("visits", Wanted("redirect_to", sorted(asked)), ["url", "redirect_to"]):
        for row in rows.to_pylist():
            found.setdefault(row["redirect_to"], set()).add(row["url"])
    return {target: sorted(urls_) for target, urls_ in found.items()}


def robots_of(visits: Sequence[Row]) -> tuple[str, datetime] | None:
    """Which robots.txt decided on the last visit for which one is known: origin and time."""
    last = next((visit for visit in reversed(visits) if visit["robots_at"]), None)
    return (urls.origin(last["url"]), last["robots_at"]) if last else None


def _indexed(sources: Sources, wanted: pa.Array) -> dict[str, Row]:
    """The segment in which searches find a page: the first that has it, and that no later tombstone masks."""
    root, index = sources.crawl.root, live_index(sources.manifests)
    masked: dict[str, int] = {}  # the last round with a tombstone
    for round_, file in index.tombstones:
        for key in _found(read_table(root, [file.path], TABLES["tombstones"], ["url_key"]), wanted)["url_key"]:
            masked[key.as_py().hex()] = max(round_, masked.get(key.as_py().hex(), 0))
    segments: dict[str, Row] = {}
    for segment in index.segments:
        rows = _found(read_file(root, f"{segment.folder}/docs.parquet", ["url_key", "round"]), wanted)
        for row in rows.to_pylist():
            key = row["url_key"].hex()
            if key not in segments and masked.get(key, 0) <= segment.round:
                segments[key] = {"segment": segment.folder, "round": row["round"]}
    return segments


def _found(rows: pa.Table, wanted: pa.Array) -> pa.Table:
    return rows.filter(pc.is_in(rows["url_key"], wanted))
