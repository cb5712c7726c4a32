"""The tables of a crawl directory: their Arrow schemas, and the files that hold them.

Columns may be added, never renamed (DESIGN section 3). Times are UTC microseconds; `url_key` is
`urls.url_key`. Hive-style folders (`documents/round=000003/…`) let any engine read a table.
"""

import contextlib
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam.io.filesystems import FileSystems

SCHEMA_VERSION = 1

KEY = pa.binary(16)
TIME = pa.timestamp("us", tz="UTC")

SITEMAP = pa.struct(
    [
        ("level", pa.int32()),  # indexes passed on the way to it
        ("budget", pa.int32()),  # further sitemaps that it may lead to
        ("hosts", pa.list_(pa.string())),  # hosts that vouch for it, and whose pages it may therefore name
    ]
)
"""What is known of a sitemap besides its URL."""

FRONTIER = pa.schema(
    [
        ("url_key", KEY),
        ("url", pa.string()),
        ("host", pa.string()),
        ("depth", pa.int32()),
        ("priority", pa.float64()),  # the link score, higher first; depth comes before it
        ("reason", pa.string()),  # seed, new, recrawl, retry, deferred
        ("referrer", pa.string()),
        ("etag", pa.string()),
        ("last_modified", pa.string()),
        ("due_at", TIME),
        ("discovered_round", pa.int32()),
        ("redirects", pa.int32()),  # redirects followed in a row to get here
        ("failures", pa.int32()),  # failed attempts in a row
        ("digest", KEY),  # of the content that it had, if it was visited before
        ("kind", pa.string()),  # sitemap; null: a page
        ("sitemap", SITEMAP),
        ("links_without_news", pa.bool_()),  # only pages without news link to it
    ]
)

VISITS = pa.schema(
    [
        ("url_key", KEY),
        ("url", pa.string()),
        ("host", pa.string()),
        ("round", pa.int32()),
        ("fetched_at", TIME),
        ("outcome", pa.string()),
        ("status", pa.int32()),
        ("redirect_to", pa.string()),
        ("address", pa.string()),
        ("media_type", pa.string()),
        ("headers", pa.list_(pa.struct([("name", pa.string()), ("value", pa.string())]))),
        ("body", pa.large_binary()),
        ("body_bytes", pa.int64()),
        ("truncated", pa.bool_()),
        ("elapsed_ms", pa.float64()),
        ("robots_rule", pa.string()),
        ("robots_at", TIME),  # fetched_at of the row of robots that counted, for the same origin
        ("host_failures", pa.int32()),  # of its host in a row, after this visit
        ("attempt", pa.int32()),
        ("depth", pa.int32()),
        ("referrer", pa.string()),
        ("error", pa.string()),
        ("priority", pa.float64()),
        ("redirects", pa.int32()),
        ("discovered_round", pa.int32()),
        ("digest_before", KEY),  # of the content that an earlier visit found
        ("kind", pa.string()),  # sitemap; null: a page
        ("sitemap", SITEMAP),
        ("links_without_news", pa.bool_()),  # only pages without news link to it
    ]
)

ROBOTS = pa.schema(
    [
        ("origin", pa.string()),  # scheme://host[:port]
        ("host", pa.string()),
        ("round", pa.int32()),
        ("fetched_at", TIME),
        ("expires_at", TIME),
        ("status", pa.int32()),  # of the last answer; null: none came
        ("verdict", pa.string()),  # rules, allow_all, deny_all, unreachable
        ("crawl_delay", pa.float64()),  # seconds
        ("sitemaps", pa.list_(pa.string())),
        ("body", pa.large_binary()),
        ("error", pa.string()),
        ("depth", pa.int32()),  # of the URL that it was asked for, for the sake of
    ]
)

