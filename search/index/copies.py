"""Finds documents of several sites with the same content, of which a search shows only the best."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class Copies(NamedTuple):
    """The documents that share their content with another site, as parallel arrays in the order of their URLs."""

    docs: Longs
    groups: Longs  # equal for equal contents

    def others(self, matches: Mask, scores: npt.NDArray[np.float64]) -> Longs:
        """The matching documents for which another one has the same content and a better score.

        `scores` are parallel to `docs`. Of equal scores, the first in the order of URLs counts as better.
        """
        is_match = matches[self.docs]
        docs, groups = self.docs[is_match], self.groups[is_match]
        order = np.lexsort((-scores[is_match], groups))  # stable: by URL where both are equal
        is_first = np.diff(groups[order], prepend=-1) != 0
        return docs[order[~is_first]]


def find_copies(facts: Sequence[pa.Table]) -> Copies:
    """The copies among the documents of all segments, numbered consecutively; `facts` are the facts of each segment."""
    columns = ("url_key", "url", "same_content_as")  # segments of early crawls lack the last one
    some = [segment.select([name for name in columns if name in segment.column_names]) for segment in facts]
    table = pa.concat_tables(some, promote_options="default") if facts else None
    if table is None or columns[-1] not in table.column_names or table["same_content_as"].null_count == table.num_rows:
        return Copies(np.empty(0, np.int64), np.empty(0, np.int64))
    table = table.append_column("doc", pa.array(np.arange(table.num_rows)))
    firsts = table["same_content_as"].combine_chunks().drop_null()
    shares = pc.or_(pc.is_valid(table["same_content_as"]), pc.is_in(table["url_key"], value_set=firsts))
    table = table.filter(shares).sort_by("url")
    content = pc.coalesce(table["same_content_as"], table["url_key"]).combine_chunks().dictionary_encode()
    return Copies(table["doc"].to_numpy(), content.indices.to_numpy().astype(np.int64))
