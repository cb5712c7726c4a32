"""The state of a crawl in the text format of OpenMetrics, for the collector of a node exporter."""

from types import SimpleNamespace

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.openmetrics.exposition import generate_latest

from .alarms import KINDS
from .crawl_status import Status


def render_metrics(status: Status) -> str:
    """All metrics of a crawl, each with the label `crawl`, its directory."""
    found = []
    for family, name, what, label, counts in (
        (CounterMetricFamily, "visits", "Visits by outcome.", "outcome", status.outcomes),
        (GaugeMetricFamily, "alarms", "Alarms by kind.", "kind", dict.fromkeys(KINDS, 0) | status.alarm_kinds),
        (GaugeMetricFamily, "frontier_urls", "Waiting URLs by reason.", "reason", status.frontier),
        (GaugeMetricFamily, "table_rows", "Rows by table.", "table", status.tables),
        (GaugeMetricFamily, "held_hosts", "Hosts not requested now, by reason.", "reason", status.held),
    ):
        metric = family(f"beamtrawl_crawl_{name}", what, labels=["crawl", label])
        for value, count in counts.items():
            metric.add_metric([status.directory, value], count)
        found.append(metric)
    for name, what, number in (
        ("rounds", "Rounds that were fetched.", status.rounds),
        ("hosts", "Hosts that were requested.", status.hosts),
        ("index_segments", "Segments of the index.", status.index_segments),
        ("traps", "Throttled and trapped templates of URLs.", len(status.traps)),
        ("blocks", "Blocks.", len(status.blocks)),
        ("blocked_urls", "Waiting URLs that are blocked.", status.blocked),
        ("excluded_urls", "Waiting URLs that the settings exclude.", status.excluded),
        ("last_step_timestamp_seconds", "When the last step was committed.", status.last_step_at),
        ("disk_free_bytes", "Free space on the disk of the crawl directory.", status.disk_free),
    ):
        if number is not None:
            metric = GaugeMetricFamily(f"beamtrawl_crawl_{name}", what, labels=["crawl"])
            metric.add_metric([status.directory], number)
            found.append(metric)
    return generate_latest(SimpleNamespace(collect=lambda: found)).decode()
