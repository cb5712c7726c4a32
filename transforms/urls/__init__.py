"""URLs: canonical form, deduplication form, filters."""

from .canonical import (
    CANONICAL_RULES,
    canonicalize,
    dedup_form,
    domain,
    host,
    is_foreign,
    neatness,
    origin,
    resolve,
    site,
    url_key,
)

__all__ = [
    "CANONICAL_RULES",
    "canonicalize",
    "dedup_form",
    "domain",
    "host",
    "is_foreign",
    "neatness",
    "origin",
    "resolve",
    "site",
    "url_key",
]
