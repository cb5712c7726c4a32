"""Tombstones: which versions of pages that were indexed are no longer found.

A segment never changes. What a later round has to say of its documents is a tombstone, the key of a page that had
content: it masks that page in all segments of earlier rounds. A page that was indexed anew has one for its older
versions, and a page that comes back is found again.
"""

from collections.abc import Iterable, Iterator

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..outcomes import REMOVES_PAGE, Outcome
from ..storage.batches import Batch, from_ipc, split, to_ipc
from ..storage.schemas import KEY, TOMBSTONES
from ..storage.table_files import TableFile, TableWriter, read_table
from .read_segment import naming

REPLACED = "replaced"
"""Why an older version is masked: a newer one is indexed."""

FATES = pa.schema([("url_key", KEY), ("reason", pa.string())])
"""Visited pages whose older versions must not be found, and why."""

_KEYS = pa.schema([("url_key", KEY)])


def withdrawn(facts: pa.Table) -> pa.Table:
    """FATES by how visits ended (`parsing.FACTS`): the last answer counts, trouble is no answer.

    A redirect to another spelling of its own URL says nothing, since the page is visited again.
    """
    fetched = pc.equal(facts["outcome"], Outcome.FETCHED)
    reason = pc.case_when(
        pc.make_struct(
            is_taken_back(facts),
            pc.and_(fetched, pc.fill_null(facts["denied_meta"], False)),
            pc.and_(fetched, pc.is_null(facts["digest"])),  # nothing of it is read any more
        ),
        facts["outcome"],
        pa.scalar(Outcome.DENIED_META.value),
        pa.scalar(Outcome.UNWANTED_TYPE.value),
    )
    return pa.Table.from_arrays([facts["url_key"], reason], schema=FATES).filter(pc.is_valid(reason))


def is_taken_back(facts: pa.Table) -> pa.ChunkedArray:
    """Whether the answers to visits say that there is no page any more, or none that may be asked for."""
    return pc.and_(
        pc.is_in(facts["outcome"], pa.array(sorted(REMOVES_PAGE), pa.string())), pc.is_null(facts["respelled"])
    )


def bury(fates: Iterable[tuple[bytes, str]], had_content: Iterable[bytes], round_: int) -> list[dict]:
    """Rows of TOMBSTONES, sorted by key, for those pages that had content before: each once."""
    before = set(had_content)
    reasons = {key: reason for key, reason in sorted(fates, reverse=True) if key in before}
    return [{"url_key": key, "round": round_, "reason": reasons[key]} for key in sorted(reasons)]


def read_tombstones(root: str, paths: Iterable[str]) -> pa.Table:
    """Columns url_key and round of some files; CrawlDirError if one cannot be read."""
    tables = [TOMBSTONES.empty_table().select(["url_key", "round"])]
    for path in paths:
        with naming(path):
            tables.append(read_table(root, [path], TOMBSTONES, ["url_key", "round"]))
    return pa.concat_tables(tables)


def alive(keys: pa.ChunkedArray, round_: int, tombstones: pa.Table) -> npt.NDArray[np.bool_]:
    """Which documents of a segment are found, by their keys and the round that committed it."""
    later = tombstones.filter(pc.greater(tombstones["round"], round_))
    return np.asarray(pc.invert(pc.is_in(keys, later["url_key"])))


def _withdrawn(batch: Batch, count: int) -> Iterator[Batch]:
    yield from split(withdrawn(pa.ipc.open_stream(batch[1]).read_all()), "url_key", count)


def _had_content(batch: Batch) -> Iterator[Batch]:
    urls = pa.ipc.open_stream(batch[1]).read_all()
    if (known := urls.filter(pc.is_valid(urls["digest"])).select(_KEYS.names)).num_rows:
        yield batch[0], to_ipc(known)


class _BuryFn(beam.DoFn):
    def __init__(self, root: str, round_: int) -> None:
        self._root, self._round = root, round_

    def process(self, partition: tuple[int, dict[str, Iterable[bytes]]]) -> Iterator[TableFile]:
        _, sides = partition
        fates = from_ipc(sides["fates"], FATES)
        pairs = zip(fates["url_key"].to_pylist(), fates["reason"].to_pylist(), strict=True)
        rows = bury(pairs, from_ipc(sides["had_content"], _KEYS)["url_key"].to_pylist(), self._round)
        writer = TableWriter(self._root, "tombstones", self._round)
        writer.write_rows(rows)
        if file := writer.close():
            yield file


class BuryDocuments(beam.PTransform):
    """Write the tombstones of a round.

    Takes {"facts": FACTS, "fates": FATES of the round's documents, "earlier": URLS of at least all that were visited},
    each by partition of url_key.
    """

    def __init__(self, root: str, round_: int, partitions: int) -> None:
        super().__init__()
        self._fn = _BuryFn(root, round_)
        self._partitions = partitions

    def expand(self, sides: "dict[str, beam.PCollection[Batch]]") -> beam.PCollection[TableFile]:
        withdrawn_ = sides["facts"] | "Withdrawn" >> beam.FlatMap(_withdrawn, self._partitions)
        fates = (sides["fates"], withdrawn_) | "Fates" >> beam.Flatten()
        had_content = sides["earlier"] | "HadContent" >> beam.FlatMap(_had_content)
        return (
            {"fates": fates, "had_content": had_content}
            | "WithEarlier" >> beam.CoGroupByKey()
            | "Bury" >> beam.ParDo(self._fn)
        )
