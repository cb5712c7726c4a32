"""Python workers as a cluster has them: processes of another environment, which has the project from its sdist."""

import contextlib
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import grpc
from apache_beam.portability.api import beam_fn_api_pb2_grpc
from apache_beam.runners.worker.worker_pool_main import BeamFnExternalWorkerPoolServicer

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("beamtrawl", "pipeline", "transforms", "runners", "search")


def make_sdist(place: Path) -> Path:
    """The sdist of the project, made in `place` of what a worker gets: the packages and setup.py, no other file."""
    project = place / "project"
    for package in PACKAGES:
        shutil.copytree(ROOT / package, project / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "setup.py", project)
    _run("setup.py", "--quiet", "sdist", "--dist-dir", str(place / "dist"), folder=project)
    (sdist,) = (place / "dist").iterdir()
    return sdist


def foreign_environment(place: Path) -> Path:
    """Make a virtual environment with the project installed from its sdist; gives its folder of programs.

    The libraries are those of this interpreter, lent by a path: they are not what is on trial, and take minutes to
    install. The project itself is not lent, because an editable install is no folder on that path.
    """
    environment = place / "environment"
    _run("-m", "venv", "--without-pip", str(environment))
    (libraries,) = environment.glob("lib/python*/site-packages")
    (libraries / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = ["install", "--no-deps", "--no-index", "--no-build-isolation", str(make_sdist(place))]
    _run("-m", "pip", "--python", str(environment / "bin/python"), *install)
    assert (libraries / "beamtrawl" / "pipeline" / "fetch.py").exists()
    return environment / "bin"


class Pool(NamedTuple):
    """Beam's pool of workers."""

    address: str
    processes: dict[str, "subprocess.Popen[bytes]"]  # by the id of the worker; who ended is there still

    def kill(self) -> None:
        """End all workers at once, as if their machine had."""
        for process in self.processes.values():
            process.kill()


@contextlib.contextmanager
def worker_pool(program: Path) -> Iterator[Pool]:
    """A pool on loopback, which starts `program` for each worker that a runner wants."""
    pool = BeamFnExternalWorkerPoolServicer(use_process=True, container_executable=str(program))
    server = grpc.server(ThreadPoolExecutor())
    beam_fn_api_pb2_grpc.add_BeamFnExternalWorkerPoolServicer_to_server(pool, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    workers = Pool(f"127.0.0.1:{port}", pool._worker_processes)
    try:
        yield workers
    finally:
        server.stop(0).wait()
        workers.kill()
        for process in workers.processes.values():
            process.communicate()


def _run(*words: str, folder: Path | None = None) -> None:
    subprocess.run([sys.executable, *words], cwd=folder, check=True, capture_output=True)
