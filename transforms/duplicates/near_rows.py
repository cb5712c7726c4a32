"""Columns of documents and rows of table near that record near duplicates."""

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..tables.schemas import KEY, NEAR
from ..tables.table_files import conform, with_columns
from ..urls.canonical import host

MOST_IDENTIFIERS = 1_000
"""Maximum number of identifiers of a text."""

_IDENTIFIER = re.compile(
    r"(?<![^\W_])(?:"
    r"[A-Za-z]+[0-9]*(?:(?:_+|::|\.)[A-Za-z]+[0-9]*)+"
    r"|[A-Z]?[a-z]+[0-9]*(?:[A-Z][a-z]*[0-9]*)+"
    r")(?![^\W_])"
)


def identifiers(text: str) -> list[str]:
    """The first distinct identifiers of a text, in order.

    >>> identifiers("Call gtk_widget_show(). See _mm256_add_epi16, std::vec::push, pandas.Series or getElementById.")
    ['gtk_widget_show', 'mm256_add_epi16', 'std::vec::push', 'pandas.Series', 'getElementById']
    >>> identifiers("Open from 9:30. Token 4f9a02c711, version 1.2, see: the end.")
    []
    """
    return list(dict.fromkeys(match[0] for match in _IDENTIFIER.finditer(text)))[:MOST_IDENTIFIERS]


def mark_near_duplicates(pages: pa.Table, verdicts: pa.Table) -> pa.Table:
    """The pages with `near_duplicate_of` set from the verdicts, and `near_key` where there is a signature.

    The near key of a cluster is the first half of the representative's url_key, as a number.
    """
    of = dict(zip(verdicts["url_key"].to_pylist(), verdicts["near_duplicate_of"].to_pylist(), strict=True))
    keys = pages["url_key"].to_pylist()
    owners = pa.array([of.get(key) for key in keys], KEY)
    in_cluster = pc.and_(pages["signature"].is_valid(), pages["duplicate_of"].is_null()).to_pylist()
    near_keys = [near_key(of.get(key, key)) if known else None for key, known in zip(keys, in_cluster, strict=True)]
    return with_columns(pages, near_duplicate_of=owners, near_key=pa.array(near_keys, pa.int64()))


def is_folded(pages: pa.Table) -> pa.Array:
    """Whether each page is a near duplicate without identifiers of programs, which has nothing to be found by."""
    is_near = pages["near_duplicate_of"].is_valid()
    texts = pc.if_else(is_near, pages["text"], None)  # the others are not read
    pairs = zip(is_near.to_pylist(), texts.to_pylist(), strict=True)
    return pa.array([near and not identifiers(text or "") for near, text in pairs], pa.bool_())


def reduce_near_duplicates(documents: pa.Table) -> pa.Table:
    """The documents (DOCUMENTS) as they are indexed: of a near duplicate only its title, headings and identifiers.

    It shares its content with its representative, so that a search shows one of them.
    """
    is_near = documents["near_duplicate_of"].is_valid()
    if not pc.any(is_near).as_py():
        return documents
    names = [" ".join(identifiers(text or "")) for text in documents["text"].filter(is_near).to_pylist()]
    masked = documents["text"].combine_chunks(), is_near.combine_chunks()
    texts = pc.replace_with_mask(*masked, pa.array(names, pa.string()))
    owners = pc.coalesce(documents["near_duplicate_of"], documents["same_content_as"])
    sections = pc.if_else(is_near, None, documents["sections"])  # of the whole text
    return with_columns(documents, text=texts, sections=sections, same_content_as=owners)


def near_key(url_key: bytes) -> int:
    return int.from_bytes(url_key[:8], "big", signed=True)


def near_rows(pages: pa.Table) -> pa.Table:
    """Rows of table near: representatives, and rows without signature for documents that no longer are."""
    alone = pc.and_(pages["duplicate_of"].is_null(), pages["near_duplicate_of"].is_null())
    pages = with_columns(pages, signature=pc.if_else(alone, pages["signature"], None))
    changed = pc.or_(pages["signature"].is_valid(), pc.fill_null(pages["stays"], False))
    return conform(pages, NEAR).filter(pc.and_(pages["is_document"], changed))


def gone_rows(released: pa.Table, round_: int) -> Iterator[dict[str, Any]]:
    """Rows of table near of RELEASED, without signature, for pages that are gone and no longer representatives."""
    for row in released.filter(released["is_gone"]).to_pylist():
        kept = {name: row[name] for name in ("url_key", "url", "depth")}
        yield kept | {"host": host(row["url"]), "round": round_, "signature": None}
