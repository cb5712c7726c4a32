"""The state of a crawl as a file in the text format of OpenMetrics, for the collector of a node exporter."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.openmetrics.exposition import generate_latest

from .alarms import KINDS
from .crawl_status import Status


def render_metrics(found: Status) -> str:
    """All metrics of a crawl, each with the label `crawl`, its directory."""
    registry = CollectorRegistry()
    registry.register(_Collector(found))
    return generate_latest(registry).decode()


def write_metrics(path: str, found: Status) -> None:
    """Write the metrics so that a reader sees the old file or the new one; OSError if that fails."""
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        draft.write_text(render_metrics(found), encoding="utf-8")
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


class _Collector:
    def __init__(self, found: Status) -> None:
        self._found = found

    def collect(self) -> Iterable[Metric]:
        found = self._found
        yield self._family(CounterMetricFamily, "visits", "Visits by outcome.", "outcome", found.outcomes)
        alarms = dict.fromkeys(KINDS, 0) | found.alarm_kinds
        yield self._family(GaugeMetricFamily, "alarms", "Alarms by kind.", "kind", alarms)
        yield self._family(GaugeMetricFamily, "frontier_urls", "Waiting URLs by reason.", "reason", found.frontier)
        yield self._family(GaugeMetricFamily, "table_rows", "Rows by table.", "table", found.tables)
        yield self._family(GaugeMetricFamily, "held_hosts", "Hosts not requested now, by reason.", "reason", found.held)
        for name, what, value in self._values():
            yield self._family(GaugeMetricFamily, name, what, None, {"": value})

    def _values(self) -> Iterator[tuple[str, str, float]]:
        found = self._found
        yield "rounds", "Rounds that were fetched.", found.rounds
        yield "hosts", "Hosts that were requested.", found.hosts
        yield "index_segments", "Segments of the index.", found.index_segments
        yield "traps", "Throttled and trapped templates of URLs.", len(found.traps)
        yield "blocks", "Blocks.", len(found.blocks)
        yield "blocked_urls", "Waiting URLs that are blocked.", found.blocked
        yield "excluded_urls", "Waiting URLs that the settings exclude.", found.excluded
        yield "last_step_timestamp_seconds", "When the last step was committed.", found.last_step_at
        if found.disk_free is not None:
            yield "disk_free_bytes", "Free space on the disk of the crawl directory.", found.disk_free

    def _family(self, family: type, name: str, what: str, label: str | None, values: Mapping[str, float]) -> Metric:
        metric = family(f"beamtrawl_crawl_{name}", what, labels=["crawl", *([label] if label else [])])
        for value, number in values.items():
            metric.add_metric([self._found.directory, *([value] if label else [])], number)
        return metric
