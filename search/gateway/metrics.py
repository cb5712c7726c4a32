"""Metrics of a gateway, in the text format of Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ..answers.searcher import Index

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """The metrics of one gateway. Thread-safe."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self.requests = Counter("beamtrawl_requests", "Requests.", ("endpoint", "status"), registry=registry)
        self.errors = Counter(
            "beamtrawl_errors", "Requests that failed with status 500.", ("error",), registry=registry
        )
        self.queries = Histogram(
            "beamtrawl_query_seconds", "Duration of searches in the index.", buckets=_SECONDS, registry=registry
        )
        self._uptime = Gauge("beamtrawl_uptime_seconds", "Time since the gateway was started.", registry=registry)
        self._documents = Gauge("beamtrawl_index_documents", "Documents that searches can find.", registry=registry)
        self._segments = Gauge("beamtrawl_index_segments", "Segments of the index.", registry=registry)
        self._round = Gauge("beamtrawl_index_round", "The newest round in the index.", registry=registry)

    def text(self, uptime_s: float, index: Index | None) -> bytes:
        """All metrics; without an index, those of the index are 0."""
        self._uptime.set(uptime_s)
        self._documents.set(index.documents if index else 0)
        self._segments.set(index.segments if index else 0)
        self._round.set(index.round if index else 0)
        return generate_latest(self._registry)
