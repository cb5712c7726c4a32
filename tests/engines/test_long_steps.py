"""A long step runs its graph in a process of its own, which ends with it, whatever it ends by."""

import os
import select
import signal
from collections.abc import Callable, Iterable
from pathlib import Path

import apache_beam as beam
import pytest

from beamtrawl.pipeline.control import Stopped
from beamtrawl.runners.engines.direct import DirectEngine
from beamtrawl.transforms.outcomes import CrawlDirError
from tests.support.local_workers import run, workers

LONG = 40.0  # seconds of two workers
KILLED = "a worker process was ended by SIGKILL, as Linux ends processes when memory runs out; the same command goes on"


def graph(folder: Path, act: Callable[[], object]) -> Callable[[beam.Pipeline], None]:
    """A pipeline that acts in the process of its graph, once the ids of that and of its workers are noted.

    Neither can import this module.
    """

    def note(of_workers: Iterable[int]) -> None:
        of_graph = {pid for task in Path("/proc/self/task").glob("*/children") for pid in task.read_text().split()}
        (folder / "noted").write_text(" ".join(map(str, [os.getpid(), *of_graph, *of_workers])))
        act()

    def build(pipeline: beam.Pipeline) -> None:
        of_workers = pipeline | beam.Create(range(8)) | beam.Reshuffle() | beam.Map(lambda _: os.getpid())
        _ = of_workers | beam.combiners.ToSet() | beam.Map(note)

    return build


def noted(folder: Path) -> list[int]:
    """The process of the graph first."""
    return list(map(int, (folder / "noted").read_text().split()))


def have_ended(pids: Iterable[int]) -> bool:
    """Whether all these processes end within a minute."""
    for pid in pids:
        try:
            process = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        ended, _, _ = select.select([process], [], [], 60)
        os.close(process)
        if not ended:
            return False
    return True


@pytest.mark.parametrize(("seconds", "is_apart"), [(LONG - 1, False), (LONG, True)])
def test_its_graph_and_its_workers_are_processes_of_their_own(tmp_path: Path, seconds: float, is_apart: bool) -> None:
    engine = DirectEngine(2)
    assert run(engine, graph(tmp_path, bool), seconds) == "done"
    assert (noted(tmp_path)[0] != os.getpid()) == is_apart
    assert len(set(noted(tmp_path))) == len(noted(tmp_path)) > 2
    assert bool(workers()) != is_apart
    assert not is_apart or have_ended(noted(tmp_path))
    assert run(engine, graph(tmp_path, bool)) == "done"


def test_an_expected_error_is_told_in_one_line(tmp_path: Path) -> None:
    def act() -> None:
        raise CrawlDirError("urls/x.parquet is damaged")

    assert run(DirectEngine(2), graph(tmp_path, act), LONG) == "urls/x.parquet is damaged"
    assert have_ended(noted(tmp_path))


def test_another_error_has_its_traceback(tmp_path: Path) -> None:
    def act() -> None:
        raise KeyError("herring")

    with pytest.raises(RuntimeError, match=r"in act\n.*\n.*KeyError: .*herring"):
        run(DirectEngine(2), graph(tmp_path, act), LONG)


def test_no_process_stays_when_that_of_the_graph_is_killed(tmp_path: Path) -> None:
    assert run(DirectEngine(2), graph(tmp_path, lambda: os.kill(os.getpid(), signal.SIGKILL)), LONG) == KILLED
    assert have_ended(noted(tmp_path))


def test_no_process_stays_when_the_step_is_stopped(tmp_path: Path) -> None:
    """Not even one that does not run: a caller may remove what they write."""
    never, is_blocked = tmp_path / "never", tmp_path / "blocked"
    os.mkfifo(never)

    def act() -> None:
        for pid in (tmp_path / "noted").read_text().split()[1:]:
            os.kill(int(pid), signal.SIGSTOP)
        is_blocked.touch()
        never.read_bytes()

    with pytest.raises(Stopped):
        run(DirectEngine(2).until(is_blocked.exists), graph(tmp_path, act), LONG)
    assert have_ended(noted(tmp_path))
