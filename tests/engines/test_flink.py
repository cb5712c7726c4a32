"""Crawls on a Flink cluster, and what is said when something of it is missing.

What needs Java, Flink or Beam's job server is skipped where they are not, and says why; in CI, where the first two are
installed, it fails instead.
"""

import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import requests
from apache_beam.options.pipeline_options import PipelineOptions

from beamtrawl.pipeline.attempt import Engine
from beamtrawl.runners.engines import flink_rest
from beamtrawl.runners.engines.choose import engine
from beamtrawl.runners.engines.flink import FlinkEngine, cause, defaults
from beamtrawl.runners.engines.flink_rest import Overview
from beamtrawl.runners.engines.options import OptionsError
from beamtrawl.runners.terminal.errors import Failure, Usage
from tests.engines.test_worker import SITES, hits
from tests.imports.test_resume import job, run as import_captures
from tests.support import flink_cluster
from tests.support.crawls import crawl, without_times
from tests.support.prerequisites import lacks
from tests.support.tables import each_row
from tests.support.web import Answer, Web

pytestmark = pytest.mark.xdist_group("flink")  # one cluster
slow = pytest.mark.slow("cluster")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[flink_cluster.Cluster]:
    missing = [] if shutil.which("java") else ["Java, such as openjdk-17-jre-headless"]
    missing += [] if find_spec("pyflink") else ["Flink, by pip install -e '.[test,flink]'"]
    if missing:
        lacks(f"a cluster needs {' and '.join(missing)}")
    work = tmp_path_factory.mktemp("flink")
    yield flink_cluster.start(work)
    flink_cluster.stop(work)


def on(cluster: flink_cluster.Cluster) -> Engine:
    """An engine of a cluster; skips the test without Beam's job server."""
    try:
        jar = os.environ.get("BEAMTRAWL_FLINK_JOB_SERVER")
        given = [f"--flink_job_server_jar={jar}"] if jar else []
        return engine("flink", 4, [f"--flink_master={cluster.address}", *given])
    except Failure as error:
        pytest.skip(str(error))  # Maven's repositories are not ours to provide


@slow
def test_two_rounds_on_a_cluster_give_the_same_tables_and_index(cluster: flink_cluster.Cluster, tmp_path: Path) -> None:
    flink = on(cluster)
    with Web(SITES) as web:
        seeds = [web.url("host0.test"), web.url("host2.test")]
        crawl(tmp_path / "direct", seeds, rounds=2)
        crawl(tmp_path / "flink", seeds, rounds=2, engine=flink)
    assert without_times(tmp_path / "flink") == without_times(tmp_path / "direct")
    assert hits(tmp_path / "flink") == hits(tmp_path / "direct")


@slow
def test_an_import_on_a_cluster_gives_the_same_tables(cluster: flink_cluster.Cluster, tmp_path: Path) -> None:
    given = job(tmp_path, part=9)
    import_captures(tmp_path / "flink", given, on(cluster))
    import_captures(tmp_path / "direct", given)
    assert without_times(tmp_path / "flink") == without_times(tmp_path / "direct")


@slow
def test_a_cluster_runs_an_update_step_and_survives_a_busy_machine(cluster: flink_cluster.Cluster) -> None:
    answer = requests.get(f"http://{cluster.address}/jobmanager/config", timeout=60)
    settings = {entry["key"]: entry["value"] for entry in answer.json()}
    assert settings["taskmanager.network.sort-shuffle.min-buffers"] == "32"
    assert (settings["heartbeat.timeout"], settings["pekko.ask.timeout"]) == ("60 s", "300 s")


@slow
def test_a_cluster_has_the_size_that_was_asked_for(cluster: flink_cluster.Cluster) -> None:
    overview = flink_rest.overview(cluster.address)
    assert overview is not None
    assert (overview.task_managers, overview.slots) == (2, 4)
    assert len(set(cluster.processes)) == 3


@slow
def test_a_cluster_listens_on_loopback_only(cluster: flink_cluster.Cluster) -> None:
    assert {address for process in cluster.processes for address in listening(process)} == {"127.0.0.1"}


