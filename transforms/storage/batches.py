"""Tables as elements of a PCollection: Arrow IPC bytes, so that rows travel in batches."""

from collections.abc import Iterable

import pyarrow as pa


def to_ipc(table: pa.Table) -> bytes:
    """A table as one element of a PCollection: Arrow IPC, so that rows travel in batches."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def from_ipc(batches: Iterable[bytes], schema: pa.Schema) -> pa.Table:
    """The tables of `to_ipc`, end to end; empty when there are none."""
    tables = [schema.empty_table(), *(pa.ipc.open_stream(batch).read_all() for batch in batches)]
    return pa.concat_tables(tables)