DOCUMENTS = pa.schema(
    [
        ("url_key", KEY),
        ("url", pa.string()),
        ("host", pa.string()),
        ("domain", pa.string()),
        ("round", pa.int32()),
        ("fetched_at", TIME),
        ("media_type", pa.string()),
        ("charset", pa.string()),
        ("language", pa.string()),
        ("title", pa.string()),
        ("description", pa.string()),
        ("keywords", pa.string()),
        ("headings", pa.list_(pa.string())),
        ("text", pa.string()),
        ("published_at", TIME),
        ("digest", KEY),
        ("near_key", pa.int64()),  # of its cluster; null: too short a text, or an exact duplicate
        ("duplicate_of", KEY),
        ("canonical_url", pa.string()),
        ("canonical_ignored", pa.string()),  # why it is not believed
        ("noindex", pa.bool_()),
        ("nofollow", pa.bool_()),
        ("noarchive", pa.bool_()),
        ("outlinks", pa.int32()),
        ("spam_score", pa.float32()),
        ("facts", pa.map_(pa.string(), pa.string())),
        ("depth", pa.int32()),
        ("near_duplicate_of", KEY),  # the document that represents both in the index
        ("quality_reasons", pa.list_(pa.string())),
        ("truncated", pa.string()),  # the bound that kept the rest from being read; null: all was
    ]
)

LINKS = pa.schema(
    [
        ("source_key", KEY),
        ("source_url", pa.string()),
        ("target_key", KEY),
        ("target_url", pa.string()),
        ("anchor", pa.string()),
        ("rel", pa.string()),
        ("kind", pa.string()),
        ("round", pa.int32()),
    ]
)

URLS = pa.schema(
    [
        ("url_key", KEY),
        ("url", pa.string()),
        ("host", pa.string()),
        ("state", pa.string()),  # due, fetched, redirected, gone, failed, denied, trapped, alias
        ("depth", pa.int32()),
        ("score", pa.float64()),
        ("discovered_round", pa.int32()),
        ("discovered_from", pa.string()),
        ("fetches", pa.int32()),
        ("failures", pa.int32()),
        ("last_status", pa.int32()),
        ("last_fetched_at", TIME),
        ("next_fetch_at", TIME),
        ("changes", pa.int32()),
        ("digest", KEY),
        ("etag", pa.string()),
        ("last_modified", pa.string()),
        ("reason", pa.string()),
        ("round", pa.int32()),  # of this row: the newest row of a key counts
        ("kind", pa.string()),  # sitemap; null: a page
        ("sitemap", SITEMAP),
        ("sitemap_lastmod", TIME),  # when it changed last, as the sitemaps that name it say
        ("near_duplicate_of", KEY),  # as its last visit found
        ("joined_to", KEY),  # of an alias, or of a permanent redirect: the URL that stands for it
        ("stand_ins", pa.list_(pa.string())),  # a few aliases of a URL that is due, in case that it gives nothing
    ]
)

_PAIR = pa.struct([("url", pa.string()), ("other_url", pa.string()), ("digest", KEY)])

ALIASES = pa.schema(
    [
        ("origin", pa.string()),  # scheme://host[:port] of the URLs that the rule changes
        ("host", pa.string()),
        ("kind", pa.string()),  # index_page, case, trailing_slash, parameter, www, scheme, mirror
        ("detail", pa.string()),  # name of the index page or parameter, or the origin that stands for this one; or ""
        ("support", pa.int64()),  # contents that URLs had in common which the rule says are one
        ("contradictions", pa.int64()),  # such URLs with different contents
        ("state", pa.string()),  # proposed, used, dropped
        ("since", pa.int32()),  # the round of that state
        ("round", pa.int32()),  # of this row: the newest row of a rule counts
        ("evidence", pa.list_(_PAIR)),  # pairs with one content, the first few
        ("against", pa.list_(_PAIR)),  # pairs with different contents
    ]
)

DIGESTS = pa.schema(
    [
        ("digest", KEY),
        ("url_key", KEY),  # the document that keeps the content
        ("url", pa.string()),
        ("depth", pa.int32()),
        ("round", pa.int32()),
    ]
)

NEAR = pa.schema(
    [
        ("url_key", KEY),
        ("url", pa.string()),
        ("depth", pa.int32()),
        ("round", pa.int32()),  # of this row: the newest row of a key counts
        ("signature", pa.binary(128)),  # `signatures.signature`; null: no representative any more
    ]
)

TOMBSTONES = pa.schema(
    [
        ("url_key", KEY),
        ("round", pa.int32()),  # in segments of earlier rounds, the page is not found
        ("reason", pa.string()),  # `tombstones.REPLACED`, or why the newest version is not indexed
    ]
)

