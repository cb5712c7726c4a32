"""The semi-join: of all earlier rows, those whose keys a round holds, in few batches."""

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing.util import assert_that

from beamtrawl.transforms.batches.semi_join import CollectKeys, ReadMatching
from beamtrawl.transforms.tables.batches import from_ipc, split, split_by
from beamtrawl.transforms.tables.schemas import URLS
from beamtrawl.transforms.tables.table_files import TableWriter
from beamtrawl.transforms.urls.canonical import url_key

PARTITIONS = 4


def rows(first, count):
    """Rows of urls; their URLs are the numbers from `first` on."""
    return [
        {"url_key": url_key(str(n)), "url": str(n), "host": f"h{n // 50}", "round": 1}
        for n in range(first, first + count)
    ]


def table(of):
    return pa.Table.from_pylist(of, schema=URLS)


def urls(batches):
    return from_ipc(batches, URLS)["url"].to_pylist()


def test_a_table_is_split_by_partition_and_comes_together_again():
    batches = list(split(table(rows(0, 100)), "url_key", PARTITIONS))
    assert sorted(number for number, _ in batches) == [0, 1, 2, 3]
    together = from_ipc([data for _, data in batches], URLS)
    assert together.sort_by("url_key").equals(table(rows(0, 100)).sort_by("url_key"))
    assert list(split(table([]), "url_key", PARTITIONS)) == []


def test_rows_keep_their_order_within_a_number():
    parts = split_by(table(rows(0, 6)), [1, 0, 1, 1, 0, 2])
    assert {number: part["url"].to_pylist() for number, part in parts} == {
        0: ["1", "4"],
        1: ["0", "2", "3"],
        2: ["5"],
    }


@pytest.fixture
def history(tmp_path):
    """Three files of earlier rounds: URLs 0 to 299, in six row groups; the last lacks a column of today."""
    paths = []
    for first in (0, 100):
        writer = TableWriter(str(tmp_path), "urls", 1)
        writer.write_rows(rows(first, 50))
        writer.write_rows(rows(first + 50, 50))
        paths.append(writer.close().path)
    old = table(rows(200, 100)).drop_columns(["reason"])
    pq.write_table(old, tmp_path / "old.parquet", row_group_size=50)
    return str(tmp_path), [*paths, "old.parquet"]


def matching(history, wanted, check):
    """Run the semi-join of the history with the batches of the wanted rows."""
    root, paths = history
    with beam.Pipeline(runner=FnApiRunner()) as pipeline:
        batches = list(split(table(wanted), "url_key", PARTITIONS))
        keys = pipeline | "Round" >> beam.Create(batches) | CollectKeys("url_key", "host")
        found = pipeline | "Paths" >> beam.Create(paths) | ReadMatching(root, URLS, "url_key", PARTITIONS, keys)
        assert_that(found, check)


def test_rows_of_earlier_rounds_are_read_where_their_keys_match(history):
    wanted = [*rows(7, 1), *rows(90, 30), *rows(299, 1), *rows(1000, 50)]
    expected = {*map(str, range(90, 120)), "7", "299"}

    def check(batches):
        found = urls([data for _, data in batches])
        assert expected <= set(found)
        assert len(found) == len(set(found)) < len(expected) + 20  # a strange key may pass
        for number, data in batches:
            part = from_ipc([data], URLS)
            assert [n for n, _ in split(part, "url_key", PARTITIONS)] == [number]

    matching(history, wanted, check)


def test_a_round_without_keys_reads_nothing(history):
    def check(batches):
        assert batches == []

    matching(history, [], check)


def test_a_column_that_an_older_file_lacks_is_null(history):
    def check(batches):
        (row,) = [row for row in from_ipc([d for _, d in batches], URLS).to_pylist() if row["url"] == "250"]
        assert row["reason"] is None

    matching(history, rows(250, 1), check)
