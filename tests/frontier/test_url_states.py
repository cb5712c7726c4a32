"""What visits and links mean for the state of URLs and for the next frontier: nothing is lost."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.batches.batch_schemas import CANDIDATES, FACTS
from beamtrawl.transforms.duplicates.digest import of_html
from beamtrawl.transforms.frontier.link_targets import merge_candidates
from beamtrawl.transforms.frontier.url_states import advance, after_visit, compared, remembered, retry_at, waits_already
from beamtrawl.transforms.outcomes import NO_ADDRESS, REQUESTED, Outcome
from beamtrawl.transforms.politeness.backoff import HostState, after, rest
from beamtrawl.transforms.settings import Limits, Politeness
from beamtrawl.transforms.tables.schemas import FRONTIER, URLS
from beamtrawl.transforms.urls.canonical import url_key
from tests.support.tables import each_row

LIMITS = Limits(max_tries=3, max_host_tries=5)
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
VISITS = [outcome for outcome in Outcome if outcome is not Outcome.DENIED_META]  # that one is counted later


def known(name, *, state="due", round_=1, **fields):
    """A row of urls."""
    row = dict.fromkeys(URLS.names) | {"url_key": url_key(name), "url": name, "host": "a.test", "depth": 1}
    row |= {"state": state, "score": 1.0, "fetches": 0, "failures": 0, "changes": 0, "discovered_round": 0}
    return row | {"round": round_, "redirects": 0, "foreign": False} | fields


def due(name, **fields):
    """A row of the frontier."""
    row = dict.fromkeys(FRONTIER.names) | {"url_key": url_key(name), "url": name, "host": "a.test", "depth": 1}
    row |= {"priority": 1.0, "reason": "new", "discovered_round": 0, "redirects": 0, "failures": 0}
    return row | {"foreign": False} | fields


def visited(name, outcome=Outcome.FETCHED, **fields):
    """What a visit found, a row of FACTS."""
    row = dict.fromkeys(FACTS.names) | {"url_key": url_key(name), "url": name, "host": "a.test", "depth": 1}
    row |= {"outcome": outcome.value, "status": 200, "fetched_at": NOW, "priority": 1.0, "redirects": 0}
    return row | {"discovered_round": 0, "attempt": 1, "foreign": False} | fields


def found(name, depth=1, *, redirects=0, score=1.0, referrer="http://a.test/", **fields):
    """A candidate: where a link leads."""
    row = dict.fromkeys(CANDIDATES.names) | {"url_key": url_key(name), "url": name, "host": "a.test"}
    row |= {"depth": depth, "redirects": redirects}
    return row | {"score": score, "referrer": referrer, "foreign": False} | fields


def advanced(candidates=(), facts=(), earlier=(), frontier=(), round_=2, limits=LIMITS):
    """(changed rows of urls, rows of the next frontier), each by URL."""
    urls, following = advance(candidates, facts, earlier, frontier, round_=round_, limits=limits)
    return {row["url"]: row for row in urls}, {row["url"]: row for row in following}


# outcome: the state after it, the failures (one before), and if it is tried again: the reason, seconds to wait
AFTER = {
    Outcome.FETCHED: ("fetched", 0, None),
    Outcome.NOT_MODIFIED: ("fetched", 0, None),
    Outcome.REDIRECTED: ("redirected", 0, None),
    Outcome.REDIRECT_LOOP: ("failed", 0, None),
    Outcome.BAD_REDIRECT: ("failed", 0, None),
    Outcome.GONE: ("gone", 0, None),
    Outcome.GONE_BY_CONTENT: ("gone", 0, None),
    Outcome.PAYMENT_REQUIRED: ("failed", 0, None),
    Outcome.FORBIDDEN: ("failed", 0, None),
    Outcome.TOO_MANY_REQUESTS: ("due", 2, ("retry", 4)),
    Outcome.CLIENT_ERROR: ("failed", 0, None),
    Outcome.SERVER_ERROR: ("due", 2, ("retry", 4)),
    Outcome.DENIED_ROBOTS: ("denied", 1, None),
    Outcome.UNREACHABLE_ROBOTS: ("due", 1, ("retry", None)),  # until its host may be asked again
    Outcome.DEFERRED: ("due", 1, ("deferred", None)),
    Outcome.TIMEOUT: ("due", 2, ("retry", 4)),
    Outcome.DNS_ERROR: ("due", 2, ("retry", 4)),
    Outcome.CONNECT_ERROR: ("due", 2, ("retry", 4)),
    Outcome.TLS_ERROR: ("failed", 0, None),
    Outcome.BLOCKED_ADDRESS: ("due", 2, ("retry", 4)),
    Outcome.UNWANTED_TYPE: ("failed", 0, None),
    Outcome.TOO_LONG: ("failed", 0, None),
    Outcome.BAD_RESPONSE: ("due", 2, ("retry", 4)),
}


@pytest.mark.parametrize("outcome", VISITS)
def test_each_outcome_leads_to_a_state_and_perhaps_to_another_try(outcome):
    state, failures, again = AFTER[outcome]
    url, row = after_visit(known("/a", failures=1), visited("/a", outcome, depth=2), LIMITS)
    assert (url["state"], url["failures"], url["reason"]) == (state, failures, outcome)
    if again is None:
        assert row is None
        assert url["next_fetch_at"] is None
    else:
        reason, wait = again
        due_at = wait and NOW + timedelta(seconds=wait)
        assert (row["url"], row["reason"], row["depth"], row["failures"]) == ("/a", reason, 2, failures)
        assert row["due_at"] == url["next_fetch_at"] == due_at


@pytest.mark.parametrize("outcome", [o for o in VISITS if AFTER[o][1] == 2])
def test_after_the_last_try_a_url_has_failed(outcome):
    url, row = after_visit(known("/a", failures=2), visited("/a", outcome), LIMITS)
    assert (url["state"], url["failures"], row) == ("failed", 3, None)


@pytest.mark.parametrize("outcome", [Outcome.DEFERRED, Outcome.UNREACHABLE_ROBOTS])
def test_a_url_that_was_not_asked_for_waits_for_as_long_as_that_lasts(outcome):
    url, row = after_visit(known("/a", failures=2, fetches=2), visited("/a", outcome), LIMITS)
    assert (url["state"], url["fetches"], row["failures"]) == ("due", 2, 2)


@pytest.mark.parametrize(("host_failures", "state"), [(None, "due"), (4, "due"), (5, "failed")])
@pytest.mark.parametrize("outcome", [Outcome.DEFERRED, Outcome.UNREACHABLE_ROBOTS])
def test_a_url_waits_no_longer_for_a_host_that_has_failed_too_often(outcome, host_failures, state):
    url, row = after_visit(known("/a"), visited("/a", outcome, host_failures=host_failures), LIMITS)
    assert (url["state"], row is None) == (state, state == "failed")
    assert url["reason"] == ("dead_host" if state == "failed" else outcome)


def test_a_url_whose_origin_alone_cannot_be_reached_fails_after_the_usual_tries():
    """A link to https of a host that has only http: the host answers, so that its failures never end the URL."""
    url, waits = known("/a"), []
    while url["state"] == "due":
        url, row = after_visit(url, visited("/a", Outcome.UNREACHABLE_ROBOTS, host_failures=0), LIMITS)
        waits.append(row and (row["reason"], row["due_at"] - NOW))
    assert waits == [("retry", timedelta(minutes=5)), ("retry", timedelta(minutes=10)), None]
    assert (url["state"], url["reason"], url["failures"]) == ("failed", "unreachable_robots", 3)


def test_a_page_that_is_tried_again_is_asked_for_by_what_is_known_of_it():
    page = known("/a", etag='"1"', last_modified="yesterday", digest=b"a" * 16)
    _, row = after_visit(page, visited("/a", Outcome.TIMEOUT), LIMITS)
    assert (row["etag"], row["last_modified"]) == ('"1"', "yesterday")


@pytest.mark.parametrize("outcome", VISITS)
def test_requests_are_counted_as_fetches(outcome):
    url, _ = after_visit(known("/a"), visited("/a", outcome), LIMITS)
    asked = outcome in REQUESTED
    assert url["fetches"] == asked
    assert url["last_fetched_at"] == (NOW if asked else None)


def test_the_wait_doubles_with_each_failure():
    waits = [(retry_at(n, NOW) - NOW).total_seconds() for n in (1, 2, 3, 4)]
    assert waits == [2, 4, 8, 16]


@pytest.mark.parametrize("outcome", sorted(NO_ADDRESS))
def test_an_hour_without_an_address_ends_no_url(outcome):
    """The resolver is out of order, or `--allow-address` is missing: all URLs wait for their host, which rests."""
    url, host, at = known("/a"), HostState(), NOW
    while at < NOW + timedelta(hours=1):
        host = after(host, outcome, 0.0)
        rests = timedelta(seconds=rest(host, outcome, None, Politeness(), jitter=0.0).seconds)
        url, row = after_visit(url, visited("/a", outcome, fetched_at=at), Limits())
        assert row["due_at"] <= at + rests
        at += rests
    assert (url["state"], url["failures"]) == ("due", 2)


def test_the_wait_is_a_day_at_most_however_often_it_failed():
    waits = [(retry_at(n, NOW) - NOW).total_seconds() for n in (16, 17, 40, 10**6)]
    assert waits == [65_536, 86_400, 86_400, 86_400]


# digest before, digest now, changes
CHANGES = {"first visit": (None, b"a", 0), "the same": (b"a", b"a", 0), "another": (b"a", b"b", 1)}


@each_row(CHANGES)
def test_changes_of_the_content_are_counted(before, now, changes):
    fact = visited("/a", digest=now, etag='"1"', last_modified="yesterday")
    url, _ = after_visit(known("/a", digest=before), fact, LIMITS)
    assert (url["changes"], url["digest"], url["etag"], url["last_modified"]) == (changes, now, '"1"', "yesterday")


@pytest.mark.parametrize(
    ("outcome", "state", "seen"),
    [
        (Outcome.FETCHED, "fetched", True),
        (Outcome.REDIRECTED, "redirected", True),
        (Outcome.DENIED_ROBOTS, "denied", True),
        (Outcome.DNS_ERROR, "due", False),
    ],
)
def test_an_external_target_joins_nothing_and_its_age_counts_from_its_visit(outcome, state, seen):
    fact = visited("/a", outcome, kind="external", status=301, redirect_to="http://b.test/")
    url, again = after_visit(known("/a", kind="external"), fact, LIMITS)
    assert (url["state"], url["joined_to"], url["last_fetched_at"]) == (state, None, NOW if seen else None)
    assert (again is None) is seen


def test_a_requisite_that_a_seed_made_a_page_is_one_after_its_visit():
    url, _ = after_visit(known("/a", kind="requisite"), visited("/a"), LIMITS)
    assert url["kind"] is None


def test_a_304_keeps_what_is_known_of_the_document():
    before = known("/a", digest=b"a", etag='"1"', changes=4)
    url, _ = after_visit(before, visited("/a", Outcome.NOT_MODIFIED, status=304), LIMITS)
    assert (url["digest"], url["etag"], url["changes"], url["last_status"]) == (b"a", '"1"', 4, 304)


def test_a_page_that_wants_no_index_says_so_as_its_reason():
    url, _ = after_visit(known("/a"), visited("/a", denied_meta=True), LIMITS)
    assert (url["state"], url["reason"]) == ("fetched", "denied_meta")


@pytest.mark.parametrize(("status", "joins"), [(301, True), (308, True), (302, False), (307, False)])
def test_a_permanent_redirect_joins_a_url_to_its_target(status, joins):
    target = "http://a.test/new"
    moved = visited("/a", Outcome.REDIRECTED, status=status, redirect_to=target)
    assert after_visit(known("/a"), moved, LIMITS)[0]["joined_to"] == (url_key(target) if joins else None)


def test_a_page_that_wanted_no_index_is_fetched_whole_the_next_time():
    validators = {"etag": '"1"', "last_modified": "today", "digest": b"a"}
    assert remembered(known("/a", **validators)) == validators
    assert set(remembered(known("/a", reason=Outcome.DENIED_META, **validators)).values()) == {None}


def test_a_page_that_is_fading_is_fetched_whole_until_it_is_there_again():
    before = known("/a", etag='"1"', digest=b"a", fade_s=60.0)
    assert set(remembered(before).values()) == {None}
    for outcome, fade_s in ((Outcome.FETCHED, None), (Outcome.NOT_MODIFIED, None), (Outcome.GONE, 60.0)):
        assert after_visit(before, visited("/a", outcome), LIMITS)[0]["fade_s"] == fade_s


# seconds since the last visit, digest now, what is counted
COMPARED = {
    "the same": (9, b"a", {"unchanged": 1, "unchanged_s": 9.0}),
    "another": (9, b"b", {"changed": 1, "changed_log_s": math.log(9)}),
    "without a digest": (9, None, {}),
    "at the same time": (0, b"a", {}),
    "another at the same time": (0, b"b", {}),
    "earlier": (-9, b"a", {}),
    "read by another version": (9, of_html(b"b" * 16), {}),
}


@each_row(COMPARED)
def test_a_visit_is_compared_with_an_earlier_one(seconds, digest, counted):
    before = known("/a", digest=b"a", last_status=200, last_fetched_at=NOW - timedelta(seconds=seconds))
    assert compared(before, visited("/a", digest=digest)) == counted


def test_a_304_is_no_change():
    before = known("/a", digest=b"a", last_status=200, last_fetched_at=NOW - timedelta(seconds=9))
    assert compared(before, visited("/a", Outcome.NOT_MODIFIED)) == {"unchanged": 1, "unchanged_s": 9.0}


def test_a_page_that_only_another_parser_reads_otherwise_has_not_changed():
    """Digests of HTML say by which reading of a page they are; others, of earlier crawls, end with any bytes."""
    now, later = of_html(b"b" * 16), of_html(b"c" * 16)
    states = [
        after_visit(known("/a", digest=before), visited("/a", digest=after), LIMITS)[0]
        for before, after in ((b"a" * 16, now), (now, later), (b"a" * 16, b"b" * 16))
    ]
    assert [state["changes"] for state in states] == [0, 1, 1]
    assert states[0]["digest"] == now


# reason and due time of the row, outcome, failures of the host in a row: whether the row says so already
WAITING = {
    "deferred again": ("deferred", None, Outcome.DEFERRED, 0, True),
    "deferred for the first time": ("new", None, Outcome.DEFERRED, 0, False),
    "deferred by a host that fails too often": ("deferred", None, Outcome.DEFERRED, 5, False),
    "robots.txt again": ("retry", None, Outcome.UNREACHABLE_ROBOTS, 1, True),
    "robots.txt after a failure of the URL": ("retry", NOW, Outcome.UNREACHABLE_ROBOTS, 1, False),
    "robots.txt of its origin alone": ("retry", None, Outcome.UNREACHABLE_ROBOTS, 0, False),
    "robots.txt for the first time": ("new", None, Outcome.UNREACHABLE_ROBOTS, 1, False),
    "a failure": ("retry", None, Outcome.TIMEOUT, 1, False),
}


@each_row(WAITING)
def test_a_row_that_waits_already_is_not_written_again(reason, due_at, outcome, host_failures, waits):
    assert waits_already(reason, due_at, outcome, host_failures, LIMITS) is waits


WAY = ("depth", "redirects")
CANDIDATE = st.builds(
    found,
    st.sampled_from(["/a", "/b"]),
    st.integers(0, 2),
    redirects=st.integers(0, 1),
    score=st.sampled_from([0.25, 0.5, 1.0]),  # sums of these are exact
    referrer=st.sampled_from(["http://a.test/", "http://b.test/"]),
    foreign=st.booleans(),
)


@given(st.lists(CANDIDATE), st.data())
def test_candidates_become_one_with_the_shortest_way_and_all_scores(rows, data):
    merged = merge_candidates([dict(row) for row in rows])
    assert merged == merge_candidates([dict(row) for row in data.draw(st.permutations(rows))])
    for key, one in merged.items():
        same = [row for row in rows if row["url_key"] == key]
        assert one["score"] == sum(row["score"] for row in same)
        assert (one["depth"], one["redirects"]) == tuple(min(row[name] for row in same) for name in WAY)
        first = min((row["foreign"], row["depth"], row["redirects"], row["referrer"]) for row in same)
        assert (one["foreign"], one["referrer"]) == (first[0], first[3])


def test_merging_leaves_the_candidates_as_they_were():
    rows = [found("/a"), found("/a")]
    merge_candidates(rows)
    assert rows == [found("/a"), found("/a")]


def test_a_url_never_seen_before_is_due_in_the_next_round():
    urls, following = advanced(candidates=[found("/a", 3, redirects=1, score=0.2)], round_=7)
    assert urls["/a"]["state"] == "due"
    assert (urls["/a"]["round"], urls["/a"]["discovered_round"], urls["/a"]["depth"]) == (7, 7, 3)
    assert urls["/a"]["discovered_from"] == following["/a"]["referrer"] == "http://a.test/"
    row = following["/a"]
    assert (row["reason"], row["priority"], row["depth"], row["redirects"]) == ("new", 0.2, 3, 1)


def test_a_known_url_is_not_discovered_again():
    gone = known("/a", state="gone", depth=5)
    assert advanced(candidates=[found("/a", 0)], earlier=[gone]) == ({}, {})


def test_a_link_from_a_page_to_itself_changes_nothing():
    urls, following = advanced([found("/a", 0)], [visited("/a")], [known("/a")], [due("/a")])
    assert (urls["/a"]["state"], urls["/a"]["depth"], following) == ("fetched", 1, {})


WAYS = {"shorter": (1, 1, True), "as long": (3, 3, False), "longer": (4, 3, False)}


@pytest.mark.parametrize(("depth", "expected", "changes"), WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("tried", [False, True], ids=["waiting", "to be tried again"])
def test_only_a_shorter_way_to_a_waiting_url_lowers_its_depth(tried, depth, expected, changes):
    facts = [visited("/a", Outcome.TIMEOUT, depth=3)] if tried else []
    urls, following = advanced([found("/a", depth)], facts, [known("/a", depth=3)], [due("/a", depth=3)])
    assert following["/a"]["depth"] == expected
    assert ("/a" in urls) is (changes or tried)
    assert all(row["depth"] == expected for row in urls.values())


def test_a_due_url_without_a_visit_stays_in_the_frontier_as_the_same_row():
    row = due("/a", reason="retry", due_at=NOW, failures=1)
    (kept,) = advance([], [], [], [row], round_=2, limits=LIMITS)[1]
    assert kept is row


def test_a_url_that_is_due_twice_stays_once_with_the_shorter_way():
    rows = [due("/a", depth=2), due("/a", depth=1), due("/a", depth=3)]
    _, following = advanced(frontier=rows)
    assert following["/a"]["depth"] == 1
    assert len(advance([], [], [], rows, round_=2, limits=LIMITS)[1]) == 1


@pytest.mark.parametrize("order", [1, -1], ids=["oldest first", "newest first"])
def test_the_newest_row_of_a_url_counts(order):
    earlier = [known("/a", round_=1, failures=0), known("/a", round_=2, failures=2)][::order]
    urls, following = advanced([], [visited("/a", Outcome.TIMEOUT)], earlier, [due("/a")], round_=3)
    assert (urls["/a"]["state"], urls["/a"]["failures"], following) == ("failed", 3, {})


NAMES = [f"/{n}" for n in range(8)]


@given(
    st.sets(st.sampled_from(NAMES)),
    st.sets(st.sampled_from(NAMES)),
    st.lists(CANDIDATE | st.builds(found, st.sampled_from(NAMES))),
    st.data(),
)
def test_nothing_is_lost_and_nothing_comes_twice(waiting, finished, candidates, data):
    finished -= waiting
    facts = [visited(name, data.draw(st.sampled_from(VISITS))) for name in waiting if data.draw(st.booleans())]
    earlier = [known(name) for name in waiting] + [known(name, state="fetched") for name in finished]
    urls, following = advance(candidates, facts, earlier, map(due, waiting), round_=2, limits=LIMITS)

    states = {row["url"]: row["state"] for row in urls}
    next_ = [row["url"] for row in following]
    visits = {fact["url"] for fact in facts}
    new = {row["url"] for row in candidates} - waiting - finished
    assert len(next_) == len(set(next_))
    assert visits | new <= states.keys()
    assert set(next_) - visits == (waiting - visits) | new  # due and not visited, or new
    assert {name for name, state in states.items() if state == "due"} <= set(next_)
    assert {name for name in visits if states[name] != "due"}.isdisjoint(next_)
