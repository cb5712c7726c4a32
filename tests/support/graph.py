"""Counts the vertices and shuffles that a cluster makes of a step's pipeline.

    python -m tests.support.graph

The graph is the pipeline as the PortableRunner submits it, fused by Beam's own greedy fusion, and counted as Beam's
translation for batch jobs on Flink (`FlinkBatchPortablePipelineTranslator`) makes vertices of it: one per impulse,
fused stage and group by key; and one per output of a stage with several outputs, which filters that output. A blocking
edge is one into a group by key, or the broadcast of a PCollection that is a side input. An update step with one file of
each table, for which this counts 157 vertices and 44 blocking edges, had 140 and 44 on Flink 1.20.
"""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability import common_urns
from apache_beam.runners.portability.fn_api_runner import translations
from apache_beam.runners.portability.portable_runner import PortableRunner

from beamtrawl.pipeline import fetch, update
from beamtrawl.transforms.aliases.learned_rules import KnownRules
from beamtrawl.transforms.directory.pieces import NOTHING_LEFT
from beamtrawl.transforms.directory.waiting import Waiting
from beamtrawl.transforms.frontier.read_due import Bounds
from beamtrawl.transforms.http.request_headers import Identity
from beamtrawl.transforms.memory.bounds import Parts
from beamtrawl.transforms.politeness.context import VisitContext
from beamtrawl.transforms.settings import Settings

_GROUP, _RESHUFFLE = common_urns.primitives.GROUP_BY_KEY.urn, common_urns.composites.RESHUFFLE.urn
_IMPULSE, _FLATTEN = common_urns.primitives.IMPULSE.urn, common_urns.primitives.FLATTEN.urn
_RUNNERS = frozenset({_GROUP, _RESHUFFLE, _IMPULSE, _FLATTEN})


class Graph(NamedTuple):
    """The size of a translated graph."""

    impulses: int
    stages: int  # fused, that workers execute
    filters: int  # of the outputs of stages with several
    groups: int  # group by key
    reshuffles: int  # edges that spread elements over the workers; they do not block
    flattens: int  # edges only
    broadcasts: int  # PCollections that other stages read as side inputs

    @property
    def vertices(self) -> int:
        return self.impulses + self.stages + self.filters + self.groups

    @property
    def blocking(self) -> int:
        """Edges that hold the whole output of a vertex before the next starts; Flink keeps buffers for each."""
        return self.groups + self.broadcasts


def graph_of(build: Callable[[beam.Pipeline], None]) -> Graph:
    """Return the size of the graph of a pipeline, which is not run."""
    stages = fused_stages(build)
    kinds = Counter[str]()
    filters, broadcasts = 0, set[str]()
    for stage in stages:
        urns = {transform.spec.urn for transform in stage.transforms} & _RUNNERS
        kinds[next(iter(urns), "")] += 1
        if not urns:
            written = [t for t in stage.transforms if t.spec.urn == translations.bundle_processor.DATA_OUTPUT_URN]
            filters += len(written) if len(written) > 1 else 0
            broadcasts |= {pcoll for t in stage.transforms for pcoll in _side_inputs(t)}
    of = [kinds[urn] for urn in (_IMPULSE, "")]
    return Graph(*of, filters, *(kinds[urn] for urn in (_GROUP, _RESHUFFLE, _FLATTEN)), len(broadcasts))


def fused_stages(build: Callable[[beam.Pipeline], None]) -> list[translations.Stage]:
    """Return the stages of a pipeline after fusion; group by key, reshuffle, impulse and flatten are stages."""
    options = PipelineOptions(["--environment_type=EXTERNAL", "--environment_config=localhost:1"])
    pipeline = beam.Pipeline(runner=PortableRunner(), options=options)
    build(pipeline)
    proto = PortableRunner.get_proto_pipeline(pipeline, options)
    phases = [
        translations.pack_combiners,  # the PortableRunner's own, before it submits the pipeline
        translations.lift_combiners,
        translations.annotate_downstream_side_inputs,
        translations.fix_flatten_coders,
        translations.greedily_fuse,
        translations.sort_stages,
    ]
    return list(translations.create_and_optimize_stages(proto, phases, _RUNNERS)[1])


def _side_inputs(transform: beam.portability.api.beam_runner_api_pb2.PTransform) -> set[str]:
    return set(translations.side_inputs(transform).values())


_FILES = 2  # of each table and round: with fewer, Beam makes no shuffle


def _paths(table: str) -> list[str]:
    return [f"{table}/{number}.parquet" for number in range(_FILES)]


def update_step(**changes: object) -> update.UpdateStep:
    """Return an update step with files of every table, none of which exists."""
    tables = ("visits", "turns", "robots", "urls", "digests", "near", "hosts", "trap_files", "trap_samples")
    paths = {name: _paths(name) for name in (*tables, "trap_queues", "seeds")}
    sizes = {"round": 3, "visit_rows": 10_000, "visit_bytes": 10_000 << 10, "sitemap_entries": 0, "parts": Parts(4)}
    step = {"root": "/nowhere", "settings": Settings(), "robot": "robot", "aliases": KnownRules.of([]), "secret": b""}
    waiting = Waiting(tuple(_paths("frontier")), tuple(_paths("frontier_left")), 2)
    return update.UpdateStep(**step | sizes | paths | {"waiting": waiting, "report": "report.json"} | changes)  # type: ignore[arg-type]


def fetch_step() -> fetch.FetchStep:
    """Return a fetch step with files of every table, none of which exists."""
    settings = Settings()
    context = VisitContext(
        *(settings.politeness, settings.limits, settings.fetch, settings.traps),
        *(Identity.of(settings.robot), 3, None, None, _no_client),
    )  # type: ignore[misc]
    waiting = Waiting(tuple(_paths("frontier")), tuple(_paths("frontier_left")), 2)
    tables = (_paths("robots"), _paths("hosts"), _paths("traps"))
    return fetch.FetchStep(
        "/nowhere", context, waiting, *tables, {}, Bounds(datetime(2026, 1, 1, tzinfo=UTC), 9), NOTHING_LEFT
    )


def _no_client(*_: object) -> object:
    raise NotImplementedError("the pipeline is not run")


def main() -> None:
    for name, build in (
        ("fetch", partial(fetch.build, step=fetch_step())),
        ("update", partial(update.build, step=update_step())),
    ):
        graph = graph_of(build)
        print(f"{name}: {graph.vertices} vertices, {graph.blocking} blocking edges; {graph}")


if __name__ == "__main__":
    main()
