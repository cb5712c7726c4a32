"""A host's turn: what it wants at a moment, and how long it rests between two requests."""

import pytest

from beamtrawl.transforms.blocks.rules import Block, Blocks
from beamtrawl.transforms.frontier.selection import Due
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.politeness.backoff import HostState
from beamtrawl.transforms.politeness.host_queue import (
    Done,
    FetchRobots,
    HostTurn,
    Skip,
    Visit,
    Wait,
    browser_rules,
    next_action,
)
from beamtrawl.transforms.politeness.url_queue import UrlQueue
from beamtrawl.transforms.robots.lookup import Robots
from beamtrawl.transforms.robots.rules import Verdict, parse
from beamtrawl.transforms.settings import Politeness

ORIGIN = "http://a.test"
OPEN = Due(b"k" * 16, f"{ORIGIN}/open/a", "a.test", 0, 1.0, None, None, None, 0, 0, 0)
PRIVATE = OPEN._replace(url=f"{ORIGIN}/private/a")
OTHER = OPEN._replace(url=f"{ORIGIN}/other")

RULES = parse(b"User-agent: *\nDisallow: /private/\nAllow: /open/\nCrawl-delay: 5", "me")
READ = Robots(Verdict.RULES, RULES)
ABSENT = Robots(Verdict.ALLOW_ALL)
CLOSED = Robots(Verdict.DENY_ALL)


def unreachable(failure=None):
    return Robots(Verdict.UNREACHABLE, failure=failure)


EARLY, READY, LATE = 5.0, 10.0, 100.0  # a host that may be asked from 10 s on, in a turn that ends at 100 s

# the first URL, what is known of its robots.txt, when it is; what the host wants
SITUATIONS = {
    "nothing left": (None, READ, READY, Done()),
    "nothing left, late": (None, None, LATE, Done()),
    "robots.txt comes first": (OPEN, None, READY, FetchRobots(ORIGIN, 0)),
    "robots.txt waits as well": (OPEN, None, EARLY, Wait(READY)),
    "no request for robots.txt after the deadline": (OPEN, None, LATE, Skip(OPEN, Outcome.DEFERRED)),
    "allowed by a rule": (OPEN, READ, READY, Visit(OPEN, "Allow: /open/")),
    "allowed, for no rule forbids it": (OTHER, READ, READY, Visit(OTHER, "")),
    "allowed, for there is no robots.txt": (OPEN, ABSENT, READY, Visit(OPEN, "")),
    "allowed but too early": (OPEN, READ, EARLY, Wait(READY)),
    "allowed but too late": (OPEN, READ, LATE, Skip(OPEN, Outcome.DEFERRED)),
    "allowed at the last moment": (OPEN, READ, LATE - 0.001, Visit(OPEN, "Allow: /open/")),
    "forbidden by a rule": (PRIVATE, READ, READY, Skip(PRIVATE, Outcome.DENIED_ROBOTS, "Disallow: /private/")),
    "forbidden needs no waiting": (
        PRIVATE,
        READ,
        EARLY,
        Skip(PRIVATE, Outcome.DENIED_ROBOTS, "Disallow: /private/"),
    ),
    "forbidden, but late": (PRIVATE, READ, LATE, Skip(PRIVATE, Outcome.DEFERRED)),
    "all is forbidden": (OPEN, CLOSED, EARLY, Skip(OPEN, Outcome.DENIED_ROBOTS)),
    "robots.txt out of reach": (OPEN, unreachable(), READY, Skip(OPEN, Outcome.UNREACHABLE_ROBOTS)),
    "out of reach needs no waiting": (OPEN, unreachable(), EARLY, Skip(OPEN, Outcome.UNREACHABLE_ROBOTS)),
    "out of reach, and late": (OPEN, unreachable(), LATE, Skip(OPEN, Outcome.DEFERRED)),
    "robots.txt timed out": (
        OPEN,
        unreachable(Outcome.TIMEOUT),
        READY,
        Skip(OPEN, Outcome.UNREACHABLE_ROBOTS),
    ),
    "a name that leads nowhere": (OPEN, unreachable(Outcome.DNS_ERROR), EARLY, Skip(OPEN, Outcome.DNS_ERROR)),
    "a name that leads where we must not go": (
        OPEN,
        unreachable(Outcome.BLOCKED_ADDRESS),
        EARLY,
        Skip(OPEN, Outcome.BLOCKED_ADDRESS),
    ),
}


