"""Marks the pages of a shard of hosts by what was judged of them, and divides them into parts for several workers.

A host is in one shard, however many pages it has in a round: with 10,000 pages of 50 kB, texts and links take half a
gigabyte. So they stay in the batches in which they came, unread but for the texts that are compared.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ..batches.batch_schemas import PAGES
from ..batches.partitions import Partition, StageFn
from ..duplicates.clusters import VERDICTS
from ..duplicates.exact import COPIES, DUPLICATES
from ..duplicates.near_rows import mark_near_duplicates
from ..indexing.write_segment import in_order
from ..parsing import rel_canonical
from ..tables.batches import cuts, from_ipc, read_ipc, to_ipc
from ..tables.schemas import KEY
from ..tables.table_files import with_columns
from ..traps.watch_yields import STALE

CONTENT = ("text", "headings", "sections", "links")
"""The columns of PAGES that are read for a part of the pages at a time."""

PART_BYTES = 24 << 20
"""Bytes of the content of a part, more if it is one batch."""

LEAST_BYTES = 3 << 20
"""Bytes of the content of a part that is worth another worker's while: a quarter of a second, and a segment."""

_FACTS = [name for name in PAGES.names if name not in CONTENT]
_LINK_BYTES = 250  # of a link in memory, roughly


class Part(NamedTuple):
    """Some pages of a shard."""

    shard: int
    facts: bytes  # PAGES without CONTENT, as they are marked, in the order of the batches
    batches: list[bytes]  # PAGES, as they were parsed
    gone: list[bytes]  # keys of pages that their host gives to any path: these are no documents, and lead nowhere


class MarkFn(StageFn):
    """Yields the pages of a shard in parts, with the columns set that say what they are copies of.

    Takes PAGES, STALE, DUPLICATES, COPIES and VERDICTS of the shard, and the keys of URLs whose visit gave no page.
    """

    def __init__(self, workers: int = 1) -> None:
        super().__init__()
        self._workers = workers

    def process(self, partition: Partition, dead: Iterable[bytes]) -> Iterator[Part]:
        number, sides = partition
        batches = sorted(sides["pages"])  # in the same order, whatever worker has sent one first
        read = [read_ipc(batch, _FACTS) for batch in batches]
        stale = from_ipc(sides["stale"], STALE)
        gone = set(stale.filter(stale["is_gone"])["url_key"].to_pylist())
        facts = pa.concat_tables([_EMPTY, *read])
        facts = with_keys(facts, from_ipc(sides["duplicates"], DUPLICATES), "duplicate_of")
        facts = judge_canonicals(facts, [*dead, *gone], lambda keys: texts_of(batches, keys))
        facts = with_keys(facts, from_ipc(sides["copies"], COPIES), "same_content_as")
        facts = mark_links_without_news(facts, stale)
        facts = mark_near_duplicates(facts, from_ipc(sides["near"], VERDICTS))
        sizes = [pc.sum(rows["content_bytes"]).as_py() for rows in read]
        for first, count in cuts(sizes, part_bytes(sum(sizes), self._workers)):
            start, rows = (sum(table.num_rows for table in some) for some in (read[:first], read[first:][:count]))
            marked = facts.slice(start, rows)
            without = [key for key in marked["url_key"].to_pylist() if key in gone] if gone else []
            yield Part(number, to_ipc(marked), batches[first : first + count], without)


def part_bytes(total: int, workers: int) -> int:
    """Return the most bytes of a part of so many: one for each worker, if that pays, and not too large for it.

    Batches are not cut, so parts are a quarter larger than equal ones: else most rounds have another, small one.

    >>> [part_bytes(size << 20, 2) >> 20 for size in (0, 5, 8, 40, 400)]
    [3, 5, 5, 24, 24]
    """
    count = min(workers, total // LEAST_BYTES)
    return min(PART_BYTES, max(LEAST_BYTES, 5 * total // (4 * count) if count > 1 else total))


def content_bytes(pages: pa.Table) -> pa.ChunkedArray:
    """About how many bytes the content of each page takes."""
    links = pc.fill_null(pc.list_value_length(pages["links"]), 0)
    texts = pc.fill_null(pc.binary_length(pages["text"]), 0)
    return pc.add(texts, pc.multiply(links, _LINK_BYTES)).cast(pa.int64())


def texts_of(batches: Iterable[bytes], keys: Collection[bytes]) -> dict[bytes, str]:
    """The texts of the pages with these keys, by key."""
    texts, wanted = dict[bytes, str](), pa.array(keys, KEY)
    for batch in batches if keys else ():
        rows = read_ipc(batch, ("url_key", "text"))
        rows = rows.filter(pc.is_in(rows["url_key"], wanted))
        texts |= {
            key: text or "" for key, text in zip(rows["url_key"].to_pylist(), rows["text"].to_pylist(), strict=True)
        }
    return texts


def pages_of(part: Part) -> pa.Table:
    """PAGES in the order of an index segment, but for those that are gone; duplicates are without text and headings."""
    facts, content = read_ipc(part.facts), from_ipc(part.batches, PAGES)
    is_copy = pc.is_valid(facts["duplicate_of"])
    columns = {name: facts[name] for name in _FACTS}
    columns |= {name: pc.if_else(is_copy, None, content[name]) for name in ("text", "headings", "sections")}
    pages = pa.table(columns | {"links": content["links"]}).select(PAGES.names).cast(PAGES)
    if part.gone:
        pages = pages.filter(pc.invert(pc.is_in(pages["url_key"], pa.array(part.gone, KEY))))
    return pages.take(in_order(pages))


def with_keys(pages: pa.Table, rows: pa.Table, name: str) -> pa.Table:
    """The pages with a column of keys as rows of some of them have it; null for the others."""
    key_of = dict(zip(rows["url_key"].to_pylist(), rows[name].to_pylist(), strict=True))
    return with_columns(pages, **{name: pa.array(map(key_of.get, pages["url_key"].to_pylist()), KEY)})


def judge_canonicals(
    pages: pa.Table, dead: Iterable[bytes], texts: Callable[[Collection[bytes]], Mapping[bytes, str]]
) -> pa.Table:
    """The pages with `canonical_ignored` set, and `duplicate_of` where their canonical link is accepted."""
    columns = ("url_key", "url", "canonical_url", "canonical_ignored", "digest", "duplicate_of")
    if pages["canonical_url"].null_count == pages.num_rows:
        return pages
    documents = pages.filter(pages["is_document"]).select(columns)
    ignored, joined = rel_canonical.judge(documents.to_pylist(), dead, texts)
    keys = pages["url_key"].to_pylist()
    reasons = pc.coalesce(pa.array(map(ignored.get, keys), pa.string()), pages["canonical_ignored"])
    targets = pc.coalesce(pages["duplicate_of"], pa.array(map(joined.get, keys), KEY))
    return with_columns(pages, canonical_ignored=reasons, duplicate_of=targets)


def mark_links_without_news(pages: pa.Table, stale: pa.Table) -> pa.Table:
    """The pages with `links_without_news` set; a redirect keeps its own value."""
    is_stale = pc.is_in(pages["url_key"], stale["url_key"])
    links_without_news = pc.if_else(pages["is_document"], is_stale, pc.fill_null(pages["links_without_news"], False))
    return with_columns(pages, links_without_news=links_without_news)


_EMPTY = pa.schema([field for field in PAGES if field.name not in CONTENT]).empty_table()
