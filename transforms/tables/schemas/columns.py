"""The types of columns: what a row has in Python, with the Arrow type of the table."""

from datetime import datetime
from typing import Annotated, Any, get_args

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

_HEADER = pa.struct([("name", pa.string()), ("value", pa.string())])

Key = Annotated[bytes, KEY]
Time = Annotated[datetime, TIME]
Text = Annotated[str, pa.string()]
Texts = Annotated[list[str], pa.list_(pa.string())]
Bool = Annotated[bool, pa.bool_()]
Int32 = Annotated[int, pa.int32()]
Int32s = Annotated[list[int], pa.list_(pa.int32())]
Int64 = Annotated[int, pa.int64()]
Int64s = Annotated[list[int], pa.list_(pa.int64())]
Float32 = Annotated[float, pa.float32()]
Float64 = Annotated[float, pa.float64()]
Binary = Annotated[bytes, pa.binary()]
LargeBinary = Annotated[bytes, pa.large_binary()]
Facts = Annotated[list[tuple[str, str]], pa.map_(pa.string(), pa.string())]
Headers = Annotated[list[dict[str, str]], pa.list_(_HEADER)]
Sections = Annotated[list[dict[str, int | str]], pa.list_(SECTION)]
Sitemap = Annotated[dict[str, Any], SITEMAP]


def schema_of(row: type) -> pa.Schema:
    """The schema of a TypedDict of these types, each of which may be `| None`: all columns may be null."""
    return pa.schema([(name, _arrow(column)) for name, column in row.__annotations__.items()])


def _arrow(column: Any) -> pa.DataType:
    described = [kind for kind in (column, *get_args(column)) if hasattr(kind, "__metadata__")]
    return described[0].__metadata__[0]
