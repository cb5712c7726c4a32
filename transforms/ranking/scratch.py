"""Temporary Arrow tables, by partition, that one pipeline of a step writes for the next; removed with the attempt."""

from typing import NamedTuple

import pyarrow as pa

from ..files import filesystem
from ..tables.batches import from_ipc


class Scratch(NamedTuple):
    """Files with a common path prefix. A bundle that is retried replaces the files that it wrote."""

    prefix: str

    def write(self, name: str, partition: int, table: pa.Table) -> None:
        """Write a table as it is: edges are read a hundred times."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        filesystem.write_bytes(self._path(name, partition), sink.getvalue().to_pybytes(), durable=False)

    def read(self, name: str, partition: int, schema: pa.Schema) -> pa.Table:
        """The table that was written, or one without rows."""
        path = self._path(name, partition)
        if not filesystem.exists(path):
            return schema.empty_table()
        return from_ipc([filesystem.read_bytes(path)], schema)

    def _path(self, name: str, partition: int) -> str:
        return f"{self.prefix}-{name}-{partition:06d}"
