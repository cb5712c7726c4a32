"""Estimates: the arithmetic, what bounds a crawl, what is measured of one, and the command."""

import dataclasses
import json
import re
import shlex
from pathlib import Path

import pytest

from beamtrawl.runners.estimate.begun import Known, estimate_begun
from beamtrawl.runners.estimate.measured import measure
from beamtrawl.runners.estimate.plan import Plan, Prices, Rates, Size, estimate, with_page_bytes
from beamtrawl.transforms.settings import Politeness
from tests.support.command_line import LOOPBACK, beamtrawl, failure
from tests.support.committed import commit_rows
from tests.support.tables import each_row
from tests.support.web import Web, html

ROOT = Path(__file__).resolve().parents[2]

RATES = Rates(
    source="a table",
    body_bytes=1_000,
    response=0.5,
    response_factor=1.0,
    fetch_overhead=0.0,
    fetch_cpu=0.01,
    update_cpu=0.02,
    fetch_start=4.0,
    update_start=5.0,
    other=10.0,
    rounds=2,
    disk={"visits": Size(1_000.0, 300.0), "index": Size(0.0, 100.0)},
)

# name: (plan, what bounds it, seconds of fetching without the start of its steps)
BOUNDS = {
    "one host": (Plan(1, 100, 1.0), "politeness", 150.0),
    "a host slower than the delay": (Plan(1, 100, 0.1), "politeness", 100.0),
    "many hosts": (Plan(1_000, 100, 1.0), "cpu", 1_000.0),
    "few connections": (Plan(1_000, 100, 1.0, connections=10), "connections", 5_000.0),
    "more workers": (Plan(1_000, 100, 1.0, workers=4, connections=100), "cpu", 250.0),
    "a large host": (Plan(1_000, 100, 1.0, largest=5_000), "politeness", 7_500.0),
    "a narrow line": (Plan(1_000, 100, 1.0, bandwidth=80_000.0), "bandwidth", 10_000.0),
}


@each_row(BOUNDS)
def test_what_bounds_fetching(plan: Plan, bound: str, seconds: float) -> None:
    found = estimate(plan, RATES)
    assert max(found.bounds, key=lambda name: found.bounds[name]) == bound
    assert found.bounds[bound] == pytest.approx(seconds)
    assert found.fetch == pytest.approx(seconds + 2 * 4.0)


def test_sizes_time_and_money() -> None:
    found = estimate(Plan(10, 100, 1.0, workers=2), RATES, Prices(gb_in=1e3, gb_month=1e4, worker_hour=3600.0))
    assert (found.pages, found.requests, found.bytes_in) == (1_000, 1_010, 1_000_000)
    assert (found.disk, found.disk_total) == ({"visits": 302_000, "index": 100_000}, 402_000)
    assert (found.fetch, found.update, found.time) == (158.0, 20.0, 188.0)
    assert found.money == pytest.approx(1 + 4.02 + 2 * 188)
    assert found.bound == "politeness"


def test_larger_pages_need_more_room_and_time() -> None:
    found = estimate(Plan(10, 100, 1.0), with_page_bytes(RATES, 3_000))
    assert (found.bytes_in, found.disk, found.update) == (3_000_000, {"visits": 902_000, "index": 300_000}, 70.0)


# visits to a host: bytes received and written, if the first 10 have 5,000 bytes each and further ones 1,000
HEADS = {5: (25_000, 7_500), 10: (50_000, 15_000), 20: (60_000, 18_000), 1_000: (1_040_000, 312_000)}


@pytest.mark.parametrize(("visits", "sizes"), HEADS.items())
def test_the_first_visits_to_a_host_may_have_another_size(visits: int, sizes: tuple[int, int]) -> None:
    rates = dataclasses.replace(RATES, head_visits=10, head_bytes=5_000, disk={"visits": Size(0.0, 300.0)})
    found = estimate(Plan(1, visits, 1.0), rates)
    assert (found.bytes_in, found.disk_total) == sizes
    assert found.update == pytest.approx(sizes[0] / 1_000 * 0.02 + 2 * 5.0)


# (visits, bytes of each) by depth: the first visits, their mean size, the size of further ones
SAMPLES = {
    "large indexes at small depths": ({0: (1, 1_000), 1: (4, 200_000), 2: (145, 10_000)}, (5, 160_200.0, 10_000.0)),
    "too few at the greatest depth": ({0: (10, 9_000), 1: (80, 1_000), 2: (20, 6_000)}, (10, 9_000.0, 2_000.0)),
    "too few at all": ({0: (1, 1_000), 1: (9, 2_000)}, (0, 0.0, 1_900.0)),
    "one depth": ({0: (120, 500)}, (0, 0.0, 500.0)),
}


@pytest.mark.parametrize(("depths", "found"), SAMPLES.values(), ids=SAMPLES)
def test_further_visits_are_like_the_greatest_depths(tmp_path: Path, depths, found) -> None:
    visits = [
        {
            "url": f"http://a.test/{depth}/{n}",
            "depth": depth,
            "outcome": "fetched",
            "body_bytes": size,
            "elapsed_ms": 1.0,
        }
        for depth, (count, size) in depths.items()
        for n in range(count)
    ]
    commit_rows(tmp_path, "fetch", 1, {"visits": visits})
    crawl = commit_rows(tmp_path, "update", 1, {"hosts": [{"host": "a.test"}]})
    rates = measure(crawl, Politeness(), RATES, 1)
    assert (rates.head_visits, rates.head_bytes, rates.body_bytes) == found


