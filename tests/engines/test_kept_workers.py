"""Which workers stay for the next step, and how their time is counted."""

import gc
import os
import resource
import signal
import sys

import apache_beam as beam
import pytest

from beamtrawl.runners.engines.direct import DirectEngine
from beamtrawl.runners.process.usage import _cpu_ms
from beamtrawl.transforms.parsing.registry import kinds_of
from beamtrawl.transforms.parsing.robots_meta import Directives
from beamtrawl.transforms.parsing.source import Source
from tests.support.files import pdf_of
from tests.support.local_workers import building, children, run, workers


def test_a_step_takes_over_the_workers_of_the_last_one_if_they_are_as_many_and_well() -> None:
    engine = DirectEngine(3)
    assert run(engine, building()) == "done"
    first = workers()
    assert len(first) == 3
    assert run(engine.limited(3), building()) == "done"
    assert workers() == first
    os.kill(int(min(first)), signal.SIGKILL)
    assert run(engine, building()) == "done"
    assert len(workers()) == 3 and not workers() & first
    assert run(engine.limited(2), building()) == "done"
    assert len(workers()) == 2
    engine.run(building(), seconds=0.1)
    assert not workers(), "a step without any leaves none"


@pytest.mark.parametrize(("seconds", "kept"), [(39.0, 2), (40.0, 0)])
def test_workers_of_a_long_step_end_with_it(seconds: float, kept: int) -> None:
    """What they have collected is not returned otherwise."""
    engine = DirectEngine(2)
    assert run(engine, building(), seconds) == "done"
    assert len(workers()) == kept
    assert run(engine, building()) == "done"


def slow_pdf() -> bytes:
    """One of a form that draws another twice, which does so in turn."""
    resources = "/Resources << /Font << /F 3 0 R >> /XObject << /X {} 0 R >> >>"
    form = "<< /Type /XObject /Subtype /Form /BBox [0 0 999 999] {} /Length 11 >>\nstream\n/X Do /X Do\nendstream"
    forms = {number: form.format(resources.format(number + 1)) for number in range(30, 30 + _DEPTH)}
    text = "BT /F 9 Tf 9 50 Td (form) Tj ET"
    last = f"<< /Type /XObject /Subtype /Form /BBox [0 0 999 999] {resources} /Length {len(text)} >>"
    page = f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 999 999] /Contents 11 0 R {resources.format(30)} >>"
    return pdf_of(
        {
            1: "<< /Type /Catalog /Pages 2 0 R >>",
            2: "<< /Type /Pages /Count 1 /Kids [10 0 R] >>",
            3: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
            10: page,
            11: "<< /Length 5 >>\nstream\n/X Do\nendstream",
            **forms,
            30 + _DEPTH: f"{last}\nstream\n{text}\nendstream",
        }
    )


_DEPTH = 15


def spent() -> float:
    """CPU seconds of the processes for which this one has waited."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@pytest.mark.skipif(sys.platform != "linux", reason="time is measured on Linux only")
def test_the_time_of_the_processes_in_which_workers_read_pdfs_counts() -> None:
    """For a step with which the workers end, and for who waits for the program if they end later."""
    body = slow_pdf()

    def read(_: object = None) -> None:
        source = Source(body, "application/pdf", None, "http://a.test/x.pdf", "robot", Directives(), "")
        kinds_of(("pdf",)).parse(source)  # in one process for all PDFs of a worker

    def build(pipeline: beam.Pipeline) -> None:
        _ = pipeline | beam.Create(range(4)) | beam.Reshuffle() | beam.Map(read)

    others, before = children(), spent()
    read()
    for process in map(int, children() - others):
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    cost, engine = spent() - before, DirectEngine(2)
    assert run(engine, building()) == "done"  # starts server and workers
    with engine.peak(engine.memory().used) as peak:
        assert run(engine, build, 40.0) == "done"
    assert (peak.cpu_ms or 0) > 2 * cost * 1000
    assert run(engine, build) == "done"
    (server,) = children() - others
    before, of_ended = spent(), _cpu_ms(int(server)) / 1000
    del engine
    gc.collect()
    assert spent() - before > of_ended + 2 * cost


def test_idle_workers_end_before_a_step_if_memory_is_short() -> None:
    """That is less than a gigabyte for each worker of the step."""
    engine = DirectEngine(2)
    assert run(engine, building()) == "done"
    engine.limited(0).memory()
    assert len(workers()) == 2
    engine.limited(1 << 20).memory()
    assert not workers()
