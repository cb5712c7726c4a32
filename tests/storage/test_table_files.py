"""Files of tables: what is written is read, by newer programs too, and nobody's file is overwritten."""

import gc
import re
from datetime import UTC, datetime

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from beamtrawl.transforms.tables.batches import from_ipc, to_ipc
from beamtrawl.transforms.tables.schemas import LINKS, RANKS, TABLES, VISITS
from beamtrawl.transforms.tables.table_files import (
    REPEATED,
    TableWriter,
    column_number,
    conform,
    new_path,
    open_parquet,
    read_table,
    statistics,
)

KEY = b"k" * 16
SAMPLE = {
    pa.binary(16): KEY,
    pa.binary(128): b"s" * 128,
    pa.string(): "글",
    pa.int32(): 7,
    pa.int64(): 2**40,
    pa.float32(): 0.5,
    pa.float64(): 0.1,
    pa.bool_(): True,
    pa.large_binary(): b"\x00body",
    pa.timestamp("us", tz="UTC"): datetime(2026, 3, 1, 12, 0, 0, 123456, UTC),
    pa.list_(pa.string()): ["a", ""],
    pa.list_(pa.int32()): [3, 0],
    pa.list_(pa.int64()): [3, 0],
    pa.list_(pa.binary()): [b"\x00", b""],
    pa.binary(): b"\x00bytes",
    pa.map_(pa.string(), pa.string()): [("name", "value")],
    VISITS.field("sitemap").type: {"level": 1, "budget": 9, "hosts": ["a.test"]},
    RANKS.field("anchors").type: [{"anchor": "a", "hosts": 2}],
    RANKS.field("names").type: [{"fragment": "a", "anchor": "A", "hosts": 2}],
    LINKS.field("fragments").type: [{"id": "a", "anchor": "A"}],
    TABLES["aliases"].field("evidence").type: [{"url": "http://a.test/", "other_url": "http://b.test/", "digest": KEY}],
    TABLES["documents"].field("sections").type: [{"offset": 3, "length": 0, "level": 2, "id": "a b"}],
    VISITS.field("headers").type: [{"name": "ETag", "value": '"1"'}, {"name": "ETag", "value": '"2"'}],
}


def sample(schema):
    """A row with a value of each column's type."""
    return {field.name: SAMPLE[field.type] for field in schema}


def write(root, table, *batches, counts=None):
    writer = TableWriter(str(root), table, 3)
    for rows in batches:
        writer.write_rows(rows, counts)
    return writer.close()


@pytest.mark.parametrize("table", TABLES)
def test_rows_of_every_table_are_read_as_they_were_written(tmp_path, table):
    schema = TABLES[table]
    rows = [sample(schema), dict.fromkeys(schema.names)]
    file = write(tmp_path, table, rows)
    assert read_table(str(tmp_path), [file.path], schema).to_pylist() == rows
    assert pq.read_schema(tmp_path / file.path).equals(schema)  # other engines see the same types


def test_a_file_tells_its_table_path_rows_size_and_counts(tmp_path):
    seeds = TABLES["seeds"]
    file = write(tmp_path, "seeds", [sample(seeds)] * 2, [], [sample(seeds)] * 3, counts={"seed": 1, "x": 2})
    assert re.fullmatch(r"seeds/round=000003/part-[0-9a-f]{16}\.parquet", file.path)
    assert (file.table, file.rows, file.counts) == ("seeds", 5, {"seed": 2, "x": 4})
    assert file.bytes == (tmp_path / file.path).stat().st_size
    with open_parquet(str(tmp_path), file.path) as parquet:
        groups = [parquet.metadata.row_group(i) for i in range(parquet.num_row_groups)]
    assert [group.num_rows for group in groups] == [2, 3]  # as they came
    assert groups[0].column(0).compression == "ZSTD"


def test_without_rows_there_is_no_file(tmp_path):
    assert write(tmp_path, "seeds") is None
    assert write(tmp_path, "seeds", [], []) is None
    assert list(tmp_path.iterdir()) == []


def test_no_two_attempts_share_a_path():
    paths = {new_path("urls", 12, "part") for _ in range(100)}
    assert len(paths) == 100
    assert all(path.startswith("urls/round=000012/part-") for path in paths)
    assert not new_path("index", 1, "shard-0001", suffix="").endswith(".parquet")


def test_files_are_read_one_after_another_and_only_the_columns_that_are_wanted(tmp_path):
    paths = [write(tmp_path, "seeds", [sample(TABLES["seeds"]) | {"url": url}]).path for url in ("b", "a")]
    table = read_table(str(tmp_path), paths, TABLES["seeds"], ["url", "host"])
    assert table.to_pylist() == [{"url": "b", "host": "글"}, {"url": "a", "host": "글"}]
    assert read_table(str(tmp_path), [], TABLES["seeds"], ["url"]).to_pylist() == []