def listening(process: int) -> Iterator[str]:
    """The addresses on which a process listens, from Linux's tables of sockets."""
    mine = {str(entry.readlink()) for entry in Path(f"/proc/{process}/fd").iterdir() if entry.is_symlink()}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in mine:  # 0A: LISTEN
                yield ".".join(str(byte) for byte in reversed(bytes.fromhex(fields[1].split(":")[0])[-4:]))


@slow
def test_a_work_directory_holds_one_cluster(cluster: flink_cluster.Cluster, tmp_path: Path) -> None:
    (tmp_path / "cluster.json").write_text("{}")
    with pytest.raises(flink_cluster.ClusterError, match="stop it first"):
        flink_cluster.start(tmp_path)


@slow
def test_a_task_manager_is_added_in_place_of_one_that_was_killed(
    cluster: flink_cluster.Cluster, tmp_path: Path
) -> None:
    flink_cluster.start(tmp_path, task_managers=1, slots=1)
    try:
        killed = json.loads((tmp_path / "cluster.json").read_text())["task_managers"]
        os.kill(killed[0], signal.SIGKILL)
        assert flink_cluster.main(["add", str(tmp_path)]) == 0
        state = json.loads((tmp_path / "cluster.json").read_text())
        assert len(state["task_managers"]) == 1
        assert state["task_managers"] != killed
        known = flink_cluster.ids(state["address"])
        assert known is not None
        assert len(known) in (1, 2)  # the killed one stays for a minute
        assert sorted(path.name for path in (tmp_path / "logs").iterdir()) == [
            "job-manager.log",
            "task-manager-1.log",
            "task-manager-2.log",
        ]
        os.kill(state["job_manager"], signal.SIGKILL)
        with pytest.raises(flink_cluster.ClusterError, match="no JobManager answers"):
            flink_cluster.add(tmp_path)
    finally:
        flink_cluster.stop(tmp_path)
    with pytest.raises(flink_cluster.ClusterError, match="no cluster that runs"):
        flink_cluster.add(tmp_path)


@slow
def test_a_cluster_that_cannot_start_says_where_its_logs_are(tmp_path: Path) -> None:
    with pytest.raises(flink_cluster.ClusterError, match=str(tmp_path / "logs")):
        flink_cluster.start(tmp_path, slots=0)
    assert not (tmp_path / "cluster.json").exists()


def test_stopping_ends_the_processes_of_a_cluster_and_no_others(tmp_path: Path) -> None:
    flink = [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)", "org.apache.flink"]
    run = functools.partial(subprocess.Popen, stdout=subprocess.PIPE)
    with run(flink) as mine, run(flink) as another, run(flink[:3]) as reused:
        for process in (mine, another, reused):
            process.stdout.readline()  # a process that has just begun has no command line yet
        state = {"address": "", "job_manager": mine.pid, "task_managers": [reused.pid]}
        (tmp_path / "cluster.json").write_text(json.dumps(state))
        flink_cluster.stop(tmp_path)
        mine.wait(timeout=30)  # its memory is gone, and with it its command line, a moment before it can be waited for
        still_run = [process.poll() is None for process in (another, reused)]
        another.kill()
        reused.kill()
    assert still_run == [True, True]
    with pytest.raises(flink_cluster.ClusterError, match="no cluster"):
        flink_cluster.stop(tmp_path)


def overview(version: str = "1.20.5", slots: int = 4) -> Answer:
    return Answer(body=json.dumps({"flink-version": version, "taskmanagers": 2, "slots-total": slots}).encode())


# what answers at the address, workers, more flags, what is raised, and what it names
MISSING = {
    "Java": (overview(), 2, ["--job_server_java_launcher=no-such-java"], Failure, "no-such-java"),
    "the cluster": (Answer(404), 2, [], Failure, "no Flink cluster answers at"),
    "Flink at that address": (Answer(body=b"[1]"), 2, [], Failure, "no Flink cluster answers at"),
    "its address": (overview(), 2, ["--flink_master=[auto]"], Usage, "--flink_master=HOST:PORT"),
    "slots": (overview(slots=1), 2, [], Failure, "1 slots, which are not enough for 2"),
    "a version that Beam knows": (overview("1.9.3"), 2, [], Failure, "Flink 1.9.3"),
    "a job server": (overview(), 2, ["--job_endpoint=127.0.0.1:1"], Failure, "--job_endpoint=127.0.0.1:1"),
    "its port": (overview(), 2, ["--job_endpoint=localhost"], Failure, "--job_endpoint=localhost"),
    "an option of Beam": (overview(), 2, ["--max_bundle_sizes=1"], OptionsError, "--max_bundle_sizes=1"),
}


