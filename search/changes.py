"""The changes of a crawl as anyone may see them, in pages: without what is blocked or withheld by its author."""

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..transforms.blocks.files import read_blocks
from ..transforms.blocks.rules import Blocks
from ..transforms.changes.find import Change, Since, difference, listing_query, version
from ..transforms.directory.crawl_dir import CrawlDir, Manifest, files_of
from ..transforms.indexing.write_segment import without_passages
from ..transforms.robots.stored_signals import read_signals

PAGE_CHANGES = 100
"""Changes on a page."""

MAX_CHANGES = 10_000
"""Changes that are listed; all are counted."""

MAX_DIFF = 30
"""Lines of a diff that are shown."""

MAX_LINE = 400
"""Characters of a line of a diff that are shown."""

_MAX_TITLE = 150  # characters
_COMPARED = 1_000  # lines of a text: the time grows with their square if many are equal
_COMPARED_LINE = 4_000  # characters
_BATCH = 10_000  # rows in memory besides those that are listed

WITHHELD = "The text is not shown: its author allows no copies or excerpts."


class State(NamedTuple):
    """What a crawl is compared as: its committed steps up to the last update."""

    manifests: Sequence[Manifest]
    round: int  # of the last update
    ended_at: datetime | None
    has_tables: bool  # whether there are visits or documents


class Listing(NamedTuple):
    """The changes since an earlier state."""

    counts: Mapping[str, int]  # by kind
    rows: pa.Table  # the first MAX_CHANGES, by kind and URL

    @property
    def pages(self) -> int:
        """The number of pages, at least one."""
        return max(1, -(-self.rows.num_rows // PAGE_CHANGES))


def state_of(manifests: Sequence[Manifest]) -> State | None:
    """The state after the last update; None before the first one.

    What a later fetch step has visited is left out: its pages are not parsed yet.
    """
    last = max((m for m in manifests if m.step == "update"), key=lambda m: m.round, default=None)
    if last is None:
        return None
    known = [m for m in manifests if m.step != "fetch" or m.round <= last.round]
    ended_at = datetime.fromisoformat(last.ended_at).astimezone(UTC) if last.ended_at else None
    return State(known, last.round, ended_at, any(files_of(known, name) for name in ("documents", "visits")))


def list_changes(
    crawl: CrawlDir,
    state: State,
    since: Since,
    now: datetime,
    timeout_s: float,
    leave_out: Callable[[pa.ChunkedArray], npt.NDArray[np.bool_]] | None = None,
) -> Listing:
    """The changes since an earlier state that may be shown; CrawlDirError if a file cannot be read, QueryTimeout if it
    takes longer than `timeout_s`.

    `leave_out` says of URLs whether they are left out, beside those that nobody sees. Memory is bounded: that of the
    query by 1 GB, that of its result by MAX_CHANGES.
    """
    from ..transforms.sql.queries import open_tables  # noqa: PLC0415 - it imports DuckDB, which searches do not need

    blocks, signals = read_blocks(crawl), read_signals(crawl, state.manifests)
    counts: Counter[str] = Counter()
    kept: list[pa.Table] = []
    room = MAX_CHANGES
    with open_tables(crawl, state.manifests, ("documents", "visits"), timeout_s=timeout_s) as connection:
        reader = connection.sql(listing_query(since, now)).to_arrow_reader(_BATCH)
        for batch in reader:
            rows = pa.Table.from_batches([batch])
            rows = rows.filter(pc.invert(blocks.mask(rows["url"])))
            rows = rows.filter(pa.array(~signals.hides(rows["url"])))
            if leave_out is not None:
                rows = rows.filter(pa.array(~leave_out(rows["url"])))
            counts.update(rows["change"].to_pylist())
            kept.append(rows.slice(0, room))
            room -= kept[-1].num_rows
        table = pa.concat_tables([reader.schema.empty_table(), *kept])
    return Listing(counts, _without_blocked_targets(table, blocks))


def _without_blocked_targets(rows: pa.Table, blocks: Blocks) -> pa.Table:
    targets = [target and (None if blocks.match(target) else target) for target in rows["target"].to_pylist()]
    return rows.set_column(rows.schema.get_field_index("target"), "target", pa.array(targets, pa.string()))


def page_of(crawl: CrawlDir, state: State, listing: Listing, number: int, timeout_s: float) -> list[Change]:
    """The changes on a page, from 1 on, with diffs cut to MAX_DIFF lines; the last line then says how many are left.

    Errors as of `list_changes`.
    """
    rows = listing.rows.slice((number - 1) * PAGE_CHANGES, PAGE_CHANGES)
    texts = _texts(crawl, state, rows, timeout_s)
    return [_change(row, texts) for row in rows.to_pylist()]


def _change(row: Mapping[str, Any], texts: Mapping[tuple[str, int], str]) -> Change:
    kind, url = row["change"], row["url"]
    title = textwrap.shorten(row["title"] or "", _MAX_TITLE, placeholder=" …")
    target = row["target"] if kind == "moved" else None
    diff: list[str] = []
    if row["withheld"] and kind == "changed":
        diff = [WITHHELD]
    elif kind == "changed":
        then, now = texts[url, row["round_then"]], texts[url, row["round"]]
        diff = list(_shortened(difference(then, now, _COMPARED)))
    return Change(kind, url, title, row["at"], target, diff)


def _shortened(diff: Sequence[str]) -> Iterator[str]:
    for line in diff[:MAX_DIFF]:
        yield line if len(line) <= MAX_LINE else f"{line[: MAX_LINE - 1]}…"
    if (more := len(diff) - MAX_DIFF) > 0:
        yield f"… {more:,} more {'line' if more == 1 else 'lines'}"


def _texts(crawl: CrawlDir, state: State, rows: pa.Table, timeout_s: float) -> dict[tuple[str, int], str]:
    """The texts of the pages that have a diff, by URL and round, without the passages that authors exclude."""
    from ..transforms.sql.queries import open_tables  # noqa: PLC0415 - as above

    rows = rows.filter(pc.and_(pc.equal(rows["change"], "changed"), pc.invert(rows["withheld"])))
    if not rows.num_rows:
        return {}
    wanted = pa.table({"url": pa.concat_tables([rows.select(["url"])] * 2)["url"], "round": _rounds(rows)})
    with open_tables(crawl, state.manifests, ("documents",), timeout_s=timeout_s) as connection:
        connection.register("wanted", wanted)
        found = connection.sql(_TEXTS).fetchall()
    return {
        (url, round_): _lines(version(title, without_passages(text or "", hidden or ())))
        for url, round_, title, text, hidden in found
    }


_TEXTS = "SELECT url, round, title, text, nosnippet FROM documents SEMI JOIN wanted USING (url, round)"


def _rounds(rows: pa.Table) -> pa.ChunkedArray:
    return pa.chunked_array([*rows["round_then"].chunks, *rows["round"].chunks], pa.int32())


def _lines(text: str) -> str:
    return "\n".join(line[:_COMPARED_LINE] for line in text.split("\n")[:_COMPARED])
