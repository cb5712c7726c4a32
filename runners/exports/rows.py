"""Writes rows as one stream: Parquet, CSV or JSON lines."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..terminal.errors import Usage
from ..terminal.visible import visible
from .output import STDOUT

BATCH = 1024
"""Rows in memory."""

FORMATS = ("jsonl", "csv", "parquet")


def format_of(name: str, given: str | None = None, formats: Sequence[str] = FORMATS) -> str:
    """The format that is given, or that the name of a file asks for; Usage if it is none of the formats.

    >>> format_of("a.jsonl.gz"), format_of("b.PARQUET"), format_of("-"), format_of("a.txt", "csv")
    ('jsonl', 'parquet', 'jsonl', 'csv')
    """
    format_ = given or ("jsonl" if name == STDOUT else name.lower().removesuffix(".gz").rpartition(".")[2])
    if format_ not in formats:
        raise Usage(
            f"{name}: name a file that ends in {', '.join(f'.{ending}' for ending in formats)}, or give --format"
        )
    if format_ == "parquet" and name.endswith(".gz"):
        raise Usage(f"{name}: Parquet is compressed already; drop .gz")
    return format_


def write_rows(batches: pa.RecordBatchReader, format_: str, sink: IO[bytes]) -> int:
    """Write all rows; returns their number.

    In CSV and JSON lines, keys are hexadecimal, times in ISO 8601, and maps objects; CSV holds nested values as JSON.
    """
    if format_ == "parquet":
        return _parquet(batches, sink)
    names, count = batches.schema.names, 0
    if format_ == "csv":
        sink.write(_csv_lines([names]))
    for batch in batches:
        rows = plain_rows(batch)
        if format_ == "csv":
            sink.write(_csv_lines([_cell(value) for value in row.values()] for row in rows))
        else:
            sink.write(b"".join(json_line(row) for row in rows))
        count += len(rows)
    return count


def json_line(row: dict[str, Any]) -> bytes:
    """A row as one line of JSON in UTF-8, with escapes for what a terminal would act on."""
    return visible(json.dumps(row, ensure_ascii=False, separators=(",", ":"))).encode() + b"\n"


def plain_rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows with values as JSON has them."""
    return [{name: plain(value) for name, value in row.items()} for row in batch.to_pylist(maps_as_pydicts="lossy")]


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return value


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _csv_lines(rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


def _parquet(batches: pa.RecordBatchReader, sink: IO[bytes]) -> int:
    count = 0
    with pq.ParquetWriter(_Counted(sink), batches.schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


class _Counted(io.RawIOBase):
    """A sink that knows its position, which a pipe does not."""

    def __init__(self, sink: IO[bytes]) -> None:
        self._sink, self._position = sink, 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._position += len(data)
        return self._sink.write(bytes(data))

    def tell(self) -> int:
        return self._position
