"""The data between the stages of a step: batches of rows or values, by partition of a key space."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import TaggedOutput

from .stage_progress import StageProgress

Partition = tuple[int, Mapping[str, Iterable[Any]]]
"""A result of a CoGroupByKey: the number of a partition, and its batches by tag."""


class StageFn(beam.DoFn):
    """A DoFn that reports, for each bundle, that its stage runs."""

    def __init__(self, progress: StageProgress | None = None) -> None:
        super().__init__()
        self._stage_progress = progress

    def start_bundle(self) -> None:
        if self._stage_progress:
            self._stage_progress.report()


def tagged(tag: str, elements: Iterable[Any]) -> Iterator[TaggedOutput]:
    """The elements as outputs with a tag."""
    return (TaggedOutput(tag, element) for element in elements)


def values(batches: Iterable[Iterable[Any]]) -> list[Any]:
    """The values of batches that are collections."""
    return [value for batch in batches for value in batch]


def in_one_place(batch: tuple[int, Any]) -> tuple[int, Any]:
    """The batch in the only partition of a stage that decides for a whole round."""
    return 0, batch[1]
