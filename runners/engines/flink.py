"""Runs pipelines on a Flink cluster: options that `--runner flink` sets, and requirements.

Beam's job server, a Java program, submits each pipeline to the cluster. Unless --job_endpoint names one, it runs
beside the driver for the duration of a crawl. The TaskManagers start Python workers as separate processes
(`beamtrawl.runners.engines.worker`).
"""

import atexit
import contextlib
import functools
import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import FlinkRunnerOptions, JobServerOptions, PipelineOptions, PortableOptions
from apache_beam.runners.portability.flink_runner import FlinkJarJobServer
from apache_beam.runners.portability.portable_runner import PortableRunner
from apache_beam.utils.subprocess_server import JavaJarServer
from apache_beam.version import __version__ as BEAM

from ...transforms.outcomes import BeamtrawlError
from ..process.submission import Submitter
from ..terminal.errors import Failure, Usage
from .beam_runner import free_port
from .expected import reporting
from .flink_rest import Overview, overview

JOB_SERVER_OPTIONS = (
    *("max_bundle_size", "max_bundle_time_mills", "number_of_execution_retries", "execution_retry_delay"),
    *("execution_mode_for_batch", "object_reuse", "disable_metrics", "flink_conf_dir"),
)
"""Options that only the job server defines; Beam's Python SDK requests them from it when it submits a pipeline."""

_MAVEN_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.0:copy"


class FlinkEngine:
    """Any Flink cluster for whose version this Beam has a job server.

    Raises Usage or Failure, one line that names what is missing, before anything has started.
    """

    def __init__(self, workers: int | None, flags: Sequence[str]) -> None:
        options = PipelineOptions(list(flags))
        self._runs_already = bool(options.view_as(PortableOptions).job_endpoint)
        java = options.view_as(JobServerOptions).job_server_java_launcher
        if not self._runs_already and not shutil.which(java):
            raise Failure(f"--runner flink runs Beam's job server with {java}, which is not there; install Java 17")
        if endpoint := options.view_as(PortableOptions).job_endpoint:
            _check_listens(endpoint)
        cluster = _cluster(options.view_as(FlinkRunnerOptions).flink_master)
        self.workers = workers or cluster.slots
        if self.workers > cluster.slots:
            raise Failure(f"the Flink cluster has {cluster.slots} slots, which are not enough for {self.workers}")
        version = flink_version(cluster)
        if not self._runs_already and not options.view_as(FlinkRunnerOptions).flink_job_server_jar:
            _provide_job_server(version)
        self._flags = [*defaults(cluster, version, self.workers, options), *flags]
        self.submitter = Submitter()

    def run(self, build: Callable[[beam.Pipeline], None], seconds: float) -> None:
        endpoint = [] if self._runs_already else [f"--job_endpoint={self._job_endpoint}"]
        options = PipelineOptions([*self._flags, *endpoint])
        try:
            with reporting():
                self.submitter.run(beam.Pipeline(runner=PortableRunner(), options=options), build)
        except BeamtrawlError:
            raise
        except Exception as error:
            raise Failure(f"the step failed on the cluster: {cause(str(error))}; the same command goes on") from error

    @functools.cached_property
    def _job_endpoint(self) -> str:
        """Start a job server, return its endpoint. FlinkRunner starts one per pipeline, in the main thread only."""
        port = free_port()
        server = _JobServer(PipelineOptions([*self._flags, f"--job_port={port}"]))
        server.start()
        atexit.register(server.stop)
        return f"localhost:{port}"


class _JobServer(FlinkJarJobServer):
    """Beam's job server, which ends with this process, however this process ends."""

    def subprocess_cmd_and_endpoint(self) -> tuple[list[str], str]:
        command, endpoint = super().subprocess_cmd_and_endpoint()
        return [sys.executable, "-P", "-m", f"{__package__}.child", *command], endpoint


def cause(message: str) -> str:
    """Return the first cause in a message of a failed job, in one line of limited length.

    Such a message is a Java stack trace, of which the last `Caused by:` is where the failure started.
    """
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    found = causes[-1].removeprefix("Caused by: ") if causes else next(iter(lines), "no message")
    return found if len(found) <= _LONGEST else found[:_LONGEST] + " …"


_LONGEST = 300  # characters


def _check_listens(endpoint: str) -> None:
    host, _, port = endpoint.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()
    except (OSError, ValueError) as error:
        raise Failure(
            f"no job server answers at --job_endpoint={endpoint}: {error}; start it, or leave it out"
        ) from error


_CONNECT_SECONDS = 10.0


def defaults(cluster: Overview, version: str, workers: int, options: PipelineOptions) -> Iterator[str]:
    """Yield the default options of a crawl on a cluster; the user's options follow and override them."""
    yield f"--flink_version={version}"
    yield f"--parallelism={workers}"
    # One Python process per slot: slots that share a process would share its interpreter lock.
    yield f"--sdk_worker_parallelism={-(-cluster.slots // max(1, cluster.task_managers))}"
    # A retried fetch repeats requests; only the next `crawl` retries it, and keeps the delay.
    yield "--number_of_execution_retries=0"
    if not options.view_as(PortableOptions).environment_type:
        yield "--environment_type=PROCESS"
        yield "--environment_config=" + json.dumps({"command": str(Path(sys.executable).with_name("beamtrawl-worker"))})


def flink_version(cluster: Overview) -> str:
    """Return the minor version of a cluster, such as 1.20; Failure if this Beam has no job server for it."""
    version = ".".join(cluster.version.split(".")[:2])
    published = FlinkRunnerOptions.PUBLISHED_FLINK_VERSIONS
    if version not in published:
        raise Failure(f"the cluster runs Flink {cluster.version}; Beam {BEAM} works with {', '.join(published)}")
    return version


def _cluster(master: str) -> Overview:
    if master.startswith("["):  # Beam's notation for a cluster inside the job server
        raise Usage("--runner flink needs a cluster: -- --flink_master=HOST:PORT (docs/flink.md says how to start one)")
    if (found := overview(master)) is None:
        raise Failure(f"no Flink cluster answers at {master}; --flink_master is the address of its web interface")
    return found


def job_server(version: str) -> tuple[str, Path]:
    """Return the Maven coordinates of the job server for a version of Flink, and the path of Beam's local jar."""
    artifact = f"beam-runners-flink-{version}-job-server"
    jar = Path(JavaJarServer.JAR_CACHE) / f"{artifact}-{BEAM}.jar"
    return f"org.apache.beam:{artifact}:{BEAM}", jar


def _provide_job_server(version: str) -> None:
    """Download the job server's jar with Maven, with the user's mirrors, to the path that Beam checks first."""
    coordinates, jar = job_server(version)
    if jar.exists():
        return
    give = "; or give its jar: -- --flink_job_server_jar=FILE"
    maven = shutil.which("mvn")
    if not maven:
        raise Failure(f"Beam's job server {coordinates} is not here, and no Maven to get it; install Maven{give}")
    command = [maven, "--quiet", "--batch-mode", _MAVEN_GOAL, f"-Dartifact={coordinates}"]
    with contextlib.suppress(subprocess.CalledProcessError):
        subprocess.run([*command, f"-DoutputDirectory={jar.parent}"], check=True, capture_output=True)
    if not jar.exists():
        raise Failure(f"Maven does not find Beam's job server {coordinates}{give}")
