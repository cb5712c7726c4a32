"""Columns that several tables have."""

import pyarrow as pa

KEY = pa.binary(16)

TIME = pa.timestamp("us", tz="UTC")

SITEMAP = pa.struct(
    [
        ("level", pa.int32()),  # indexes passed on the way to it
        ("budget", pa.int32()),  # further sitemaps that it may lead to
        ("hosts", pa.list_(pa.string())),  # hosts that vouch for it, and whose pages it may therefore name
    ]
)
"""What is known of a sitemap besides its URL."""
