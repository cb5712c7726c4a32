"""`beamtrawl export NAME`: documents in a format that an installed package writes."""

import argparse
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from ....transforms import plugins
from ....transforms.directory.crawl_dir import CrawlDir
from ....transforms.outcomes import BeamtrawlError
from ....transforms.sql.queries import QueryError, query_batches
from ...exports.output import STDOUT, whole_file
from ...exports.rows import BATCH, plain
from ...terminal.errors import Failure, one_line
from ...terminal.units import counted
from .rows import where

Exporter = Callable[[Iterator[dict[str, Any]], str], None]
"""The object of an entry point of `beamtrawl.exporters`. It writes rows of table documents, with values as JSON has
them, to a new file at a path."""


def add_arguments(formats: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add a format for each installed exporter whose name is not taken."""
    for name in sorted(plugins.names(plugins.EXPORTERS) - formats.choices.keys()):
        parser = formats.add_parser(name, help="documents, by an installed exporter", allow_abbrev=False)
        parser.add_argument("dir", metavar="DIR")
        parser.add_argument("out", metavar="OUT", help="a file, compressed if it ends in .gz; - for standard output")
        parser.add_argument("--where", metavar="SQL", default="true", help="condition on the columns of documents")
        parser.set_defaults(export=export_documents, exporter=name)


def export_documents(arguments: argparse.Namespace) -> None:
    """Let an exporter write a temporary file, and copy that to its place once it is complete."""
    name, out = arguments.exporter, arguments.out
    exporter: Exporter = plugins.load(plugins.EXPORTERS, name)
    try:
        query = where("documents", arguments.where)
        with (
            query_batches(CrawlDir(arguments.dir), query, BATCH) as batches,
            tempfile.TemporaryDirectory(prefix="beamtrawl-") as folder,
        ):
            draft = Path(folder) / "export"
            documents = _Documents(batches)
            try:
                exporter(iter(documents), str(draft))
            except BeamtrawlError:  # of the rows
                raise
            except Exception as error:
                raise Failure(f'exporter "{name}" failed: {one_line(error)}') from error
            if not draft.is_file():
                raise Failure(f'exporter "{name}" wrote no file')
            with draft.open("rb") as source, whole_file(out) as sink:
                shutil.copyfileobj(source, sink)
    except QueryError as error:
        raise Failure(f"--where {arguments.where}: {error}") from error
    if out != STDOUT:
        print(f"{counted(documents.count, 'document')}: {out}")


class _Documents:
    """Rows as dictionaries, and the number of those that were read."""

    def __init__(self, batches: pa.RecordBatchReader) -> None:
        self._batches, self.count = batches, 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self._batches:
            for row in batch.to_pylist(maps_as_pydicts="lossy"):
                self.count += 1
                yield {name: plain(value) for name, value in row.items()}
