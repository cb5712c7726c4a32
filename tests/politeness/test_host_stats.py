"""What turns of hosts come to, in rows of table hosts."""

from datetime import UTC, datetime, timedelta

from beamtrawl.transforms.http.reply import Reply
from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.politeness.backoff import HostState
from beamtrawl.transforms.politeness.host_stats import Tally, add_turn, age_key, newest_row, turn_row

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def turn(round_: int, *seconds: float, address: str = "192.0.2.1") -> dict:
    """A turn with pages that came after so many seconds each, then a timeout, then a page that is deferred."""
    tally = Tally()
    for second in seconds:
        tally.request(Outcome.FETCHED, Reply(200, body=b"page", address=address, elapsed_s=second), NOW)
        tally.visit(Outcome.FETCHED, 200)
    tally.request(Outcome.TIMEOUT, Reply(failure=Outcome.TIMEOUT, elapsed_s=1.0), NOW + timedelta(seconds=9))
    tally.visit(Outcome.TIMEOUT, None)
    tally.visit(Outcome.DEFERRED, None)
    state = HostState(failures=1, elapsed_s=1.0, crawl_delay=5.0)
    return turn_row("a.test", round_, tally, state, NOW + timedelta(minutes=round_), "backoff")


def test_a_turn_is_a_row():
    row = turn(2, 0.003, 0.005, 0.006)
    assert row == {
        "host": "a.test",
        "round": 2,
        "visits": 5,
        "requests": 4,
        "fetched": 3,
        "failures": 1,
        "bytes": 12,
        "elapsed_ms": 1014.0,
        "last_fetched_at": NOW + timedelta(seconds=9),
        "latency": [0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
        "latency_p50_ms": 2**2.5,  # between 4 and 8
        "latency_p95_ms": 2**9.5,
        "addresses": ["192.0.2.1"],
        "failures_in_row": 1,
        "last_elapsed_ms": 1000.0,
        "crawl_delay": 5.0,
        "not_before": NOW + timedelta(minutes=2),
        "held_by": "backoff",
        "answers": 3,
        "refusals": 0,
    }


def test_turns_add_up_and_the_last_one_says_how_we_stand():
    first, second = turn(1, 0.003), turn(2, 0.003, 0.003, address="192.0.2.2")
    row = add_turn(add_turn({}, first), second)
    assert (row["round"], row["visits"], row["requests"], row["fetched"], row["bytes"]) == (2, 7, 5, 3, 12)
    assert (row["latency"][2], row["latency_p50_ms"]) == (3, 2**1.5)
    assert row["addresses"] == ["192.0.2.1", "192.0.2.2"]
    assert (row["not_before"], row["held_by"]) == (second["not_before"], "backoff")


def test_refusals_are_answers_with_402_403_or_429_and_add_up_over_versions():
    tally = Tally()
    for status in (402, 403, 429, 404, None):
        tally.visit(Outcome.CLIENT_ERROR, status)
    turn_ = turn_row("a.test", 2, tally, HostState(), None, None)
    assert (turn_["answers"], turn_["refusals"]) == (4, 3)
    row = add_turn(turn(1, 0.1) | {"answers": None, "refusals": None}, turn_)
    assert (row["answers"], row["refusals"]) == (4, 3)


def test_the_newest_addresses_are_kept():
    row: dict = {}
    for number in range(12):
        row = add_turn(row, turn(number, 0.1, address=f"192.0.2.{number % 10}"))
    assert row["addresses"] == [f"192.0.2.{number}" for number in (4, 5, 6, 7, 8, 9, 0, 1)]


def test_a_turn_in_which_nothing_was_asked_keeps_the_last_answer():
    asked = turn(1, 0.003)
    idle = turn_row("a.test", 2, Tally(), HostState(), None, None)
    assert idle["latency_p50_ms"] is None
    assert add_turn(asked, idle)["last_fetched_at"] == asked["last_fetched_at"]


def test_answer_times_of_any_length_are_counted():
    tally = Tally()
    for seconds in (0.0, 1e-9, 0.00099, 0.001, 59.0, 70.0, 1e6):
        tally.request(Outcome.FETCHED, Reply(200, elapsed_s=seconds), NOW)
    assert (tally.latency[0], tally.latency[1], tally.latency[16], tally.latency[17]) == (3, 1, 1, 2)


def test_times_of_one_size_are_not_rounded_to_a_power_of_two():
    """A host that answers after 2.5 s each time is not shown with 4,096 ms."""
    tally = Tally()
    for seconds in (2.4, 2.6):
        tally.request(Outcome.FETCHED, Reply(200, elapsed_s=seconds), NOW)
    row = turn_row("a.test", 2, tally, HostState(), None, None)
    assert (round(row["latency_p50_ms"]), round(row["latency_p95_ms"])) == (2500, 2500)


def test_a_look_up_that_fails_is_a_failure_and_no_request():
    tally = Tally()
    tally.request(Outcome.DNS_ERROR, Reply(failure=Outcome.DNS_ERROR), NOW)
    assert (tally.requests, tally.failures, tally.last_answer) == (0, 1, None)


def test_of_several_rows_the_newest_counts():
    assert newest_row([]) is None
    assert newest_row([turn(1), turn(3), turn(2)])["round"] == 3


def test_a_failure_without_a_response_is_newer_than_the_last_response():
    """A host whose robots.txt leads elsewhere has two rows in a round; so has one that lost its address after a cut."""
    answered = turn(2) | {"not_before": NOW, "held_by": "delay"}
    failed = answered | {"not_before": NOW + timedelta(minutes=5), "held_by": "robots"}
    for rows in ([answered, failed], [failed, answered]):
        assert newest_row(rows)["held_by"] == "robots"
        assert sorted(rows, key=age_key)[-1]["held_by"] == "robots"
