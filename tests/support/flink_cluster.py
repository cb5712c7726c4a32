"""A small Flink cluster on this machine, for tests and for trying; run it in a checkout.

    python -m tests.support.flink_cluster start WORK [--task-managers N] [--slots N]
    python -m tests.support.flink_cluster add WORK
    python -m tests.support.flink_cluster stop WORK

The cluster is the one of the PyPI package apache-flink-libraries, which holds Flink's jars and none of its shell
scripts. It listens on loopback only. WORK keeps its configuration, logs and process ids; `stop` ends those processes
and no others, `add` starts one more TaskManager, such as in place of one that has ended. One JobManager, N
TaskManagers; any user of this machine may submit jobs to it.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import requests

from beamtrawl.runners.engines.flink_rest import overview

_JOB_MANAGER = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
_TASK_MANAGER = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"
_START_SECONDS = 180.0  # a busy machine; an idle one takes eight
_STOP_SECONDS = 10.0

_PACKAGES_OF_THE_JDK = (
    *("java.lang", "java.net", "java.io", "java.nio", "sun.nio.ch", "java.lang.reflect", "java.text", "java.time"),
    *("java.util", "java.util.concurrent", "java.util.concurrent.atomic", "java.util.concurrent.locks"),
)
"""Packages that Flink's serializers access by reflection; Java 17 requires their names (Flink's own list)."""


class ClusterError(Exception):
    """The cluster cannot be started; the message gives the reason in one line."""


@dataclasses.dataclass(frozen=True)
class Cluster:
    """A running cluster."""

    address: str  # host:port, for --flink_master
    job_manager: int  # process ids
    task_managers: tuple[int, ...]

    @property
    def processes(self) -> tuple[int, ...]:
        return (*self.task_managers, self.job_manager)


def start(work: Path, task_managers: int = 2, slots: int = 2) -> Cluster:
    """Start a cluster and wait until all its slots are available.

    Raises ClusterError on failure, with no process left running.
    """
    _java(), _jars()
    if _state(work).exists():
        raise ClusterError(f"{work} has a cluster already; stop it first")
    configuration, logs = work / "conf", work / "logs"
    configuration.mkdir(parents=True, exist_ok=True)
    logs.mkdir(exist_ok=True)
    rpc, web = _free_ports(2)
    (configuration / "config.yaml").write_text("".join(f"{k}: {v}\n" for k, v in _settings(work, rpc, web, slots)))
    started = [_launch(work, "job-manager", _JOB_MANAGER, "--executionMode", "cluster")]
    started += [_launch(work, f"task-manager-{n}", _TASK_MANAGER) for n in range(1, task_managers + 1)]
    cluster = Cluster(f"127.0.0.1:{web}", started[0], tuple(started[1:]))
    try:
        wanted = task_managers * slots
        _wait(lambda: (seen := overview(cluster.address)) is not None and seen.slots >= wanted, cluster.processes, logs)
    except BaseException:
        _end(cluster.processes)
        raise
    _write(work, cluster)
    return cluster


def ids(address: str) -> set[str] | None:
    """The ids of the TaskManagers, one that has ended until its heartbeat times out; None if no Flink responds."""
    try:
        found = requests.get(f"http://{address}/taskmanagers", timeout=10).json()["taskmanagers"]
    except (requests.RequestException, KeyError):
        return None
    return {each["id"] for each in found}


def add(work: Path) -> Cluster:
    """Start one more TaskManager in the cluster of a work directory, and wait until the cluster knows it.

    Raises ClusterError on failure, with the cluster as it was.
    """
    cluster = _running(work)
    if (known := ids(cluster.address)) is None:
        raise ClusterError(f"no JobManager answers at {cluster.address}; stop the cluster in {work} and start it again")
    number = len(list((work / "logs").glob("task-manager-*.log"))) + 1
    added = _launch(work, f"task-manager-{number}", _TASK_MANAGER)
    try:
        _wait(lambda: bool((ids(cluster.address) or known) - known), (added,), work / "logs")
    except BaseException:
        _end((added,))
        raise
    cluster = dataclasses.replace(cluster, task_managers=(*filter(_runs, cluster.task_managers), added))
    _write(work, cluster)
    return cluster


def stop(work: Path) -> None:
    """End the processes of the cluster in a work directory. Raises ClusterError if there is none."""
    _end(_running(work).processes)
    _state(work).unlink()


def _running(work: Path) -> Cluster:
    if not _state(work).exists():
        raise ClusterError(f"{work} has no cluster that runs")
    fields = json.loads(_state(work).read_text())
    return Cluster(fields["address"], fields["job_manager"], tuple(fields["task_managers"]))


def _write(work: Path, cluster: Cluster) -> None:
    _state(work).write_text(json.dumps(dataclasses.asdict(cluster)))


def _settings(work: Path, rpc: int, rest: int, slots: int) -> Iterator[tuple[str, object]]:
    """Yield Flink's configuration: loopback everywhere, and explicit sizes of all memory parts.

    Flink's shell scripts compute the parts from a total; without the scripts they have to be set.
    """
    for role in ("jobmanager", "taskmanager", "rest"):
        yield f"{role}.bind-{'address' if role == 'rest' else 'host'}", "127.0.0.1"
    yield "jobmanager.rpc.address", "127.0.0.1"
    yield "jobmanager.rpc.port", rpc
    yield "rest.address", "127.0.0.1"
    yield "rest.port", rest
    yield "taskmanager.host", "127.0.0.1"
    yield "taskmanager.numberOfTaskSlots", slots
    yield "taskmanager.cpu.cores", float(slots)
    yield "taskmanager.memory.task.heap.size", "256m"
    yield "taskmanager.memory.task.off-heap.size", "0m"
    yield "taskmanager.memory.framework.heap.size", "128m"
    yield "taskmanager.memory.framework.off-heap.size", "128m"
    yield "taskmanager.memory.managed.size", "128m"
    yield "taskmanager.memory.jvm-metaspace.size", "256m"
    for part in ("network", "jvm-overhead"):
        for end in ("min", "max"):
            yield f"taskmanager.memory.{part}.{end}", "128m"
    yield "io.tmp.dirs", work / "tmp"
    # An update step has a dozen blocking edges, and Flink keeps 512 buffers of 32 kB for each end of one by default.
    yield "taskmanager.network.sort-shuffle.min-buffers", 32
    # On a busy machine, short limits end jobs whose processes are alive.
    yield "heartbeat.interval", "1 s"
    yield "heartbeat.timeout", "60 s"
    yield "pekko.ask.timeout", "300 s"


def _java() -> str:
    if java := shutil.which("java"):
        return java
    raise ClusterError("Flink needs Java 11 or 17, and there is no java on the PATH; install e.g. openjdk-17-jre")


def _jars() -> Path:
    """Return the folder of Flink's jars in the package apache-flink-libraries."""
    found = find_spec("pyflink")
    for place in (found.submodule_search_locations or []) if found else []:
        if (Path(place) / "lib").is_dir():
            return Path(place) / "lib"
    raise ClusterError("Flink is not installed: pip install 'beamtrawl[flink]'")


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _launch(work: Path, name: str, program: str, *words: str) -> int:
    """Start a Java program of Flink in its own session, which outlives this program; return the process id."""
    java, log = _java(), work / "logs" / f"{name}.log"
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _PACKAGES_OF_THE_JDK]
    command = [java, "-Xmx512m", *opened, "-classpath", f"{_jars()}/*", program, "--configDir", str(work / "conf")]
    files = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    return os.posix_spawn(java, [*command, *words], os.environ, file_actions=files, setsid=True)


