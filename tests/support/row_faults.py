"""Rows of a crawl that contradict each other: what a fault of the program would leave."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest, files_of, frontier_files, paths_of
from beamtrawl.transforms.directory.verify import Fault
from beamtrawl.transforms.tables.schemas import KEY, TABLES
from beamtrawl.transforms.tables.table_files import TableFile, read_table

UNIQUE: Mapping[str, Sequence[str]] = {
    "documents": ["url_key", "round"],
    "urls": ["url_key"],
    "hosts": ["host"],
    "digests": ["digest", "site"],
    "near": ["url_key"],
    "tombstones": ["url_key", "round"],
    "ranks": ["url_key"],
    "host_ranks": ["host"],
}
"""Tables with the columns that identify a row among those that one step has written."""


def row_faults(crawl: CrawlDir, manifests: Sequence[Manifest]) -> Iterator[Fault]:
    """Rows that contradict each other: keys that are not unique, documents without a visit, unknown frontier URLs.

    Holds the keys of one step, those of all visits and those of the frontier in memory. CrawlDirError if a file cannot
    be read.
    """
    for manifest in manifests:
        for table, columns in UNIQUE.items():
            yield from _repeated(crawl, [file for file in manifest.files if file.table == table], table, columns)
    yield from _unvisited(crawl, manifests)
    yield from _unknown(crawl, manifests)


def _repeated(crawl: CrawlDir, files: Sequence[TableFile], table: str, columns: Sequence[str]) -> Iterator[Fault]:
    if not files:
        return
    keys = read_table(crawl.root, [file.path for file in files], TABLES[table], list(columns))
    counts = keys.group_by(list(columns)).aggregate([([], "count_all")])
    if counts.num_rows < keys.num_rows:
        yield Fault(
            files[0].path,
            f"{keys.num_rows - counts.num_rows} rows repeat the {' and '.join(columns)} of another in the files of this"
            " step",
        )


def _unvisited(crawl: CrawlDir, manifests: Sequence[Manifest]) -> Iterator[Fault]:
    visits = read_table(crawl.root, paths_of(manifests, "visits"), TABLES["visits"], ["url_key", "round"])
    rounds = pc.unique(visits["round"]).to_pylist()  # the visits of others may have been dropped
    visited = {round_: visits["url_key"].filter(pc.equal(visits["round"], round_)) for round_ in rounds}
    for file in files_of(manifests, "documents"):
        rows = read_table(crawl.root, [file.path], TABLES["documents"], ["url_key", "url", "round"])
        for round_ in pc.unique(rows["round"]).to_pylist():
            of_round = rows.filter(pc.equal(rows["round"], round_))
            if round_ in visited:
                yield from _missing(file, of_round, visited[round_], f"documents without a visit in round {round_}")


def _unknown(crawl: CrawlDir, manifests: Sequence[Manifest]) -> Iterator[Fault]:
    frontier = frontier_files(manifests)
    waiting = read_table(crawl.root, [file.path for file in frontier], TABLES["frontier"], ["url_key"])["url_key"]
    known = pa.chunked_array([], KEY)
    for file in files_of(manifests, "urls"):
        keys = read_table(crawl.root, [file.path], TABLES["urls"], ["url_key"])["url_key"]
        known = pa.chunked_array([*known.chunks, *keys.filter(pc.is_in(keys, waiting)).chunks], KEY)
    for file in frontier:
        rows = read_table(crawl.root, [file.path], TABLES["frontier"], ["url_key", "url"])
        yield from _missing(file, rows, known, "URLs that table urls does not have")


def _missing(file: TableFile, rows: pa.Table, known: pa.ChunkedArray, what: str) -> Iterator[Fault]:
    missing = rows.filter(pc.invert(pc.is_in(rows["url_key"], known)))
    if missing.num_rows:
        yield Fault(file.path, f"it has {missing.num_rows} {what}, the first is {missing['url'][0]}")
