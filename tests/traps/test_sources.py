"""What one place links says what this place is worth: no page that another place links waits for it (issue 45)."""

import itertools

import pytest

from tests.support.stale_sites import STALE
from tests.support.trap_rounds import crawl_rounds

ROUNDS, MOST, LAST = 7, 300, 30
SAMPLED = 48  # useless requests of a round that need not become fewer


@pytest.mark.parametrize("name", STALE)
def test_dead_links_of_one_place_cost_no_page_of_another(name: str) -> None:
    stale = STALE[name]()
    crawled = crawl_rounds(stale.site, LAST, listed=stale.listed)
    useless = [sum(path not in stale.useful for path in paths) for paths in crawled.visited]
    assert stale.useful <= {path for paths in crawled.visited[:ROUNDS] for path in paths}, useless
    assert sum(useless[:ROUNDS]) <= MOST, useless
    assert all(later <= max(earlier, SAMPLED) for earlier, later in itertools.pairwise(useless[3:])), useless
    assert crawled.waiting == set(), "the crawl has not ended"
