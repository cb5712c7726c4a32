"""Writes documents as shards that data tools read, with a card that says how they were made."""

import hashlib
import io
import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ...transforms.blocks.rules import NO_BLOCKS, Blocks
from ...transforms.files import filesystem
from ...transforms.rights.licences import families, is_among
from ...transforms.rights.tdm_rules import TdmRules, effect
from ...transforms.robots.stored_signals import NO_SIGNALS, StoredSignals
from .output import Drafts
from .rows import json_line, plain
from .selection import GONE, LAST_ANSWERS, TRAINING, left_out, may_use

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

_CHOSEN = f"""
WITH newest AS (
    SELECT * FROM documents QUALIFY row_number() OVER (PARTITION BY url_key ORDER BY round DESC, fetched_at DESC) = 1
), asked AS (
    SELECT url, arg_max(robots_usage, fetched_at) AS robots_usage
    FROM visits WHERE status IS NOT NULL GROUP BY url
)
SELECT d.*, u.state, l.last_answer, COALESCE(a.robots_usage, '') AS robots_usage
FROM newest d LEFT JOIN urls u USING (url_key) LEFT JOIN asked a ON a.url = d.url
LEFT JOIN ({LAST_ANSWERS}) l ON l.url = d.url
"""

RESERVED = TRAINING.reason
"""Why a page is left out whose author reserves it for training."""

REASONS = {
    "gone": GONE,
    "no_text": "COALESCE(text, '') = ''",
    "duplicate": "duplicate_of IS NOT NULL OR near_duplicate_of IS NOT NULL",
    "noindex": "COALESCE(noindex, false)",
    "noarchive": "COALESCE(noarchive, false)",
    "unavailable": "unavailable_after <= now()",
    RESERVED: "COALESCE(NOT ai_training, false) OR regexp_matches(robots_usage, 'train-ai=n')",
}
"""Why a page is left out, by the first condition that holds."""

BLOCKED = "blocked"
"""Why a page that matches a block of the operator is left out."""

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


def query(where: str, include: Iterable[str]) -> str:
    """The documents for which a condition holds, each with the `reason` why it is left out, or null."""
    reasons = {name: condition for name, condition in REASONS.items() if name not in set(include)}
    cases = " ".join(f"WHEN {condition} THEN '{name}'" for name, condition in reasons.items())
    dates = ("fetched_at", "published_at")
    iso = ", ".join(f"strftime({name}, '%Y-%m-%dT%H:%M:%SZ') AS {name}" for name in dates)
    own = "lower(hex(url_key)) AS id, near_key AS cluster, lower(hex(digest)) AS digest"
    plain_names = [name for name in COLUMNS.names if name not in (*dates, "id", "cluster", "digest")]
    return (
        f"SELECT {own}, {iso}, {', '.join(plain_names)}, CASE {cases} END AS reason"
        f" FROM (SELECT * FROM ({_CHOSEN}) WHERE ({where}\n)) ORDER BY url_key"
    )


def write_corpus(
    batches: pa.RecordBatchReader,
    out: Drafts,
    format_: str,
    max_bytes: int,
    blocks: Blocks = NO_BLOCKS,
    tdm_rules: TdmRules = MappingProxyType({}),
    include: Collection[str] = (),
    signals: StoredSignals = NO_SIGNALS,
    licences: Collection[str] = (),
) -> Card:
    """Write the documents without a reason to shards of about `max_bytes` of text; returns what the card says.

    `tdm_rules` and `signals` add the reason RESERVED, unless `include` names it, and families of `licences` the reason
    LICENCE.
    """
    left_out: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    by_licence: Counter[str] = Counter()
    characters = 0

    def chosen() -> Iterator[pa.Table]:
        nonlocal characters
        for batch in batches:
            table = _judged(pa.Table.from_batches([batch]), tdm_rules, signals, include)
            columns = (blocks.mask(table["url"]), table["reason"], table["license"])
            reasons = [
                BLOCKED if is_blocked else reason or (None if is_among(licence or "", licences) else LICENCE)
                for is_blocked, reason, licence in zip(*(column.to_pylist() for column in columns), strict=True)
            ]
            left_out.update(reason for reason in reasons if reason)
            table = table.filter(pa.array([reason is None for reason in reasons])).select(COLUMNS.names).cast(COLUMNS)
            languages.update(code or "unknown" for code in table["language"].to_pylist())
            by_licence.update(map(_families, table["license"].to_pylist()))
            characters += sum(map(len, table["text"].to_pylist()))
            if table.num_rows:
                yield table

    shards: list[Shard] = []
    tables = chosen()
    for first in tables:
        shards.append(_shard(itertools.chain([first], tables), out, format_, len(shards), max_bytes))
    return Card(shards, languages, by_licence, left_out, characters)


def _families(licence: str | None) -> str:
    return ", ".join(sorted(families(licence or ""))) or ("another" if licence else "none stated")


def _judged(documents: pa.Table, rules: TdmRules, signals: StoredSignals, include: Collection[str]) -> pa.Table:
    """The documents with what the files of TDMRep and the newest robots.txt state about them."""
    if not rules and not signals:
        return documents
    rows = documents.select(["url", "tdm_reservation", "ai_training", "reason"]).to_pylist()
    for row in rows:
        found = effect(rules, row["url"])
        mining = found[1].reserved if found else None
        row["ai_training"] = may_use(TRAINING, row, signals.denies(row["url"], TRAINING.signal), mining)
        row["reason"] = row["reason"] or left_out(TRAINING, row["ai_training"], include)
        if row["tdm_reservation"] is None:
            row["tdm_reservation"] = mining
    for name in ("tdm_reservation", "ai_training", "reason"):
        field = documents.schema.field(name)
        values = pa.array([row[name] for row in rows], pa.string() if name == "reason" else pa.bool_())
        documents = documents.set_column(documents.schema.get_field_index(name), field.with_type(values.type), values)
    return documents


def _shard(tables: Iterator[pa.Table], out: Drafts, format_: str, number: int, max_bytes: int) -> Shard:
    """Write one shard; takes tables until it is full."""
    name = f"data-{number:05d}.{'parquet' if format_ == 'parquet' else 'jsonl.zst'}"
    rows = size = 0
    with out.create(name) as file, Hashed(file) as sink:
        if format_ == "parquet":
            with pq.ParquetWriter(sink, COLUMNS, compression="zstd") as writer:
                for table in tables:
                    writer.write_table(table)
                    rows, size = rows + table.num_rows, size + table.nbytes
                    if size >= max_bytes:
                        break
        else:
            with pa.CompressedOutputStream(pa.PythonFile(sink, "w"), "zstd") as lines:
                for table in tables:
                    lines.write(b"".join(json_line({k: plain(v) for k, v in row.items()}) for row in table.to_pylist()))
                    rows, size = rows + table.num_rows, size + table.nbytes
                    if size >= max_bytes:
                        break
    return Shard(name, rows, file.size, sink.sha256.hexdigest())


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
