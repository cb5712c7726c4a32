"""Runs the joins (CoGroupByKey) of a step in many small bundles, so that neither driver nor worker holds all of one.

The FnApiRunner sends what several stages have sent to one join through a worker once more before it groups it, then
encodes all groups a second time, keeps them, and sends each worker its share as one bundle. Here the driver
groups, and a worker that is free takes the next groups. What stages send to each other waits in a temporary file: in
memory are the keys and the places of the values.
"""

import copy
import itertools
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import apache_beam as beam
from apache_beam.coders.coder_impl import create_OutputStream
from apache_beam.metrics.monitoring_infos import consolidate
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability.api import beam_fn_api_pb2
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.portability.fn_api_runner.execution import GroupingBuffer, ListBuffer
from apache_beam.runners.portability.fn_api_runner.fn_runner import BundleManager, ParallelBundleManager, RunnerResult
from apache_beam.runners.worker.bundle_processor import DATA_INPUT_URN, DATA_OUTPUT_URN
from apache_beam.transforms.window import GlobalWindow, GlobalWindows
from apache_beam.utils import windowed_value

from ...transforms.tables.batches import release_freed
from ..process.spool import Spool, SpooledList

JOIN = "/CoGroupByKeyImpl/GroupByKey/Read"
"""In the name of a stage that reads the result of a CoGroupByKey."""

_BUNDLE_BYTES = 4 << 20  # of which the driver and a worker have several copies


class Runner(FnApiRunner):
    """Runs joins in small bundles. All else runs as in Beam: the hosts of a fetch step share a bundle."""

    _spool: Spool

    def run_pipeline(self, pipeline: beam.Pipeline, options: PipelineOptions) -> RunnerResult:
        with Spool() as self._spool:
            return super().run_pipeline(pipeline, options)

    def _get_bundle_manager(self, bundle_context_manager: Any) -> Any:
        stage = bundle_context_manager.stage
        for transform, buffer in bundle_context_manager.stage_data_outputs.items():
            keep_in_file(bundle_context_manager.get_buffer(buffer, transform), self._spool)
        if only_passes(bundle_context_manager):
            return _Pass(bundle_context_manager)
        if stage.is_stateful() or not any(JOIN in each.unique_name for each in stage.transforms):
            return super()._get_bundle_manager(bundle_context_manager)
        tokens = FnApiRunner.get_cache_token_generator(static=False)
        return _SmallBundles(bundle_context_manager, self._progress_frequency, cache_token_generator=tokens)


def only_passes(context: Any) -> bool:
    """Whether a stage reads elements and writes them as they are, in the same encoding."""
    ports = {each.spec.urn: each.spec.payload for each in context.stage.transforms}
    if len(context.stage.transforms) != 2 or set(ports) != {DATA_INPUT_URN, DATA_OUTPUT_URN}:
        return False
    used = [each.spec.payload for each in context.process_bundle_descriptor.transforms.values()]
    one, other = (beam_fn_api_pb2.RemoteGrpcPort.FromString(payload).coder_id for payload in used)
    return _is_same(context.execution_context.pipeline_components.coders, one, other)


def _is_same(coders: Mapping[str, Any], one: str, other: str) -> bool:
    a, b = coders[one], coders[other]
    if one == other:
        return True
    parts = zip(a.component_coder_ids, b.component_coder_ids, strict=False)
    is_alike = a.spec == b.spec and len(a.component_coder_ids) == len(b.component_coder_ids)
    return is_alike and all(_is_same(coders, *part) for part in parts)


class _Pass(BundleManager):
    """Moves encoded elements from a buffer to the next."""

    def process_bundle(
        self, inputs: Mapping[str, Any], expected_outputs: Any, *_: Any, dry_run: bool = False, **__: Any
    ) -> Any:
        ((name, buffer_id),) = expected_outputs.items()
        for buffer in inputs.values():
            target = self.bundle_context_manager.get_buffer(buffer_id, name)
            for block in buffer:
                target.append(block)
            buffer.clear()
        return beam_fn_api_pb2.InstructionResponse(process_bundle=beam_fn_api_pb2.ProcessBundleResponse()), []


class _SmallBundles(ParallelBundleManager):
    """Processes the groups of one buffer, which is empty afterwards."""

    def process_bundle(
        self,
        inputs: Mapping[str, Any],
        expected_outputs: Any,
        fired_timers: Any,
        expected_output_timers: Any,
        dry_run: bool = False,
    ) -> Any:
        context = self.bundle_context_manager
        (name, buffer), *others = inputs.items()
        if others or not isinstance(buffer, GroupingBuffer) or not buffer._windowing.is_default() or dry_run:
            return super().process_bundle(inputs, expected_outputs, fired_timers, expected_output_timers, dry_run)
        bundles, lock = take_bundles(buffer, len(context.worker_handlers)), threading.Lock()

        def work(handler: Any) -> list[Any]:
            own = copy.copy(context)
            own._worker_handlers = [handler]
            manager = BundleManager(own, self._progress_frequency, self._cache_token_generator)
            infos: list[Any] = []
            while True:
                with lock:
                    data = next(bundles, None)
                if data is None:
                    return infos
                result, _ = manager.process_bundle(
                    {name: [data]}, expected_outputs, fired_timers, expected_output_timers
                )
                infos.append(result.process_bundle.monitoring_infos)
                release_freed(len(data))

        with ThreadPoolExecutor(len(context.worker_handlers)) as executor:
            found = list(executor.map(work, context.worker_handlers))
        merged = consolidate(itertools.chain(*itertools.chain(*found)))
        response = beam_fn_api_pb2.ProcessBundleResponse(monitoring_infos=merged)
        return beam_fn_api_pb2.InstructionResponse(process_bundle=response), []


def keep_in_file(buffer: GroupingBuffer | ListBuffer, spool: Spool) -> None:
    """Have a buffer, unless it has elements, keep them in a spool."""
    if isinstance(buffer, GroupingBuffer) and not buffer._table:
        buffer._table = defaultdict(lambda: SpooledList(spool))
    elif isinstance(buffer, ListBuffer) and not buffer._inputs:
        buffer._inputs = SpooledList(spool)


def take_bundles(buffer: GroupingBuffer, workers: int) -> Iterator[bytes]:
    """Take the groups out of a buffer, encoded, about 4 MB at a time, and at most a worker's share of them."""
    table, buffer._table = buffer._table, None  # a second reader fails
    windowed = windowed_value.PaneInfo(
        is_first=True, is_last=True, timing=windowed_value.PaneInfoTiming.ON_TIME, index=0, nonspeculative_index=0
    )
    at_end = GlobalWindows.windowed_value(None, timestamp=GlobalWindow().max_timestamp(), pane_info=windowed)
    coder, key_coder = buffer._post_grouped_coder.get_impl(), buffer._key_coder.get_impl()
    keys = list(table)
    shares = [keys[number::workers] for number in range(workers)]  # as Beam would share them
    for share in shares:
        stream = create_OutputStream()
        for key in share:
            coder.encode_to_stream(at_end.with_value((key_coder.decode(key), table.pop(key))), stream, True)
            if stream.size() >= _BUNDLE_BYTES:
                yield stream.get()
                stream = create_OutputStream()
        if stream.size():
            yield stream.get()
