"""The keys of a round, by which rows of earlier rounds are read."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, strategies as st

from beamtrawl.transforms.batches.semi_join import _CollectKeysFn
from beamtrawl.transforms.tables.batches import to_ipc
from beamtrawl.transforms.tables.key_scan import groups_with

DIGESTS = st.lists(st.binary(min_size=16, max_size=16), max_size=9)


def table(digests: list[bytes]) -> pa.Table:
    return pa.table({"digest": pa.array(digests, pa.binary(16))})


@given(st.lists(DIGESTS, max_size=3), DIGESTS.filter(bool), st.data())
def test_row_groups_of_a_file_sorted_by_key_are_left_out_by_the_keys_alone(
    batches: list[list[bytes]], stored: list[bytes], data: st.DataObject
) -> None:
    batches = [*batches, data.draw(st.lists(st.sampled_from(stored)))]
    collect = _CollectKeysFn("digest", "digest")
    parts = [collect.add_input(collect.create_accumulator(), (0, to_ipc(table(some)))) for some in batches]
    wanted = collect.extract_output(collect.merge_accumulators(parts))
    file = io.BytesIO()
    pq.write_table(table(sorted(stored)), file, row_group_size=2)
    groups = [sorted(stored)[start : start + 2] for start in range(0, len(stored), 2)]
    found = [
        number
        for number, group in enumerate(groups)
        if any(group[0][:8] <= key[:8] <= group[-1][:8] for some in batches for key in some)
    ]
    assert list(groups_with(pq.ParquetFile(file), "digest", wanted.values)) == found
    assert wanted.mask(table([key for some in batches for key in some])).all()
