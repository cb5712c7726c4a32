"""Near duplicates: which documents of a round say nearly the same as another one, and as which.

Documents meet under the keys of their bands, by partition, with those that represent content of earlier rounds; what is
alike by its signature becomes a pair. A document has few pairs, and most have none, so one worker sees them all and
decides: in order of precedence a document is near the first representative that it is like, or represents itself.
Nothing compares all with all: a document is compared with at most MOST_COMPARED others in a band.
"""

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from .. import urls
from ..storage.bloom import words
from ..storage.schemas import KEY
from . import minhash

MOST_COMPARED = 64
"""Representatives that a document is compared with in one band, the first ones."""

_MOST_PAIRS = 4  # of a document in one band

ENTRIES = pa.schema(
    [
        ("band", KEY),
        ("url_key", KEY),
        ("url", pa.string()),
        ("depth", pa.int32()),
        ("round", pa.int32()),
        ("signature", pa.binary(minhash.SLOTS)),
        ("stays", pa.bool_()),  # it was visited before, and represented itself
        ("shard", pa.int32()),
    ]
)
"""A document under each of its bands; `stays` and `shard` are null where it is of an earlier round."""

DOCUMENT = ENTRIES.remove(0)
"""What is needed of a document."""

PAIRS = pa.schema([*DOCUMENT, *(field.with_name(f"like_{field.name}") for field in DOCUMENT)])
"""A document of the round, and one before it in precedence that it is like."""

VERDICTS = pa.schema(
    [
        *((name, DOCUMENT.field(name).type) for name in ("url_key", "url", "shard")),
        ("host", pa.string()),
        ("near_duplicate_of", KEY),
    ]
)

Row = dict[str, Any]


def entries(documents: pa.Table) -> pa.Table:
    """ENTRIES of documents, which have its columns but `band`; those without a signature have none."""
    documents = documents.filter(documents["signature"].is_valid())
    keys = minhash.band_keys(_stacked(documents["signature"].to_pylist()))
    keys = _of_sites(keys, [urls.site(urls.host(url)) for url in documents["url"].to_pylist()])
    rows = np.repeat(np.arange(documents.num_rows), minhash.BANDS)
    bands = pa.FixedSizeBinaryArray.from_buffers(KEY, len(rows), [None, pa.py_buffer(keys.tobytes())])
    return pa.table({"band": bands} | {name: documents[name].take(rows) for name in DOCUMENT.names}, schema=ENTRIES)


def _of_sites(keys: minhash.Hashes, sites: list[str]) -> minhash.Hashes:
    """The keys of bands, different for each site: documents of two sites never meet or hold each other back."""
    digests = {site: hashlib.blake2b(site.encode(), digest_size=8).digest() for site in set(sites)}
    salts = np.frombuffer(b"".join(digests[site] for site in sites), np.uint64)
    return keys ^ salts[:, np.newaxis, np.newaxis]


def find_pairs(found: pa.Table, round_: int, similarity: float) -> pa.Table:
    """PAIRS of the entries of some bands.

    A document that stays as it is has none of its own. In each band the documents that are like nobody before them
    stand for the others.
    """
    pairs: dict[tuple[bytes, bytes], Row] = {}
    for band in _shared_bands(found):
        heads = np.empty((MOST_COMPARED, minhash.SLOTS), np.uint8)
        head_rows: list[Row] = []
        for row in sorted(_newest(band), key=_precedence):
            one = np.frombuffer(row["signature"], np.uint8)
            alike: list[Row] = []
            if row["round"] == round_ and not row["stays"]:
                similar = minhash.similarities(one, heads[: len(head_rows)]) >= similarity
                alike = [head_rows[number] for number in np.flatnonzero(similar)[:_MOST_PAIRS]]
            for like in alike:
                pair = {name: row[name] for name in DOCUMENT.names}
                pair |= {f"like_{name}": like[name] for name in DOCUMENT.names}
                pairs[row["url_key"], like["url_key"]] = pair
            if not alike and len(head_rows) < MOST_COMPARED:
                heads[len(head_rows)] = one
                head_rows.append(row)
    return pa.Table.from_pylist(list(pairs.values()), schema=PAIRS)


def decide(
    pairs: Iterable[Row], newest: Mapping[bytes, int], duplicates: set[bytes], round_: int, similarity: float
) -> list[Row]:
    """VERDICTS: which documents of the round are near duplicates, and of which.

    `newest` has for documents of earlier rounds the round of their newest version: one that has changed since no longer
    represents its old content. `duplicates` are the documents of the round that are exact duplicates. A representative
    never is a near duplicate itself, nor an exact one.
    """
    documents: dict[bytes, Row] = {}
    likes: dict[bytes, list[Row]] = {}
    representatives: dict[bytes, Row] = {}
    for pair in pairs:
        row = {name: pair[name] for name in DOCUMENT.names}
        like = {name: pair[f"like_{name}"] for name in DOCUMENT.names}
        documents[row["url_key"]] = row
        likes.setdefault(row["url_key"], []).append(like)
        if like["round"] == round_:
            documents[like["url_key"]] = like
        elif newest.get(like["url_key"]) == like["round"]:
            representatives[like["url_key"]] = like
    chosen: dict[bytes, Row] = {}
    for key, row in sorted(documents.items(), key=lambda item: _precedence(item[1])):
        if key in duplicates:
            continue
        found = (chosen.get(like["url_key"], representatives.get(like["url_key"])) for like in likes.get(key, ()))
        alike = [other for other in found if other and _is_like(row, other, similarity)]
        if alike:
            chosen[key] = min(alike, key=_precedence)
        else:
            representatives[key] = row
    return [
        {name: documents[key][name] for name in ("url_key", "url", "shard")}
        | {"host": urls.host(documents[key]["url"]), "near_duplicate_of": other["url_key"]}
        for key, other in chosen.items()
    ]


def _is_like(one: Row, other: Row, similarity: float) -> bool:
    first, second = _stacked([one["signature"], other["signature"]])
    return bool(minhash.similarities(first, second[np.newaxis])[0] >= similarity)


def _precedence(row: Row) -> tuple[int, bool, int, int, str]:
    """As for exact duplicates: the earlier round, then depth, length of the URL, alphabet. What stays comes first."""
    return (row["round"], not row["stays"], row["depth"], len(row["url"]), row["url"])


def _stacked(found: list[bytes]) -> minhash.Signatures:
    return np.frombuffer(b"".join(found), np.uint8).reshape(-1, minhash.SLOTS)


def _shared_bands(found: pa.Table) -> Iterator[list[Row]]:
    """The rows of each band that several have."""
    keys = words(found["band"])[:, 0]
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=keys[order[:1]] + np.uint64(1)))
    for start, end in itertools.pairwise([*starts, len(keys)]):
        if end - start > 1:
            yield found.take(order[start:end]).to_pylist()


def _newest(rows: Iterable[Row]) -> Iterable[Row]:
    """Of several versions of a document the newest."""
    newest: dict[bytes, Row] = {}
    for row in rows:
        if row["url_key"] not in newest or row["round"] > newest[row["url_key"]]["round"]:
            newest[row["url_key"]] = row
    return newest.values()
