"""The tables beside the index: tombstones and ranks."""

from typing import TypedDict

import pyarrow as pa

from .columns import KEY, Int32, Key, Text, schema_of


class TombstoneRow(TypedDict):
    """A row of TOMBSTONES."""

    url_key: Key
    round: Int32  # the page is excluded from segments of earlier rounds
    reason: Text  # `tombstones.REPLACED`, or why the newest version is not indexed


TOMBSTONES = schema_of(TombstoneRow)


RANKS = pa.schema(
    [
        ("url_key", KEY),
        ("url", pa.string()),
        ("host", pa.string()),
        ("round", pa.int32()),  # the last round whose links are counted
        ("link_rank", pa.float64()),  # PageRank, relative to the mean
        ("links", pa.int64()),  # pages that link to it
        ("link_hosts", pa.int64()),  # hosts of these pages
        ("anchors", pa.list_(pa.struct([("anchor", pa.string()), ("hosts", pa.int64())]))),
        # The anchors of links to its sections, each with the fragment that they lead to
        ("names", pa.list_(pa.struct([("fragment", pa.string()), ("anchor", pa.string()), ("hosts", pa.int64())]))),
    ]
)

HOST_RANKS = pa.schema(
    [
        ("host", pa.string()),
        ("round", pa.int32()),
        ("centrality", pa.float64()),  # harmonic centrality in the graph of hosts
        ("link_rank", pa.float64()),  # PageRank in the graph of hosts, relative to the mean
        ("link_hosts", pa.int64()),  # hosts that link to it
    ]
)
