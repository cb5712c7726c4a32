"""Per-host backoff state: what an answer means for the next request, in this round and in later ones."""

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.politeness.backoff import (
    HOST_FAILURES,
    HostState,
    Rest,
    after,
    budget,
    host_state,
    may_be_of_template,
    ready_at,
    rest,
    shared_rest,
    usual_rest,
    without_refusal,
)
from beamtrawl.transforms.settings import Limits, Politeness

POLITENESS = Politeness(
    delay=1.0,
    response_factor=2.0,
    backoff=4.0,
    robots_backoff=300.0,
    dead_after=3,
    dead_backoff=600.0,
    longest_backoff=10_000.0,
)
FAILING = HostState(failures=2, elapsed_s=0.2, crawl_delay=7.0)
OUTCOMES = [outcome for outcome in Outcome if outcome is not Outcome.DENIED_META]


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_trouble_adds_up_and_any_other_answer_forgives_it(outcome):
    new = after(FAILING, outcome, 0.1)
    if outcome in HOST_FAILURES:
        assert new == HostState(failures=3, elapsed_s=0.2, crawl_delay=7.0)
    else:
        assert new == HostState(failures=0, elapsed_s=0.1, crawl_delay=7.0)


def test_a_failure_that_is_not_counted_is_one_of_those_so_far():
    states = [HostState(failures=failures) for failures in (0, 1, 2)]
    assert [after(state, Outcome.TIMEOUT, 1.0, is_counted=False).failures for state in states] == [1, 1, 2]


def test_a_quick_error_speeds_nothing_up_and_a_slow_one_slows_down():
    assert after(HostState(elapsed_s=5.0), Outcome.SERVER_ERROR, 0.01).elapsed_s == 5.0
    assert after(HostState(elapsed_s=5.0), Outcome.TIMEOUT, 20.0).elapsed_s == 20.0
    assert after(HostState(elapsed_s=5.0), Outcome.GONE, 0.01).elapsed_s == 0.01


# state; the rest when all is well
USUAL = {
    "our delay": (HostState(elapsed_s=0.4), Rest(1.0, "delay")),
    "the host's": (HostState(elapsed_s=0.4, crawl_delay=9.0), Rest(9.0, "crawl_delay")),
    "a short one of the host's": (HostState(crawl_delay=0.5), Rest(1.0, "delay")),
    "a slow answer": (HostState(elapsed_s=8.0, crawl_delay=9.0), Rest(16.0, "response_time")),
    "a crawl delay of a week": (HostState(crawl_delay=604_800.0), Rest(604_800.0, "crawl_delay")),
}


@pytest.mark.parametrize(("state", "expected"), USUAL.values(), ids=USUAL)
def test_the_longest_of_three_delays_counts(state, expected):
    assert usual_rest(state, POLITENESS) == expected
    assert rest(state, Outcome.FETCHED, None, POLITENESS, jitter=0.5) == expected


# failures in a row, outcome, Retry-After, jitter; the rest
RESTS = {
    "the first error": (1, Outcome.SERVER_ERROR, None, 0.0, Rest(4.0, "backoff")),
    "with bad jitter": (1, Outcome.SERVER_ERROR, None, 1.0, Rest(6.0, "backoff")),
    "each doubles it": (4, Outcome.SERVER_ERROR, None, 0.5, Rest(40.0, "backoff")),
    "up to a bound": (60, Outcome.SERVER_ERROR, None, 1.0, Rest(10_000.0, "backoff")),
    "beyond all counting": (10**9, Outcome.SERVER_ERROR, None, 1.0, Rest(10_000.0, "backoff")),
    "no answer": (2, Outcome.TIMEOUT, None, 0.0, Rest(8.0, "backoff")),
    "no answer again and again": (3, Outcome.CONNECT_ERROR, None, 0.0, Rest(600.0, "dead")),
    "a dead host": (5, Outcome.TIMEOUT, None, 0.0, Rest(2400.0, "dead")),
    "a name without an address": (1, Outcome.DNS_ERROR, None, 0.0, Rest(1200.0, "dns")),
    "still without one": (3, Outcome.DNS_ERROR, None, 0.0, Rest(4800.0, "dns")),
    "an address that is refused": (1, Outcome.BLOCKED_ADDRESS, None, 0.0, Rest(1200.0, "refused")),
    "still refused": (2, Outcome.BLOCKED_ADDRESS, None, 1.0, Rest(3600.0, "refused")),
    "an error of a host that answers": (5, Outcome.SERVER_ERROR, None, 0.0, Rest(64.0, "backoff")),
    "robots.txt out of reach": (1, Outcome.UNREACHABLE_ROBOTS, None, 0.0, Rest(300.0, "robots")),
    "still out of reach": (3, Outcome.UNREACHABLE_ROBOTS, None, 0.0, Rest(1200.0, "robots")),
    "as long as the host says": (1, Outcome.SERVER_ERROR, 120.0, 0.0, Rest(120.0, "retry_after")),
    "not sooner than it says, whatever the jitter": (5, Outcome.SERVER_ERROR, 70.0, 0.0, Rest(70.0, "retry_after")),
    "later than it says, after many errors": (5, Outcome.SERVER_ERROR, 1.0, 0.0, Rest(64.0, "backoff")),
    "within bounds": (1, Outcome.SERVER_ERROR, 1e9, 0.0, Rest(10_000.0, "retry_after")),
    "robots.txt, when the host says": (1, Outcome.UNREACHABLE_ROBOTS, 3600.0, 0.0, Rest(3600.0, "retry_after")),
    "nothing for an answer without trouble": (0, Outcome.FETCHED, 3600.0, 0.0, Rest(1.0, "delay")),
}


