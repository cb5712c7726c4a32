"""Rates without a crawl to measure: those of our benchmarks."""

from .plan import Rates, Size

DEFAULTS = Rates(
    source="benchmarks/README.md (three manuals); a response of 0.5 s and 6 rounds are assumptions",
    body_bytes=12_000,
    response=0.5,
    response_factor=1.0,
    fetch_overhead=0.0,
    fetch_cpu=0.0015,
    update_cpu=0.016,
    fetch_start=2.0,
    update_start=4.0,
    other=10.0,
    rounds=6,
    disk={
        "visits": Size(15_000, 2_190),
        "documents": Size(15_000, 1_560),
        "index": Size(16_000, 3_490),
        "links": Size(5_000, 470),
        "urls": Size(9_000, 160),
        "others": Size(40_000, 700),
    },
)
