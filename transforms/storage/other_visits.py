"""Reads the visits to what is no page: sitemaps, and files of TDMRep."""

from collections.abc import Iterator, Sequence

import pyarrow.compute as pc

from .schemas import VISITS, VisitRow
from .table_files import open_parquet, statistics


def visits_without_page(path: str, root: str, columns: Sequence[str] = VISITS.names) -> Iterator[VisitRow]:
    """The visits to what is no page in a visits file; row groups without any are skipped by their statistics."""
    with open_parquet(root, path) as file:
        for group in range(file.num_row_groups):
            kinds = statistics(file, group, "kind")
            if kinds is not None and kinds.num_values:
                visits = file.read_row_group(group, [*columns, "kind"], use_threads=False)
                yield from visits.filter(pc.is_valid(visits["kind"])).to_pylist()
