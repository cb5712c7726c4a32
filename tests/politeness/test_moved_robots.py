"""A robots.txt on another domain is requested once a round, in its own host's queue, however many workers there are."""

from collections import Counter
from pathlib import Path

import pytest

from beamtrawl.runners.engines.direct import DirectEngine
from tests.support.access_log import ROBOTS, Manners, violations
from tests.support.crawls import crawl, rows, states
from tests.support.web import html, plain, redirect
from tests.support.web_process import WebProcess

RULES = "User-agent: *\nDisallow: /private\n"


@pytest.mark.parametrize("domain", ["test", "site.test"])
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow("whole crawls"))])
def test_forty_hosts_redirect_to_one(tmp_path: Path, workers: int, domain: str) -> None:
    """Each of them is a domain, or all are of one."""
    pages = {"/a": html("A", "a"), "/private": html("Private", "private")}
    names, rules = [f"h{n}.{domain}" for n in range(40)], f"rules.{domain}"
    sites = {name: {ROBOTS: redirect(f"//{rules}{ROBOTS}", 301), **pages} for name in names}
    sites[rules] = {ROBOTS: plain(RULES), **pages}
    engine = DirectEngine(workers, is_exact=True)  # exactly so many
    with WebProcess(sites, by_name=True) as web:
        seeds = [web.url(name, path) for name in (*names, rules) for path in pages]
        crawl(
            tmp_path,
            seeds,
            rounds=1,
            engine=engine,
            politeness__delay=0.5,
            aliases__learn=False,
            fetch__resolve=web.pins,
        )
        log = web.requests
        found = {url: row["state"] for url, row in states(tmp_path).items()}
        expected = {url: "denied" if url.endswith("/private") else "fetched" for url in seeds}
    assert found == expected
    assert Counter(r.path for r in log if r.host == rules) == {ROBOTS: 1, "/a": 1}
    assert set(Counter((r.host, r.path) for r in log).values()) == {1}
    assert violations(log, Manners(lambda host: 0.5, required=())) == []
    assert Counter(row["origin"] for row in rows(tmp_path, "robots")) == {web.url(name, ""): 1 for name in sites}
