"""A dry run of both steps on Dataflow: Beam's own translation for it, without an account, a bucket or its extra."""

from functools import partial

import pytest
from apache_beam.internal import pickler
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions, WorkerOptions
from apache_beam.pipeline import Pipeline
from apache_beam.portability import common_urns, python_urns
from apache_beam.portability.api import beam_runner_api_pb2
from apache_beam.runners.dataflow.dataflow_runner import DataflowRunner
from apache_beam.runners.dataflow.ptransform_overrides import get_dataflow_transform_overrides
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.transforms.environments import DockerEnvironment

from beamtrawl.pipeline import fetch, update
from beamtrawl.runners.engines.beam_runner import BeamEngine
from beamtrawl.runners.engines.choose import engine
from beamtrawl.runners.engines.options import OptionsError
from tests.support.graph import fetch_step, update_step
from tests.support.tables import each_row

BUILDS = {
    "fetch": partial(fetch.build, step=fetch_step()),
    "update": partial(update.build, step=update_step()),
}

PRIMITIVES = {
    *(common_urns.primitives.IMPULSE.urn, common_urns.primitives.PAR_DO.urn, common_urns.primitives.FLATTEN.urn),
    common_urns.primitives.GROUP_BY_KEY.urn,
}
"""All that Dataflow has to run itself; composites consist of these, and their parts are known to it as well."""


def translated(build: partial) -> beam_runner_api_pb2.Pipeline:
    """The pipeline that Dataflow receives: what `DataflowRunner.run_pipeline` does before it connects to anything.

    Beam itself makes the coders of keys deterministic here, or fails.
    """
    options, runner = PipelineOptions([]), DataflowRunner()
    pipeline = Pipeline(runner=FnApiRunner(), options=options)  # which does not ask Google for the bucket
    build(pipeline)
    pipeline.visit(runner.combinefn_visitor())
    pipeline.visit(runner.side_input_visitor(deterministic_key_coders=True))
    pipeline.replace_all(DataflowRunner._PTRANSFORM_OVERRIDES)
    pipeline.replace_all(get_dataflow_transform_overrides(options))
    runner._adjust_pipeline_for_dataflow_v2(pipeline)
    environment = DockerEnvironment.from_container_image("example.test/beamtrawl")
    return pipeline.to_runner_api(default_environment=environment)


@pytest.fixture(scope="module", params=BUILDS.values(), ids=BUILDS)
def pipeline(request: pytest.FixtureRequest) -> beam_runner_api_pb2.Pipeline:
    return translated(request.param)


def leaves(pipeline: beam_runner_api_pb2.Pipeline) -> list[beam_runner_api_pb2.PTransform]:
    """The transforms without parts, but for those that return what they are given."""
    transforms = pipeline.components.transforms.values()
    return [t for t in transforms if not t.subtransforms and set(t.outputs.values()) - set(t.inputs.values())]


def test_all_transforms_are_primitives_that_dataflow_runs(pipeline: beam_runner_api_pb2.Pipeline) -> None:
    assert {one.spec.urn for one in leaves(pipeline)} <= PRIMITIVES


def test_all_functions_travel(pipeline: beam_runner_api_pb2.Pipeline) -> None:
    """Each is pickled into the job, and can be read again."""
    read = 0
    for one in leaves(pipeline):
        if one.spec.urn == common_urns.primitives.PAR_DO.urn:
            payload = beam_runner_api_pb2.ParDoPayload.FromString(one.spec.payload)
            if payload.do_fn.urn == python_urns.PICKLED_DOFN_INFO:  # else a function of Beam's own, by name
                assert pickler.loads(payload.do_fn.payload)
                read += 1
    assert read > 10


NEEDED = ["--region=europe-west1", "--temp_location=gs://bucket/tmp"]

# workers, flags, number of workers at the start and at most, autoscaling
WORKERS = {
    "as many as asked for": (20, [], 20, 20, "NONE"),
    "Dataflow decides": (None, [], None, None, None),
    "the user's own": (
        20,
        ["--max_num_workers=40", "--autoscaling_algorithm=THROUGHPUT_BASED"],
        20,
        40,
        "THROUGHPUT_BASED",
    ),
}


@each_row(WORKERS)
def test_the_number_of_workers(
    workers: int | None, flags: list[str], number: int | None, most: int | None, algorithm: str | None
) -> None:
    chosen = engine("dataflow", workers, [*NEEDED, *flags])
    assert isinstance(chosen, BeamEngine)
    options = PipelineOptions(chosen.flags)
    asked = options.view_as(WorkerOptions)
    assert (asked.num_workers, asked.max_num_workers, asked.autoscaling_algorithm) == (number, most, algorithm)
    assert options.view_as(GoogleCloudOptions).region == "europe-west1"


@pytest.mark.parametrize("missing", ["--region", "--temp_location"])
def test_what_is_missing_is_said_before_the_start(missing: str) -> None:
    with pytest.raises(OptionsError, match=missing):
        engine("dataflow", 2, [flag for flag in NEEDED if not flag.startswith(missing)])
