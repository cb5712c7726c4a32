"""Pages that are due again: from the states of all URLs to rows of the frontier (SPEC C2, G3)."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from transforms.history import Batch, split
from transforms.tables import FRONTIER, KEY, URLS, TableFile, TableWriter, from_ipc, open_parquet

_DUE = pa.schema([("url_key", KEY)])


def count_due(root: str, paths: Iterable[str], before: datetime) -> int:
    """How many rows of urls files tell of a page that was visited before a moment; it may have been since."""
    return sum(len(keys) for path in paths for keys in _due_keys(root, path, before))


def _due_keys(root: str, path: str, before: datetime) -> Iterator[pa.Table]:
    """The keys of those rows, by row group; one that holds none is known by its statistics."""
    with open_parquet(root, path) as file:
        column = file.schema_arrow.get_field_index("last_fetched_at")
        for group in range(file.num_row_groups):
            statistics = file.metadata.row_group(group).column(column).statistics
            if statistics is not None and (not statistics.has_min_max or statistics.min > before):
                continue
            rows = file.read_row_group(group, ["url_key", "state", "last_fetched_at"])
            is_due = pc.and_(pc.equal(rows["state"], "fetched"), pc.less_equal(rows["last_fetched_at"], before))
            yield rows.select(["url_key"]).filter(pc.fill_null(is_due, False))


def read_due_keys(path: str, root: str, before: datetime, count: int) -> Iterator[Batch]:
    """The keys of a urls file's rows that tell of a page visited before a moment, by partition."""
    for keys in _due_keys(root, path, before):
        yield from split(keys.cast(_DUE), "url_key", count)


def revisits(
    states: Iterable[dict[str, Any]], waiting: Iterable[dict[str, Any]], before: datetime
) -> Iterator[dict[str, Any]]:
    """Rows of the frontier for the pages that were visited last before a moment, if they do not wait there already.

    `states` are rows of urls, several for a URL: the newest counts.
    """
    newest: dict[bytes, dict[str, Any]] = {}
    for row in states:
        if row["url_key"] not in newest or row["round"] >= newest[row["url_key"]]["round"]:
            newest[row["url_key"]] = row
    in_frontier = {row["url_key"] for row in waiting}
    for key, row in sorted(newest.items()):
        if row["state"] == "fetched" and row["last_fetched_at"] <= before and key not in in_frontier:
            kept = (
                "url_key",
                "url",
                "host",
                "depth",
                "etag",
                "last_modified",
                "digest",
                "discovered_round",
                "failures",
            )
            yield {name: row[name] for name in kept} | {
                "priority": row["score"],
                "reason": "recrawl",
                "referrer": row["discovered_from"],
                "redirects": 0,
            }


class _WriteRevisitsFn(beam.DoFn):
    def __init__(self, root: str, round_: int, before: datetime) -> None:
        self._root, self._round, self._before = root, round_, before

    def process(self, partition: tuple[int, dict[str, Iterable[bytes]]]) -> Iterator[TableFile]:
        _, sides = partition
        states, waiting = from_ipc(sides["states"], URLS), from_ipc(sides["frontier"], FRONTIER)
        rows = list(revisits(states.to_pylist(), waiting.to_pylist(), self._before))
        writer = TableWriter(self._root, "frontier", self._round)
        writer.write_rows(rows, {"recrawl": len(rows)})
        if file := writer.close():
            yield file


class WriteRevisits(beam.PTransform):
    """Write the frontier's rows for pages that are due again.

    Takes {"states": URLS, "frontier": FRONTIER} by partition of url_key.
    """

    def __init__(self, root: str, round_: int, before: datetime) -> None:
        super().__init__()
        self._fn = _WriteRevisitsFn(root, round_, before)

    def expand(self, sides: "dict[str, beam.PCollection[Batch]]") -> beam.PCollection[TableFile]:
        return sides | "WithFrontier" >> beam.CoGroupByKey() | "Write" >> beam.ParDo(self._fn)
