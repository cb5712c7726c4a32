"""The pages of a shard of hosts, with the texts and links of a part of them at a time in memory.

A host is in one shard, however many pages it has in a round: with 10,000 pages of 50 kB, texts and links take half a
gigabyte.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..batches.batch_schemas import PAGES
from ..indexing.write_segment import in_order
from ..tables.batches import cuts, read_ipc, release_freed

CONTENT = ("text", "headings", "sections", "links")
"""The columns of PAGES that are in memory for a part of the pages at a time."""

PART_BYTES = 24 << 20
"""Bytes of the content of a part, more if it is one page."""

_LINK_BYTES = 250  # of a link in memory, roughly
_PLACE, _BYTES = "place", "content_bytes"


class ShardPages:
    """PAGES of a shard, in batches of `to_ipc`, of which the content is decoded part by part.

    `facts` are all pages without CONTENT, in the order of an index segment, with two more columns: the place of a row
    in the batches, and about how many bytes its content takes.
    """

    def __init__(self, batches: Iterable[bytes], most: int = PART_BYTES) -> None:
        self._batches, self._most = list(batches), most
        self._starts, self._contents = [0], list[pa.Table]()
        facts, total = [_EMPTY], 0
        for batch in self._batches:
            pages = read_ipc(batch)
            sizes, start = _sizes(pages), self._starts[-1]
            self._starts.append(start + pages.num_rows)
            places = pa.array(range(start, self._starts[-1]), pa.int64())
            facts.append(pages.drop_columns(list(CONTENT)).append_column(_PLACE, places).append_column(_BYTES, sizes))
            total += pc.sum(sizes).as_py() or 0
            # What fits in a part is decoded once.
            self._contents = [*self._contents, pages.select(CONTENT)] if total <= most else []
        release_freed(total)
        whole = pa.concat_tables(facts)
        self.facts = whole.take(in_order(whole))

    def parts(self, facts: pa.Table) -> Iterator[pa.Table]:
        """PAGES in parts, from `facts` in which columns have changed; duplicates are without text and headings."""
        for start, length in cuts(facts[_BYTES].to_pylist(), self._most):
            yield self._with_content(facts.slice(start, length))

    def texts(self, keys: Collection[bytes]) -> dict[bytes, str]:
        """The texts of the pages with these keys, by key."""
        rows = self.facts.filter(pc.is_in(self.facts["url_key"], pa.array(keys, PAGES.field("url_key").type)))
        texts = self._content(rows[_PLACE].to_numpy(), ("text",))["text"].to_pylist()
        return {key: text or "" for key, text in zip(rows["url_key"].to_pylist(), texts, strict=True)}

    def _with_content(self, rows: pa.Table) -> pa.Table:
        content = self._content(rows[_PLACE].to_numpy(), CONTENT)
        is_copy = pc.is_valid(rows["duplicate_of"])
        columns = {name: rows[name] for name in PAGES.names if name not in CONTENT}
        columns |= {name: pc.if_else(is_copy, None, content[name]) for name in ("text", "headings", "sections")}
        return pa.table(columns | {"links": content["links"]}).select(PAGES.names).cast(PAGES)

    def _content(self, places: np.ndarray, columns: Sequence[str]) -> pa.Table:
        """Columns of the rows at these places."""
        found, numbers = [PAGES.empty_table().select(columns)], [np.empty(0, np.int64)]
        for number, (start, end) in enumerate(zip(self._starts, self._starts[1:], strict=False)):
            here = np.flatnonzero((places >= start) & (places < end))
            if len(here):
                batch = self._contents[number] if self._contents else read_ipc(self._batches[number], columns)
                found.append(batch.select(columns).take(places[here] - start))
                numbers.append(here)
        return pa.concat_tables(found).take(np.argsort(np.concatenate(numbers)))


def _sizes(pages: pa.Table) -> pa.ChunkedArray:
    """About how many bytes the content of each page takes."""
    links = pc.fill_null(pc.list_value_length(pages["links"]), 0)
    texts = pc.fill_null(pc.binary_length(pages["text"]), 0)
    return pc.add(texts, pc.multiply(links, _LINK_BYTES)).cast(pa.int64())


_EMPTY = pa.schema(
    [*(field for field in PAGES if field.name not in CONTENT), (_PLACE, pa.int64()), (_BYTES, pa.int64())]
).empty_table()
