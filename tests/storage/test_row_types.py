"""The schema of a table has the columns of the type of its rows."""

from typing import TypedDict

import pyarrow as pa

from beamtrawl.transforms.tables.schemas.columns import KEY, TIME, Facts, Int32, Key, Text, Texts, Time, schema_of


class _Row(TypedDict, total=False):
    key: Key
    at: Time | None
    texts: Texts | None
    number: Int32
    text: Text | None
    facts: Facts


def test_a_column_has_the_arrow_type_of_its_annotation_in_order() -> None:
    facts = pa.map_(pa.string(), pa.string())
    types = [KEY, TIME, pa.list_(pa.string()), pa.int32(), pa.string(), facts]
    columns = zip(("key", "at", "texts", "number", "text", "facts"), types, strict=True)
    assert schema_of(_Row) == pa.schema(list(columns))
