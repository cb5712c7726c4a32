"""Signals of the current robots.txt files and licences (RSL) about pages that were fetched at any time."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..directory.crawl_dir import CrawlDir, Manifest, files_of, paths_of
from ..rights.licence_files import NOT_FETCHED, Licences, read_licences
from ..rights.signals import NO, SEARCH, SignalLine, parse, text_of
from ..rights.usage import RSL_PAGES
from ..tables.schemas import DOCUMENTS, ROBOTS, Row
from ..tables.table_files import read_table, with_columns
from ..urls.canonical import canonicalize, host as host_of, origin as origin_of
from . import rules
from .rules import Verdict
from .signal_lines import Signal, SignalLines

_SOURCE = attrgetter("source")
_NAMED = ("origin", "fetched_at", "verdict", "signals", "licenses")


class StoredSignals:
    """The statements about origins and pages of which there are some: Content-Signal lines and terms of licences."""

    def __init__(self, lines: Mapping[str, Iterable[SignalLine]]) -> None:
        """`lines` are those about an origin (`http://a.org`) or a page (`http://a.org/`), of any sources."""
        by_source = ((about, sorted(some, key=_SOURCE)) for about, some in lines.items())
        self._lines = {about: [SignalLines(each) for _, each in groupby(some, _SOURCE)] for about, some in by_source}
        self._hiding = {
            about for about, some in lines.items() if any(parse(line.statement).get(SEARCH) == NO for line in some)
        }

    def __bool__(self) -> bool:
        return bool(self._lines)

    def about(self, url: str) -> Iterator[tuple[str, Signal]]:
        """What each source says about a canonical URL, by signal, with the line that decides within the source."""
        for lines in (*self._lines.get(origin_of(url), ()), *self._lines.get(url, ())):
            yield from lines.about(url).items()

    def denies(self, url: str, signal: str) -> bool:
        """Whether any source says "no" to a use of a canonical URL."""
        return any(name == signal and said.value == NO for name, said in self.about(url))

    def hides(self, urls: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
        """Whether each URL must not be found by searches."""
        if not self._hiding:
            return np.zeros(len(urls), bool)
        found = (
            not self._hiding.isdisjoint((url, origin_of(url))) and self.denies(url, SEARCH) for url in urls.to_pylist()
        )
        return np.fromiter(found, bool, len(urls))


NO_SIGNALS = StoredSignals({})


def read_signals(crawl: CrawlDir, manifests: Sequence[Manifest], token: str | None = None) -> StoredSignals:
    """The statements of the newest robots.txt of each origin, and of the newest licences that it or a page names.

    A robots.txt that cannot be fetched does not count. Without the robot's product token, rows of versions that did not
    store the lines say nothing; with it, their bodies are read.
    """
    root, paths = crawl.root, paths_of(manifests, "robots")
    rows = pa.concat_tables([_read(root, [], None), *(_read(root, [path], token) for path in paths)])
    has_any = pc.or_(pc.is_valid(rows["signals"]), pc.is_valid(rows["licenses"]))
    some = rows.filter(pc.is_in(rows["origin"], value_set=rows["origin"].filter(has_any)))
    newest = {row["origin"]: row for row in some.sort_by("fetched_at").to_pylist()}
    pages = _pages(crawl, manifests)
    if not pages and not any(row["signals"] or row["licenses"] for row in newest.values()):
        return NO_SIGNALS
    return stated(newest, pages, read_licences(crawl, manifests))


def stated(robots: Mapping[str, Row], pages: Mapping[str, str], licences: Licences) -> StoredSignals:
    """The statements of rows of robots by origin, of column `rsl` by URL, and of the licences that these name."""
    lines = defaultdict[str, list[SignalLine]](list)
    for origin, row in robots.items():
        lines[origin] += lines_of(row["signals"]) if row["signals"] else ()
        for name in row["licenses"] or ():
            lines[origin] += lines_of_licence(licences, canonicalize(name, f"{origin}/robots.txt") or name, origin)
    for url, said in pages.items():
        for line in lines_of(said):
            if line.statement.startswith("http"):
                lines[url] += lines_of_licence(licences, line.statement, url)
            else:
                lines[origin_of(url) if line.path else url].append(line._replace(source=url))
    return StoredSignals({about: some for about, some in lines.items() if some})


def lines_of_licence(licences: Licences, licence: str, about: str) -> list[SignalLine]:
    """What a licence with a URL says about the host of an origin or a page."""
    return list(licences.get(licence, NOT_FETCHED).terms(host_of(f"{about}/"), licence))


def lines_of(signals: str) -> list[SignalLine]:
    """The lines in column `signals`; the number of a line is that among them."""
    found = (line.split(" ", 1) if line.startswith(("/", "*")) else ("", line) for line in signals.split("\n"))
    return [SignalLine(path.encode(), text, number) for number, (path, text) in enumerate(found, 1)]


def _read(root: str, paths: Sequence[str], token: str | None) -> pa.Table:
    rows = read_table(root, paths, ROBOTS, [*_NAMED, *(["body"] if token else [])])
    rows = rows.filter(pc.not_equal(rows["verdict"], Verdict.UNREACHABLE.value))
    if token is None:
        return rows
    columns = (rows[name].to_pylist() for name in ("signals", "body", "origin"))
    found = [
        known
        or (text_of(rules.parse(body, token, origin).signal_lines) if b"signal" in (body or b"").lower() else None)
        for known, body, origin in zip(*columns, strict=True)
    ]
    return with_columns(rows, signals=pa.array(found, pa.string())).select(_NAMED)


def _pages(crawl: CrawlDir, manifests: Sequence[Manifest]) -> dict[str, str]:
    """Column `rsl` of the newest version of each document, by URL, of those of which any version has some."""
    files = files_of(manifests, "documents")
    parts = [
        read_table(crawl.root, [file.path], DOCUMENTS, ["url", "rsl"]) for file in files if file.counts.get(RSL_PAGES)
    ]
    if not parts:
        return {}
    wanted = pc.unique(pa.concat_tables([rows.filter(pc.is_valid(rows["rsl"])) for rows in parts])["url"])
    columns = ["url", "round", "fetched_at", "rsl"]
    parts = [read_table(crawl.root, [file.path], DOCUMENTS, columns) for file in files]
    rows = pa.concat_tables([rows.filter(pc.is_in(rows["url"], value_set=wanted)) for rows in parts])
    rows = rows.sort_by([("round", "ascending"), ("fetched_at", "ascending")])
    newest = dict(zip(rows["url"].to_pylist(), rows["rsl"].to_pylist(), strict=True))
    return {url: said for url, said in newest.items() if said}
