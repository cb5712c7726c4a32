"""Shards of hosts: each host of a column has the shard that it has by itself."""

from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest

from beamtrawl.transforms.tables.bloom import shard, shards
from beamtrawl.transforms.tables.key_scan import Wanted, matching_rows, shard_stem
from beamtrawl.transforms.tables.schemas import TABLES
from beamtrawl.transforms.tables.table_files import TableFile, TableWriter


@pytest.mark.parametrize("chunks", [[], [[]], [["a.test", "b.test", "a.test"]], [["a.test"], [], ["c.test", "a.test"]]])
def test_shards_of_a_column(chunks: list[list[str]]) -> None:
    hosts = pa.chunked_array(chunks, pa.string())
    assert shards(hosts, 7).tolist() == [shard(host, 7) for host in hosts.to_pylist()]
    assert {shard(host, 7) for host in ("a.test", "b.test", "c.test")} != {0}


def test_a_file_of_a_shard_is_opened_for_its_hosts_only(tmp_path: Path) -> None:
    hosts = [f"{letter}.test" for letter in "abcdefgh"]
    by_shard = {number: [host for host in hosts if shard(host, 3) == number] for number in range(3)}
    paths = []
    for number, some in by_shard.items():
        writer = TableWriter(str(tmp_path), "documents", 1, shard_stem(number, 3))
        writer.write_rows([{"host": host} for host in some])
        paths.append(cast(TableFile, writer.close()).path)
    schema = TABLES["documents"]
    for host in hosts:
        found = [list(matching_rows(str(tmp_path), path, schema, Wanted("host", [host]))) for path in paths]
        assert [bool(tables) for tables in found] == [host in some for some in by_shard.values()]
        (tmp_path / paths[shard(host, 3) - 1]).rename(tmp_path / "away")  # of another shard: it is not missed
        assert sum(1 for path in paths for _ in matching_rows(str(tmp_path), path, schema, Wanted("host", [host]))) == 1
        (tmp_path / "away").rename(tmp_path / paths[shard(host, 3) - 1])
