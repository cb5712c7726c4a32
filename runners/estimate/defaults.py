"""Rates without a crawl to measure: those of our benchmarks."""

from .plan import Rates, Size

DEFAULTS = Rates(
    source="docs/measurements/planning.md (six manuals); a response of 0.5 s and 6 rounds are assumptions",
    body_bytes=58_400,
    response=0.5,
    response_factor=1.0,
    fetch_overhead=0.0,
    fetch_cpu=0.0015,
    update_cpu=0.010,
    fetch_start=2.0,
    update_start=3.0,
    other=10.0,
    rounds=6,
    disk={
        "visits": Size(37_000, 7_950),
        "documents": Size(20_000, 3_130),
        "index": Size(30_000, 5_930),
        "links": Size(16_000, 3_900),
        "urls": Size(19_000, 200),
        "others": Size(34_000, 1_090),
    },
)
