"""Documents by round against a walk: sites that look like traps and are none lose no page, and the crawl ends (E8)."""

from pathlib import Path

from tests.support.documents_by_round import LATER, measure
from tests.support.honest_sites import HONEST

SHARE = 60  # of the size of each site; all of it takes minutes: benchmarks/documents_by_round.py


def test_honest_sites_lose_no_page(tmp_path: Path) -> None:
    sites = {f"{name}.test": make(max(50, count // SHARE)) for name, (make, count) in HONEST.items()}
    reason, results = measure(sites, tmp_path)
    assert reason == "frontier_empty"
    assert {name: found for name, found in results.items() if found.lost or found.held or found.later > LATER} == {}
