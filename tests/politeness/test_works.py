"""Which due URLs of a host become its work in a round."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from beamtrawl.transforms.politeness.works import work_of
from tests.frontier.test_selection import due
from tests.support.contexts import visit_context
from tests.support.simulation import SimulatedWeb

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
FORBIDS = b"User-agent: *\nDisallow: /private/"


@pytest.mark.parametrize(
    ("origin", "verdict", "expires", "is_known"),
    [
        ("http://a.test", "rules", NOW + timedelta(hours=1), True),
        ("http://a.test", "rules", NOW, False),  # it is asked for again, and may forbid something else
        ("https://a.test", "rules", NOW + timedelta(hours=1), False),
        ("http://a.test", "unreachable", NOW + timedelta(hours=1), False),
    ],
)
def test_what_robots_txt_is_known_to_forbid_takes_no_place_of_pages(origin, verdict, expires, is_known):
    """200 forbidden URLs and as many others, of new templates that one page links: 24, or 22 of each, are sampled."""
    urls = [f"http://a.test/{part}/{n}" for part in ("private/item", "item") for n in range(200)]
    rows = [due(url, 3)._replace(referrer="http://a.test/") for url in urls]
    robots = {"origin": origin, "round": 1, "verdict": verdict, "body": FORBIDS}
    robots |= {"fetched_at": NOW - timedelta(hours=2), "expires_at": expires}
    sides = {"hosts": [], "visited": [], "traps": [], "robots": [robots], "due": [rows]}
    work = work_of("a.test", sides, visit_context(SimulatedWeb, {}), NOW)
    found = Counter(row[1].split("/")[3] for row in work.due)
    assert found == ({"private": 200, "item": 24} if is_known else {"private": 22, "item": 22})
