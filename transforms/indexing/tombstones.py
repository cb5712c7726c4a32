"""Tombstones: the versions of indexed pages that searches no longer find.

A segment never changes. A later round masks documents of it by tombstones, keys of pages that had content: a tombstone
masks the page in all segments of earlier rounds. A page that was indexed again has one for its older versions, and a
page that comes back is found again.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..outcomes import DENIED_SEARCH, REMOVES_PAGE, Outcome
from ..tables.schemas import KEY, TOMBSTONES, TombstoneRow
from ..tables.table_files import read_table

REPLACED = "replaced"
"""The reason for masking an older version when a newer one is indexed."""

REMOVALS = pa.schema([("url_key", KEY), ("reason", pa.string())])
"""Visited pages whose older versions must not be found, with the reason."""


def removals_of_visits(facts: pa.Table) -> pa.Table:
    """REMOVALS by the outcomes of visits (`exchange.FACTS`): the last answer decides, a failure is no answer.

    A redirect to another spelling of its own URL removes nothing, since the page is visited again.
    """
    fetched = pc.equal(facts["outcome"], Outcome.FETCHED)
    reason = pc.case_when(
        pc.make_struct(
            is_taken_back(facts),
            pc.fill_null(facts["denied_meta"], False),
            pc.fill_null(facts["denied_search"], False),
            pc.and_(fetched, pc.is_null(facts["digest"])),  # its kind of content is no longer parsed
        ),
        facts["outcome"],
        pa.scalar(Outcome.DENIED_META.value),
        pa.scalar(DENIED_SEARCH),
        pa.scalar(Outcome.UNWANTED_TYPE.value),
    )
    return pa.Table.from_arrays([facts["url_key"], reason], schema=REMOVALS).filter(pc.is_valid(reason))


def is_taken_back(facts: pa.Table) -> pa.ChunkedArray:
    """Whether the answer to each visit says that the page no longer exists, or may not be fetched."""
    return pc.and_(
        pc.is_in(facts["outcome"], pa.array(sorted(REMOVES_PAGE), pa.string())), pc.is_null(facts["respelled"])
    )


def tombstone_rows(
    removals: Iterable[tuple[bytes, str]], had_content: Iterable[bytes], round_: int
) -> list[TombstoneRow]:
    """Rows of TOMBSTONES, one for each removed page that had content before, sorted by key."""
    before = set(had_content)
    reasons = {key: reason for key, reason in sorted(removals, reverse=True) if key in before}
    return [{"url_key": key, "round": round_, "reason": reasons[key]} for key in sorted(reasons)]


def read_tombstones(root: str, paths: Iterable[str]) -> pa.Table:
    """The columns url_key and round of files of tombstones; CrawlDirError if one cannot be read."""
    return read_table(root, paths, TOMBSTONES, ["url_key", "round"])


def alive(keys: pa.ChunkedArray, round_: int, tombstones: pa.Table) -> npt.NDArray[np.bool_]:
    """Whether each document of a segment is found; `keys` are theirs, `round_` is that of the segment's commit."""
    later = tombstones.filter(pc.greater(tombstones["round"], round_))
    return np.asarray(pc.invert(pc.is_in(keys, later["url_key"])))
