"""Chooses the engine that runs the pipelines, and checks Beam's options."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions, StandardOptions

from ...pipeline.attempt import Engine
from ...transforms.files.filesystem import store_of
from ..process.submission import Submission, Submitter
from .beam_parts import PARTS, missing_parts
from .options import OptionsError, check_options

BEAM_RUNNERS = {"dataflow": "DataflowRunner", "spark": "SparkRunner"}


RUNNERS = ("direct", "flink", *BEAM_RUNNERS)


@runtime_checkable
class ForksEarly(Protocol):
    """An engine that forks processes before a crawl is opened."""

    def fork_server(self, parses: bool) -> None: ...


@runtime_checkable
class Submits(Protocol):
    """An engine that submits pipelines to a cluster."""

    submitter: Submitter


@runtime_checkable
class Noticed(Protocol):
    """An engine of which a user should know something, in one line."""

    @property
    def notice(self) -> str: ...


def engine(name: str, workers: int | None, flags: Sequence[str], parts: Mapping[str, Sequence[str]] = PARTS) -> Engine:
    """Return the engine of a name. OptionsError for options that Beam does not define: Beam itself ignores them.

    `parts` are the undocumented parts of Beam that DirectEngine needs.
    """
    if workers is not None and workers < 1:
        raise OptionsError(f"workers = {workers}: must be at least 1")
    if name == "direct" and not flags:
        return _direct(workers, flags, parts)
    return _by_options(name, workers, flags, parts)


# The modules of engines import parts of Beam that others do not need.
# ruff: noqa: PLC0415


def _direct(workers: int | None, flags: Sequence[str], parts: Mapping[str, Sequence[str]]) -> Engine:
    """The engine of this program; Beam's own runner if a version of Beam lacks something, or for other options of Beam
    than a number of workers, which is then that of each step."""
    given = PipelineOptions(list(flags)).get_all_options(drop_default=True)
    exact = given.pop("direct_num_workers", None)
    missing = missing_parts(parts)
    if missing or given:
        from .stock import StockEngine

        return StockEngine(flags, missing)
    from .direct import DirectEngine

    return DirectEngine(exact or workers, is_exact=bool(exact))


def _by_options(name: str, workers: int | None, flags: Sequence[str], parts: Mapping[str, Sequence[str]]) -> Engine:
    from .beam_runner import BeamEngine, open_runner
    from .flink import JOB_SERVER_OPTIONS, FlinkEngine

    if runner := PipelineOptions(list(flags)).view_as(StandardOptions).runner:
        open_runner(runner)
    check_options(flags, JOB_SERVER_OPTIONS if name == "flink" else ())
    if runner:
        return BeamEngine(runner, workers, flags)
    if name == "direct":
        return _direct(workers, flags, parts)
    if name == "flink":
        return FlinkEngine(workers, flags)
    more = _dataflow(workers, flags) if name == "dataflow" else []
    return BeamEngine(BEAM_RUNNERS[name], workers, [*more, *flags])


def fork_early(engine: Engine, root: str, parses: bool = False) -> None:
    """Fork what an engine forks before a crawl is opened, whose pages it `parses`: no connection survives a fork."""
    if isinstance(engine, ForksEarly) and not store_of(root).reads_by_request:
        engine.fork_server(parses)


def notice(engine: Engine) -> str:
    """Return what a user should know of an engine, in one line; usually nothing."""
    return engine.notice if isinstance(engine, Noticed) else ""


def submission(engine: Engine) -> Submission:
    """Return how far the running pipeline of an engine is on its way to a cluster."""
    return engine.submitter.submission if isinstance(engine, Submits) else Submission.NONE


def _dataflow(workers: int | None, flags: Sequence[str]) -> list[str]:
    """Return the options for a number of workers on Dataflow; the user's follow and override them.

    Raises OptionsError without a region or a bucket, before anything is written.
    """
    options = PipelineOptions(list(flags)).view_as(GoogleCloudOptions)
    if not options.region:
        raise OptionsError("--runner dataflow needs a region: -- --region=europe-west1")
    if not options.temp_location and not options.staging_location:
        raise OptionsError("--runner dataflow needs a folder of a bucket: -- --temp_location=gs://BUCKET/tmp")
    if workers is None:
        return []
    # A fetch step waits for servers and hardly computes: autoscaling, which follows the load, would remove workers.
    return [f"--num_workers={workers}", f"--max_num_workers={workers}", "--autoscaling_algorithm=NONE"]