@pytest.mark.parametrize(("failures", "outcome", "asked", "jitter", "expected"), RESTS.values(), ids=RESTS)
def test_the_rest_after_an_answer(failures, outcome, asked, jitter, expected):
    assert rest(HostState(failures=failures), outcome, asked, POLITENESS, jitter) == expected


@given(
    st.builds(HostState, st.integers(0, 10**6), st.floats(0, 1e6), st.floats(0, 1e6)),
    st.sampled_from(OUTCOMES),
    st.none() | st.floats(0, 1e9),
    st.floats(0, 1),
    st.floats(0, 60),
)
def test_no_answer_makes_the_next_request_come_sooner_than_all_that_was_promised(state, outcome, asked, jitter, took):
    new = after(state, outcome, took)
    seconds = rest(new, outcome, asked, POLITENESS, jitter).seconds
    assert seconds >= max(POLITENESS.delay, new.crawl_delay, 2 * new.elapsed_s)
    if outcome in HOST_FAILURES:
        assert new.elapsed_s >= state.elapsed_s
        assert seconds >= min(asked or 0.0, POLITENESS.longest_backoff)


def test_hosts_that_share_a_queue_rest_together():
    slow = HostState(elapsed_s=3.0, crawl_delay=100.0)  # which is the one host's own business
    assert shared_rest(HostState(), POLITENESS) == 1.0
    assert shared_rest(slow, POLITENESS) == 6.0
    assert shared_rest(HostState(), dataclasses.replace(POLITENESS, shared_delay=0.5)) == 0.5


NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
ROW = {"last_fetched_at": NOW, "not_before": NOW + timedelta(seconds=30)}

# row of hosts, our delay; when the host may be asked
READY = {
    "never asked": (None, 1.0, None),
    "as was promised": (ROW, 1.0, NOW + timedelta(seconds=30)),
    "our delay was made longer": (ROW, 60.0, NOW + timedelta(seconds=60)),
    "a row of an older version": ({"last_fetched_at": NOW, "not_before": None}, 2.0, NOW + timedelta(seconds=2)),
    "no answer so far": ({"last_fetched_at": None, "not_before": None}, 2.0, None),
}


@pytest.mark.parametrize(("row", "delay", "expected"), READY.values(), ids=READY)
def test_what_earlier_rounds_have_promised_holds(row, delay, expected):
    assert ready_at(row, Politeness(delay=delay)) == expected


# held by, round; whether the delay counts where the settings of rounds 1 and 3 were others
DELAYS = {
    "refused by other settings": ("refused", 3, False),
    "refused by these": ("refused", 2, True),
    "for another reason": ("dns", 3, True),
}


@pytest.mark.parametrize(("why", "round_", "counts"), DELAYS.values(), ids=DELAYS)
def test_a_refusal_counts_while_the_settings_are_the_same(why, round_, counts):
    row = ROW | {"host": "a.test", "round": round_, "held_by": why}
    lifted = row | {"not_before": None, "held_by": None}
    assert without_refusal(row, {1, 3}) == (row if counts else lifted)


def test_a_standing_is_kept_in_the_row_of_the_host():
    row = {"failures_in_row": 2, "last_elapsed_ms": 200.0, "crawl_delay": 7.0}
    assert host_state(row) == FAILING
    assert host_state(dict.fromkeys(row)) == host_state(None) == HostState()


# pages per host, seconds per host, seconds that are left, state; pages
BUDGETS = {
    "no delay": (10, 0.0, 60.0, 0.0, HostState(), 10),
    "pages are the limit": (10, 0.0, 60.0, 1.0, HostState(), 10),
    "time is the limit": (100, 0.0, 60.0, 2.0, HostState(), 31),  # the first is asked at once
    "time ends within a delay": (100, 0.0, 59.0, 2.0, HostState(), 30),
    "answers take time, and rests after them more": (100, 0.0, 60.0, 2.0, HostState(elapsed_s=2.0), 11),
    "the host's own share of a round": (100, 20.0, 60.0, 2.0, HostState(), 11),
    "a crawl delay": (100, 0.0, 60.0, 2.0, HostState(crawl_delay=20.0), 4),
    "a delay longer than the round": (100, 0.0, 60.0, 61.0, HostState(), 1),
    "an enormous delay": (100, 0.0, 60.0, 1e9, HostState(crawl_delay=1e300), 1),
    "a delay next to nothing": (10, 0.0, 60.0, 1e-320, HostState(), 10),
    "no time left": (10, 0.0, -5.0, 1.0, HostState(), 1),
}


@pytest.mark.parametrize(("pages", "share", "left", "delay", "state", "expected"), BUDGETS.values(), ids=BUDGETS)
def test_a_host_is_given_what_fits_into_a_round(pages, share, left, delay, state, expected):
    limits = Limits(max_pages_per_host_per_round=pages, max_seconds_per_host=share)
    politeness = dataclasses.replace(POLITENESS, delay=delay)
    assert budget(limits, state, politeness, left) == expected


# outcome, Retry-After: whether the failure may be that of some paths only
OF_TEMPLATE = {
    "an error": (Outcome.SERVER_ERROR, None, True),
    "no answer in time": (Outcome.TIMEOUT, None, True),
    "too many requests": (Outcome.TOO_MANY_REQUESTS, None, False),
    "an error with a time to wait": (Outcome.SERVER_ERROR, 5.0, False),
    "a refused connection": (Outcome.CONNECT_ERROR, None, False),
}


@pytest.mark.parametrize(("outcome", "retry_after", "may_be"), OF_TEMPLATE.values(), ids=OF_TEMPLATE)
def test_which_failures_may_be_those_of_a_template(outcome, retry_after, may_be):
    assert may_be_of_template(outcome, retry_after) is may_be
