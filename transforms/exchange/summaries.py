"""Summaries: what a whole round has found, as one value that the functions of later stages take as a side input."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import apache_beam as beam

Found = Mapping[str, Any]
"""What `Summarize` found, by part; None for a part without data."""


def found(part: str, *summaries: Found) -> Any:
    """What the first of some summaries with a part found; None if nothing was."""
    for summary in summaries:
        if part in summary:
            return summary[part]
    raise ValueError(f"no summary has part {part!r}, only {', '.join(name for one in summaries for name in one)}")


class _SummarizeFn(beam.CombineFn):
    def __init__(self, parts: Mapping[str, beam.CombineFn]) -> None:
        self._parts = dict(parts)

    def create_accumulator(self) -> dict[str, Any]:
        return {}

    def add_input(self, summary: dict[str, Any], element: tuple[str, Any]) -> dict[str, Any]:
        name, data = element
        part = self._parts[name]
        summary[name] = part.add_input(summary[name] if name in summary else part.create_accumulator(), data)
        return summary

    def merge_accumulators(self, summaries: Iterable[dict[str, Any]]) -> dict[str, Any]:
        by_part: dict[str, list[Any]] = defaultdict(list)
        for summary in summaries:
            for name, part in summary.items():
                by_part[name].append(part)
        return {name: self._parts[name].merge_accumulators(some) for name, some in by_part.items()}

    def extract_output(self, summary: dict[str, Any]) -> Found:
        return {name: fn.extract_output(summary[name]) if name in summary else None for name, fn in self._parts.items()}


class Summarize(beam.PTransform):
    """Combines (part, data) by the CombineFns of the parts, to `Found`."""

    def __init__(self, parts: Mapping[str, beam.CombineFn]) -> None:
        super().__init__()
        self._fn, self._nothing = _SummarizeFn(parts), dict.fromkeys(parts)

    def expand(self, elements: "beam.PCollection[tuple[str, Any]]") -> "beam.pvalue.AsSingleton":
        summary = elements | "Combine" >> beam.CombineGlobally(self._fn).without_defaults()
        return beam.pvalue.AsSingleton(summary, default_value=self._nothing)
