"""Payloads of earlier imports, to which revisits refer: where they lie, and their answers."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...transforms.archives.choose import STORED
from ...transforms.archives.visits import STORED_REPLY, stored_reply
from ...transforms.blocks.rules import Blocks
from ...transforms.http.reply import Reply
from ...transforms.outcomes import Outcome
from ...transforms.tables.key_scan import Wanted, groups_with
from ...transforms.tables.old_bodies import has_body
from ...transforms.tables.schemas import VISITS
from ...transforms.tables.table_files import conform, open_parquet, present

_PLACE_NAMES = "url_key url fetched_at outcome status body_bytes body_removed payload_digest"
_PLACES = pa.schema([VISITS.field(name) for name in _PLACE_NAMES.split()])


def stored_originals(root: str, path: str, wanted: Wanted, blocks: Blocks) -> Iterator[pa.Table]:
    """The visits with bodies of some URLs in a file, as STORED; none of a URL that is blocked."""
    with open_parquet(root, path) as file:
        starts = _starts(file)
        names = present(file, _PLACES.names)
        for group in groups_with(file, wanted.by, wanted.values):
            rows = conform(file.read_row_group(group, names, use_threads=False), _PLACES)
            numbers = pa.array(range(starts[group], starts[group] + rows.num_rows), pa.int64())
            rows = rows.append_column("number", numbers)
            rows = rows.filter(pc.and_(has_body(rows), pa.array(wanted.mask(rows))))
            if len(blocks):
                rows = rows.filter(pa.array([not blocks.match(url) for url in rows["url"].to_pylist()], pa.bool_()))
            rows = rows.append_column("is_page", pc.equal(rows["outcome"], Outcome.FETCHED.value))
            yield conform(rows.append_column("digest", rows["payload_digest"]), STORED)


def read_stored(root: str, path: str, planned: Iterable[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], Reply]]:
    """Rows of `choose.PLAN`, sorted by number, each with the answer of its visit in a file; holds one row group."""
    with open_parquet(root, path) as file:
        starts, held, visits = _starts(file), -1, STORED_REPLY.empty_table()
        for row in planned:
            group = bisect_right(starts, row["number"]) - 1
            if group != held:
                held, visits = group, file.read_row_group(group, STORED_REPLY.names, use_threads=False)
            yield row, stored_reply(visits.slice(row["number"] - starts[group], 1).to_pylist()[0])


def _starts(file: pq.ParquetFile) -> list[int]:
    """The number of the first row of each row group, and the end of the last one."""
    starts = [0]
    for group in range(file.num_row_groups):
        starts.append(starts[-1] + file.metadata.row_group(group).num_rows)
    return starts
