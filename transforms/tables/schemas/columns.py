"""Columns shared by several tables."""

import pyarrow as pa

KEY = pa.binary(16)

TIME = pa.timestamp("us", tz="UTC")

SECTION = pa.struct(
    [
        ("offset", pa.int32()),  # of its first character in `text`
        ("length", pa.int32()),  # characters of its heading, which begins it; 0: without heading
        ("level", pa.int8()),  # 1 to 6: of the heading; 7 and more: of a term
        ("id", pa.string()),  # the fragment of its URL, not encoded; "": none
    ]
)
"""A section of a text."""

SITEMAP = pa.struct(
    [
        ("level", pa.int32()),  # number of indexes above it
        ("budget", pa.int32()),  # further sitemaps that it may lead to
        ("hosts", pa.list_(pa.string())),  # hosts that authorise it; it may name their pages
    ]
)
"""Properties of a sitemap besides its URL."""
