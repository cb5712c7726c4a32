"""Arrow tables by partition that pipelines of one step hand to each other; an attempt's end removes them."""

from typing import NamedTuple

import pyarrow as pa

from ..storage import filesystem
from ..storage.batches import from_ipc, to_ipc


class Scratch(NamedTuple):
    """Files whose paths begin alike. One that is written again, by a bundle tried again, is replaced."""

    prefix: str

    def write(self, name: str, partition: int, table: pa.Table) -> None:
        filesystem.write_bytes(self._path(name, partition), to_ipc(table))

    def read(self, name: str, partition: int, schema: pa.Schema) -> pa.Table:
        """What was written; no rows if nothing was."""
        path = self._path(name, partition)
        if not filesystem.exists(path):
            return schema.empty_table()
        return from_ipc([filesystem.read_bytes(path)], schema)

    def _path(self, name: str, partition: int) -> str:
        return f"{self.prefix}-{name}-{partition:06d}"
