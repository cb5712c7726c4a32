"""Traps and honest look-alikes by round, judged without HTTP and Beam: what each trap costs, and what no site loses."""

import pytest

from beamtrawl.transforms.traps.names import group_templates
from tests.support import honest_variants
from tests.support.honest_more import MORE
from tests.support.honest_sites import HONEST, reach
from tests.support.trap_answers import ANSWERS
from tests.support.trap_growth import GROWTH
from tests.support.trap_pairs import PAIRS
from tests.support.trap_rounds import crawl_rounds
from tests.support.trap_sites import TRAPS
from tests.support.trap_variants import VARIANTS

pytestmark = pytest.mark.slow("traps")

ROUNDS, MOST = 7, 300
MOST_OF_A_TYPE = 100  # useless fetches for 2,440 links to files of one refused type
SAMPLED = 50  # useless fetches of a round that need not become fewer
# of two traps: redirects or lists, and where they lead; printed pages, and views of these
NAMES = {"fresh-redirects.test", "logins", "sorted folders", "versions.test"}
FINITE = {"sorry", "base-levels.test"}  # the pages of one are found to be none; those of the other one are few
LAST = 16  # rounds after which a crawl of a trap has ended
SHARE = 3  # of the size of each honest site
MANUAL_ROUNDS = 15  # a walk needs five
LATER = 3  # rounds, at most, that a crawl of an honest site needs more than a walk

SITES = {**TRAPS, **VARIANTS, **GROWTH, **ANSWERS}
SITES |= {name.partition(" / ")[0]: trap for name, (trap, _, _) in PAIRS.items()}
HONEST_SITES = {**HONEST, **honest_variants.VARIANTS}
HONEST_SITES |= {name.partition(" / ")[2]: (twin, SHARE * count) for name, (_, twin, count) in PAIRS.items()}


@pytest.mark.parametrize("name", SITES)
def test_a_trap_costs_little_and_less_in_each_round(name: str) -> None:
    site = SITES[name]()
    crawled = crawl_rounds(site, rounds=LAST)
    seen, useless = set[str](), list[int]()
    for paths in crawled.visited:
        useful = [site.useful(path) for path in paths]
        new = set(filter(None, useful)) - seen
        useless.append(len(paths) - len(new))
        seen |= new
    assert len(seen) == site.count
    assert 0 < sum(useless[:ROUNDS]) <= (MOST_OF_A_TYPE if name == "files.test" else MOST)
    worst = useless.index(max(useless))
    after = list(zip(useless[worst:], useless[worst + 1 :], strict=False))
    assert [pair for pair in after if pair[1] > max(pair[0], SAMPLED)] == [], useless
    assert crawled.waiting == set(), "the crawl has not ended"
    assert bool(crawled.held) is (name not in FINITE)
    names = set(group_templates(crawled.closed).values())
    assert len(names) <= (2 if name in NAMES else 1)


@pytest.mark.parametrize("name", HONEST_SITES)
def test_an_honest_site_loses_no_page(name: str) -> None:
    make, count = HONEST_SITES[name]
    site = make(max(50, count // SHARE))
    crawled = crawl_rounds(site, rounds=40)
    first = {path: number for number, paths in reversed([*enumerate(crawled.visited, 1)]) for path in paths}
    late = {path: first.get(path, 999) - number for path, number in reach(site).items()}
    assert max(late.values()) <= LATER
    assert crawled.held == set()


@pytest.mark.parametrize("name", MORE)
def test_an_honest_site_of_another_kind_is_whole_and_needs_few_rounds_more_than_a_walk(name: str) -> None:
    make, count, later = MORE[name]
    site = make(max(50, count // SHARE))
    crawled = crawl_rounds(site, rounds=40)
    walked = reach(site)
    assert walked.keys() - {path for paths in crawled.visited for path in paths} == set()
    assert len(crawled.visited) <= max(walked.values()) + later
    assert crawled.held == set()


@pytest.mark.parametrize("secret", [b"one", b"other"])
def test_a_manual_loses_no_translation_among_ten_times_as_many_copies(secret: bytes) -> None:
    """Copies and other translations link each of them first, and pages of another language that have news later."""
    site = honest_variants.manual(240)
    crawled = crawl_rounds(site, rounds=40, secret=secret)
    visited = {path for paths in crawled.visited for path in paths}
    assert {site[path] for path in visited & site.keys()} == set(site.values())
    assert crawled.waiting == set(), "the crawl has not ended"
    assert len(crawled.visited) <= MANUAL_ROUNDS
    assert len(visited) <= 2 * len(set(site.values()))
