"""What a crawl does between two rounds: a table of decisions."""

from datetime import UTC, datetime, timedelta

from beamtrawl.pipeline.control import End
from beamtrawl.pipeline.next_action import LONGEST_WAIT, Fetch, Outlook, Run, Wait, decide, limit_reached, pages_left
from beamtrawl.transforms.directory.manifests import Manifest
from beamtrawl.transforms.frontier.selection import NextRound
from beamtrawl.transforms.outcomes import IMPORTED
from beamtrawl.transforms.settings import Limits

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
SOON, LATER = NOW + LONGEST_WAIT, NOW + LONGEST_WAIT + timedelta(microseconds=1)
A_SECOND = NOW + timedelta(seconds=1)
COUNTS = {"blocked": 3, "excluded": 4, "refused": 5}
AT_ONCE = NextRound(NOW, NOW)

# rounds wanted, rounds fetched, whether a signal came, pages left, whether external targets count: why the run ends
LIMITS = {
    "no limit": ((None, 7, False, None, False), None),
    "below both": ((8, 7, False, 1, False), None),
    "no round left": ((7, 7, False, 1, False), "rounds"),
    "none wanted": ((0, 0, False, None, False), "rounds"),
    "no page left": ((8, 7, False, 0, False), "max_pages"),
    "but external targets": ((8, 7, False, 0, True), None),
    "neither left": ((7, 7, False, 0, True), "rounds"),
    "a signal comes first": ((7, 7, True, 0, True), "stopped"),
}

# the run, what waits: what it does
ACTIONS = {
    "nothing waits": (Run(), Outlook(), End("frontier_empty", 0)),
    "all that waits is blocked": (Run(rounds=2), Outlook(**COUNTS), End("frontier_empty", 2, **COUNTS)),
    "a URL is due": (Run(), Outlook(AT_ONCE), Fetch()),
    "in a second": (Run(), Outlook(NextRound(A_SECOND, A_SECOND)), Wait(A_SECOND)),
    "in the longest wait": (Run(), Outlook(NextRound(SOON, SOON)), Wait(SOON)),
    "later": (Run(rounds=1), Outlook(NextRound(LATER, LATER), **COUNTS), End("not_due", 1, LATER, **COUNTS)),
    "of silent hosts, some now": (Run(), Outlook(NextRound(NOW, A_SECOND)), Wait(A_SECOND)),
    "and were waited for": (Run(has_waited=True), Outlook(NextRound(NOW, A_SECOND)), Fetch()),
    "only the first was waited for": (Run(has_waited=True), Outlook(NextRound(A_SECOND, SOON)), Wait(A_SECOND)),
    "a revisit is planned": (Run(), Outlook(planned_at=A_SECOND, **COUNTS), End("not_due", 0, A_SECOND, **COUNTS)),
    "and was due before": (Run(), Outlook(planned_at=NOW - timedelta(1)), End("not_due", 0, NOW)),
    "and a URL waits for less long": (Run(), Outlook(NextRound(LATER, LATER), SOON), End("not_due", 0, SOON)),
    "and a URL waits longer": (Run(), Outlook(NextRound(LATER, LATER), LATER + LONGEST_WAIT), End("not_due", 0, LATER)),
    "and a URL is due soon": (Run(), Outlook(NextRound(SOON, SOON), A_SECOND), Wait(SOON)),
    "idle, and URLs are due all the same": (Run(rounds=1, idle_rounds=1), Outlook(AT_ONCE), End("not_due", 1)),
    "idle, and others are due soon": (Run(idle_rounds=1), Outlook(NextRound(A_SECOND, A_SECOND)), Wait(A_SECOND)),
    "idle again": (Run(idle_rounds=2), Outlook(NextRound(A_SECOND, A_SECOND), **COUNTS), End("not_due", 0, **COUNTS)),
    "idle, and later": (Run(idle_rounds=2), Outlook(NextRound(LATER, LATER)), End("not_due", 0, LATER)),
    "idle, and nothing waits": (Run(idle_rounds=2), Outlook(), End("frontier_empty", 0)),
    "no page for nine rounds": (Run(rounds_of_robots=9), Outlook(AT_ONCE), Fetch()),
    "no page for ten rounds": (Run(rounds_of_robots=10), Outlook(AT_ONCE, **COUNTS), End("not_due", 0, NOW, **COUNTS)),
    "nor soon": (Run(rounds_of_robots=10), Outlook(NextRound(A_SECOND, A_SECOND)), End("not_due", 0, A_SECOND)),
    "an external target is due": (Run(rounds=1), Outlook(AT_ONCE, only_external=True), Fetch()),
    "one in a second": (Run(), Outlook(NextRound(A_SECOND, A_SECOND), only_external=True), Wait(A_SECOND)),
    "no further one": (Run(rounds=1), Outlook(**COUNTS, only_external=True), End("max_pages", 1)),
    "one later": (Run(rounds=1), Outlook(NextRound(LATER, LATER), only_external=True), End("max_pages", 1)),
}

# counters of a fetch step, whether a block was added meanwhile: rounds in a row that were idle, and that requested
# robots.txt alone; of each there was one
ROUNDS = {
    "requests": ({"visits_rows": 3, "deferred": 2, "gone": 1}, False, (0, 0)),
    "only deferred": ({"visits_rows": 3, "deferred": 3}, False, (2, 0)),
    "no visit": ({}, False, (2, 0)),
    "only denied by a robots.txt of before": ({"visits_rows": 9, "denied_robots": 9}, False, (0, 0)),
    "a robots.txt": ({"visits_rows": 3, "deferred": 3, "robots_rows": 1}, False, (0, 2)),
    "robots.txt without an answer": ({"visits_rows": 1, "unreachable_robots": 1, "robots_rows": 1}, False, (0, 2)),
    "a block": ({"visits_rows": 3, "deferred": 3}, True, (0, 0)),
}


def test_visits_of_this_crawl_count_as_pages_and_imported_ones_do_not() -> None:
    steps = [("fetch", {"fetched": 2, "gone": 1, "deferred": 5}), ("update", {"fetched": 9})]
    steps.append(("fetch", {"fetched": 9, IMPORTED: 9}))
    manifests = [Manifest(kind, 1, "", (), counters, (), "", "") for kind, counters in steps]
    assert [pages_left(Limits(max_pages=most), manifests) for most in (10, 3, 1, 0)] == [7, 0, 0, None]


def test_limits_end_a_run_whatever_waits() -> None:
    found = {
        name: limit_reached(Run(most, rounds), is_stopped, left, checks_external)
        for name, ((most, rounds, is_stopped, left, checks_external), _) in LIMITS.items()
    }
    assert found == {name: reason for name, (_, reason) in LIMITS.items()}


def test_what_waits_decides() -> None:
    found = {name: decide(run, outlook, NOW) for name, (run, outlook, _) in ACTIONS.items()}
    assert found == {name: action for name, (_, _, action) in ACTIONS.items()}


def test_a_round_is_idle_if_no_request_could_start() -> None:
    before = Run(most_rounds=9, rounds=4, idle_rounds=1, rounds_of_robots=1, has_waited=True)
    found = {name: before.after_round(counters, is_blocked) for name, (counters, is_blocked, _) in ROUNDS.items()}
    assert found == {name: Run(9, 5, *rounds) for name, (_, _, rounds) in ROUNDS.items()}


def test_a_wait_is_remembered_until_the_next_round() -> None:
    assert Run(9, 4, 1).after_wait() == Run(9, 4, 1, has_waited=True)
