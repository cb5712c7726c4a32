"""Rows as Arrow, pandas or Polars; pandas and Polars are extras."""

from __future__ import annotations

import html
import importlib
from typing import TYPE_CHECKING, Any

from beamtrawl.transforms.outcomes import BeamtrawlError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


_CELL = 60  # characters of a value in a notebook


class MissingLibraryError(BeamtrawlError, ImportError):
    """A method needs a library that is not installed; the message names the extra to install."""


class Rows:
    """Rows that have an Arrow table."""

    def to_arrow(self) -> pa.Table:
        raise NotImplementedError

    def to_pandas(self, **options: Any) -> pd.DataFrame:
        """The rows as a pandas DataFrame; options are those of `pyarrow.Table.to_pandas`."""
        _require("pandas", "to_pandas()")
        return self.to_arrow().to_pandas(**options)

    def to_polars(self) -> pl.DataFrame:
        """The rows as a Polars DataFrame."""
        polars = _require("polars", "to_polars()")
        return polars.from_arrow(self.to_arrow())

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows as dicts by column name."""
        return list(self.to_arrow().to_pylist())


def _require(library: str, method: str) -> Any:
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise MissingLibraryError(
            f"{method} needs {library}; install it: pip install 'beamtrawl[{library}]'"
        ) from error


def html_table(rows: pa.Table, caption: str) -> str:
    """A small table for a notebook; long values are cut."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in rows.column_names)
    lines = (zip(*(column.to_pylist() for column in rows.columns), strict=True)) if rows.num_columns else ()
    body = "".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in line) + "</tr>" for line in lines)
    return f"<table><caption>{html.escape(caption)}</caption><tr>{head}</tr>{body}</table>"


def _cell(value: Any) -> str:
    text = "" if value is None else value.hex() if isinstance(value, bytes) else " ".join(str(value).split())
    return html.escape(text if len(text) <= _CELL else text[: _CELL - 1] + "…")
