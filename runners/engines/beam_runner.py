"""Runs pipelines on any runner of Beam, as Beam's own options configure it."""

import atexit
import functools
import socket
from collections.abc import Callable, Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import (
    JobServerOptions,
    PipelineOptions,
    PortableOptions,
    StandardOptions,
)
from apache_beam.runners.portability.job_server import StopOnExitJobServer
from apache_beam.runners.portability.portable_runner import PortableRunner
from apache_beam.runners.runner import PipelineRunner, create_runner

from ..process.submission import Submitter
from ..terminal.errors import Failure
from .options import OptionsError


def open_runner(name: str) -> PipelineRunner:
    """Return a runner by the name of its class; this imports its module, which defines its options.

    Raises OptionsError if there is no such class.
    """
    try:
        return create_runner(name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise OptionsError(f"--runner={name}: {str(error).splitlines()[0]}") from error


class BeamEngine:
    """Any runner of Beam. The job server of a portable runner starts with the first pipeline and serves all."""

    def __init__(self, runner: str, workers: int | None, flags: Sequence[str]) -> None:
        self.workers = workers or 1
        self.flags = [f"--runner={runner}", *flags]
        self.submitter = Submitter()

    def run(self, build: Callable[[beam.Pipeline], None], seconds: float) -> None:
        options = PipelineOptions([*self.flags, *self._job_endpoint])
        self.submitter.run(beam.Pipeline(options=options), build)

    @functools.cached_property
    def _job_endpoint(self) -> list[str]:
        """Start the job server that Beam would start, and return the option that names it; else no option.

        Beam starts it in the main thread only, because it handles Ctrl-C itself.
        """
        options = PipelineOptions(self.flags)
        runner = open_runner(options.view_as(StandardOptions).runner)
        if not isinstance(runner, PortableRunner) or options.view_as(PortableOptions).job_endpoint:
            return []
        port = options.view_as(JobServerOptions).job_port or free_port()
        try:
            more = [f"--job_port={port}", "--experiments=disable_prism_server_singleton"]  # else one of another port
            server = runner.default_job_server(PipelineOptions([*self.flags, *more]))
            if not isinstance(server, StopOnExitJobServer):
                return []
            server._job_server.start()
        except Exception as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise Failure(f"the job server of {type(runner).__name__} does not start: {reason}") from error
        atexit.register(server._job_server.stop)
        return [f"--job_endpoint=localhost:{port}"]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])
