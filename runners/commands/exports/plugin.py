"""`beamtrawl export NAME`: documents in a format that an installed package writes."""

import argparse
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ....transforms import plugins
from ....transforms.outcomes import BeamtrawlError
from ...exports.output import STDOUT, whole_file
from ...exports.rows import BATCH, plain_rows
from ...terminal.errors import Failure, one_line
from ...terminal.units import counted
from .options import FILE, Formats, add_format, selected
from .rows import where

Exporter = Callable[[Iterator[dict[str, Any]], str], None]
"""The object of an entry point of `beamtrawl.exporters`. It writes rows of table documents, with values as JSON has
them, to a new file at a path."""


def add_arguments(formats: "Formats[argparse.ArgumentParser]") -> None:
    """Add a format for each installed exporter whose name is not taken."""
    for name in sorted(plugins.names(plugins.EXPORTERS) - formats.choices.keys()):
        parser = add_format(formats, name, "documents, by an installed exporter", FILE, export_documents)
        parser.set_defaults(exporter=name)


def export_documents(arguments: argparse.Namespace) -> None:
    """Let an exporter write a temporary file, and copy that to its place once it is complete."""
    name, out = arguments.exporter, arguments.out
    exporter: Exporter = plugins.load(plugins.EXPORTERS, name)
    count = 0

    def documents() -> Iterator[dict[str, Any]]:
        nonlocal count
        for batch in batches:
            for row in plain_rows(batch):
                count += 1
                yield row

    with (
        selected(arguments, where("documents", arguments.where), BATCH) as batches,
        tempfile.TemporaryDirectory(prefix="beamtrawl-") as folder,
    ):
        draft = Path(folder) / "export"
        try:
            exporter(documents(), str(draft))
        except BeamtrawlError:  # of the rows
            raise
        except Exception as error:
            raise Failure(f'exporter "{name}" failed: {one_line(error)}') from error
        if not draft.is_file():
            raise Failure(f'exporter "{name}" wrote no file')
        with draft.open("rb") as source, whole_file(out) as sink:
            shutil.copyfileobj(source, sink)
    if out != STDOUT:
        print(f"{counted(count, 'document')}: {out}")
