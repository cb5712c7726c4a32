"""Reads the links of a crawl part by part; of each link, only numbers stay in memory."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..tables.schemas import LINKS
from ..tables.table_files import conform, open_parquet, present
from . import endorsements
from .endorsements import Pages
from .pagerank import Longs

_ROWS = 250_000  # of a part, with their strings
_BYTES = 256 << 20  # of a part: texts of sections may be much longer than their rows are many


class Sources(NamedTuple):
    """What must be known of all links before one of them counts."""

    pages: Pages
    last: Longs  # the round of the last visit of each page


class Links(NamedTuple):
    """Links that endorse their targets, as parallel arrays; both ends are representatives."""

    sources: Longs
    targets: Longs
    anchors: pa.ChunkedArray  # of dictionaries
    fragments: pa.ChunkedArray  # of dictionaries: the section that is linked, or ""


def count_votes(root: str, paths: Sequence[str]) -> int:
    """How many links, and sections that they lead to, files of the table have: what ranking has in memory of them.

    Read from the ends of the files.
    """
    return sum(_votes_of(root, path) for path in paths)


def _votes_of(root: str, path: str) -> int:
    with open_parquet(root, path) as file:
        found = file.metadata
    names = [found.schema.column(n).path for n in range(found.num_columns)]
    ids = [n for n, name in enumerate(names) if name.startswith("fragments.") and name.endswith(".id")]
    chunks = [found.row_group(group).column(n) for group in range(found.num_row_groups) for n in ids]
    # A link without sections is a value, too, which is null.
    return found.num_rows + sum(
        chunk.num_values - (chunk.statistics.null_count if chunk.statistics else 0) for chunk in chunks
    )


def read_sources(root: str, paths: Sequence[str], rows: int = _ROWS) -> Sources:
    """Number the pages at the ends of the links in files of the table; parts have about so many `rows`, or fewer."""
    ends, visits = _Distinct(["key", "url"]), _Distinct(["source_key", "round"])
    for part in _parts(root, paths, ["source_key", "source_url", "target_key", "target_url", "round"], rows):
        ends.add(endorsements.ends_of(part))
        visits.add(part.select(["source_key", "round"]))
    pages = endorsements.pages_of(ends.table())
    last = np.zeros(len(pages.keys), np.int64)
    found = visits.table()
    np.maximum.at(last, pages.numbers(found["source_key"]), found["round"].to_numpy())
    return Sources(pages, last)


def read_endorsing(root: str, paths: Sequence[str], documents: pa.Table, known: Sources, rows: int = _ROWS) -> Links:
    """The links that endorse a page, between the representatives of their ends; without links of a page to itself.

    `documents` has DOCUMENT_COLUMNS.
    """
    pages = known.pages
    ends: list[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]] = []
    anchors, fragments, redirects = list[pa.Array](), list[pa.Array](), list[pa.Table]()
    columns = [name for name in endorsements.LINK_COLUMNS if not name.endswith("_url")]
    for part in _parts(root, paths, columns, rows):
        is_last = part["round"].to_numpy() == known.last[pages.numbers(part["source_key"])]
        found = endorsements.links_that_count(part, is_last)
        one, other = (pages.numbers(found.endorsing[f"{end}_key"]).astype(np.int32) for end in ("source", "target"))
        ends.append((one, other))
        for column, parts in (("anchor", anchors), ("fragment", fragments)):
            parts.append(_encoded(found.endorsing[column].combine_chunks()))
        redirects.append(found.redirects)
    aliases = pa.concat_tables([_REDIRECTS.empty_table(), *redirects])
    representative = endorsements.representatives(pages.keys, aliases, endorsements.duplicates(documents))
    sites = endorsements.sites_of(pages).dictionary_encode().take(pa.array(pages.host_of))
    as_ends = (endorsements.as_sources(representative, sites), representative)
    sources, targets = (of[np.concatenate([_NONE, *(pair[i] for pair in ends)])] for i, of in enumerate(as_ends))
    elsewhere = sources != targets
    texts = (
        pa.chunked_array(parts, _TEXTS).unify_dictionaries().filter(pa.array(elsewhere))
        for parts in (anchors, fragments)
    )
    return Links(sources[elsewhere], targets[elsewhere], *texts)


def _encoded(texts: pa.Array) -> pa.DictionaryArray:
    """As _TEXTS: those of all parts may have more than the 2 GiB of an array of strings."""
    encoded = texts.dictionary_encode()
    return pa.DictionaryArray.from_arrays(encoded.indices, encoded.dictionary.cast(_TEXTS.value_type))


class _Distinct:
    """Distinct rows of tables that come one after the other."""

    def __init__(self, columns: list[str]) -> None:
        self._columns, self._tables, self._rows = columns, list[pa.Table](), 0

    def add(self, table: pa.Table) -> None:
        self._tables.append(self._distinct(table))
        if sum(each.num_rows for each in self._tables) > 2 * self._rows:
            self._tables = [self.table()]
            self._rows = self._tables[0].num_rows

    def table(self) -> pa.Table:
        return self._distinct(pa.concat_tables(self._tables))

    def _distinct(self, table: pa.Table) -> pa.Table:
        return table.group_by(self._columns).aggregate([])


def _parts(root: str, paths: Sequence[str], columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
    """The rows of files of the table in parts of whole row groups: each but the last has `rows`, or _BYTES."""
    schema = pa.schema([LINKS.field(name) for name in columns])
    groups, count, size = [schema.empty_table()], 0, 0
    for path in paths:
        with open_parquet(root, path) as file:
            names = present(file, columns)
            for number in range(file.num_row_groups):
                groups.append(conform(file.read_row_group(number, names, use_threads=False), schema))
                count, size = count + groups[-1].num_rows, size + groups[-1].nbytes
                if count >= rows or size >= _BYTES:
                    yield pa.concat_tables(groups)
                    groups, count, size = [schema.empty_table()], 0, 0
    yield pa.concat_tables(groups)


_NONE = np.zeros(0, np.int32)
_TEXTS = pa.dictionary(pa.int32(), pa.large_string())
_REDIRECTS = pa.schema([LINKS.field("source_key"), LINKS.field("target_key")])
