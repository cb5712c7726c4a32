"""Reads the visits to files about a host: sitemaps, and files of TDMRep."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .schemas import VISITS, VisitRow
from .sitemap_terms import LESSER
from .table_files import open_parquet, statistics


def visits_without_page(path: str, root: str, columns: Sequence[str] = VISITS.names) -> Iterator[VisitRow]:
    """The visits of a file to neither pages nor URLs of LESSER kinds, with some columns and `kind`.

    Row groups without any are skipped by their statistics.
    """
    with open_parquet(root, path) as file:
        for group in range(file.num_row_groups):
            if _may_have_some(statistics(file, group, "kind")):
                visits = file.read_row_group(group, [*columns, "kind"], use_threads=False)
                is_lesser = pc.is_in(visits["kind"], pa.array(LESSER))
                yield from visits.filter(pc.invert(pc.or_(is_lesser, pc.is_null(visits["kind"])))).to_pylist()


def _may_have_some(kinds: pq.Statistics | None) -> bool:
    """Whether a row group with these statistics of column `kind` may have such visits."""
    if kinds is None or not kinds.num_values:
        return False
    return not (kinds.has_min_max and kinds.min == kinds.max and kinds.min in LESSER)
