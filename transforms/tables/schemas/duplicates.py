"""The tables for duplicate detection: content digests, and signatures of near duplicates."""

import pyarrow as pa

from .columns import KEY

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