def _wait(is_ready: Callable[[], bool], processes: Sequence[int], logs: Path) -> None:
    """Wait until the cluster is ready; ClusterError if one of its new processes ends, or after a time."""
    deadline = time.monotonic() + _START_SECONDS
    while not is_ready():
        if any(os.waitpid(process, os.WNOHANG)[0] for process in processes):
            raise ClusterError(f"a process of the cluster ended at once; the logs in {logs} say why")
        if time.monotonic() > deadline:
            raise ClusterError(f"the cluster was not ready within {_START_SECONDS:.0f} s; see the logs in {logs}")
        time.sleep(0.1)


def _end(processes: Sequence[int]) -> None:
    """Send SIGTERM, then SIGKILL to those that have not ended after some seconds."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in processes:
            if _runs(process):
                os.kill(process, number)
        deadline = time.monotonic() + _STOP_SECONDS
        while any(map(_runs, processes)) and time.monotonic() < deadline:
            time.sleep(0.05)


def _runs(process: int) -> bool:
    """Return whether a process of the cluster still runs; its id may have been reused by another program."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(process, os.WNOHANG)  # a child of this program stays listed until it is waited for
    try:
        return b"org.apache.flink" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False


def _state(work: Path) -> Path:
    return work / "cluster.json"


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.flink_cluster", description=__doc__.partition("\n")[0]
    )
    actions = parser.add_subparsers(dest="action", metavar="start|add|stop", required=True)
    for action in ("start", "add", "stop"):
        sub = actions.add_parser(action)
        sub.add_argument("work", type=Path, metavar="WORK", help="a directory for configuration, logs and process ids")
        if action == "start":
            sub.add_argument("--task-managers", type=int, default=2, metavar="N")
            sub.add_argument("--slots", type=int, default=2, metavar="N", help="of each TaskManager")
    arguments = parser.parse_args(words)
    try:
        if arguments.action == "start":
            print(start(arguments.work, arguments.task_managers, arguments.slots).address)
        elif arguments.action == "add":
            print(f"{len(add(arguments.work).task_managers)} TaskManagers")
        else:
            stop(arguments.work)
    except ClusterError as error:
        print(f"flink_cluster: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
