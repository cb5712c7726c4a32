"""The tables of a crawl: lazy, over the files that committed steps have written."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds

from beamtrawl._convert import Rows, html_table
from beamtrawl.transforms.directory.crawl_dir import CrawlDir, Manifest, current_files
from beamtrawl.transforms.directory.datasets import open_dataset
from beamtrawl.transforms.sql import views as sql_views
from beamtrawl.transforms.tables.schemas import TABLES
from beamtrawl.transforms.tables.table_files import conform

if TYPE_CHECKING:
    import pyarrow.compute as pc

_SHOWN = 10  # rows in a notebook


@dataclasses.dataclass(frozen=True, repr=False)
class Table(Rows):
    """The rows of a table as of the moment it was taken from its crawl; nothing is read before rows are asked for.

    Of `urls`, `hosts` and the other snapshots these are the newest rows of each key, as `beamtrawl sql` shows them;
    `history` has all of them.
    """

    name: str
    _crawl: CrawlDir
    _manifests: Sequence[Manifest]
    _columns: tuple[str, ...]
    _filters: tuple[pc.Expression, ...] = ()
    _is_history: bool = False

    @classmethod
    def of(cls, crawl: CrawlDir, manifests: Sequence[Manifest], name: str) -> Table:
        return cls(name, crawl, manifests, tuple(TABLES[name].names))

    def select(self, columns: str | Sequence[str]) -> Table:
        """The same rows with these columns only, in this order. KeyError if there is no such column."""
        columns = [columns] if isinstance(columns, str) else columns
        for column in columns:
            if column not in self._columns:
                raise KeyError(f"table {self.name} has no column {column!r}; it has {', '.join(self._columns)}")
        return dataclasses.replace(self, _columns=tuple(columns))

    def filter(self, condition: pc.Expression) -> Table:
        """The rows for which an Arrow expression is true, such as `pyarrow.compute.field("status") == 404`."""
        if isinstance(condition, str):
            raise TypeError(
                f"filter takes an Arrow expression, such as pyarrow.compute.field('depth') == 1, and not {condition!r};"
                " for a condition in SQL, use crawl.sql"
            )
        return dataclasses.replace(self, _filters=(*self._filters, condition))

    @property
    def history(self) -> Table:
        """Every row of a snapshot, older ones too; of any other table the table itself."""
        return dataclasses.replace(self, _is_history=True)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow types of the columns."""
        return pa.schema([TABLES[self.name].field(name) for name in self._columns])

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    @property
    def files(self) -> list[str]:
        """The paths of the Parquet files, oldest round first; of a snapshot they hold every row."""
        return [self._crawl.path(file.path) for file in current_files(self._manifests, self.name)]

    def scanner(self, **options: Any) -> ds.Scanner:
        """An Arrow scanner of the rows; options are those of `pyarrow.dataset.Scanner`, such as `batch_size`."""
        condition = functools.reduce(operator.and_, self._filters) if self._filters else None
        options = {"columns": list(self._columns), "filter": condition} | options
        if self._is_snapshot:
            return ds.Scanner.from_batches(self._newest(), **options)
        dataset = open_dataset(self._crawl, current_files(self._manifests, self.name), TABLES[self.name])
        return dataset.scanner(**options)

    def to_batches(self, **options: Any) -> Iterator[pa.RecordBatch]:
        """The rows in Arrow record batches, read one after another; options are those of `scanner`."""
        yield from self.scanner(**options).to_batches()

    def to_arrow(self) -> pa.Table:
        """All rows as an Arrow table."""
        return self.scanner().to_table()

    def head(self, count: int = 5) -> pa.Table:
        """The first rows as an Arrow table."""
        return self.scanner().head(count)

    def __len__(self) -> int:
        if self._filters:
            return int(self.scanner().count_rows())
        if not self._is_snapshot:
            return sum(file.rows for file in current_files(self._manifests, self.name))
        with sql_views.connect(self._crawl, self._manifests, [self.name]) as connection:
            return int(connection.execute(f"SELECT count(*) FROM {self.name}").fetchall()[0][0])

    def __repr__(self) -> str:
        return f"<Table {self.name}: {len(self._columns)} columns, {len(self.files)} files>"

    def _repr_html_(self) -> str:
        shown = self.head(_SHOWN)
        return html_table(shown, f"{self.name}: {shown.num_rows} of {len(self)} rows")

    @property
    def _is_snapshot(self) -> bool:
        return self.name in sql_views.SNAPSHOTS and not self._is_history

    def _newest(self) -> pa.RecordBatchReader:
        """The newest row of each key, streamed; all columns where filters may need them."""
        columns = TABLES[self.name].names if self._filters else list(self._columns)
        schema = pa.schema([TABLES[self.name].field(name) for name in columns])
        names = ", ".join(f'"{name}"' for name in columns)

        def batches() -> Iterator[pa.RecordBatch]:
            with sql_views.connect(self._crawl, self._manifests, [self.name]) as connection:
                found = connection.sql(f"SELECT {names} FROM {self.name}")
                for batch in pa.RecordBatchReader.from_stream(found):
                    yield from conform(pa.Table.from_batches([batch]), schema).to_batches()

        return pa.RecordBatchReader.from_batches(schema, batches())
