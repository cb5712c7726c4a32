"""Crawls sites and compares the round of each page with that of a breadth-first walk without any judgement."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.support.crawls import crawl, rows, states
from tests.support.honest_sites import reach
from tests.support.web import Page, Web

LATER = 3  # rounds, at most, that a crawl may need more than a walk


class Result(NamedTuple):
    """How the crawl of a site compares with a walk."""

    pages: int  # that the walk reaches
    lost: int
    held: int
    later: int  # rounds, of the page that is latest compared with the walk
    rounds: int  # of the crawl of all sites until the site's last page
    walk: int  # rounds of the walk


def measure(sites: Mapping[str, Mapping[str, Page]], path: Path) -> tuple[str, dict[str, Result]]:
    """Why a crawl of some sites ended, and the result of each."""
    with Web(sites) as web:
        hosts = {web.authority(name): name for name in sites}
        end = crawl(path, map(web.url, sites))
    fetched: dict[str, dict[str, int]] = {name: {} for name in sites}
    for row in rows(path, "visits"):
        fetched[hosts[row["host"]]].setdefault("/" + row["url"].split("/", 3)[3], row["round"])
    held = [hosts[row["host"]] for row in states(path).values() if row["state"] == "trapped"]
    results = {}
    for name, site in sites.items():
        walked, mine = reach(site), fetched[name]
        late = [mine[url] - number for url, number in walked.items() if url in mine]
        counts = (len(walked), len(walked.keys() - mine.keys()), held.count(name), max(late))
        results[name] = Result(*counts, max(mine.values()), max(walked.values()))
    return end.reason, results
