"""The tables of documents, their links and their alerts."""

import pyarrow as pa

from .columns import KEY, TIME

DOCUMENTS = pa.schema(
    [
        ("url_key", KEY),
        ("url", pa.string()),
        ("host", pa.string()),
        ("domain", pa.string()),
        ("round", pa.int32()),
        ("fetched_at", TIME),
        ("media_type", pa.string()),
        ("charset", pa.string()),
        ("language", pa.string()),
        ("title", pa.string()),
        ("description", pa.string()),
        ("keywords", pa.string()),
        ("headings", pa.list_(pa.string())),
        ("text", pa.string()),
        ("published_at", TIME),
        ("digest", KEY),
        ("near_key", pa.int64()),  # of its cluster; null: too short a text, or an exact duplicate
        ("duplicate_of", KEY),
        ("canonical_url", pa.string()),
        ("canonical_ignored", pa.string()),  # why it is not believed
        ("noindex", pa.bool_()),
        ("nofollow", pa.bool_()),
        ("noarchive", pa.bool_()),
        ("outlinks", pa.int32()),
        ("spam_score", pa.float32()),
        ("facts", pa.map_(pa.string(), pa.string())),
        ("depth", pa.int32()),
        ("near_duplicate_of", KEY),  # the document that represents both in the index
        ("quality_reasons", pa.list_(pa.string())),
        ("truncated", pa.string()),  # the bound that kept the rest from being read; null: all was
    ]
)

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
    ]
)

ALERTS = pa.schema(
    [
        ("url_key", KEY),
        ("url", pa.string()),
        ("host", pa.string()),
        ("round", pa.int32()),
        ("fetched_at", TIME),
        ("observer", pa.string()),
        ("kind", pa.string()),
        ("matched", pa.string()),
        ("detail", pa.string()),
    ]
)
