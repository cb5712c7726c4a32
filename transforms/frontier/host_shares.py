"""Selects the rows that a round reads of each host: the first of each class, according to its share."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .priority import Quota, UrlClass, allocate, pick


def full_classes(held: Sequence[int], count: int, quota: Quota) -> frozenset[int]:
    """The classes of which no further row is among the first `count`, if so many of each are held.

    >>> sorted(full_classes([90, 10, 0, 0, 0], 100, Quota()))
    [0]
    """
    if sum(held) < count:
        return frozenset()
    more = ([n + count * (one == kind) for one, n in enumerate(held)] for kind in UrlClass)
    return frozenset(k for k, waiting in enumerate(more) if allocate(waiting, count, quota)[k] <= held[k])


class HostShares:
    """Selects the first `count` rows of each host, shared by its classes, from sorted rows in parts.

    Rows have columns host and `class_`. Holds at most `count` rows: those of the last host, which may go on.
    """

    def __init__(self, count: int, quota: Quota) -> None:
        self._count, self._quota = count, quota
        self._held: pa.Table | None = None
        self._host, self._full = "", frozenset[int]()

    def is_full(self, host: str) -> bool:
        """Whether no further row of a host is selected."""
        return host == self._host and len(self._full) == len(UrlClass)

    def add(self, rows: pa.Table) -> pa.Table:
        """The selected rows of the hosts that end before the last host of the rows; at least one row is given."""
        if self._full and rows["host"][0].as_py() == self._host:
            is_surplus = pc.is_in(rows["class_"], pa.array(sorted(self._full), pa.int8()))
            rows = rows.filter(pc.invert(pc.and_(pc.equal(rows["host"], self._host), is_surplus)))
            if not rows.num_rows:
                return rows
        rows = rows if self._held is None else pa.concat_tables([self._held, rows])
        codes = pc.dictionary_encode(rows["host"]).combine_chunks().indices.to_numpy()
        starts = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))
        sizes = np.diff(np.append(starts, len(codes)))
        kinds, mask = rows["class_"].to_numpy(), np.ones(len(codes), np.bool_)
        for start, size in zip(starts[sizes > self._count], sizes[sizes > self._count], strict=True):
            mask[start : start + size] = False
            mask[start + np.array(pick(kinds[start : start + size], self._count, self._quota), np.int64)] = True
        last = starts[-1]
        held = np.bincount(kinds[last:][mask[last:]], minlength=len(UrlClass)).tolist()
        self._host, self._full = rows["host"][-1].as_py(), full_classes(held, self._count, self._quota)
        chosen = rows if mask.all() else rows.filter(pa.array(mask))
        ended = chosen.num_rows - sum(held)
        self._held = chosen.slice(ended)
        return chosen.slice(0, ended)

    def finish(self) -> pa.Table | None:
        """The selected rows of the last host; None if there are none."""
        held, self._held = self._held, None
        self._host, self._full = "", frozenset()
        return held
