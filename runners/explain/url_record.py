"""Collects all that the tables of a crawl hold on one URL.

A record is JSON-like: dicts by column name, times as `datetime`, keys in hexadecimal. Each part is one query by key.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from ...transforms import urls
from ...transforms.aliases.learned_rules import known_rules
from ...transforms.blocks.files import read_blocks
from ...transforms.http.request_headers import Identity
from ...transforms.indexing.live_segments import LiveIndex, live_index
from ...transforms.indexing.read_segment import read_file
from ...transforms.parsing.registry import kinds_of
from ...transforms.robots import rules as robots_rules
from ...transforms.robots.lookup import Robots
from ...transforms.settings import Settings
from ...transforms.storage.crawl_dir import CrawlDir, Manifest
from ...transforms.storage.schemas import TABLES
from ...transforms.storage.sql import connect
from ...transforms.storage.table_files import read_table
from ...transforms.traps.judge import State
from ...transforms.traps.templates import query_template, template
from ...transforms.urls.explain import explain
from ...transforms.urls.filters import UrlFilter

Row = dict[str, Any]

MOST = 20
"""Maximum number of referrers, visits and other rows of one kind; the counts are complete."""

_LONGEST_PATH = 100  # links from a seed

_USED = (
    *("urls", "frontier", "visits", "documents", "links", "robots", "hosts", "traps", "ranks", "seeds"),
    *("tombstones", "rejections", "host_changes"),
)


@dataclasses.dataclass(frozen=True)
class UrlRecord:
    """What a crawl knows about a URL; parts without rows are empty or None."""

    url: str
    dedup_form: str
    url_key: str
    host: str
    steps: list[Row]  # rule, before, after: how the reference became the URL
    state: Row | None  # row of urls
    seed: bool
    rejected: str | None  # by which rule of the scope; None: not rejected
    followed: bool  # whether a link that was found may be followed, as far as the pages say
    aliases: list[Row]  # rule, url: alias rules that change it
    path: list[str]  # from a seed to it, by the links through which each URL was found first
    referrers: int
    links: list[Row]  # the first of them
    redirected_from: list[str]
    visits: list[Row]
    robots: Row | None  # row of robots, with `rule` and `line` that decide on it, and whether it `allows`
    frontier: Row | None
    hosts: Row | None  # row of its host
    host_changes: Row | None  # the same of table host_changes
    traps: list[Row]  # throttled or trapped templates that it may belong to
    document: Row | None
    copies: Row  # url by relation: duplicate_of, near_duplicate_of, same_content_as, joined_to
    indexed: Row | None  # segment and round
    rank: Row | None
    tombstone: Row | None
    block: Row | None  # the block that matches it

    def to_dict(self) -> dict[str, Any]:
        """JSON values by name, but for times."""
        return dataclasses.asdict(self)


class Sources(NamedTuple):
    """Where records are read: an open crawl."""

    crawl: CrawlDir
    manifests: Sequence[Manifest]
    settings: Settings
    tables: duckdb.DuckDBPyConnection
    seed_hosts: frozenset[str]

    def rows(self, query: str, *values: Any) -> list[Row]:
        found = self.tables.execute(query, values)
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, map(_plain, row), strict=True)) for row in found.fetchall()]

    def row(self, query: str, *values: Any) -> Row | None:
        return next(iter(self.rows(query, *values)), None)


def open_sources(crawl: CrawlDir, settings: Settings) -> Sources:
    """Open the tables; CrawlDirError if there is no crawl."""
    manifests = crawl.require_manifests()
    tables = connect(crawl, manifests, _USED)
    hosts = frozenset(host for (host,) in tables.execute("SELECT DISTINCT host FROM seeds").fetchall())
    return Sources(crawl, manifests, settings, tables, hosts)


def url_record(sources: Sources, reference: str) -> UrlRecord:
    """The record of a URL that `urls.canonicalize` accepts."""
    url = urls.canonicalize(reference) or reference
    key, host = urls.url_key(url), urls.host(url)
    state = sources.row("SELECT * FROM urls WHERE url_key = ?", key)
    visits = sources.rows(
        "SELECT * EXCLUDE (headers, body, url_key) FROM visits WHERE url_key = ? ORDER BY fetched_at", key
    )
    links = sources.rows(
        "SELECT source_url, anchor, rel, kind, round, count(DISTINCT source_key) OVER () AS sources FROM links"
        " WHERE target_key = ? ORDER BY 5, 1, 4 LIMIT ?",
        key,
        MOST,
    )
    referrers = max((link.pop("sources") for link in links), default=0)
    document = sources.row(
        "SELECT * EXCLUDE (text, headings, url_key) FROM documents WHERE url_key = ? ORDER BY round DESC LIMIT 1", key
    )
    depth = state["depth"] if state else _depth_of(sources, links)
    block = read_blocks(sources.crawl).match(url)
    return UrlRecord(
        url=url,
        dedup_form=urls.dedup_form(url),
        url_key=key.hex(),
        host=host,
        steps=[step._asdict() for step in explain(reference)],
        state=state,
        seed=sources.row("SELECT url FROM seeds WHERE url_key = ?", key) is not None,
        rejected=_filter(sources).reject(url, depth, 0),
        followed=not links or any("nofollow" not in (link["rel"] or "").lower() for link in links),
        aliases=_aliases(sources, url),
        path=_path(sources, state),
        referrers=referrers,
        links=links,
        redirected_from=[
            row["url"]
            for row in sources.rows(
                "SELECT DISTINCT url FROM visits WHERE redirect_to = ? ORDER BY url LIMIT ?", url, MOST
            )
        ],
        visits=visits[-MOST:],
        robots=_robots(sources, url, visits),
        frontier=sources.row("SELECT * EXCLUDE (url_key, digest) FROM frontier WHERE url_key = ?", key),
        hosts=sources.row("SELECT * EXCLUDE (latency) FROM hosts WHERE host = ?", host),
        host_changes=sources.row("SELECT * FROM host_changes WHERE host = ?", host),
        traps=list(_traps(sources, url, host)),
        document=document,
        copies=_copies(sources, document, state),
        indexed=_indexed(sources.crawl.root, live_index(sources.manifests), key),
        rank=sources.row("SELECT link_rank, links, link_hosts, round FROM ranks WHERE url_key = ?", key),
        tombstone=sources.row(
            "SELECT round, reason FROM tombstones WHERE url_key = ? ORDER BY round DESC LIMIT 1", key
        ),
        block=dataclasses.asdict(block) if block else None,
    )


def _filter(sources: Sources) -> UrlFilter:
    settings = sources.settings
    return UrlFilter(settings.scope, sources.seed_hosts, kinds_of(tuple(settings.documents.kinds)).extensions)


def _depth_of(sources: Sources, links: Sequence[Row]) -> int:
    """The depth of a URL that is not in table urls: one more than that of the pages that link to it."""
    keys = [urls.url_key(link["source_url"]) for link in links]
    depths = [sources.row("SELECT depth FROM urls WHERE url_key = ?", key) for key in keys]
    return min((row["depth"] + 1 for row in depths if row), default=0)


def _aliases(sources: Sources, url: str) -> list[Row]:
    if not sources.settings.aliases.learn:
        return []
    rules = known_rules(sources.crawl, sources.manifests).used
    return [{"rule": rule.name, "url": form} for rule, form in rules.steps(url)]


def _path(sources: Sources, state: Row | None) -> list[str]:
    """The URLs from a seed to a URL, each discovered from the one before."""
    found: list[str] = []
    while state and state["url"] not in found and len(found) < _LONGEST_PATH:
        found.insert(0, state["url"])
        referrer = state["discovered_from"]
        state = sources.row("SELECT * FROM urls WHERE url_key = ?", urls.url_key(referrer)) if referrer else None
    return found


def _robots(sources: Sources, url: str, visits: Sequence[Row]) -> Row | None:
    """The robots.txt that decided on the last visit, or else the newest, and its rule for the URL."""
    origin = urls.origin(url)
    at = next((visit["robots_at"] for visit in reversed(visits) if visit["robots_at"]), None)
    row = (
        sources.row("SELECT * FROM robots_history WHERE origin = ? AND fetched_at = ?", origin, at) if at else None
    ) or sources.row("SELECT * FROM robots WHERE origin = ?", origin)
    if row is None:
        return None
    body = row.pop("body") or b""
    verdict = robots_rules.Verdict(row["verdict"])
    token = Identity.of(sources.settings.robot).token
    rules = robots_rules.parse(body, token, origin) if verdict is robots_rules.Verdict.RULES else None
    allows, rule = Robots(verdict, rules).allows(url)
    return row | {"allows": allows, "rule": rule, "line": robots_rules.line_of(rule, body.decode("utf-8", "replace"))}


def _traps(sources: Sources, url: str, host: str) -> Iterator[Row]:
    own = template(url[len(urls.origin(url)) :])
    names = {own, query_template(own) or own}
    for row in sources.rows("SELECT * FROM traps WHERE host = ? ORDER BY template, kind", host):
        if row["template"] in names and row["state"] != State.OPEN:
            yield {name: row[name] for name in ("template", "kind", "state", "since", "pages", "fresh", "samples")}


def _copies(sources: Sources, document: Row | None, state: Row | None) -> Row:
    """The URLs of the pages that a page is a copy of, by relation."""
    stated = {name: (document or {}).get(name) for name in ("duplicate_of", "near_duplicate_of", "same_content_as")}
    stated["joined_to"] = (state or {}).get("joined_to")
    found: Row = {}
    for relation, key in stated.items():
        if key:
            row = sources.row("SELECT url FROM urls WHERE url_key = ?", bytes.fromhex(key))
            found[relation] = row["url"] if row else key
    return found


def _indexed(root: str, index: LiveIndex, key: bytes) -> Row | None:
    """The segment in which searches find a page."""
    wanted = pa.scalar(key, pa.binary(16))
    for segment in index.segments:
        documents = read_file(root, f"{segment.folder}/docs.parquet", ["url_key", "round"])
        rows = documents.filter(pc.equal(documents["url_key"], wanted))
        masks = read_table(root, [file.path for file in index.masking(segment)], TABLES["tombstones"], ["url_key"])
        if rows.num_rows and not pc.any(pc.equal(masks["url_key"], wanted)).as_py():
            return {"segment": segment.folder, "round": rows["round"][0].as_py()}
    return None


def _plain(value: Any) -> Any:
    """Keys in hexadecimal; other values as they are."""
    if isinstance(value, bytes) and len(value) == 16:
        return value.hex()
    return dict(value) if isinstance(value, Mapping) else value
