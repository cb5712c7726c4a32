"""Extrapolation from a random sample: unknown URLs, the whole crawl, and intervals."""

import dataclasses
import math
import random

import pytest

from beamtrawl.runners.estimate.begun import Known, estimate_begun, estimate_whole
from beamtrawl.runners.estimate.growth import Sample, Unit, extrapolate, half_samples, interval, unknown_of
from beamtrawl.runners.estimate.plan import Plan, Rates, Size
from tests.support.tables import each_row

A, B, C = b"a", b"b", b"c"

# pages, the unknown URLs that each sampled page has links to, how many all pages have links to
UNKNOWN = {
    "none": (10, [[], []], 0.0),
    "all pages are sampled": (2, [[A], [B]], 2.0),
    "every page links to all": (10, [[A, B], [A, B], [B, A]], 2.0),
    "a page repeats its links": (10, [[A, A], [A]], 1.0),
    "one page has the only link": (10, [[A], []], 1 + 1 * 8 / 2),
    # Chao et al. (2014), equation 18: unseen = 2/3 * 1/2, 1 - (1 - 1 / (3 * 1/3 + 1)) ** 3
    "some links are shared": (6, [[A, B], [B, C], [C]], 3 + (2 / 3 * 1 / 4) * (1 - (1 - 1 / 1.5) ** 3)),
}


@each_row(UNKNOWN)
def test_unknown_urls_of_pages(pages, found, unknown):
    assert unknown_of(pages, found) == pytest.approx(unknown)


def sample(before, waiting, found, size=100):
    return Sample(before, waiting, [Unit(size, keys) for keys in found])


def test_nothing_new_ends_a_crawl_with_what_is_known():
    found = extrapolate(sample(30, 10, [[], [], []]))
    assert (found.pages, found.generations, found.body_bytes) == (40, 0, 100)


def test_a_tree_that_grows_has_no_end():
    assert extrapolate(sample(1, 100, [[bytes([n, m]) for m in range(3)] for n in range(50)])).pages == math.inf


def test_a_web_of_random_links_is_estimated_from_a_sample():
    """3,000 pages, each with links to 4 others at random; 60 visited breadth first, and 200 of the waiting sampled."""
    rng = random.Random(1)
    keys = [b"%d" % n for n in range(3_000)]
    links = {key: rng.sample(keys, 4) for key in keys}
    known, visited = [keys[0]], []
    while len(visited) < 300:
        visited.append(known[len(visited)])
        known += [key for key in dict.fromkeys(links[visited[-1]]) if key not in known]
    waiting = known[300:]
    found = [[key for key in links[page] if key not in known] for page in rng.sample(waiting, 200)]
    reachable = set(visited)
    rest = list(visited)
    while rest:
        new = [key for key in links[rest.pop()] if key not in reachable]
        reachable.update(new)
        rest += new
    assert extrapolate(sample(300, len(waiting), found)).pages == pytest.approx(len(reachable), rel=0.1)


def test_half_samples_draw_each_page_once():
    units = [Unit(n, []) for n in range(9)]
    halves = half_samples(Sample(5, 100, units))
    assert {len({unit.body_bytes for unit in half.units}) for half in halves} == {4}
    assert halves == half_samples(Sample(5, 100, units))
    assert half_samples(Sample(5, 100, units[:3])) == []


HALVES = [float(n) for n in range(1, 201)]
# figure, half samples, (sampled, waiting), interval
INTERVALS = {
    "of many pages": (100.0, HALVES, (1, 1_000_000), (6, 195)),
    "of all pages": (100.0, HALVES, (50, 50), (100, 100)),
    "a quarter is left": (100.0, HALVES, (75, 100), (53, 147.5)),
    "too few": (100.0, [], (1, 50), (100, 100)),
    "no end": (math.inf, [1.0], (1, 50), (math.inf, math.inf)),
}


