"""The simulator of large crawls: its hosts, and rounds small enough to be worked out by hand."""

from collections import Counter

import numpy as np
import pytest

from beamtrawl.transforms.outcomes import Outcome
from benchmarks.scale import line_of, scale
from benchmarks.simulated_worker import Host, Machine, Worker, World, hosts_of, reply_of, sizes
from tests.support.crawls import settings
from tests.support.tables import each_row

POLITE = {"politeness__delay": 1.0, "politeness__response_factor": 1.0, "politeness__backoff": 2.0}


@pytest.mark.parametrize(("exponent", "largest"), [(1.8, 540_000), (1.8, 10), (2.5, 1_000)])
def test_sizes_follow_the_power_law(exponent: float, largest: int) -> None:
    drawn = np.array(sizes(np.random.default_rng(1), 200_000, exponent, largest))
    assert drawn.min() == 1
    assert drawn.max() <= largest
    power = 1 - exponent
    for size in (2, 5, 10):
        expected = (size**power - (largest + 1) ** power) / (1 - (largest + 1) ** power)
        assert (drawn >= size).mean() == pytest.approx(expected, abs=0.005)


def test_the_mean_size_is_that_of_common_crawl() -> None:
    """CC-MAIN-2024-42: 2,482,057,519 URLs of 47,552,457 hosts."""
    world = World()
    drawn = sizes(np.random.default_rng(1), 2_000_000, world.exponent, world.largest)
    assert np.mean(drawn) == pytest.approx(2_482_057_519 / 47_552_457, rel=0.1)


def test_hosts_have_their_shares_and_depend_on_the_seed_alone() -> None:
    world = World()
    hosts = hosts_of(world, 20_000, [3])
    assert hosts == hosts_of(world, 20_000, [3]) != hosts_of(world, 20_000, [4])
    kinds = Counter(host.kind for host in hosts)
    for kind, share in world.kinds:
        assert kinds[kind] / len(hosts) == pytest.approx(share, rel=0.1)
    assert np.median([host.answer for host in hosts if host.kind == "healthy"]) == pytest.approx(world.answer, rel=0.05)


# kind: (outcome or status of a page, seconds)
REPLIES = {
    "healthy": (200, 0.5),
    "slow": (200, 0.5),
    "fails": (503, 0.5),
    "refuses": (Outcome.CONNECT_ERROR, 0.1),
    "silent": (Outcome.TIMEOUT, 20.0),
}


@pytest.mark.parametrize(("kind", "expected"), REPLIES.items(), ids=REPLIES)
def test_replies(kind: str, expected: tuple[int | Outcome, float]) -> None:
    reply = reply_of(Host("h0.test", 1, kind, 0.5), "/0", settings())
    assert (reply.status or reply.failure, reply.elapsed_s) == expected


def worker(hosts: list[Host], machine: Machine | None = None, **changes: object) -> Worker:
    return Worker(hosts, World(), machine or Machine(fetch_cpu=0.0), settings(**POLITE | changes), [1])


# name: (hosts, settings, outcomes, seconds); robots.txt is first, and a short delay follows the last answer too
ROUNDS = {
    "a delay": ([Host("h0.test", 9, "healthy", 0.5)], {}, {"fetched": 9}, 10 * (0.5 + 1.0)),
    "answers longer than the delay": ([Host("h0.test", 9, "healthy", 2.0)], {}, {"fetched": 9}, 10 * 2.0 + 9 * 2.0),
    "hosts side by side": ([Host(f"h{n}.test", 9, "healthy", 0.5) for n in range(9)], {}, {"fetched": 81}, 15.16),
    "the round's time": (
        [Host("h0.test", 99, "healthy", 0.5)],
        {"limits__round_time": 10.0},
        {"fetched": 6, "left": 4, "deferred": 1},
        9.5,
    ),
    "a host that denies": ([Host("h0.test", 9, "denies", 0.5)], {}, {"denied_robots": 9}, 0.5),
    "a host that refuses": ([Host("h0.test", 1, "refuses", 0.1)], {}, {"unreachable_robots": 1}, 0.1),
}  # fmt: skip


@each_row(ROUNDS)
def test_a_round(hosts: list[Host], changes: dict[str, object], ends: dict[str, int], seconds: float) -> None:
    done = worker(hosts, **changes).run()
    assert {name: count for name, count in done.ends.items() if count} == ends
    assert done.seconds == pytest.approx(seconds, abs=0.01)


def test_what_was_left_is_fetched_in_the_next_round_and_once() -> None:
    one = worker([Host("h0.test", 12, "healthy", 0.5)], limits__round_time=10.0)
    fetched = [one.run().ends["fetched"]]
    one.pause(5.0)
    fetched += [one.run().ends["fetched"], one.run().ends["fetched"]]
    assert fetched[0] < 12
    assert sum(fetched) == 12


def test_a_failing_page_is_tried_as_often_as_the_settings_say() -> None:
    one = worker([Host("h0.test", 1, "fails", 0.1)], limits__max_tries=3)
    ends = []
    for _ in range(5):
        ends.append(dict(one.run().ends))
        one.pause(100.0)
    assert [each.get("server_error", 0) for each in ends] == [1, 1, 1, 0, 0]


# what bounds a worker: hosts, machine, settings, pages a second
HOSTS = [Host(f"h{number}.test", 20, "healthy", 0.5) for number in range(120)]
BOUNDS = {
    "cpu": (Machine(fetch_cpu=0.02, update_cpu=0.0), {"fetch__connections": 400}, 50.0),
    "line": (Machine(fetch_cpu=0.0, line=8 * 185_000 * 20.0, update_cpu=0.0), {"fetch__connections": 400}, 20.0),
    "connections": (Machine(fetch_cpu=0.0, update_cpu=0.0), {"fetch__connections": 4}, 32.0),
}


@pytest.mark.parametrize(("name", "machine", "changes", "rate"), [(n, *row) for n, row in BOUNDS.items()], ids=BOUNDS)
def test_what_bounds_a_worker(name: str, machine: Machine, changes: dict[str, object], rate: float) -> None:
    done = worker(HOSTS, machine, fetch__lookups_per_second=1e6, **changes).run()
    assert done.ends["fetched"] / done.seconds == pytest.approx(rate, rel=0.25)
    assert max(done.load, key=lambda each: done.load[each]) == name
    assert done.load[name] == pytest.approx(1.0, abs=0.25)


def test_workers_add_up_until_the_largest_host_bounds() -> None:
    world = World(largest=50, answer=0.2)
    chosen = settings(**POLITE, limits__round_time=100.0, fetch__connections=1)
    found = [scale(world, 200, n, 1, None, Machine(update_cpu=0.0, start=0.0), chosen, 1) for n in (1, 4, 100)]
    rates = [each.fetched / each.seconds for each in found]
    assert rates[0] < rates[1]
    assert (found[0].bound, found[2].bound) == ("connections", "politeness")
    assert line_of(found[0]).count("|") == 13


def test_updates_and_starts_may_bound() -> None:
    world = World(largest=5, kinds=())
    found = scale(world, 50, 1, 1, None, Machine(update_cpu=1.0, start=6.0), settings(**POLITE), 1)
    assert found.bound == "update and start"
    assert found.seconds == pytest.approx(found.fetch_s + found.fetched * 1.0 + 6.0)
