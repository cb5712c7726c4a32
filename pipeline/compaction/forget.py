"""The `compact` step that removes what is stored of the URLs of blocks with `--forget`."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from ...transforms.blocks.rules import Blocks
from ...transforms.directory.checkpoints import over_since
from ...transforms.directory.crawl_dir import CrawlDir, Manifest, Step, files_of, next_step
from ...transforms.indexing.live_segments import live_index
from ...transforms.indexing.segment_files import read_file
from ...transforms.indexing.write_segment import DOCS
from ...transforms.outcomes import CrawlDirError
from ...transforms.settings import Settings
from ...transforms.tables.damage import require_whole
from ...transforms.tables.layouts import LAYOUTS
from ...transforms.tables.merge_tables import write_arranged
from ...transforms.tables.schemas import TABLES
from ...transforms.tables.table_files import TableFile, TableWriter, read_groups, read_table, round_of, with_columns
from ..attempt import Attempt, Engine
from .compact import drop_history
from .garbage import fold_history, remove_garbage
from .rebuild_index import rank_anew, reindex

REMOVED = {
    "visits": "url",
    "documents": "url",
    "links": "source_url",
    "alerts": "url",
    "digests": "url",
    "near": "url",
    "external": "url",
    "robots": "origin",
}
"""Tables whose rows are removed, each with the column of the URL; of an origin, that of its robots.txt."""

_BLANKED = ("digest", "etag", "last_modified")  # columns of urls: after `unblock`, a visit is like the first


class Forgotten(NamedTuple):
    """What was removed."""

    rows: dict[str, int]  # by table
    is_reindexed: bool  # whether the index was made anew
    files: list[str]  # that were removed, below the crawl directory


def forget(crawl: CrawlDir, blocks: Blocks, settings: Settings, engine: Engine) -> Forgotten:
    """Remove the rows of the URLs that some blocks match, and the files that held them, also of earlier rounds.

    Files that hold such rows are written anew without them, and the index is made anew from the documents if it holds
    such a page. Then all files that were replaced are removed at once, so searches as of earlier rounds end here, and
    what failed attempts have left, which may hold such rows (`remove_garbage`). A killed call leaves a crawl as it was,
    or without the rows; the next call removes the rest. CrawlDirError while a fetched round waits for its update.
    """
    manifests = crawl.require_manifests()
    step = next_step(manifests)
    if step.kind == "update":
        raise CrawlDirError(f"round {step.round} is fetched but not updated; first run: beamtrawl crawl {crawl.root}")
    is_indexed = _is_indexed(crawl, manifests, blocks)
    rows = _rewrite(crawl, manifests, blocks, step.round - 1)
    if is_indexed:
        reindex(crawl, settings, engine)
        rank_anew(crawl, engine)  # ranks of before are among what was replaced
    drop_history(crawl)
    now, at_once = datetime.now(UTC) + timedelta(seconds=1), timedelta(0)
    replaced = over_since(crawl.committed(), now)
    fold_history(crawl, now, most=0, kept_for=at_once)
    return Forgotten(rows, is_indexed, sorted({*replaced, *remove_garbage(crawl, now, at_once)}))


def _rewrite(crawl: CrawlDir, manifests: Sequence[Manifest], blocks: Blocks, round_: int) -> dict[str, int]:
    """Replace the files that hold rows of blocked URLs; return the number of these rows by table."""
    old, new, counts = list[TableFile](), list[TableFile](), Counter[str]()
    for table in (*REMOVED, "urls"):
        for file in files_of(manifests, table):
            if count := _matches(crawl.root, file, blocks):
                counts[table] += count
                old.append(file)
                new += _without(crawl.root, file, blocks)
    if not old:
        return {}
    attempt = Attempt.after_earlier(crawl, Step("compact", round_))
    crawl.require_claim()
    attempt.commit(files=new, merged=old)
    return {table: count for table, count in counts.items() if table != "urls"}


def _matches(root: str, file: TableFile, blocks: Blocks) -> int:
    """Return the number of rows of a file to be removed, or, of urls, to be changed."""
    column = REMOVED.get(file.table, "url")
    rows = read_table(root, [file.path], TABLES[file.table], [column, *(_BLANKED if file.table == "urls" else ())])
    mask = _mask(rows, file.table, blocks)
    if file.table == "urls":
        known = [pc.is_valid(rows[name]) for name in _BLANKED]
        mask = pc.and_(mask, pc.or_(pc.or_(known[0], known[1]), known[2]))
    return pc.sum(mask).as_py() or 0


def _mask(rows: pa.Table, table: str, blocks: Blocks) -> pa.ChunkedArray:
    column = rows[REMOVED.get(table, "url")]
    if table == "robots":
        column = pc.binary_join_element_wise(column, "/robots.txt", "")
    return pc.fill_null(blocks.mask(column), False)


def _without(root: str, file: TableFile, blocks: Blocks) -> Iterator[TableFile]:
    """Write a file anew, in its round and order; yields it, or nothing if no row is left."""
    require_whole(root, [file])
    parts = (_kept(rows, file.table, blocks) for rows in read_groups(root, file))
    if file.table in LAYOUTS:
        rows = pa.concat_tables(parts)
        yield from write_arranged(root, file.table, round_of(file.path), rows)
        return
    writer = TableWriter(root, file.table, round_of(file.path), "kept")
    for rows in parts:
        writer.write(rows)
    if written := writer.close():
        yield written._replace(counts=file.counts)


def _kept(rows: pa.Table, table: str, blocks: Blocks) -> pa.Table:
    mask = _mask(rows, table, blocks)
    if table != "urls":
        return rows.filter(pc.invert(mask))
    return with_columns(rows, **{name: pc.if_else(mask, None, rows[name]) for name in _BLANKED})


def _is_indexed(crawl: CrawlDir, manifests: Sequence[Manifest], blocks: Blocks) -> bool:
    """Return whether a segment holds a page that a block matches, whether a search finds it or not."""
    urls = (read_file(crawl.root, f"{segment.folder}/{DOCS}", ["url"]) for segment in live_index(manifests).segments)
    return any(pc.any(blocks.mask(table["url"])).as_py() for table in urls)
