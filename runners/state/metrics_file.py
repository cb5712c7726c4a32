"""The state of a crawl as a file in the text format of OpenMetrics, for the collector of a node exporter."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.openmetrics.exposition import generate_latest

from .alarms import KINDS
from .crawl_status import Status


def render_metrics(status: Status) -> str:
    """All metrics of a crawl, each with the label `crawl`, its directory."""
    registry = CollectorRegistry()
    registry.register(_Collector(status))
    return generate_latest(registry).decode()


def write_metrics(path: str, status: Status) -> None:
    """Write the metrics so that a reader sees the old file or the new one; OSError if that fails."""
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        draft.write_text(render_metrics(status), encoding="utf-8")
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


class _Collector:
    def __init__(self, status: Status) -> None:
        self._status = status

    def collect(self) -> Iterable[Metric]:
        status = self._status
        yield self._family(CounterMetricFamily, "visits", "Visits by outcome.", "outcome", status.outcomes)
        alarms = dict.fromkeys(KINDS, 0) | status.alarm_kinds
        yield self._family(GaugeMetricFamily, "alarms", "Alarms by kind.", "kind", alarms)
        yield self._family(GaugeMetricFamily, "frontier_urls", "Waiting URLs by reason.", "reason", status.frontier)
        yield self._family(GaugeMetricFamily, "table_rows", "Rows by table.", "table", status.tables)
        yield self._family(
            GaugeMetricFamily, "held_hosts", "Hosts not requested now, by reason.", "reason", status.held
        )
        for name, what, value in self._values():
            yield self._family(GaugeMetricFamily, name, what, None, {"": value})

    def _values(self) -> Iterator[tuple[str, str, float]]:
        status = self._status
        yield "rounds", "Rounds that were fetched.", status.rounds
        yield "hosts", "Hosts that were requested.", status.hosts
        yield "index_segments", "Segments of the index.", status.index_segments
        yield "traps", "Throttled and trapped templates of URLs.", len(status.traps)
        yield "blocks", "Blocks.", len(status.blocks)
        yield "blocked_urls", "Waiting URLs that are blocked.", status.blocked
        yield "excluded_urls", "Waiting URLs that the settings exclude.", status.excluded
        yield "last_step_timestamp_seconds", "When the last step was committed.", status.last_step_at
        if status.disk_free is not None:
            yield "disk_free_bytes", "Free space on the disk of the crawl directory.", status.disk_free

    def _family(self, family: type, name: str, what: str, label: str | None, values: Mapping[str, float]) -> Metric:
        metric = family(f"beamtrawl_crawl_{name}", what, labels=["crawl", *([label] if label else [])])
        for value, number in values.items():
            metric.add_metric([self._status.directory, *([value] if label else [])], number)
        return metric
