"""The tools of the server: search, fetch, explain, changes and SQL over crawls, as JSON values of bounded size."""

import functools
import json
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ...pipeline.release_held import with_released
from ...search.answers.cursor import CursorError, decode
from ...search.answers.results.hits import Hit, Stored
from ...search.answers.searcher import Index
from ...search.changes import list_changes, page_of, state_of
from ...search.gateway.reload import LatestIndex
from ...transforms.blocks.files import read_blocks
from ...transforms.changes.find import Since, later_than, parse_since
from ...transforms.directory.crawl_dir import CrawlDir, paths_of
from ...transforms.directory.crawl_settings import stored_settings
from ...transforms.outcomes import BeamtrawlError
from ...transforms.robots.stored_signals import read_signals
from ...transforms.sql.queries import query_first
from ...transforms.tables.schemas import DOCUMENTS, VISITS
from ...transforms.tables.table_files import read_table
from ...transforms.urls.canonical import canonicalize
from ..explain.narrative import conclusion, evidence
from ..explain.sources import open_sources
from ..explain.url_record import read_records
from .reserved import leave_reserved_out
from .schemas import MAX_ROWS, MAX_TEXT_BYTES, THIRD_PARTY, ArgumentError, Described, checked, described
from .texts import Id, parse_id, piece, shortened

SEARCH_TIMEOUT_S = 10.0
"""The time of a search, after which it has the best of what was compared."""

QUERY_TIMEOUT_S = 30.0
"""The time of a comparison or a query in SQL."""

MAX_VALUE = 2_000
"""The most characters of a value in a row of SQL."""

Answer = dict[str, Any]
"""A result as JSON values."""

_URL = re.compile(r"https?://\S*[^\s,;:]")


class Problem(BeamtrawlError):
    """A call that cannot be answered; the message says why, and what to do."""


class Options(NamedTuple):
    """What the operator of the server allows."""

    include: Collection[str] = ()  # reasons for which documents are not left out
    allow_sql: bool = False


