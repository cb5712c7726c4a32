"""The size of the graphs of both steps: a cluster pays for each vertex and each blocking edge (docs/flink.md)."""

from functools import partial

import apache_beam as beam
import pytest

from beamtrawl.pipeline import fetch, update
from beamtrawl.transforms.memory.bounds import Parts
from tests.support.graph import Graph, fetch_step, graph_of, update_step

# the pipeline, at most so many vertices and blocking edges
STEPS = {
    "fetch": (partial(fetch.build, step=fetch_step()), 24, 7),
    "update": (partial(update.build, step=update_step()), 150, 46),
}


@pytest.mark.parametrize(("build", "vertices", "blocking"), STEPS.values(), ids=STEPS)
def test_a_step_has_a_bounded_graph(build: partial, vertices: int, blocking: int) -> None:
    graph = graph_of(build)
    assert graph.vertices <= vertices, graph
    assert graph.blocking <= blocking, graph


def test_what_is_counted() -> None:
    """Two outputs of one stage; one is grouped, the other is a side input of what reads the groups."""

    def build(pipeline: beam.Pipeline) -> None:
        parts = pipeline | beam.Create([1, 2]) | beam.Partition(lambda number, _: number % 2, 2)
        keyed = parts[0] | beam.WithKeys(0) | beam.GroupByKey()
        keyed | beam.Map(print, beam.pvalue.AsList(parts[1]))

    # create; decode and partition; after the groups
    assert graph_of(build) == Graph(1, 3, 2, 1, 1, 0, 1)


@pytest.mark.parametrize(
    ("rows", "bytes_", "bodies", "workers", "shards"),
    [
        (0, 0, 0, 1, 1),
        (200, 1 << 20, 1 << 22, 4, 4),  # one for each worker
        (10_000, 4 << 20, 16 << 20, 1, 2),  # by rows: small pages
        (1_000, (40 << 20) + 1, 160 << 20, 4, 11),  # by bytes: large pages
        (1_000, 40 << 20, 264 << 20, 4, 11),  # that compress well
        (10_000_000, 80 << 30, 0, 4, 256),
    ],
)
def test_a_shard_is_bounded_by_pages_and_by_bytes(
    rows: int, bytes_: int, bodies: int, workers: int, shards: int
) -> None:
    assert update_step(visit_rows=rows, visit_bytes=bytes_, body_bytes=bodies, parts=Parts(workers)).shards == shards