HOSTS = pa.schema(
    [
        ("host", pa.string()),
        ("round", pa.int32()),
        ("visits", pa.int64()),
        ("requests", pa.int64()),
        ("fetched", pa.int64()),
        ("failures", pa.int64()),
        ("bytes", pa.int64()),
        ("elapsed_ms", pa.float64()),  # summed over the requests
        ("last_fetched_at", TIME),  # its last answer, also to a request for robots.txt
        ("latency", pa.list_(pa.int64())),  # requests by time: below 1, 2, 4, … milliseconds
        ("latency_p50_ms", pa.float64()),
        ("latency_p95_ms", pa.float64()),
        ("addresses", pa.list_(pa.string())),  # the last few
        ("failures_in_row", pa.int32()),
        ("last_elapsed_ms", pa.float64()),
        ("crawl_delay", pa.float64()),  # seconds
        ("not_before", TIME),  # no request to it before
        ("held_by", pa.string()),  # why: delay, crawl_delay, response_time, backoff, dead, robots, retry_after
    ]
)

REJECTIONS = pa.schema(
    [
        ("reason", pa.string()),
        ("host", pa.string()),
        ("round", pa.int32()),
        ("count", pa.int64()),
        ("samples", pa.list_(pa.string())),
    ]
)

TRAPS = pa.schema(
    [
        ("host", pa.string()),
        ("template", pa.string()),  # of paths and queries; * is all that is new on the host
        ("kind", pa.string()),  # of way to it: plain, links_without_news, variant
        ("round", pa.int32()),  # of this row: the newest of a template and kind counts
        ("state", pa.string()),  # open, throttled, trapped
        ("since", pa.int32()),  # the round that brought the state
        ("pages", pa.int64()),  # visited for the first time
        ("fresh", pa.int64()),  # of those, with news
        ("recent_pages", pa.float64()),  # about the last 32
        ("recent_fresh", pa.float64()),
        ("samples", pa.list_(pa.string())),
    ]
)

TRAP_SAMPLES = pa.schema(
    [
        ("host", pa.string()),
        ("template", pa.string()),  # of a family of paths
        ("round", pa.int32()),
        ("words", pa.list_(pa.binary())),  # of pages that others are compared with; the newest row counts
        ("forms", pa.binary()),  # of URLs without their opaque tokens: those that this round has added
    ]
)

ALERTS = pa.schema(
    [
        ("url_key", KEY),
        ("url", pa.string()),
        ("host", pa.string()),
        ("round", pa.int32()),
        ("fetched_at", TIME),
        ("observer", pa.string()),
        ("kind", pa.string()),
        ("matched", pa.string()),
        ("detail", pa.string()),
    ]
)

SEEDS = pa.schema(
    [
        ("url_key", KEY),
        ("url", pa.string()),
        ("host", pa.string()),
        ("metadata", pa.string()),
        ("kind", pa.string()),  # sitemap; null: a page
    ]
)

RANKS = pa.schema(
    [
        ("url_key", KEY),
        ("url", pa.string()),
        ("host", pa.string()),
        ("round", pa.int32()),  # the last whose links were counted
        ("link_rank", pa.float64()),  # PageRank, relative to the mean
        ("links", pa.int64()),  # pages that link to it
        ("link_hosts", pa.int64()),  # and their hosts
        ("anchors", pa.list_(pa.struct([("anchor", pa.string()), ("hosts", pa.int64())]))),
    ]
)

HOST_RANKS = pa.schema(
    [
        ("host", pa.string()),
        ("round", pa.int32()),
        ("centrality", pa.float64()),  # harmonic, in the graph of hosts
        ("link_rank", pa.float64()),  # PageRank in the graph of hosts, relative to the mean
        ("link_hosts", pa.int64()),  # hosts that link to it
    ]
)

TABLES: Mapping[str, pa.Schema] = {
    "frontier": FRONTIER,
    "visits": VISITS,
    "robots": ROBOTS,
    "documents": DOCUMENTS,
    "links": LINKS,
    "urls": URLS,
    "aliases": ALIASES,
    "digests": DIGESTS,
    "near": NEAR,
    "tombstones": TOMBSTONES,
    "hosts": HOSTS,
    "host_turns": HOSTS,
    "rejections": REJECTIONS,
    "traps": TRAPS,
    "trap_samples": TRAP_SAMPLES,
    "alerts": ALERTS,
    "seeds": SEEDS,
    "ranks": RANKS,
    "host_ranks": HOST_RANKS,
}


