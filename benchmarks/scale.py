"""Rounds of large crawls in simulated time: pages a second against workers, what hosts take away, and what bounds.

    PYTHONPATH=. python benchmarks/scale.py --hosts 20000 --workers 1 10 100 1000

Workers (benchmarks/simulated_worker.py) share nothing but the list of hosts; with `--sample`, only some of them are
simulated. After each round, they wait for the slowest of them, for the update and for the start of the next step.
"""

import argparse
import dataclasses
import math
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from beamtrawl.transforms.outcomes import Outcome
from beamtrawl.transforms.settings import Settings
from benchmarks.simulated_worker import Host, Machine, Worker, World, hosts_of

BOUND = 0.85  # from this use on, something bounds


class Scale(NamedTuple):
    """What so many workers did in all rounds; URLs and pages of all workers, loads of one."""

    workers: int
    fetched: float
    ends: Counter[str]
    chosen: float
    fetch_s: float
    seconds: float  # of whole rounds
    load: Mapping[str, float]

    @property
    def bound(self) -> str:
        """What bounds the crawl: the larger step, and of fetching what is in full use; else the delays of hosts."""
        name = max(self.load, key=lambda each: self.load[each])
        if self.fetch_s < self.seconds / 2:
            return "update and start"
        return name if self.load[name] >= BOUND else "politeness"


def scale(
    world: World, hosts: int, workers: int, rounds: int, sample: int | None, machine: Machine, settings: Settings,
    seed: int, pages: int | None = None,
) -> Scale:  # fmt: skip
    """Simulate the workers, or `sample` of them; each has its share of the hosts (and of the `pages` of a round)."""
    count = min(sample or workers, workers)
    groups: list[list[Host]] = [[] for _ in range(workers)]
    places = np.random.default_rng([seed, 0]).integers(workers, size=hosts).tolist()
    for host, place in zip(hosts_of(world, hosts, [seed, 1]), places, strict=True):
        groups[place].append(host)
    some = [Worker(groups[n], world, machine, settings, [seed, 2, n]) for n in range(count) if groups[n]]
    factor = workers / count
    ends: Counter[str] = Counter()
    chosen = fetch_s = seconds = 0.0
    loads: list[Mapping[str, float]] = []
    for _ in range(rounds):
        done = [worker.run(pages and pages // workers) for worker in some]
        longest = max(each.seconds for each in done)
        fetched = sum(each.ends[Outcome.FETCHED] for each in done) / count
        update = fetched * machine.update_cpu
        for worker, each in zip(some, done, strict=True):
            worker.pause(longest - each.seconds + update + machine.start)
            ends.update(each.ends)
        chosen += factor * sum(each.chosen for each in done)
        fetch_s, seconds = fetch_s + longest, seconds + longest + update + machine.start
        loads += [{name: value * each.seconds / longest for name, value in each.load.items()} for each in done]
    load = {name: sum(each[name] for each in loads) / len(loads) for name in loads[0]}
    total = Counter({name: round(count * factor) for name, count in ends.items()})
    return Scale(workers, total[Outcome.FETCHED], total, chosen, fetch_s, seconds, load)


def line_of(found: Scale) -> str:
    """A row of a Markdown table."""
    ends, chosen = found.ends, max(found.chosen, 1)
    denied = ends[Outcome.DENIED_ROBOTS]
    late = ends[Outcome.DEFERRED] + ends["left"]
    failed = ends.total() - found.fetched - denied - late
    shares = " | ".join(f"{100 * part / chosen:.1f} %" for part in (found.fetched, denied, failed, late))
    loads = " | ".join(f"{100 * value:.0f} %" for value in found.load.values())
    rates = f"{found.fetched / found.fetch_s:,.1f} | {found.fetched / found.seconds:,.1f}"
    return f"| {found.workers:,} | {rates} | {shares} | {loads} | {found.bound} |"


HEAD = """\
| workers | fetched/s | pages/s | fetched | denied | failed | no time | cpu | line | connections | look-ups | bound |
|---|---|---|---|---|---|---|---|---|---|---|---|"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--hosts", type=int, default=20_000, help="of the crawl; with --per-worker, of each worker")
    add("--per-worker", action="store_true", help="the crawl grows with the workers")
    add("--workers", type=int, nargs="+", default=[1, 10, 100, 1_000])
    add("--sample", type=int, help="simulate only so many of the workers")
    add("--rounds", type=int, default=1)
    add("--round-time", type=float, default=3600.0)
    add("--pages-per-round", type=int, help="of each worker (limits.max_pages_per_round)")
    add("--delay", type=float, default=1.0)
    add("--answer", type=float, default=World.answer, help="median seconds of an answer")
    add("--bandwidth", type=float, default=math.inf, help="Mbit a second of a worker")
    add("--fetch-cpu", type=float, default=Machine.fetch_cpu)
    add("--update-cpu", type=float, default=Machine.update_cpu)
    add("--start", type=float, default=Machine.start, help="seconds of a round, whatever its size")
    add("--seed", type=int, default=1)
    given = parser.parse_args()
    settings = Settings()
    settings = dataclasses.replace(
        settings,
        politeness=dataclasses.replace(settings.politeness, delay=given.delay),
        limits=dataclasses.replace(settings.limits, round_time=given.round_time),
    )
    machine = Machine(given.fetch_cpu, given.update_cpu, given.bandwidth * 1e6, given.start)
    world = World(answer=given.answer)
    print(HEAD)
    for workers in given.workers:
        hosts = given.hosts * workers if given.per_worker else given.hosts
        pages = given.pages_per_round and given.pages_per_round * workers
        found = scale(world, hosts, workers, given.rounds, given.sample, machine, settings, given.seed, pages)
        print(line_of(found), flush=True)


if __name__ == "__main__":
    main()
