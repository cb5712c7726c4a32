"""URLs: canonical form, deduplication form, filters."""

from .canonical import (
    CANONICAL_RULES,
    canonicalize,
    dedup_form,
    domain,
    front,
    host,
    host_name,
    is_foreign,
    neatness,
    origin,
    owner,
    resolve,
    site,
    url_key,
    user_folder,
)
