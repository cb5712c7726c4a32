"""A crawl that is there: its tables, SQL over them, its index and its state."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from beamtrawl._convert import Rows, html_table
from beamtrawl._hits import Hits
from beamtrawl._tables import Table
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.directory.crawl_settings import stored_settings
from beamtrawl.transforms.directory.named_crawls import named_crawls
from beamtrawl.transforms.outcomes import meant
from beamtrawl.transforms.settings import Settings
from beamtrawl.transforms.sql import queries as sql, views as sql_views
from beamtrawl.transforms.tables.schemas import TABLES
from beamtrawl.transforms.urls.canonical import canonicalize

if TYPE_CHECKING:
    import duckdb

    from beamtrawl.runners.state.crawl_status import Status
    from beamtrawl.search.answers.searcher import Index

_SHOWN = 20  # rows in a notebook


def open(dir: str | os.PathLike[str]) -> Crawl:
    """The crawl in a directory, to read from. CrawlDirError if there is none.

    It may be running: each table, query, search and status sees what is committed at that moment.
    """
    directory = CrawlDir(os.fspath(dir))
    directory.require_manifests()
    return Crawl(directory)


def open_crawls(dirs: Iterable[str | os.PathLike[str]] | Mapping[str, str | os.PathLike[str]]) -> Crawls:
    """Crawls that are searched as one, by the names of their directories or given ones. CrawlDirError if one is none.

    `search` gives the hits of all, with the name of their crawl, which queries filter by (`crawl:NAME`).
    """
    words = (
        [f"{name}={os.fspath(dirs[name])}" for name in dirs]
        if isinstance(dirs, Mapping)
        else [os.fspath(one) for one in dirs]
    )
    crawls = named_crawls(words)
    for crawl in crawls.values():
        crawl.require_manifests()
    return Crawls(crawls)


class _TableProperty:
    """A property with the table of its name."""

    def __init__(self, about: str) -> None:
        self.__doc__ = about

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, crawl: Crawl, owner: type) -> Table:
        return crawl.table(self._name) if crawl is not None else self


class _Searchable:
    """A crawl, or several, whose index is searched."""

    def __init__(self, searched: CrawlDir | dict[str, CrawlDir]) -> None:
        self._searched = searched
        self._indexes: dict[tuple[object, ...], Index] = {}

    def search(
        self,
        query: str,
        limit: int = 10,
        *,
        offset: int = 0,
        as_of: int | None = None,
        per_host: int | None = None,
        explain: bool = False,
        sort: Literal["score", "date"] = "score",
        after: str | None = None,
        timeout: float | None = None,
    ) -> Hits:
        """The best or newest documents for a query, at most `limit`, after the first `offset`. Any text is a query.

        `as_of` searches the index as it was after a round; with `per_host`, further hits of a host come after those of
        others; with `explain`, each hit says how its score is made. `after`, the `next` of the hits of this query,
        gives those that follow, at any depth at the same cost. After `timeout` seconds, without those to open the
        index, the hits are the best of the pages that were compared, and `is_partial` says so. CrawlDirError if there
        is no index. Of several crawls, `as_of` is not for a round.
        """
        if as_of is not None and not isinstance(self._searched, CrawlDir):
            raise ValueError(f"as_of = {as_of}: a round is of one crawl; search that one")
        for name, value, least in (("limit", limit, 1), ("offset", offset, 0), ("per_host", per_host, 1)):
            if value is not None and value < least:
                raise ValueError(f"{name} = {value}: must be at least {least}")
        if sort not in ("score", "date"):
            raise ValueError(f"sort = {sort!r}: must be score or date")
        if timeout is not None and not timeout > 0:
            raise ValueError(f"timeout = {timeout}: must be more than 0")
        if after is not None:
            from beamtrawl.search.answers.cursor import decode  # noqa: PLC0415 - only a search pays for importing it

            cursor = decode(after, query, sort)
            if as_of not in (None, cursor.round):
                raise ValueError(f"as_of = {as_of}: the hits of after are of the index as of round {cursor.round}")
            as_of = cursor.round
        return Hits(
            self._index(as_of).search(
                query, limit, offset, per_host, explain, order=sort, timeout_s=timeout, after=after
            )
        )

    def _index(self, as_of: int | None) -> Index:
        """The index as of a round; one that was opened serves until a step is committed or a block changes."""
        from beamtrawl.search.answers.searcher import Index  # noqa: PLC0415 - only a search pays for importing it

        crawls = [self._searched] if isinstance(self._searched, CrawlDir) else self._searched.values()
        committed = tuple(tuple(crawl.names(name, "*.json")) for crawl in crawls for name in ("manifests", "blocks"))
        if (committed, as_of) not in self._indexes:
            kept = {key: index for key, index in self._indexes.items() if key[0] == committed}
            self._indexes = kept | {(committed, as_of): Index.open(self._searched, as_of)}
        return self._indexes[committed, as_of]


class Crawl(_Searchable):
    """A crawl to read from; `open` makes it. Each property is a table, with the rows committed at that moment."""

    documents = _TableProperty("Every page that was fetched and parsed.")
    links = _TableProperty("Links of documents, and redirects.")
    urls = _TableProperty("The state of every URL ever seen.")
    visits = _TableProperty("One row per attempt to fetch a URL, with the body.")
    hosts = _TableProperty("Politeness, failures and traffic of each host.")
    host_turns = _TableProperty("The same for each host in each round.")
    frontier = _TableProperty("The URLs that wait for a visit.")
    frontier_left = _TableProperty("The rows of the frontier that wait no more.")
    seeds = _TableProperty("The URLs that the crawl started from.")
    robots = _TableProperty("What each origin's robots.txt said.")
    rejections = _TableProperty("Links that were not followed, counted by rule and host.")
    alerts = _TableProperty("What observers found in documents.")
    external = _TableProperty("The links to other hosts that are asked for their status.")
    revisits = _TableProperty("When pages are to be visited again.")
    change_rates = _TableProperty("How many pages change how often.")
    host_changes = _TableProperty("What revisits of each host found.")
    aliases = _TableProperty("Rules by which URLs are one, as contents have shown.")
    alias_counts = _TableProperty("How many URLs each of these rules holds back.")
    traps = _TableProperty("Templates of URLs that yield no new content.")
    trap_samples = _TableProperty("Pages that the state of a template rests on.")
    trap_queues = _TableProperty("How many URLs of a template wait, or are held.")
    digests = _TableProperty("Which document has which content.")
    near = _TableProperty("The documents that represent near duplicates.")
    tombstones = _TableProperty("Pages whose older versions are not found any more.")
    ranks = _TableProperty("The link rank of each page.")
    host_ranks = _TableProperty("The link rank of each host.")

    def __init__(self, directory: CrawlDir) -> None:
        super().__init__(directory)
        self._directory = directory

    @property
    def directory(self) -> str:
        return self._directory.root

    @property
    def settings(self) -> Settings:
        """The settings in crawl.toml; without it, those of the last round."""
        return stored_settings(self._directory)

    def table(self, name: str) -> Table:
        """The table of a name. KeyError if there is no such table."""
        if name not in TABLES:
            raise KeyError(f"there is no table {name!r}{meant(name, TABLES, 'there are')}")
        return Table.of(self._directory, self._directory.require_manifests(), name)

    def sql(self, query: str, parameters: Sequence[Any] | None = None, *, unsafe: bool = False) -> QueryResult:
        """The result of a query in the SQL of DuckDB over the tables; `parameters` are the values of its ?.

        Snapshots such as `urls` have their newest rows, `urls_history` has all of them. QueryError if the query fails,
        and unless `unsafe` if it reads other files than those of the tables, or writes one.
        """
        return QueryResult(sql.query_arrow(self._directory, query, parameters, unsafe))

    def connect(self) -> duckdb.DuckDBPyConnection:
        """A DuckDB database in memory with the tables as views, for further work in DuckDB; close it after use.

        CrawlDirError if a file of a table is damaged.
        """
        return sql_views.connect(self._directory, self._directory.require_manifests())

    def status(self) -> Status:
        """Rounds, rows by table, outcomes, the frontier by reason, hosts, traps and alarms."""
        from beamtrawl.runners.state.crawl_status import summarize  # noqa: PLC0415 - it imports the parsers

        return summarize(self._directory, datetime.now(UTC), self.settings, self._directory.space())

    def explain(self, url: str) -> dict[str, Any]:
        """Why a URL is, or is not, in the index: values as of `explain DIR URL --json`. ValueError if it is no URL."""
        from beamtrawl.pipeline.release_held import with_released  # noqa: PLC0415 - as for the status
        from beamtrawl.runners.explain.narrative import conclusion  # noqa: PLC0415
        from beamtrawl.runners.explain.sources import open_sources  # noqa: PLC0415
        from beamtrawl.runners.explain.url_record import read_records  # noqa: PLC0415

        if canonicalize(url) is None:
            raise ValueError(f"{url}: not a URL that can be fetched, which starts with http:// or https://")
        with (sources := open_sources(self._directory, with_released(self._directory, self.settings))).tables:
            record = read_records(sources, [url])[0]
            return {"conclusion": conclusion(record, datetime.now(UTC))} | record.to_dict()

    def __repr__(self) -> str:
        return f"<Crawl {self.directory}>"


class Crawls(_Searchable, Mapping[str, Crawl]):
    """Several crawls by name, searched as one; `open_crawls` makes it. Each has its tables, SQL and status."""

    def __init__(self, directories: dict[str, CrawlDir]) -> None:
        super().__init__(directories)
        self._crawls = {name: Crawl(directory) for name, directory in directories.items()}

    def __getitem__(self, name: str) -> Crawl:
        return self._crawls[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._crawls)

    def __len__(self) -> int:
        return len(self._crawls)

    def __repr__(self) -> str:
        return f"<Crawls {', '.join(self)}>"


class QueryResult(Rows):
    """The rows that a query has found."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        return self._rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows as tuples."""
        columns = [column.to_pylist() for column in self._rows.columns]
        return list(zip(*columns, strict=True))

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._rows.column_names)

    def __len__(self) -> int:
        return int(self._rows.num_rows)

    def __repr__(self) -> str:
        return f"<QueryResult: {len(self)} rows of {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        shown = self._rows.slice(0, _SHOWN)
        return html_table(shown, f"{shown.num_rows} of {len(self)} rows")
