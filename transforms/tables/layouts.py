"""Layouts of the merged files of tables: the order of their rows, and which of them count.

The files that a step writes are small and read whole. Merged files are sorted, in row groups of a fixed size: by the
statistics in its footer, a reader skips the row groups that cannot hold what it looks for.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .table_files import with_columns


class Layout(NamedTuple):
    """The layout of the merged files of a table."""

    order: tuple[str, ...]
    """Columns that the rows are sorted by. Readers skip row groups by the first one."""

    key: tuple[str, ...]
    """Columns of which the newest `round` counts; empty: all rows count."""

    group_rows: int
    """Rows of a row group: a reader of one row reads so many."""

    others: tuple[str, ...] = ()
    """Further columns with statistics."""


_ALIAS_RULE = ("origin", "kind", "detail", "template")

LAYOUTS: Mapping[str, Layout] = {
    "urls": Layout(("host", "url_key"), ("url_key",), 1024, ("state", "last_fetched_at", "sitemap_lastmod")),
    "external": Layout(("url_key",), ("url_key",), 1024),
    "revisits": Layout(("due_at",), (), 4096, ("round",)),
    "host_changes": Layout(("host",), ("host",), 1024),
    "change_rates": Layout(("rate", "weight"), ("rate", "weight"), 1024),
    "hosts": Layout(("host",), ("host",), 1024, ("not_before", "last_fetched_at")),
    "robots": Layout(("host", "fetched_at"), (), 256),
    "digests": Layout(("digest", "site"), ("digest", "site"), 256),
    "near": Layout(("host", "url_key"), ("url_key",), 256),
    "traps": Layout(("host", "template", "kind"), ("host", "template", "kind"), 1024, ("state",)),
    "trap_samples": Layout(("host", "round"), (), 256),
    "aliases": Layout(_ALIAS_RULE, _ALIAS_RULE, 1024),
    "alias_counts": Layout(_ALIAS_RULE, _ALIAS_RULE, 1024),
}
"""The tables of which every step reads rows of all earlier rounds."""


def newest_rows(rows: pa.Table, *key: str) -> pa.Table:
    """The newest row of each key, in the order of keys; of equally old ones, the last."""
    return arrange(rows, Layout(key, key, 0))


def arrange(rows: pa.Table, layout: Layout) -> pa.Table:
    """The rows that count, in the order of a layout; of several rows of a key, the newest.

    Of rows of one key and round, the last counts. A row without a host, of an earlier version, gets that of its URL.
    """
    if "host" in layout.order and "url" in rows.column_names and rows["host"].null_count:
        of_url = pc.list_element(pc.split_pattern(rows["url"], "/", max_splits=3), 2)
        rows = with_columns(rows, host=pc.coalesce(rows["host"], of_url))
    columns = {name: rows[name] for name in layout.order}
    columns |= {"round": rows["round"], "position": pa.array(np.arange(rows.num_rows))}
    order = [(name, "ascending") for name in (*layout.order, "round", "position")]
    rows = rows.take(pc.sort_indices(pa.table(columns), sort_keys=order))
    if not layout.key or rows.num_rows < 2:
        return rows
    is_last = np.ones(rows.num_rows, np.bool_)
    same = [pc.fill_null(pc.equal(rows[name][:-1], rows[name][1:]), False) for name in layout.key]
    is_last[:-1] = ~np.logical_and.reduce([column.to_numpy(zero_copy_only=False) for column in same])
    return rows.filter(pa.array(is_last))
