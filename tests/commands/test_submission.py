"""How far a pipeline is on its way to a cluster, and what a step is said to wait for."""

import apache_beam as beam
import pytest
from apache_beam.runners.runner import PipelineResult, PipelineRunner, PipelineState

from beamtrawl.runners.engines.choose import engine, submission
from beamtrawl.runners.process.submission import Submission, Submitter, waits_for
from tests.support.tables import each_row

HANDED = "handed to the cluster, waiting for workers"

# state of the pipeline, reports of workers, what the step waits for
WAITS = {
    "on this machine": (Submission.NONE, 0, None),
    "on this machine, with workers": (Submission.NONE, 2, None),
    "on its way": (Submission.PREPARED, 0, "starting the job"),
    "with the cluster": (Submission.ACCEPTED, 0, HANDED),
    "with its first worker": (Submission.ACCEPTED, 1, None),
    "with workers of a runner that returns at its end": (Submission.PREPARED, 1, None),
}


@each_row(WAITS)
def test_what_a_step_waits_for(state: Submission, reports: int, words: str | None) -> None:
    assert waits_for(state, reports) == words


class Result(PipelineResult):
    def __init__(self, submitter: Submitter, seen: list[Submission]) -> None:
        super().__init__(PipelineState.DONE)
        self.submitter, self.seen = submitter, seen

    def wait_until_finish(self, duration=None):
        self.seen.append(self.submitter.submission)


class Runner(PipelineRunner):
    def __init__(self, submitter: Submitter, seen: list[Submission]) -> None:
        self.submitter, self.seen = submitter, seen

    def run_pipeline(self, pipeline, options):
        self.seen.append(self.submitter.submission)
        return Result(self.submitter, self.seen)


def test_a_pipeline_is_prepared_then_accepted_then_gone() -> None:
    submitter, seen = Submitter(), []
    assert submitter.submission == Submission.NONE
    submitter.run(beam.Pipeline(runner=Runner(submitter, seen)), lambda pipeline: None)
    assert [*seen, submitter.submission] == [Submission.PREPARED, Submission.ACCEPTED, Submission.NONE]


def test_a_pipeline_that_cannot_be_built_is_gone() -> None:
    submitter = Submitter()
    with pytest.raises(ZeroDivisionError):
        submitter.run(beam.Pipeline(runner=Runner(submitter, [])), lambda pipeline: 1 // 0)
    assert submitter.submission == Submission.NONE


@pytest.mark.parametrize("name", ["direct", "spark"])
def test_an_engine_at_rest_has_submitted_nothing(name: str) -> None:
    assert submission(engine(name, 2, [])) == Submission.NONE
