"""Scans the Parquet files of a snapshot table for a set of keys."""

from collections.abc import Iterator

import pyarrow as pa

from .bloom import Bloom
from .table_files import conform, open_parquet


def matching_rows(root: str, path: str, schema: pa.Schema, key: str, bloom: Bloom) -> Iterator[pa.Table]:
    """The rows of a file whose key may be in the filter; reads other columns only of row groups with matches."""
    if bloom.is_empty:
        return
    with open_parquet(root, path) as file:
        for group in range(file.num_row_groups):
            mask = bloom.mask(file.read_row_group(group, [key])[key])
            if mask.any():
                yield conform(file.read_row_group(group).filter(pa.array(mask)), schema)
