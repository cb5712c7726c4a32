"""Writes documents as shards that data tools read, with a card that says how they were made."""

import contextlib
import hashlib
import io
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ...transforms.files import filesystem
from ...transforms.rights.licences import families, is_among
from .output import Drafts
from .rows import json_line
from .selection import INPUT, REASONS as OF_INPUT, TRAINING, Rights, query

BATCH = 512
"""Documents in memory."""

COLUMNS = pa.schema(
    [
        ("id", pa.string()),  # url_key, in hexadecimal
        ("text", pa.string()),
        ("url", pa.string()),
        ("title", pa.string()),
        ("language", pa.string()),
        ("fetched_at", pa.string()),  # ISO 8601, as the next
        ("published_at", pa.string()),
        ("media_type", pa.string()),
        ("host", pa.string()),
        ("domain", pa.string()),
        ("spam_score", pa.float32()),
        ("cluster", pa.int64()),  # near duplicates share it
        ("content_usage", pa.string()),
        ("tdm_reservation", pa.bool_()),
        ("ai_training", pa.bool_()),
        ("digest", pa.string()),
        ("content_signals", pa.string()),
        ("license", pa.string()),
        ("license_source", pa.string()),
    ]
)

RESERVED = TRAINING.reason
"""Why a page is left out whose author reserves it for training."""

_DENIED_WHEN_FETCHED = (
    "url IN (SELECT url FROM visits WHERE status IS NOT NULL GROUP BY url"
    " HAVING regexp_matches(arg_max(robots_usage, fetched_at), 'train-ai=n'))"
)
REASONS = {name: condition for name, condition in OF_INPUT.items() if name != INPUT.reason} | {
    "no_text": "COALESCE(text, '') = ''",
    RESERVED: f"COALESCE(NOT ai_training, false) OR {_DENIED_WHEN_FETCHED}",
}
"""Why a page is left out, by the first condition that holds."""

LICENCE = "license"
"""Why a page is left out whose licence is not among those asked for."""

OVERRIDES = ("duplicate", "noindex", "noarchive", RESERVED)
"""Reasons that an operator may set aside by name."""


class Shard(NamedTuple):
    """A file of the corpus."""

    name: str
    rows: int
    bytes: int
    sha256: str


class Card(NamedTuple):
    """What is known of a corpus once it is written."""

    shards: list[Shard]
    languages: Mapping[str, int]
    licences: Mapping[str, int]  # by family
    left_out: Mapping[str, int]  # by reason
    characters: int

    @property
    def documents(self) -> int:
        return sum(shard.rows for shard in self.shards)


def corpus_query(where: str, include: Collection[str]) -> str:
    """The documents for which a condition holds, each with the `reason` why it is left out, or null."""
    made = {"id": "lower(hex(url_key))", "cluster": "near_key", "digest": "lower(hex(digest))"}
    made |= {name: f"strftime({name}, '%Y-%m-%dT%H:%M:%SZ')" for name in ("fetched_at", "published_at")}
    columns = (f"{made[name]} AS {name}" if name in made else name for name in COLUMNS.names)
    return query(columns, where, include, REASONS, order="url_key")


def write_corpus(
    batches: pa.RecordBatchReader,
    out: Drafts,
    format_: str,
    max_bytes: int,
    rights: Rights = Rights(),  # noqa: B008
    include: Collection[str] = (),
    licences: Collection[str] = (),
) -> Card:
    """Write the documents without a reason to shards of about `max_bytes` of text; returns what the card says.

    `rights` add the reasons BLOCKED and RESERVED, the latter unless `include` names it, and families of `licences` the
    reason LICENCE.
    """
    left_out, languages, by_licence = Counter[str](), Counter[str](), Counter[str]()
    characters = 0

    def chosen() -> Iterator[pa.Table]:
        nonlocal characters
        for batch in batches:
            rows = []
            for row in batch.to_pylist():
                reason = rights.reason(TRAINING, row, include)
                if reason or not is_among(row["license"] or "", licences):
                    left_out[reason or LICENCE] += 1
                    continue
                languages[row["language"] or "unknown"] += 1
                by_licence[_families(row["license"])] += 1
                characters += len(row["text"])
                mining = rights.mining(row["url"]) if row["tdm_reservation"] is None else row["tdm_reservation"]
                rows.append(row | {"ai_training": rights.may_use(TRAINING, row), "tdm_reservation": mining})
            if rows:
                yield pa.Table.from_pylist(rows, COLUMNS)

    shards: list[Shard] = []
    tables = chosen()
    for first in tables:
        shards.append(_shard(itertools.chain([first], tables), out, format_, len(shards), max_bytes))
    return Card(shards, languages, by_licence, left_out, characters)


def _families(licence: str | None) -> str:
    return ", ".join(sorted(families(licence or ""))) or ("another" if licence else "none stated")


def _shard(tables: Iterator[pa.Table], out: Drafts, format_: str, number: int, max_bytes: int) -> Shard:
    """Write one shard; takes tables until it is full."""
    name = f"data-{number:05d}.{'parquet' if format_ == 'parquet' else 'jsonl.zst'}"
    rows = size = 0
    with out.create(name) as file, Hashed(file) as sink, _writing(sink, format_) as write:
        for table in tables:
            write(table)
            rows, size = rows + table.num_rows, size + table.nbytes
            if size >= max_bytes:
                break
    return Shard(name, rows, file.size, sink.sha256.hexdigest())


@contextlib.contextmanager
def _writing(sink: "Hashed", format_: str) -> Iterator[Callable[[pa.Table], object]]:
    if format_ == "parquet":
        with pq.ParquetWriter(sink, COLUMNS, compression="zstd") as writer:
            yield writer.write_table
    else:
        with pa.CompressedOutputStream(pa.PythonFile(sink, "w"), "zstd") as lines:
            yield lambda table: lines.write(b"".join(map(json_line, table.to_pylist())))


class Hashed(io.RawIOBase):
    """A file that is being written, with the SHA-256 of its bytes."""

    def __init__(self, file: filesystem.Sink) -> None:
        self.sha256 = hashlib.sha256()
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        data = bytes(data)
        self.sha256.update(data)
        return self._file.write(data)

    def tell(self) -> int:
        return self._file.tell()
