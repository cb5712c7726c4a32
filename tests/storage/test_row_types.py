"""Row types name the columns of their table's schema."""

import pyarrow as pa
import pytest

from beamtrawl.transforms.batches.batch_schemas import CANDIDATES, CandidateRow
from beamtrawl.transforms.tables.schemas import (
    ALERTS,
    DOCUMENTS,
    HOSTS,
    ROBOTS,
    TOMBSTONES,
    VISITS,
    AlertRow,
    DocumentRow,
    HostRow,
    RobotsRow,
    TombstoneRow,
    VisitRow,
)

# (row type, Arrow schema)
ROWS = [
    (VisitRow, VISITS),
    (RobotsRow, ROBOTS),
    (HostRow, HOSTS),
    (DocumentRow, DOCUMENTS),
    (AlertRow, ALERTS),
    (CandidateRow, CANDIDATES),
    (TombstoneRow, TOMBSTONES),
]


@pytest.mark.parametrize(("row", "schema"), ROWS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_row_type_has_the_columns_of_its_schema(row: type, schema: pa.Schema) -> None:
    assert list(row.__annotations__) == schema.names
