"""The progress of a pipeline on its way to a cluster."""

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what only shows progress does without it
    import apache_beam as beam


class Submission(enum.Enum):
    """The state of the running pipeline of an engine."""

    NONE = "none"  # no pipeline runs, or it runs on this machine
    PREPARED = "prepared"  # is translated and sent to the cluster
    ACCEPTED = "accepted"  # the cluster has accepted it as a job


def waits_for(submission: Submission, reports: int) -> str | None:
    """Return what a step waits for, where `reports` of its workers are known; None if it waits for nothing."""
    said = {Submission.PREPARED: "starting the job", Submission.ACCEPTED: "handed to the cluster, waiting for workers"}
    return None if reports else said.get(submission)


class Submitter:
    """Runs one pipeline at a time; any thread may read `submission`."""

    def __init__(self) -> None:
        self._pipeline: beam.Pipeline | None = None

    @property
    def submission(self) -> Submission:
        if (pipeline := self._pipeline) is None:
            return Submission.NONE
        return Submission.ACCEPTED if hasattr(pipeline, "result") else Submission.PREPARED

    def run(self, pipeline: "beam.Pipeline", build: "Callable[[beam.Pipeline], None]") -> None:
        self._pipeline = pipeline
        try:
            with pipeline:
                build(pipeline)
        finally:
            self._pipeline = None