@pytest.mark.parametrize(("head", "robots", "now", "action"), SITUATIONS.values(), ids=SITUATIONS)
def test_what_a_host_wants_now(head, robots, now, action):
    assert next_action(head, ORIGIN, robots, READY, now, LATE) == action


# name: (pattern, the first URL, what is known of its robots.txt, what the host wants)
BLOCKED = {
    "a blocked URL": (OPEN.url[7:], OPEN, READ, Outcome.DEFERRED),
    "before robots.txt": (OPEN.host, OPEN, None, Outcome.DEFERRED),
    "robots.txt, which is needed": (f"{OPEN.host}/robots.txt", OPEN, None, Outcome.DEFERRED),
    "robots.txt, which is known": (f"{OPEN.host}/robots.txt", OPEN, READ, None),
    "another URL": (PRIVATE.url[7:], OPEN, READ, None),
}


@pytest.mark.parametrize(("pattern", "head", "robots", "end"), BLOCKED.values(), ids=BLOCKED)
def test_what_is_blocked_is_deferred_at_once(pattern, head, robots, end):
    block = Block(pattern, "2026-05-03T00:00:00Z")
    action = next_action(head, ORIGIN, robots, READY, EARLY, LATE, Blocks([block]))
    assert action == (Skip(head, end, error=block.error) if end else Wait(READY))


@pytest.mark.parametrize("robots", [None, READ, ABSENT], ids=["unknown", "rules", "absent"])
def test_a_host_that_is_not_ready_before_the_deadline_is_not_waited_for(robots):
    ready_at = deadline = 100.0
    assert next_action(OPEN, ORIGIN, robots, ready_at, 10.0, deadline) == Skip(OPEN, Outcome.DEFERRED)


def test_a_url_is_allowed_by_the_rules_or_by_the_verdict():
    assert READ.allows(PRIVATE.url) == (False, "Disallow: /private/")
    assert ABSENT.allows(PRIVATE.url) == (True, "")
    assert CLOSED.allows(OPEN.url) == (False, "")


def test_what_a_browser_may_request_besides():
    turn, blocked = HostTurn("a.test", UrlQueue(), robots={ORIGIN: READ}), [Blocks()]
    turn.state = HostState(crawl_delay=5.0)
    rules = browser_rules(turn, Politeness(delay=1.0, response_factor=10.0), lambda: blocked[0])
    assert [rules.allows(due.url) for due in (OPEN, OTHER, PRIVATE)] == [True, True, False]
    blocked[0] = Blocks([Block("a.test/other", "")])  # meanwhile
    assert [rules.allows(due.url) for due in (OPEN, OTHER)] == [True, False]
    turn.robots[ORIGIN] = unreachable()
    assert not rules.allows(OPEN.url) and not rules.allows("https://a.test/open/")
    assert [rules.rest(elapsed_s) for elapsed_s in (0.1, 1.0)] == [5.0, 10.0]


# the robots.txt files of a host, now and before: whether another origin than http://a.test answers
ANSWERS = {
    "no other origin": ({ORIGIN: READ}, {}, False),
    "another that answers": ({ORIGIN: unreachable(), "https://a.test": ABSENT}, {}, True),
    "another that answered before": ({}, {"https://a.test": READ}, True),
    "another that is unreachable": ({"https://a.test": unreachable()}, {}, False),
    "another that is unreachable now": ({"https://a.test": unreachable()}, {"https://a.test": READ}, False),
}


@pytest.mark.parametrize(("robots", "last_good", "answers"), ANSWERS.values(), ids=ANSWERS)
def test_whether_a_host_answers_at_another_origin(robots, last_good, answers):
    turn = HostTurn("a.test", UrlQueue([]), robots=robots, last_good=last_good)
    assert turn.answers_elsewhere(ORIGIN) is answers
