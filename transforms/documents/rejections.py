"""Counts links that were not followed, by reason and host, with a few samples."""

from collections.abc import Iterable, Iterator

import apache_beam as beam
import pyarrow as pa
import pyarrow.compute as pc

from ..batches.batch_schemas import NOT_FOLLOWED
from ..batches.partitions import Partition, values
from ..batches.writers import write_rows
from ..tables.table_files import TableFile
from ..urls.canonical import host as host_of

_SAMPLES = 3


def rejections_of(links: pa.Table) -> Iterator[tuple[tuple[str, str], tuple[int, list[str]]]]:
    """((reason, host), (count, samples)) for the links that a rule rejects."""
    rejected = links.filter(pc.and_(pc.is_valid(links["rejected"]), pc.not_equal(links["rejected"], NOT_FOLLOWED)))
    targets = rejected.group_by(["rejected", "target_url"], use_threads=False).aggregate([([], "count_all")])
    found: dict[tuple[str, str], tuple[int, list[str]]] = {}
    for reason, url, times in zip(*(column.to_pylist() for column in targets.columns), strict=True):
        key = (reason, host_of(url))
        count, samples = found.get(key, (0, []))
        if len(samples) < _SAMPLES or url < samples[-1]:
            samples = sorted([*samples, url])[:_SAMPLES]
        found[key] = (count + times, samples)
    yield from found.items()


def add_rejections(parts: Iterable[tuple[int, list[str]]]) -> tuple[int, list[str]]:
    total, samples = 0, set[str]()
    for count, some in parts:
        total += count
        samples.update(some)
    return total, sorted(samples)[:_SAMPLES]


class _WriteFn(beam.DoFn):
    def __init__(self, root: str, round_: int) -> None:
        self._root, self._round = root, round_

    def process(self, partition: Partition) -> Iterator[TableFile]:
        parts_of: dict[tuple[str, str], list[tuple[int, list[str]]]] = {}
        for name, part in values(partition[1]["found"]):
            parts_of.setdefault(name, []).append(part)
        rows = []
        for (reason, host), parts in sorted(parts_of.items()):
            count, samples = add_rejections(parts)
            rows.append({"reason": reason, "host": host, "round": self._round, "count": count, "samples": samples})
        yield from write_rows(self._root, "rejections", self._round, rows, "reason", "count")


class WriteRejections(beam.PTransform):
    """Writes the sums of (shard, rejections), a file for each shard."""

    def __init__(self, root: str, round_: int) -> None:
        super().__init__()
        self._fn = _WriteFn(root, round_)

    def expand(self, found: beam.PCollection) -> beam.PCollection[TableFile]:
        return {"found": found} | "ByShard" >> beam.CoGroupByKey() | "Write" >> beam.ParDo(self._fn)
