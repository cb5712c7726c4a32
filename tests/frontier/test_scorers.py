"""The factors of scorers, of those that fail too."""

import math

from beamtrawl.transforms.frontier.scorers import MAX_FACTOR, ScoredLink, factors
from tests.support.tables import each_row

LINK = ScoredLink("http://a.test/x", "cod", "http://a.test/", 1)


def failing(link):
    raise KeyError(link.anchor)


# scorers, the factor of LINK
FACTORS = {
    "none": ([], 1.0),
    "by a fact": ([lambda link: 2 if link.anchor == "cod" else 9], 2.0),
    "several": ([lambda link: 2, lambda link: 0.25], 0.5),
    "nothing passes": ([lambda link: 0, lambda link: 7], 0.0),
    "one fails": ([failing, lambda link: 3], 3.0),
    "negative": ([lambda link: -1], 1.0),
    "no number": ([lambda link: math.nan], 1.0),
    "infinite": ([lambda link: math.inf], 1.0),
    "nothing returned": ([lambda link: None], 1.0),
    "too large together": ([lambda link: 900, lambda link: 900], MAX_FACTOR),
}


@each_row(FACTORS)
def test_the_factor_of_a_link(scorers, factor):
    assert factors(scorers, [LINK, LINK]) == [factor, factor]