@each_row(MISSING)
def test_what_is_missing_is_named_in_one_line(
    answer: Answer, workers: int, flags: list[str], error: type[Exception], named: str
) -> None:
    with Web({"flink.test": {"/overview": answer}}) as web:
        java = f"--job_server_java_launcher={sys.executable}"  # there, whatever it is
        with pytest.raises(error) as caught:
            engine("flink", workers, [java, f"--flink_master={web.authority('flink.test')}", *flags])
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_job_server_that_runs_already_needs_no_java() -> None:
    with Web({"flink.test": {"/overview": overview()}}) as web, socket.create_server(("127.0.0.1", 0)) as server:
        endpoint = f"--job_endpoint=127.0.0.1:{server.getsockname()[1]}"
        flags = [f"--flink_master={web.url('flink.test', '')}", endpoint]
        chosen = engine("flink", None, [*flags, "--job_server_java_launcher=no-such-java", "--max_bundle_size=9"])
    assert isinstance(chosen, FlinkEngine)
    assert chosen.workers == 4  # the cluster's slots


# the message of a failed job, the cause that is told
CAUSES = {
    "a Java stack trace": (
        "Pipeline x failed in state FAILED: org.apache.flink.JobException: y\n\tat a.b(C.java:1)\n"
        "Caused by: java.lang.RuntimeException: z\n\tat a.b(C.java:2)\n"
        "Caused by: java.io.IOException: no buffers\n\tat d",
        "java.io.IOException: no buffers",
    ),
    "one line": ("Pipeline x failed in state CANCELLED: ", "Pipeline x failed in state CANCELLED:"),
    "nothing": ("", "no message"),
    "a long line": ("x" * 1000, "x" * 300 + " …"),
}


@each_row(CAUSES)
def test_a_failed_step_is_told_by_its_first_cause(message: str, told: str) -> None:
    assert cause(message) == told


CHILD = "import os, sys, time; print(os.getpid(), flush=True); time.sleep(60)"
PARENT = """
import subprocess, sys
command = [sys.executable, "-P", "-m", "beamtrawl.runners.engines.child", sys.executable, "-c", sys.argv[1]]
subprocess.Popen(command).wait()
"""


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_a_job_server_ends_with_its_driver(sent: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-P", "-c", PARENT, CHILD], stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout
        child = int(driver.stdout.readline())
        driver.send_signal(sent)
        assert driver.stdout.read() == ""  # both have closed it: they have ended
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_a_stopped_job_server_ends_its_command() -> None:
    command = [sys.executable, "-P", "-m", "beamtrawl.runners.engines.child", sys.executable, "-c", CHILD]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as stopped:
        assert stopped.stdout
        child = int(stopped.stdout.readline())
        stopped.terminate()
        assert stopped.stdout.read() == ""
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


# flags of the user, slots, which defaults they leave
DEFAULTS = {
    "none": ([], 4, {"--sdk_worker_parallelism=2", "--environment_type=PROCESS"}),
    "slots that do not divide": ([], 5, {"--sdk_worker_parallelism=3", "--environment_type=PROCESS"}),
    "workers of the user's own": (["--environment_type=EXTERNAL"], 4, {"--sdk_worker_parallelism=2"}),
}


@each_row(DEFAULTS)
def test_defaults_give_way_to_the_user(flags: list[str], slots: int, left: set[str]) -> None:
    given = set(defaults(Overview("1.20.5", 2, slots), "1.20", 4, PipelineOptions(flags)))
    left |= {"--flink_version=1.20", "--parallelism=4", "--number_of_execution_retries=0"}
    assert {flag for flag in given if not flag.startswith("--environment_config")} == left
    commands = [json.loads(flag.partition("=")[2]) for flag in given if flag.startswith("--environment_config")]
    assert commands == ([] if flags else [{"command": str(Path(sys.executable).with_name("beamtrawl-worker"))}])
