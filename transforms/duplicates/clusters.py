"""Clusters near duplicates: finds pairs of similar documents and assigns each document to a representative.

Documents are grouped by band key, together with the representatives of earlier rounds; documents with similar
signatures become a pair. Most documents have no pair and none has many, so one worker processes all pairs of a site: in
order of precedence, a document is a near duplicate of the first representative that it is similar to, or becomes one.
There is no all-pairs comparison: a document is compared with at most MOST_COMPARED others in a band.
"""

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter

import numpy as np
import pyarrow as pa

from ..tables.bloom import words
from ..tables.key_scan import Wanted
from ..tables.newest import newest
from ..tables.schemas import KEY, Row
from ..urls.canonical import host, owner
from . import minhash

MOST_COMPARED = 64
"""Maximum number of representatives, the first ones, that a document is compared with in one band."""

_MOST_PAIRS = 4  # maximum for a document in one band
_SUBSTITUTES = 2  # similar documents of the round, at most, that others are compared with
_ROWS_AT_A_TIME = 1_000  # converted to dicts; a band has two or three

ENTRIES = pa.schema(
    [
        ("band", KEY),
        ("url_key", KEY),
        ("url", pa.string()),
        ("depth", pa.int32()),
        ("round", pa.int32()),
        ("signature", pa.binary(minhash.SLOTS)),
        ("stays", pa.bool_()),  # visited before, as a representative
        ("shard", pa.int32()),
    ]
)
"""Documents, one row per band; `stays` and `shard` are null for documents of earlier rounds."""

DOCUMENT = ENTRIES.remove(0)
"""The columns of a document."""

PAIRS = pa.schema([*DOCUMENT, *(field.with_name(f"like_{field.name}") for field in DOCUMENT)])
"""A document of the round and a similar document that precedes it."""

VERDICTS = pa.schema(
    [
        *((name, DOCUMENT.field(name).type) for name in ("url_key", "url", "shard")),
        ("host", pa.string()),
        ("near_duplicate_of", KEY),
    ]
)


def entries(documents: pa.Table, wanted: Wanted | None = None) -> pa.Table:
    """ENTRIES of documents (all its columns except `band`), those of some bands if they are given.

    Documents without a signature have no entries.
    """
    documents = documents.filter(documents["signature"].is_valid())
    keys = minhash.band_keys(_stacked(documents["signature"].to_pylist()))
    keys = _of_sites(keys, [owner(host(url), url) for url in documents["url"].to_pylist()])
    rows = np.repeat(np.arange(documents.num_rows), minhash.BANDS)
    bands = pa.FixedSizeBinaryArray.from_buffers(KEY, len(rows), [None, pa.py_buffer(keys.tobytes())])
    if wanted is not None:  # few are, and a row has all columns of its document
        mask = wanted.mask(pa.table({"band": bands}))
        bands, rows = bands.filter(pa.array(mask)), rows[mask]
    return pa.table({"band": bands} | {name: documents[name].take(rows) for name in DOCUMENT.names}, schema=ENTRIES)


def _of_sites(keys: minhash.Hashes, sites: list[str]) -> minhash.Hashes:
    """Band keys combined with the site, so that documents of different sites are never compared."""
    digests = {site: hashlib.blake2b(site.encode(), digest_size=8).digest() for site in set(sites)}
    salts = np.frombuffer(b"".join(digests[site] for site in sites), np.uint64)
    return keys ^ salts[:, np.newaxis, np.newaxis]


def find_pairs(found: pa.Table, round_: int, similarity: float) -> pa.Table:
    """PAIRS of the entries of some bands.

    A document that `stays` is never the first of a pair. In each band, documents are compared only with a few of those
    that are similar to each other: any one may turn out to be no representative, because it is an exact duplicate or
    has changed since an earlier round.
    """
    pairs: dict[tuple[bytes, bytes], Row] = {}
    for band in _shared_bands(found):
        heads = np.empty((MOST_COMPARED, minhash.SLOTS), np.uint8)
        head_rows: list[Row] = []
        for row in sorted(newest(band, itemgetter("url_key")).values(), key=_precedence):
            one = np.frombuffer(row["signature"], np.uint8)
            alike: list[Row] = []
            if head_rows and row["round"] == round_ and not row["stays"]:
                similar = minhash.similarities(one, heads[: len(head_rows)]) >= similarity
                alike = [head_rows[number] for number in np.flatnonzero(similar)[:_MOST_PAIRS]]
            for like in alike:
                pair = {name: row[name] for name in DOCUMENT.names}
                pair |= {f"like_{name}": like[name] for name in DOCUMENT.names}
                pairs[row["url_key"], like["url_key"]] = pair
            is_new = sum(like["round"] == round_ for like in alike) < _SUBSTITUTES
            if is_new and len(head_rows) < MOST_COMPARED:
                heads[len(head_rows)] = one
                head_rows.append(row)
    return pa.Table.from_pylist(list(pairs.values()), schema=PAIRS)


def decide(
    pairs: Iterable[Row], newest: Mapping[bytes, int], duplicates: set[bytes], round_: int, similarity: float
) -> list[Row]:
    """VERDICTS: the near duplicates of the round with their representatives.

    `newest` maps documents of earlier rounds to the round of their newest version: a document that has changed since no
    longer represents its old content. `duplicates` are the exact duplicates of the round. A representative is never
    itself a near or exact duplicate.
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
        | {"host": host(documents[key]["url"]), "near_duplicate_of": other["url_key"]}
        for key, other in chosen.items()
    ]


def _is_like(one: Row, other: Row, similarity: float) -> bool:
    first, second = _stacked([one["signature"], other["signature"]])
    return bool(minhash.similarities(first, second[np.newaxis])[0] >= similarity)


def _precedence(row: Row) -> tuple[int, bool, int, int, str]:
    """Sort key: round, then documents that stay, then depth, length of the URL, URL, as for exact duplicates."""
    return (row["round"], not row["stays"], row["depth"], len(row["url"]), row["url"])


def _stacked(found: list[bytes]) -> minhash.Signatures:
    return np.frombuffer(b"".join(found), np.uint8).reshape(-1, minhash.SLOTS)


def _shared_bands(found: pa.Table) -> Iterator[list[Row]]:
    """The rows of each band that several documents share."""
    keys = words(found["band"])[:, 0]
    _, counts = np.unique(keys, return_counts=True)
    is_shared = np.repeat(counts > 1, counts)
    # Taken once: each take from a table of several batches copies all of them.
    shared = found.take(np.argsort(keys, kind="stable")[is_shared])
    batches = shared.to_batches(max_chunksize=_ROWS_AT_A_TIME)
    rows = itertools.chain.from_iterable(batch.to_pylist() for batch in batches)
    for count in counts[counts > 1].tolist():
        yield list(itertools.islice(rows, count))