class Tools:
    """The tools over some crawls. Thread-safe; nothing is written."""

    def __init__(
        self, searched: CrawlDir | Mapping[str, CrawlDir], options: Options, clock: Callable[[], float]
    ) -> None:
        """`clock` is monotonic, in seconds."""
        self._crawls = {"": searched} if isinstance(searched, CrawlDir) else dict(searched)
        self._names = [name for name in self._crawls if name]
        self._options = options
        self._leave_out = leave_reserved_out(options.include)
        self._latest = LatestIndex(searched, clock, leave_out=self._leave_out)
        self.described = described(self._names, options.allow_sql)
        self._calls: Mapping[str, Callable[..., Answer]] = {
            "search": self.search,
            "fetch": self.fetch,
            "explain": self.explain,
            "changes": self.changes,
            "sql": self.sql,
        }

    def call(self, name: str, given: Mapping[str, Any]) -> Answer:
        """The answer of a tool; BeamtrawlError or ArgumentError for a call that cannot be answered."""
        tool = self._tool(name)
        return self._calls[tool.name](**checked(tool, dict(given)))

    def _tool(self, name: str) -> Described:
        for tool in self.described:
            if tool.name == name:
                return tool
        raise ArgumentError(
            f"{name[:50]}: there is no such tool; there are {', '.join(t.name for t in self.described)}"
        )

    def search(self, query: str, limit: int = 10, after: str | None = None) -> Answer:
        """The best documents for a query, with the cursor of those that follow."""
        search = functools.partial(_search, query=query, limit=limit, after=after)
        try:
            round_ = None if after is None else decode(after, query, "score").round
            results = self._latest.ask(search) if round_ is None else self._latest.ask_as_of(round_, search)
        except CursorError as error:
            raise Problem(f"after: {error}") from error
        answer = {"notice": THIRD_PARTY, "results": [_result(hit) for hit in results.hits], "total": results.total}
        more = {"weaker": results.weaker, "next": results.next, "suggestion": results.suggestion}
        more |= {"unknown_words": list(results.unknown_words), "notes": list(results.notes)}
        return answer | {name: value for name, value in more.items() if value}

    def fetch(self, id: str, offset: int = 0, most_bytes: int = MAX_TEXT_BYTES) -> Answer:
        """The text of a document from a character on."""
        wanted = parse_id(id, self._names)
        stored = self.stored(wanted) if wanted else None
        if stored is None or wanted is None:
            raise Problem(f"{shortened(id)}: no such document can be searched; explain says why, if it is a URL")
        part = piece(stored.text, offset, most_bytes)
        metadata: Answer = {"content": "third-party", "notice": THIRD_PARTY}
        metadata |= {"offset": offset, "characters": len(stored.text)}
        metadata |= {"next_offset": part.next} if part.next is not None else {}
        metadata |= {"fetched_at": stored.fetched_at.isoformat()} if stored.fetched_at else {}
        metadata |= {"language": stored.language} if stored.language else {}
        metadata |= {"crawl": stored.crawl} if stored.crawl else {}
        metadata |= {"withheld": "its author allows no copies (noarchive or nosnippet)"} if stored.noarchive else {}
        title = shortened(stored.title) or stored.url
        found = Id(stored.url, stored.crawl)
        return {"id": str(found), "title": title, "text": part.text, "url": stored.url, "metadata": metadata}

    def stored(self, id_: Id) -> Stored | None:
        """The stored text of a document; None if a search does not find it."""
        return self._latest.ask(lambda index: index.stored(id_.url, crawl=id_.crawl))

    def explain(self, url: str, crawl: str | None = None) -> Answer:
        """Why a URL is, or is not, in the index of each crawl. Of a document that is left out, only the conclusion."""
        if canonicalize(url) is None:
            raise ArgumentError(f"{shortened(url)}: not a URL, which starts with http:// or https://")
        names = [crawl] if crawl else list(self._crawls)
        return {"notice": THIRD_PARTY, "url": url, "explanations": [self._explained(name, url) for name in names]}

    def _explained(self, name: str, url: str) -> Answer:
        crawl, now = self._crawls[name], datetime.now(UTC)
        sources = open_sources(crawl, with_released(crawl, stored_settings(crawl)))
        with sources.tables:
            (record,) = read_records(sources, [url])
        found: Answer = ({"crawl": name} if name else {}) | {"conclusion": conclusion(record, now)}
        are_left_out = self._leave_out(crawl, sources.manifests)
        if record.block or are_left_out(pa.chunked_array([[record.url]]))[0]:
            reason = "blocked" if record.block else "reserved from the input of models by its author"
            return found | {"left_out": reason}
        lines = list(evidence(record, now))  # those about other pages may have their words
        named = [each for line in (found["conclusion"], *lines) for each in _URL.findall(line)]
        blocks, reserved = read_blocks(crawl), are_left_out(pa.chunked_array([named], pa.string()))
        hidden = {url for url, is_reserved in zip(named, reserved, strict=True) if is_reserved or blocks.match(url)}
        lines = [line for line in lines if hidden.isdisjoint(_URL.findall(line))]
        found["conclusion"] = _URL.sub(lambda m: "another URL" if m[0] in hidden else m[0], found["conclusion"])
        return found | {"evidence": piece("\n".join(lines), 0, MAX_TEXT_BYTES).text.split("\n")}

    def changes(self, since: str, page: int = 1, crawl: str | None = None) -> Answer:
        """A page of the changes of a crawl since a round or a time."""
        directory = self._one(crawl)
        state = state_of(directory.require_manifests())
        if state is None or not state.has_tables:
            raise Problem("changes are not known: no round of this crawl has ended")
        now = datetime.now(UTC)
        asked = _since(since)
        if later := later_than(asked, state.round, now):
            raise ArgumentError(f"since {since}: {later}")
        left_out = self._leave_out(directory, state.manifests)
        listing = list_changes(directory, state, asked, now, QUERY_TIMEOUT_S, left_out)
        if page > listing.pages:
            raise ArgumentError(f"page {page}: there are {listing.pages} pages")
        found = page_of(directory, state, listing, page, QUERY_TIMEOUT_S)
        answer = {"notice": THIRD_PARTY, "counts": dict(listing.counts), "page": page, "pages": listing.pages}
        return answer | {"changes": _bounded([change.to_dict() for change in found], 4 * MAX_TEXT_BYTES)}

    def sql(self, query: str, crawl: str | None = None) -> Answer:
        """The first rows of a query over the tables of a crawl, without those of documents that are left out."""
        directory = self._one(crawl)
        manifests = directory.require_manifests()
        paths = paths_of(manifests, "documents"), paths_of(manifests, "visits")
        known = [
            read_table(directory.root, some, schema, ["url"])["url"]
            for some, schema in zip(paths, (DOCUMENTS, VISITS), strict=True)
        ]
        urls = pa.chunked_array([chunk for column in known for chunk in column.chunks], pa.string()).unique()
        column = pa.chunked_array([urls])
        is_hidden = self._leave_out(directory, manifests)(column) | read_blocks(directory).mask(column).to_numpy(False)
        is_hidden |= read_signals(directory, manifests).hides(column)
        is_hidden |= pc.is_in(urls, value_set=_withheld(directory, paths[0])).to_numpy(False)
        without = urls.filter(pa.array(is_hidden))
        names, rows = query_first(directory, query, MAX_ROWS + 1, QUERY_TIMEOUT_S, without)
        cells = [[_cell(value) for value in row] for row in rows[:MAX_ROWS]]
        kept = _bounded(cells, MAX_TEXT_BYTES)
        is_cut = len(kept) < len(rows)
        return {"notice": THIRD_PARTY, "columns": names, "rows": kept, "more_rows": is_cut}

    def _one(self, name: str | None) -> CrawlDir:
        if name is None and len(self._crawls) > 1:
            raise ArgumentError(f"crawl is missing: one of {', '.join(self._names)}")
        return self._crawls[name or ""] if name else next(iter(self._crawls.values()))


