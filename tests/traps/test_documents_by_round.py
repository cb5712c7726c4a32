"""Documents by round against a walk: sites that look like traps and are none lose no page, and the crawl ends (E8)."""

from pathlib import Path

from tests.support.crawls import crawl, rows, states
from tests.support.honest_sites import HONEST, reach
from tests.support.web import Web

LATER = 3  # rounds, at most, that a crawl needs more than a walk


SHARE = 15  # of the size of each site; all of it takes longer than a test may


def test_honest_sites_lose_no_page(tmp_path: Path) -> None:
    sites = {f"{name}.test": make(max(50, count // SHARE)) for name, (make, count) in HONEST.items()}
    with Web(sites) as web:
        hosts = {web.authority(name): name for name in sites}
        end = crawl(tmp_path, map(web.url, sites))
    assert end.reason == "frontier_empty"
    fetched: dict[str, dict[str, int]] = {name: {} for name in sites}
    for row in rows(tmp_path, "visits"):
        fetched[hosts[row["host"]]]["/" + row["url"].split("/", 3)[3]] = row["round"]
    walked = {name: reach(site) for name, site in sites.items()}
    late = {
        name: max((fetched[name].get(path, 999) - number for path, number in paths.items()), default=0)
        for name, paths in walked.items()
    }
    assert {name: rounds for name, rounds in late.items() if rounds > LATER} == {}
    assert [url for url, row in states(tmp_path).items() if row["state"] == "trapped"] == []