@each_row(INTERVALS)
def test_intervals(figure, halves, of, bounds):
    sampled, waiting = of
    assert interval(figure, halves, sample(0, waiting, [[]] * sampled)) == pytest.approx(bounds, rel=1e-3)


RATES = Rates(
    source="a table",
    body_bytes=100,
    response=0.5,
    response_factor=1.0,
    fetch_overhead=0.0,
    fetch_cpu=0.0,
    update_cpu=0.0,
    fetch_start=0.0,
    update_start=0.0,
    other=0.0,
    rounds=3,
    head_visits=10,
    head_bytes=1_000,
    disk={"visits": Size(round=7, visit=10, once=5)},
)
PLAN = Plan(hosts=1, pages=0, delay=0.5)


def test_the_whole_crawl_is_the_first_visits_and_further_ones_like_the_sample():
    whole = estimate_whole(sample(10, 4, [[]] * 4), PLAN, RATES, at_most=None)
    assert (whole.estimate.pages, whole.estimate.bytes_in, whole.estimate.time) == (14, 10 * 1_000 + 4 * 100, 14.0)
    # as many pages as were sampled take as much as these; the first ones have 100 times the bytes of one
    assert whole.estimate.disk == {"visits": 5 + 3 * 7 + (100 + 4) * 10}
    assert whole.intervals["pages"] == (14, 14)


def test_sizes_on_disk_grow_less_than_the_pages():
    whole = estimate_whole(sample(10, 400, [[]] * 4), PLAN, RATES, at_most=None)
    assert whole.estimate.disk == {"visits": round(5 + 3 * 7 + 100 * 10 + 400 * 10 * 100**-0.05)}


def test_a_limit_bounds_a_crawl_without_an_end():
    endless = sample(10, 100, [[bytes([n, m]) for m in range(3)] for n in range(50)])
    assert estimate_whole(endless, PLAN, RATES, at_most=None) is None
    whole = estimate_whole(endless, PLAN, dataclasses.replace(RATES), at_most=200)
    assert (whole.estimate.pages, whole.intervals["pages"]) == (200, (200, 200))


GROWING = sample(100, 300, [[bytes([n, m]) for m in range(3)] for n in range(50)])
ENDING = sample(100, 300, [[] for _ in range(50)])

# what is known, the sample, --pages: the basis, the pages, a part of the note
BEGUN = {
    "no sample": (Known(100, 400, True), None, None, "floor", 500, "knows 500 URLs, of which 100 are visited"),
    "a way to the whole": (Known(100, 400, True), None, None, "floor", 500, "crawl ./site --sample 300, and then"),
    "a sample without an end": (Known(150, 350, True), GROWING, None, "floor", 500, "the sample shows no end"),
    "a sample": (Known(150, 250, True), ENDING, None, "sample", 400, ""),
    "a limit below the sample": (Known(150, 250, True), ENDING, 200, "limit", 200, "is the most that --pages allows"),
    "a limit of a growing site": (Known(150, 350, True), GROWING, 5000, "limit", 5000, "allows; ./site knows 500 URLs"),
    "a limit without a sample": (Known(100, 400, True), None, 300, "limit", 300, "is the most that --pages allows"),
    "a limit above the sample": (Known(150, 250, True), ENDING, 9000, "sample", 400, ""),
    "a finished crawl": (Known(400, 0, True), ENDING, None, "finished", 7, "is finished: no URL of ./site waits"),
    "before the last update": (Known(400, 0, False), None, None, "floor", 400, "their pages may lead to more"),
}


@each_row(BEGUN)
def test_what_the_estimate_of_a_begun_crawl_rests_on(known, of, at_most, basis, pages, note):
    begun = estimate_begun("./site", known, of, Plan(1, 7, 1.0), RATES, at_most=at_most)
    assert (begun.basis, begun.estimate.pages) == (basis, pages)
    assert note in begun.note
    assert bool(begun.intervals) == (of is not None and basis in ("sample", "limit"))
