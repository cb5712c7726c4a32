"""A worker of Beam in a separate process: the command that a cluster starts, by Beam's contract for containers.

    beamtrawl-worker --id=ID --provision_endpoint=HOST:PORT [--control_endpoint=…] [--logging_endpoint=…]

A Flink TaskManager runs it for `--environment_type=PROCESS`, a worker pool for `--container_executable`. Beam's own
program for this contract is only in its container images. This one installs nothing: the project and its dependencies
have to be in its environment already.
"""

import argparse
import os
import signal
import sys
from collections.abc import Mapping, Sequence

import grpc
from apache_beam.portability.api import beam_provision_api_pb2, beam_provision_api_pb2_grpc, endpoints_pb2
from apache_beam.runners.worker import sdk_worker_main
from google.protobuf import json_format, text_format

from ..process.garbage import collect_rarely
from .inspection import inspected_once
from .parent_watch import end_with_parent

_PROVISION_SECONDS = 60.0


def harness_environment(
    worker: str, given: Mapping[str, str | None], info: beam_provision_api_pb2.ProvisionInfo
) -> dict[str, str]:
    """Return the environment variables that Beam's harness reads.

    `given` holds the endpoints control and logging of the command line; the runner's own replace those that are None.
    """
    provided = {"control": info.control_endpoint, "logging": info.logging_endpoint}
    environment = {
        "WORKER_ID": worker,
        "PIPELINE_OPTIONS": json_format.MessageToJson(info.pipeline_options),
        "RUNNER_CAPABILITIES": " ".join(info.runner_capabilities),
    }
    for name, endpoint in provided.items():
        url = given[name]
        descriptor = endpoints_pb2.ApiServiceDescriptor(url=url) if url else endpoint
        environment[f"{name.upper()}_API_SERVICE_DESCRIPTOR"] = text_format.MessageToString(descriptor)
    return environment


def _provision_info(endpoint: str, worker: str) -> beam_provision_api_pb2.ProvisionInfo:
    with grpc.insecure_channel(endpoint) as channel:
        service = beam_provision_api_pb2_grpc.ProvisionServiceStub(channel)
        request = beam_provision_api_pb2.GetProvisionInfoRequest()
        metadata = [("worker_id", worker)]  # identifies the worker: one service serves many
        return service.GetProvisionInfo(request, metadata=metadata, timeout=_PROVISION_SECONDS).info


def main(words: Sequence[str] | None = None) -> None:
    """Run bundles until the runner closes the connection, or until the parent process ends."""
    parser = argparse.ArgumentParser(prog="beamtrawl-worker", allow_abbrev=False)
    parser.add_argument("--id", required=True, type=lambda text: text.strip("'"))  # Prism 2.77 quotes it for a shell
    parser.add_argument("--provision_endpoint", required=True)
    parser.add_argument("--control_endpoint")
    parser.add_argument("--logging_endpoint")
    arguments, _ = parser.parse_known_args(words)  # ignores further options, about artifacts
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver
    end_with_parent()
    collect_rarely()
    info = _provision_info(arguments.provision_endpoint, arguments.id)
    given = {"control": arguments.control_endpoint, "logging": arguments.logging_endpoint}
    os.environ.update(harness_environment(arguments.id, given, info))
    code = 1
    try:
        with inspected_once():
            sdk_worker_main.main(sys.argv)
        code = 0
    finally:
        # The runner has ended. A running bundle would continue its requests to servers, without use.
        os._exit(code)


if __name__ == "__main__":
    main()
