"""A step on one machine runs in parts that fit into memory; on others, as it is wanted."""

import contextlib

from beamtrawl.pipeline.attempt import Fitted, measured
from beamtrawl.pipeline.work import Work
from beamtrawl.transforms.memory.bounds import MB, UpdateLoad, update_bound
from beamtrawl.transforms.memory.limits import Memory

LOAD = UpdateLoad(visits=20_000, body_bytes=1_000 * MB, group_bytes=17 * MB)


class Elsewhere:
    """An engine of other machines."""

    workers = 2

    def __init__(self):
        self.ran = []

    def run(self, build, seconds):
        self.ran.append((self.workers, seconds))


class Here(Elsewhere):
    """An engine of a machine with so many bytes of memory."""

    def __init__(self, most):
        super().__init__()
        self.most = most

    def workers_for(self, seconds):
        return self.workers

    def limited(self, workers):
        other = Here(self.most)
        other.workers, other.ran = workers, self.ran
        return other

    def memory(self):
        return Memory(100 * MB, self.most)

    def peak(self, used):
        watched = contextlib.nullcontext()
        watched.bytes, watched.cpu_ms = 700 * MB, 12_000
        return watched


def ran(engine):
    """The workers of the step, its projected and measured megabytes, and the lines that were told."""
    told = []
    fitted = Fitted.to_memory(engine, Work(9.0), LOAD, update_bound, "round 1 update", told.append)
    fitted.run(lambda pipeline: None)
    return engine.ran, {name: size // MB for name, size in (fitted.memory or {}).items()}, told


def test_what_a_load_is_on_this_machine_and_elsewhere():
    assert measured(Here(1_200 * MB), LOAD) == (LOAD._replace(used=100 * MB), Memory(100 * MB, 1_200 * MB))
    assert measured(Elsewhere(), LOAD) == (LOAD, Memory(None, None))


def test_there_is_enough():
    assert ran(Here(4_000 * MB)) == ([(2, 9.0)], {"projected": 1_465, "peak": 700}, [])


def test_a_smaller_number_of_workers_fits():
    workers, memory, told = ran(Here(1_200 * MB))
    assert (workers, memory) == ([(1, 9.0)], {"projected": 815, "peak": 700})
    (line,) = told
    assert line.startswith(
        "round 1 update may take 1,466 MB of memory, and 1,200 MB are available: it runs with 1 worker"
    )


def test_nothing_fits_and_it_runs_all_the_same():
    workers, memory, (line,) = ran(Here(50 * MB))
    assert workers == [(1, 9.0)]
    assert memory["projected"] < 815
    assert line.startswith(
        "round 1 update may take 1,466 MB of memory, and 50 MB are available; in its smallest parts still "
    )


def test_other_machines_are_not_watched():
    assert ran(Elsewhere()) == ([(2, 9.0)], {}, [])