def test_updates_may_be_the_largest_part() -> None:
    assert estimate(Plan(1_000, 100, 1.0), RATES).bound == "update"


@pytest.mark.slow("whole crawls")
def test_like_a_crawl_and_against_it(tmp_path: Path) -> None:
    """The estimate of a crawl from its own rates is what it was."""
    crawl = tmp_path / "crawl"
    pages = {f"/{n}": html(f"page {n}", "word " * n, [f"/{n + 1}", f"/{2 * n + 1}"]) for n in range(7)}
    with Web({"a.test": {"/": html("Home", links=["/0"]), **pages}}) as web:
        assert beamtrawl("crawl", crawl, "--seed", web.url("a.test"), *LOOPBACK).code == 0
    finished = beamtrawl("estimate", "--like", crawl).out
    assert "pages: 12;" in finished
    assert f"the crawl is finished: no URL of {crawl} waits for its first visit" in finished
    plans = [["--hosts", 1, "--pages", 50, *more] for more in ([], ["--delay", 0], ["--delay", 1])]
    its_own, fast, slow = (beamtrawl("estimate", "--like", crawl, *plan).out for plan in plans)
    assert its_own == fast != slow  # the delay of the crawl is 0
    ran = beamtrawl("estimate", "--like", crawl, "--against", crawl, "--json")
    found = json.loads(ran.out)
    assert found["source"] == str(crawl)
    assert found["pages"] == 12
    for name, (guess, was) in found["actual"].items():
        if name.startswith("bytes of memory"):
            assert min(guess, was) > 0  # the process of the tests has more before a step than the program has
        else:
            assert guess == pytest.approx(was, rel=0.02, abs=40), name
    assert "pages: estimated 12, was 12 (+0.0%)" in beamtrawl("estimate", "--like", crawl, "--against", crawl).out


# name: (what is known, --pages times hosts, basis, pages, a part of the note)
BEGUN = {
    "finished": (Known(100, 0, True), None, "finished", 100, "no URL of x waits"),
    "what was visited last is not parsed yet": (Known(100, 0, False), None, "floor", 100, "knows 100 URLs"),
    "URLs wait": (Known(100, 50, True), None, "floor", 150, "of which 100 are visited"),
    "a limit above what is known": (Known(100, 50, True), 400, "limit", 400, "knows 150 URLs so far"),
    "a limit below what is known": (Known(100, 50, True), 120, "limit", 120, "knows 150 URLs so far"),
}


@each_row(BEGUN)
def test_a_crawl_that_was_begun(known: Known, at_most: int | None, basis: str, pages: int, note: str) -> None:
    found = estimate_begun("x", known, Plan(1, 100, 1.0), RATES, at_most=at_most)
    assert (found.basis, found.estimate.pages) == (basis, pages)
    assert note in found.note


@pytest.mark.slow("whole crawls")
def test_it_is_estimated_by_the_urls_that_it_knows(tmp_path: Path) -> None:
    crawl, names = tmp_path / "crawl", [f"/{number}" for number in range(60)]
    pages = {name: html(name, f"Text {name} of its own.") for name in names}
    with Web({"a.test": {"/": html("Home", links=names), **pages}}) as web:
        assert beamtrawl("crawl", crawl, "--seed", web.url("a.test"), "--max-pages", 10, *LOOPBACK).code == 0
    floor = beamtrawl("estimate", "--like", crawl).out
    assert "pages: at least 61; requests with robots.txt: at least 62\n" in floor
    assert f"{crawl} knows 61 URLs, of which 10 are visited; their pages may lead to more: give --pages" in floor
    assert re.search(r"^bytes on disk: [0-9.]+ kB \((?:[a-z_]+ [0-9.]+ kB, )+others [0-9.]+ kB\)$", floor, re.MULTILINE)
    limited = beamtrawl("estimate", "--like", crawl, "--pages", 15).out
    assert "pages: 15;" in limited
    assert f"the number of pages is the most that --pages allows; {crawl} knows 61 URLs so far\n" in limited


def test_the_worked_example_is_what_the_command_prints() -> None:
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    command, printed = re.findall(r"    beamtrawl (estimate .*?)\n\n```text\n(.*?)```", page, re.DOTALL)[0]
    assert beamtrawl(*shlex.split(command.replace("\\\n", " "))).out == printed


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    assert beamtrawl("estimate", "--hosts", 10, "--pages", 100).code == 0
    problem = "does not go with --against: the plan is what nowhere has done; leave it out"
    assert failure("estimate", "--largest-host", 10, "--against", "nowhere") == (2, f"--largest-host {problem}")
    assert failure("estimate", "--hosts", 10) == (
        2,
        "--pages is missing: give --hosts and --pages, --like DIR, or --against DIR",
    )
    none = "argument --hosts: 0: must be a whole number of at least 1; see: beamtrawl estimate --help"
    assert failure("estimate", "--hosts", 0, "--pages", 1) == (2, none)
    large = failure("estimate", "--hosts", 10, "--pages", 10, "--largest-host", 9)
    assert large == (2, "--largest-host 9: must be at least --pages, the mean")
    assert failure("estimate", "--hosts", 1, "--pages", 1, "--like", tmp_path)[0] == 1
