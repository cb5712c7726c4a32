"""The tables of documents, their links and their alerts."""

from datetime import datetime
from typing import TypedDict

import pyarrow as pa

from .columns import KEY, SECTION, TIME

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
        ("near_key", pa.int64()),  # of its cluster; null: text too short, or an exact duplicate
        ("duplicate_of", KEY),
        ("canonical_url", pa.string()),
        ("canonical_ignored", pa.string()),  # reason why it is ignored
        ("noindex", pa.bool_()),
        ("nofollow", pa.bool_()),
        ("noarchive", pa.bool_()),
        ("outlinks", pa.int32()),
        ("spam_score", pa.float32()),
        ("facts", pa.map_(pa.string(), pa.string())),
        ("depth", pa.int32()),
        ("near_duplicate_of", KEY),  # the document that represents both in the index
        ("quality_reasons", pa.list_(pa.string())),
        ("truncated", pa.string()),  # the limit that truncated the content; null: complete
        ("max_snippet", pa.int32()),  # maximum characters of a snippet; 0: no snippet; null: no limit
        ("unavailable_after", TIME),  # excluded from results from this time on
        ("same_content_as", KEY),  # the first document of another site with this content; neither is excluded
        ("nosnippet", pa.list_(pa.int32())),  # start, end, start, end, … of the parts of `text` excluded from snippets
        ("content_usage", pa.string()),  # AI preferences, as "train-ai=n, search=y"
        ("tdm_reservation", pa.bool_()),
        ("tdm_policy", pa.string()),
        ("noai", pa.bool_()),
        ("noimageai", pa.bool_()),
        ("ai_training", pa.bool_()),  # whether it may train models; false: reserved; null: nothing stated
        ("content_signals", pa.string()),  # as "search=yes, ai-train=no"
        ("ai_input", pa.bool_()),  # whether it may be the input of models; as `ai_training`
        ("search", pa.bool_()),  # whether searches may find it; as `ai_training`
        ("sections", pa.list_(SECTION)),  # of `text`, in order
        (
            "rsl",
            pa.string(),
        ),  # licences (RSL): their URLs, and statements as "ai-train=no (prohibits, line 3)", one a line
    ]
)

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


class DocumentRow(TypedDict, total=False):
    """A row of table documents."""

    url_key: bytes
    url: str
    host: str
    domain: str
    round: int
    fetched_at: datetime
    media_type: str
    charset: str | None
    language: str | None
    title: str | None
    description: str | None
    keywords: str | None
    headings: list[str] | None
    text: str | None
    published_at: datetime | None
    digest: bytes
    near_key: int | None
    duplicate_of: bytes | None
    canonical_url: str | None
    canonical_ignored: str | None
    noindex: bool
    nofollow: bool
    noarchive: bool
    outlinks: int
    spam_score: float | None
    facts: list[tuple[str, str]] | None
    depth: int
    near_duplicate_of: bytes | None
    quality_reasons: list[str] | None
    truncated: str | None
    max_snippet: int | None
    unavailable_after: datetime | None
    same_content_as: bytes | None
    nosnippet: list[int] | None
    content_usage: str | None
    tdm_reservation: bool | None
    tdm_policy: str | None
    noai: bool
    noimageai: bool
    ai_training: bool | None
    content_signals: str | None
    ai_input: bool | None
    search: bool | None
    sections: list[dict[str, int | str]] | None
    rsl: str | None


class AlertRow(TypedDict, total=False):
    """A row of table alerts."""

    url_key: bytes
    url: str
    host: str
    round: int
    fetched_at: datetime
    observer: str
    kind: str
    matched: str
    detail: str
