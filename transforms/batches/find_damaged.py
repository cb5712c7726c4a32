"""Compares files with their manifests in a pipeline; apart from `damage`, which commands read without Beam."""

from collections.abc import Collection

import apache_beam as beam

from ..tables.damage import damaged
from ..tables.table_files import TableFile


class FindDamaged(beam.PTransform):
    """The damaged ones of some files, as files of table `DAMAGED`; each is read once, by any worker."""

    def __init__(self, root: str, files: Collection[TableFile]) -> None:
        super().__init__()
        self._root, self._files = root, list(files)

    def expand(self, pipeline: beam.Pipeline) -> beam.PCollection[TableFile]:
        return (
            pipeline
            | "Files" >> beam.Create(self._files)
            | "SpreadFiles" >> beam.Reshuffle()
            | "Compare" >> beam.FlatMap(damaged, self._root)
        )
