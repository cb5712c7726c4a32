"""Columns shared by several tables."""

import pyarrow as pa

KEY = pa.binary(16)

TIME = pa.timestamp("us", tz="UTC")

SITEMAP = pa.struct(
    [
        ("level", pa.int32()),  # number of indexes above it
        ("budget", pa.int32()),  # further sitemaps that it may lead to
        ("hosts", pa.list_(pa.string())),  # hosts that authorise it; it may name their pages
    ]
)
"""Properties of a sitemap besides its URL."""
