"""A round with hosts whose names lead to internal addresses: no connection is made, and the host rests."""

import contextlib
import functools
from collections.abc import Mapping

import pytest

from beamtrawl.transforms.http.address_guard import connect
from beamtrawl.transforms.http.client import HostClient
from beamtrawl.transforms.http.dns import Names
from beamtrawl.transforms.http.reply import Reply
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.robots.lookup import Robots
from beamtrawl.transforms.robots.rules import Verdict
from beamtrawl.transforms.settings import Fetch
from tests.support.recorders import Clock, Connector, Resolver
from tests.support.scheduled_rounds import Round, outcomes, pages, turns
from tests.support.servers import Servers

OPEN = Robots(Verdict.ALLOW_ALL)
REFUSED = Outcome.BLOCKED_ADDRESS.value
INSIDE = "10.0.0.1"

# what is known of robots.txt; how many of the host's three URLs end with a visit
KNOWN = {"robots.txt is needed": (None, 3), "robots.txt is known": (OPEN, 1)}


@pytest.mark.parametrize(("known", "visits"), KNOWN.values(), ids=KNOWN)
def test_a_name_that_leads_inside_is_looked_up_once_and_never_connected_to(known: Robots | None, visits: int) -> None:
    """The other URLs are deferred, or stay in the frontier: they need no look-up of their own."""
    resolver, connector = Resolver([INSIDE]), Connector()
    names = Names(Fetch(), resolver=resolver, clock=Clock(), sleep=lambda seconds: None)

    def ask(url: str, headers: Mapping[str, str]) -> Reply:
        with contextlib.closing(
            HostClient(Fetch(), functools.partial(connect, allowed=(), resolver=names, connector=connector))
        ) as client:
            return client.get(url, headers)

    servers = Servers({"http://a.test/robots.txt": ask, "*": ask})
    robots = {"http://a.test": known} if known else {}
    events = Round(servers, pages("a.test", 3), robots=robots).run()
    assert list(outcomes(events).values()).count(REFUSED) == visits
    assert (resolver.names, connector.calls, len(servers.requests)) == (["a.test"], [], 1)
    row = turns(events)["a.test"]
    assert (row["held_by"], row["failures_in_row"], row["requests"]) == ("refused", 1, 0)


def test_a_robots_txt_that_redirects_inside_cannot_be_fetched() -> None:
    moved, refused = Reply(301, [("Location", "http://b.test/robots.txt")]), Reply(failure=Outcome.BLOCKED_ADDRESS)
    servers = Servers({"http://a.test/robots.txt": moved, "http://b.test/robots.txt": refused})
    events = Round(servers, pages("a.test", 2)).run()
    assert set(outcomes(events).values()) == {"unreachable_robots"}
    assert turns(events)["a.test"]["held_by"] == "robots"