class TableFile(NamedTuple):
    """A file that a step has written, as its manifest names it."""

    table: str
    path: str  # below the crawl directory, with forward slashes
    rows: int
    bytes: int
    counts: dict[str, int]  # of what is in it, by name: outcomes of visits, reasons of frontier rows


def new_path(table: str, round_: int, stem: str = "part", suffix: str = ".parquet") -> str:
    """A path below the crawl directory that no other attempt will ever use."""
    return f"{table}/round={round_:06d}/{stem}-{uuid.uuid4().hex[:16]}{suffix}"


class TableWriter:
    """Writes one new Parquet file of a table, batch by batch; the file exists once a batch came.

    Rows are dicts or Arrow tables with the columns of the schema. `close` returns the file, or None if
    nothing was written. Row groups are the batches as they come: give it batches worth one.
    """

    def __init__(self, root: str, table: str, round_: int, stem: str = "part") -> None:
        self.table = table
        self.schema = TABLES[table]
        self.path = new_path(table, round_, stem)
        self._root = root
        self._sink: BinaryIO | None = None
        self._writer: pq.ParquetWriter | None = None
        self._rows = 0
        self._counts: dict[str, int] = {}

    def write(self, batch: pa.Table, counts: Mapping[str, int] | None = None) -> None:
        if not batch.num_rows:
            return
        if self._writer is None:
            self._sink = FileSystems.create(FileSystems.join(self._root, *self.path.split("/")))
            self._writer = pq.ParquetWriter(self._sink, self.schema, compression="zstd")
        self._writer.write_table(batch, row_group_size=max(1, batch.num_rows))
        self._rows += batch.num_rows
        for name, count in (counts or {}).items():
            self._counts[name] = self._counts.get(name, 0) + count

    def write_rows(self, rows: list[dict[str, Any]], counts: Mapping[str, int] | None = None) -> None:
        self.write(pa.Table.from_pylist(rows, schema=self.schema), counts)

    def close(self) -> TableFile | None:
        if self._writer is None or self._sink is None:
            return None
        self._writer.close()
        size = self._sink.tell()
        self._sink.close()
        self._writer = None
        return TableFile(self.table, self.path, self._rows, size, self._counts)


@contextlib.contextmanager
def open_parquet(root: str, path: str) -> Iterator[pq.ParquetFile]:
    """A Parquet file of the crawl directory, wherever Beam's FileSystems find it."""
    with (
        FileSystems.open(FileSystems.join(root, *path.split("/")), compression_type="uncompressed") as source,
        pq.ParquetFile(source) as file,
    ):
        yield file


def statistics(file: pq.ParquetFile, group: int, column: str) -> pq.Statistics | None:
    """What is known of a column's values in a row group without reading them; None if nothing is, or without it."""
    number = next((i for i, leaf in enumerate(file.schema) if leaf.path == column), None)
    return None if number is None else file.metadata.row_group(group).column(number).statistics


def read_table(root: str, paths: Iterable[str], schema: pa.Schema, columns: list[str] | None = None) -> pa.Table:
    """All rows of the files, in their order; columns that an older file lacks are null."""
    wanted = schema if columns is None else pa.schema([schema.field(name) for name in columns])
    tables = [wanted.empty_table()]
    for path in paths:
        with open_parquet(root, path) as file:
            tables.append(conform(file.read([n for n in wanted.names if n in file.schema_arrow.names]), wanted))
    return pa.concat_tables(tables)


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with exactly the schema's columns: missing ones null, others dropped."""
    columns = [
        table[field.name].cast(field.type) if field.name in table.column_names else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def to_ipc(table: pa.Table) -> bytes:
    """A table as one element of a PCollection: Arrow IPC, so that rows travel in batches."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def from_ipc(batches: Iterable[bytes], schema: pa.Schema) -> pa.Table:
    """The tables of `to_ipc`, end to end; empty when there are none."""
    tables = [schema.empty_table(), *(pa.ipc.open_stream(batch).read_all() for batch in batches)]
    return pa.concat_tables(tables)