def test_an_older_file_lacks_columns_and_a_newer_one_has_more(tmp_path):
    wanted = pa.schema([("a", pa.int64()), ("b", pa.string())])
    pq.write_table(pa.table({"a": pa.array([1], pa.int32())}), tmp_path / "older")
    pq.write_table(pa.table({"c": [True], "b": ["x"], "a": [2]}), tmp_path / "newer")
    table = read_table(str(tmp_path), ["older", "newer"], wanted)
    assert table.schema == wanted
    assert table.to_pylist() == [{"a": 1, "b": None}, {"a": 2, "b": "x"}]


def test_a_column_of_another_kind_is_an_error():
    with pytest.raises(pa.ArrowInvalid):
        conform(pa.table({"a": ["x"]}), pa.schema([("a", pa.int64())]))


def test_a_table_travels_as_one_element():
    first, second = (pa.table({"a": values}) for values in ([1, 2], [3]))
    assert from_ipc([to_ipc(first), to_ipc(second)], first.schema).to_pydict() == {"a": [1, 2, 3]}
    assert from_ipc([], first.schema).equals(first.schema.empty_table())
    assert from_ipc([to_ipc(first.slice(1))], first.schema).to_pydict() == {"a": [2]}


@pytest.mark.parametrize(("table", "columns"), [("links", {"target_key"}), ("visits", {"url_key"}), ("urls", set())])
def test_columns_in_which_few_values_are_looked_up_have_bloom_filters(tmp_path, table, columns):
    writer = TableWriter(str(tmp_path), table, 1)
    writer.write(pa.Table.from_pylist([{"url_key": KEY, "target_key": KEY}], schema=TABLES[table]))
    path = tmp_path / writer.close().path
    found = duckdb.execute(
        "SELECT path_in_schema FROM parquet_metadata(?) WHERE bloom_filter_length > 0", [str(path)]
    ).fetchall()
    assert {name for (name,) in found} == columns


def test_a_column_has_its_number_and_its_statistics(tmp_path):
    writer = TableWriter(str(tmp_path), "urls", 1, statistics=["host"])
    writer.write_rows([{"host": host} for host in ("b.test", "a.test")])
    file = writer.close()
    with open_parquet(str(tmp_path), file.path) as opened:
        found = statistics(opened, 0, "host")
        assert (found.min, found.max) == ("a.test", "b.test")
        assert statistics(opened, 0, "url") is None
        assert [column_number(opened, name) for name in ("url_key", "host", "none")] == [0, 2, None]


def test_footers_do_not_outlive_their_files(tmp_path):
    """A round opens many files; the footer of one with a million URLs is 30 MB in memory."""
    writer = TableWriter(str(tmp_path), "urls", 1)
    writer.write_rows([{"host": "a.test"}])
    file = writer.close()
    gc.collect()
    gc.disable()
    try:
        before = _footers()
        with open_parquet(str(tmp_path), file.path) as opened:
            assert statistics(opened, 0, "host").max == "a.test"
            assert opened.read_row_groups([0], ["host"]).num_rows == 1
        del opened
        assert _footers() == before
    finally:
        gc.enable()


def _footers():
    return sum(isinstance(each, pq.FileMetaData) for each in gc.get_objects())


def test_only_columns_whose_values_repeat_have_a_dictionary(tmp_path):
    writer = TableWriter(str(tmp_path), "urls", 1)
    writer.write_rows([sample(TABLES["urls"])] * 50)
    found = {column.path_in_schema for column in columns_of(tmp_path, writer) if "RLE_DICTIONARY" in column.encodings}
    assert found == set(REPEATED) & set(TABLES["urls"].names)


def columns_of(root, writer):
    """The metadata of all columns in all row groups of a file that is now closed."""
    with open_parquet(str(root), writer.close().path) as opened:
        groups = [opened.metadata.row_group(number) for number in range(opened.num_row_groups)]
        return [group.column(number) for group in groups for number in range(group.num_columns)]


# the rows of each batch: whether columns are compressed and some have dictionaries
BATCHES = {"one small batch": ([1], False), "one large batch": ([50], True), "several small batches": ([1, 1], True)}


@pytest.mark.parametrize(("batches", "expected"), BATCHES.values(), ids=BATCHES)
def test_all_rows_of_a_small_file_are_plain(tmp_path, batches, expected):
    writer, row = TableWriter(str(tmp_path), "urls", 1), sample(TABLES["urls"])
    for count in batches:
        writer.write_rows([row] * count)
    columns = columns_of(tmp_path, writer)
    assert any("RLE_DICTIONARY" in column.encodings for column in columns) == expected
    assert {column.compression for column in columns} == ({"ZSTD"} if expected else {"UNCOMPRESSED"})
    assert read_table(str(tmp_path), [writer.path], TABLES["urls"]).num_rows == sum(batches)
