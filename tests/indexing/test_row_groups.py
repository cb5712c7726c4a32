"""What is kept of a footer finds the bytes of any row groups, and makes a file of these with the same rows."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, strategies as st

from beamtrawl.transforms.indexing.row_groups import SIZE, START, RowGroups

ROWS = st.fixed_dictionaries({"term": st.text(max_size=3), "docs": st.lists(st.integers(0, 2**31 - 1), max_size=40)})
SCHEMA = pa.schema([("term", pa.string()), ("docs", pa.list_(pa.field("element", pa.int32(), nullable=False)))])
OPTIONS = st.fixed_dictionaries(
    {
        "compression": st.sampled_from(["none", "snappy", "zstd", "brotli", "gzip"]),
        "use_dictionary": st.booleans(),
        "write_statistics": st.sampled_from([False, ["term"]]),
        "write_page_index": st.booleans(),
    }
)


def written(groups, options):
    file = io.BytesIO()
    with pq.ParquetWriter(file, SCHEMA, **options) as writer:
        for rows in groups:
            writer.write_table(pa.Table.from_pylist(rows, SCHEMA), len(rows))
    return file


def plain(groups):
    """Its fields, with arrays as lists."""
    return [field.tolist() if hasattr(field, "tolist") else field for field in groups]


@given(st.lists(st.lists(ROWS, min_size=1, max_size=5), max_size=20), OPTIONS, st.data())
def test_any_row_groups_are_read_by_a_footer_of_their_own(groups, options, data):
    file = written(groups, options)
    found = RowGroups.of(pq.ParquetFile(file).metadata)
    assert found.columns == {"term": 0, "docs": 1}
    assert found.rows.tolist() == [len(rows) for rows in groups]
    if options["write_statistics"]:
        assert found.firsts == [min(row["term"] for row in rows) for rows in groups]
        assert found.lasts == [max(row["term"] for row in rows) for rows in groups]
    kept = RowGroups.parse(found.render())
    assert plain(kept) == plain(found)
    chosen = data.draw(st.lists(st.integers(0, len(groups) - 1), max_size=20)) if groups else []
    starts = kept.chunks[chosen, 0, START]
    ends = kept.chunks[chosen, -1, START] + kept.chunks[chosen, -1, SIZE]
    parts = [file.getvalue()[start:end] for start, end in zip(starts, ends, strict=True)]
    moved = np.cumsum(ends - starts) - ends
    some = pq.ParquetFile(pa.BufferReader(b"".join([*parts, kept.footer(chosen, moved)])))
    assert some.read().to_pylist() == [row for number in chosen for row in groups[number]]
    assert some.schema_arrow.equals(SCHEMA)
