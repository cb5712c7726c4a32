"""Python workers as a cluster has them: processes of another environment, which has the project from its sdist."""

import contextlib
import shutil
import subprocess
import sys
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
    return _build(place, "sdist")


def make_wheel(place: Path) -> Path:
    """The wheel of the project, made in `place` from the same files."""
    return _build(place, "bdist_wheel")


def _build(place: Path, kind: str) -> Path:
    project = place / "project"
    for package in PACKAGES:
        shutil.copytree(ROOT / package, project / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "setup.py", project)
    _run("setup.py", "--quiet", kind, "--dist-dir", str(place / "dist"), folder=project)
    (built,) = (place / "dist").iterdir()
    return built


def foreign_environment(place: Path) -> Path:
    """Make a virtual environment with the project installed from its sdist; gives its folder of programs."""
    environment = empty_environment(place)
    install(environment, str(make_sdist(place)))
    return environment / "bin"


def empty_environment(place: Path) -> Path:
    """Make a virtual environment in `place` that has the libraries of this interpreter, and not the project.

    The libraries are lent by their paths: they are not under test, and take minutes to install. The project itself is
    not lent, because an editable install is no folder on these paths.
    """
    environment = place / "environment"
    _run("-m", "venv", "--without-pip", str(environment))
    (libraries,) = environment.glob("lib/python*/site-packages")
    lent = [path for path in sys.path if Path(path).name == "site-packages"]
    (libraries / "lent.pth").write_text("".join(f"{path}\n" for path in lent))
    return environment


def install(environment: Path, *requirements: str) -> None:
    """Install distributions without their dependencies. subprocess.CalledProcessError if pip fails."""
    words = ["install", "--quiet", "--no-deps", "--no-build-isolation", *requirements]
    _run("-m", "pip", "--python", str(environment / "bin/python"), *words)


def uninstall(environment: Path, name: str) -> None:
    _run("-m", "pip", "--python", str(environment / "bin/python"), "uninstall", "--quiet", "--yes", name)


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
