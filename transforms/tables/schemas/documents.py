"""The tables of documents, of their links, alerts, digests and signatures, and those beside the index."""

from typing import TypedDict

import pyarrow as pa

from .columns import KEY, Bool, Facts, Float32, Int32, Int32s, Int64, Key, Sections, Text, Texts, Time, schema_of


class DocumentRow(TypedDict, total=False):
    """A row of table documents."""

    url_key: Key
    url: Text
    host: Text
    domain: Text
    round: Int32
    fetched_at: Time
    media_type: Text
    charset: Text | None
    language: Text | None
    title: Text | None
    description: Text | None
    keywords: Text | None
    headings: Texts | None
    text: Text | None
    published_at: Time | None
    digest: Key
    near_key: Int64 | None  # of its cluster; null: text too short, or an exact duplicate
    duplicate_of: Key | None
    canonical_url: Text | None
    canonical_ignored: Text | None  # reason why it is ignored
    noindex: Bool
    nofollow: Bool
    noarchive: Bool
    outlinks: Int32
    spam_score: Float32 | None
    facts: Facts | None
    depth: Int32
    near_duplicate_of: Key | None  # the document that represents both in the index
    quality_reasons: Texts | None
    truncated: Text | None  # the limit that truncated the content; null: complete
    max_snippet: Int32 | None  # maximum characters of a snippet; 0: no snippet; null: no limit
    unavailable_after: Time | None  # excluded from results from this time on
    same_content_as: Key | None  # the first document of another site with this content; neither is excluded
    nosnippet: Int32s | None  # start, end, start, end, … of the parts of `text` excluded from snippets
    content_usage: Text | None  # AI preferences, as "train-ai=n, search=y"
    tdm_reservation: Bool | None
    tdm_policy: Text | None
    noai: Bool
    noimageai: Bool
    ai_training: Bool | None  # whether it may train models; false: reserved; null: nothing stated
    content_signals: Text | None  # as "search=yes, ai-train=no"
    ai_input: Bool | None  # whether it may be the input of models; as `ai_training`
    search: Bool | None  # whether searches may find it; as `ai_training`
    sections: Sections | None  # of `text`, in order
    license: Text | None  # URL or name, as the page states it; several are divided by ", "
    license_source: Text | None  # where each is stated, in the same order
    rsl: Text | None  # licences (RSL): their URLs, and statements as "ai-train=no (prohibits, line 3)", one a line


DOCUMENTS = schema_of(DocumentRow)

FRAGMENTS = pa.list_(pa.struct([("id", pa.string()), ("anchor", pa.string())]))

LINKS = pa.schema(
    [
        ("source_key", KEY),
        ("source_url", pa.string()),
        ("target_key", KEY),
        ("target_url", pa.string()),
        ("anchor", pa.string()),
        ("rel", pa.string()),
        ("kind", pa.string()),
        ("round", pa.int32()),
        ("from_duplicate", pa.bool_()),  # the link is followed but not counted for ranks
        ("fragments", FRAGMENTS),  # sections of the target that the page endorses, each with its anchor; null: none
    ]
)


class AlertRow(TypedDict, total=False):
    """A row of table alerts."""

    url_key: Key
    url: Text
    host: Text
    round: Int32
    fetched_at: Time
    observer: Text
    kind: Text
    matched: Text
    detail: Text


ALERTS = schema_of(AlertRow)

DIGESTS = pa.schema(
    [
        ("digest", KEY),
        ("url_key", KEY),  # the document of the site that owns the content; null: no owner any more
        ("url", pa.string()),
        ("depth", pa.int32()),
        ("round", pa.int32()),  # of this row: the newest row of a digest and a site counts
        ("site", pa.string()),  # host without a leading www., with the folder of a user
        ("foreign", pa.bool_()),  # only other sites link the document: the first that its own site links owns it then
    ]
)

NEAR = pa.schema(
    [
        ("url_key", KEY),
        ("url", pa.string()),
        ("depth", pa.int32()),
        ("round", pa.int32()),  # of this row: the newest row of a key counts
        ("signature", pa.binary(128)),  # `minhash.signature`; null: no longer a representative
        ("host", pa.string()),  # of the URL; null in files of earlier versions
    ]
)


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