def _withheld(directory: CrawlDir, paths: Sequence[str]) -> pa.Array:
    """The URLs of documents of which any version allows no search or no copy."""
    rows = read_table(directory.root, paths, DOCUMENTS, ["url", "noindex", "noarchive", "max_snippet", "search"])
    said = [rows["noindex"], rows["noarchive"], pc.equal(rows["max_snippet"], 0), pc.invert(rows["search"])]
    is_withheld = functools.reduce(pc.or_, [pc.fill_null(each, False) for each in said])
    return pc.unique(rows["url"].filter(is_withheld))


def _search(index: Index, query: str, limit: int, after: str | None) -> Any:
    return index.search(query, limit, timeout_s=SEARCH_TIMEOUT_S, after=after)


def _result(hit: Hit) -> Answer:
    found: Answer = {"id": str(Id(hit.url, hit.crawl)), "title": shortened(hit.title) or hit.url, "url": hit.url}
    found |= {"text": str(hit.snippet)} if hit.snippet else {}
    found |= {"is_weaker": True} if hit.is_weaker else {}
    return found | ({"crawl": hit.crawl} if hit.crawl else {})


def _since(text: str) -> Since:
    try:
        return parse_since(text)
    except ValueError as error:
        raise ArgumentError(f"since must be a round, as 3, or a date, as 2026-01-31, not {text!r}") from error


def _bounded(values: list[Any], most_bytes: int) -> list[Any]:
    """The first values, as many as fit into so many bytes of JSON."""
    size = 0
    for number, value in enumerate(values):
        size += len(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
        if size > most_bytes:
            return values[:number]
    return values


def _cell(value: Any) -> Any:
    """A value of a row as JSON: keys and bodies in hexadecimal, and what is no number as text, cut."""
    if value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    text = value[:MAX_VALUE].hex() if isinstance(value, bytes) else str(value)
    return shortened(text, MAX_VALUE) if len(text) > MAX_VALUE else text
