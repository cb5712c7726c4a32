"""Runs pipelines on this machine by Beam's own runner: with its options, or where Beam lacks what `direct` needs."""

from collections.abc import Callable, Sequence
from importlib.metadata import version

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

from .expected import reporting


class StockEngine:
    """Runs pipelines in this process. `missing` names what the installed version of Beam lacks."""

    workers = 1

    def __init__(self, flags: Sequence[str], missing: Sequence[str]) -> None:
        self._flags, self._missing = list(flags), list(missing)

    @property
    def notice(self) -> str:
        """What a user should know of this engine, in one line; nothing if options asked for it."""
        if not self._missing:
            return ""
        first, *others = self._missing
        more = f" and {len(others)} more" if others else ""
        return (
            f"apache-beam {version('apache-beam')} has no {first}{more}: all steps run in one process, slower"
            " and with more memory; a version that this program was tested with is in constraints.txt"
        )

    def run(self, build: Callable[[beam.Pipeline], None], seconds: float) -> None:
        with reporting(), beam.Pipeline(runner=FnApiRunner(), options=PipelineOptions(self._flags)) as pipeline:
            build(pipeline)
