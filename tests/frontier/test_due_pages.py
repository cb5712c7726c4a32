"""Table revisits: what is due is read without the rest, and taken once."""

import dataclasses
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa

from beamtrawl.transforms.directory.crawl_dir import Manifest
from beamtrawl.transforms.frontier.due_pages import TAKEN, DuePages, IsPlanned, write_due_pages
from beamtrawl.transforms.tables.batches import from_ipc
from beamtrawl.transforms.tables.schemas import KEY, REVISITS, TIME
from beamtrawl.transforms.tables.table_files import TableFile
from tests.support.tables import each_row

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
EMPTY = Manifest("update", 1, "", (), {}, (), "", "")


def hour(number: float) -> datetime:
    return NOW + timedelta(hours=number)


def file(path: Path, round_: int, *hours: float) -> TableFile:
    """A file with a row for each hour; the key of a row is its place."""
    rows = [
        {"url_key": number.to_bytes(16), "host": "a.test", "due_at": hour(at), "round": round_}
        for number, at in enumerate(hours)
    ]
    written = write_due_pages(str(path), round_, [pa.Table.from_pylist(rows, schema=REVISITS)])
    assert written is not None
    return written


def updated(round_: int, *files: TableFile) -> Manifest:
    return dataclasses.replace(EMPTY, round=round_, files=files)


def taken(round_: int, at: datetime, counters: dict[str, int], *consumed: str) -> Manifest:
    """A revisits step."""
    return dataclasses.replace(
        EMPTY, step="revisits", round=round_, started_at=at.isoformat(), counters=counters, consumed=consumed
    )


def keys(due: DuePages, now: datetime) -> list[int]:
    schema = pa.schema([("url_key", KEY), ("host", pa.string())])
    batches = [data for path in due.paths for _, data in due.keys(path, now, 4)]
    return sorted(int.from_bytes(row["url_key"]) for row in from_ipc(batches, schema).to_pylist())


def test_rows_are_taken_when_they_are_due_and_once(tmp_path: Path) -> None:
    one = file(tmp_path, 1, 3, 1, 2, 9)
    steps = [updated(1, one)]
    due = DuePages.of(str(tmp_path), steps)
    assert (due.first(), due.count(hour(0.5)), due.count(hour(2)), keys(due, hour(2))) == (hour(1), 0, 2, [1, 2])
    assert due.spent(hour(2)) == []

    steps.append(taken(2, hour(2), {TAKEN: 2}))
    due = DuePages.of(str(tmp_path), steps)
    assert (due.first(), keys(due, hour(2)), keys(due, hour(5)), due.spent(hour(9))) == (hour(3), [], [0], [one.path])

    # A row of a later round may be due earlier than the step that took the others: it still waits.
    steps.append(updated(2, file(tmp_path, 2, 1.5)))
    due = DuePages.of(str(tmp_path), steps)
    assert (due.first(), keys(due, hour(2))) == (hour(1.5), [0])

    steps.append(taken(3, hour(10), {TAKEN: 3}, *due.paths))
    assert DuePages.of(str(tmp_path), steps) == DuePages(str(tmp_path), (), 3, hour(10))
    assert DuePages.of(str(tmp_path), steps).first() is None


def test_a_revisits_step_that_took_none_of_the_table_leaves_them_all(tmp_path: Path) -> None:
    """recrawl.after makes such steps."""
    steps = [updated(1, file(tmp_path, 1, 1)), taken(2, hour(5), {})]
    assert keys(DuePages.of(str(tmp_path), steps), hour(2)) == [0]


def test_the_rows_that_are_due_are_found_without_reading_the_others(tmp_path: Path) -> None:
    """Of 100,000 rows over a year, an hour reads one row group."""
    rows = 100_000
    due_at = pa.array([hour(365 * 24 * number / rows) for number in range(rows)], REVISITS.field("due_at").type)
    columns = [pa.array([n.to_bytes(16) for n in range(rows)], KEY), pa.array(["a.test"] * rows), due_at]
    table = pa.Table.from_arrays([*columns, pa.array([1] * rows, pa.int32())], schema=REVISITS)
    written = write_due_pages(str(tmp_path), 1, [table])
    assert written is not None
    due = DuePages.of(str(tmp_path), [updated(1, written)])
    with (tmp_path / written.path).open("r+b") as damaged:  # what lies behind the first row group cannot be read
        damaged.seek(written.bytes // 2)
        damaged.write(bytes(written.bytes // 4))
    assert (due.first(), due.count(hour(1))) == (hour(0), 12)
    assert len(keys(due, hour(1))) == 12


# the state of a page, its planned time; whether it is visited again at hour 2
PLANNED = {
    "at its time": ("fetched", hour(2), True),
    "later": ("fetched", hour(2.01), False),
    "without a plan": ("fetched", None, False),
    "that waits already": ("due", hour(1), False),
}


@each_row(PLANNED)
def test_a_planned_page_is_due_from_its_time_on(state: str, at: datetime | None, is_due: bool) -> None:
    rows = pa.table({"state": [state], "next_fetch_at": pa.array([at], TIME)})
    assert IsPlanned(hour(2), DuePages("", ())).mask(rows).to_pylist() == [is_due]
