"""Shards of hosts: each host of a column has the shard that it has by itself."""

import pyarrow as pa
import pytest

from beamtrawl.transforms.tables.bloom import shard, shards


@pytest.mark.parametrize("chunks", [[], [[]], [["a.test", "b.test", "a.test"]], [["a.test"], [], ["c.test", "a.test"]]])
def test_shards_of_a_column(chunks: list[list[str]]) -> None:
    hosts = pa.chunked_array(chunks, pa.string())
    assert shards(hosts, 7).tolist() == [shard(host, 7) for host in hosts.to_pylist()]
    assert {shard(host, 7) for host in ("a.test", "b.test", "c.test")} != {0}
