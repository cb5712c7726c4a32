"""A simulated web of changing pages, and schedules that decide when each page is visited again.

Changes are Poisson processes. Every schedule makes the same number of visits: in each step, the pages that are due
first are visited, also if they are not due yet.
"""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.random import Generator

from beamtrawl.transforms.frontier.freshness.allocation import Bounds, bucket, freshness, intervals, solve
from beamtrawl.transforms.frontier.freshness.change_rate import DAY, DEFAULT_RATE, Floats, Observed, estimate
from beamtrawl.transforms.frontier.freshness.trials import with_trials

BOUNDS = Bounds(0.05 * DAY, 90 * DAY)
"""The defaults of recrawl.min_interval and recrawl.max_interval."""


class Simulation(NamedTuple):
    """A web, and the visits that are made."""

    rates: Floats  # changes per second
    weights: Floats
    per_day: int  # visits
    days: int
    steps_per_day: int = 24


class Schedule(Protocol):
    """Decides when pages are visited."""

    def start(self, now: float) -> Floats:
        """When each page is due, after the first visit of all pages at `now`."""

    def visited(self, pages: np.ndarray, changed: np.ndarray, modified_at: Floats, now: float) -> Floats:
        """When some pages are due, whose visits at `now` found a change or none; `modified_at`: of the last change."""


def log_uniform(pages: int, fastest: float, orders: float, random: Generator) -> Floats:
    """Rates up to `fastest` per day over orders of magnitude."""
    return fastest / DAY * 10 ** -(orders * random.random(pages))


def optimum(web: Simulation) -> float:
    """The weighted freshness of the best intervals, which only one who knows the rates can choose."""
    low, high = np.log(1e-9), np.log(1e13)
    for _ in range(80):
        middle = (low + high) / 2
        chosen = intervals(web.rates, web.weights, float(np.exp(middle)), Bounds(0.0, np.inf))
        low, high = (middle, high) if (1 / chosen).sum() > web.per_day / DAY else (low, middle)
    with np.errstate(invalid="ignore"):
        fresh = np.where(np.isinf(chosen), 0.0, freshness(web.rates, chosen))
    return float(np.average(fresh, weights=web.weights))


def simulate(web: Simulation, schedule: Schedule, random: Generator) -> list[float]:
    """The weighted freshness of each day."""
    step = DAY / web.steps_per_day
    count = len(web.rates)
    next_change = random.exponential(1 / web.rates)
    fresh_until = next_change.copy()
    modified_at = np.zeros(count)
    due = schedule.start(0.0)
    counted_to = np.zeros(count)  # freshness of each page is counted up to this time
    total, days = 0.0, []
    visits = web.per_day // web.steps_per_day
    for number in range(1, web.days * web.steps_per_day + 1):
        now = number * step
        pages = np.argpartition(due, visits)[:visits]
        total += _fresh(pages, fresh_until, counted_to, now, web.weights)
        changed = fresh_until[pages] <= now
        # The last change before a visit is distributed as the first one in reversed time.
        since = now - fresh_until[pages[changed]]
        back = random.exponential(1 / web.rates[pages[changed]])
        modified_at[pages[changed]] = now - np.minimum(back, since)
        fresh_until[pages] = np.where(changed, now + random.exponential(1 / web.rates[pages]), fresh_until[pages])
        due[pages] = schedule.visited(pages, changed, modified_at[pages], now)
        if number % web.steps_per_day == 0:
            total += _fresh(np.arange(count), fresh_until, counted_to, now, web.weights)
            days.append(total / (web.weights.sum() * DAY))
            total = 0.0
    return days


def _fresh(pages: np.ndarray, fresh_until: Floats, counted_to: Floats, now: float, weights: Floats) -> float:
    seconds = np.clip(np.minimum(fresh_until[pages], now) - counted_to[pages], 0, None)
    counted_to[pages] = now
    return float((seconds * weights[pages]).sum())


class Ours:
    """Estimated rates, and intervals from a histogram that is solved once a day."""

    def __init__(self, web: Simulation) -> None:
        count = len(web.rates)
        self._web, self._observed = web, list(np.zeros((3, count)))
        self._visited_at, self._rates = np.zeros(count), np.full(count, DEFAULT_RATE)
        self._visits = np.zeros(count, np.int64)
        self._solve()
        self._solved_at = 0.0

    def _solve(self) -> None:
        pages: dict[tuple[int, int], int] = {}
        for key in zip(*(numbers.tolist() for numbers in bucket(self._rates, self._web.weights)), strict=True):
            pages[key] = pages.get(key, 0) + 1
        self._mu = solve(pages, self._web.per_day / DAY, BOUNDS)

    def start(self, now: float) -> Floats:
        chosen = intervals(self._rates, self._web.weights, self._mu, BOUNDS)
        return now + chosen * np.linspace(0, 1, len(chosen))

    def visited(self, pages: np.ndarray, changed: np.ndarray, modified_at: Floats, now: float) -> Floats:
        seconds = now - self._visited_at[pages]
        self._visited_at[pages] = now
        found = (changed, changed * np.log(seconds), ~changed * seconds)
        for column, values in zip(self._observed, found, strict=True):
            column[pages] += values
        if now >= self._solved_at + DAY:
            self._solve()
            self._solved_at = now
        self._visits[pages] += 1
        host = estimate(Observed(*(column.sum() for column in self._observed)), DEFAULT_RATE).rate
        weights = self._web.weights[pages]
        threshold = weights / self._mu
        found = estimate(Observed(*(column[pages] for column in self._observed)), host, threshold)
        self._rates[pages] = found.rate
        chosen = intervals(found.rate, weights, self._mu, BOUNDS)
        return now + with_trials(chosen, found, threshold, pages + self._visits[pages], BOUNDS)


class Uniform:
    """Every page as often as every other."""

    def __init__(self, web: Simulation) -> None:
        self._count, self._every = len(web.rates), len(web.rates) / web.per_day * DAY

    def start(self, now: float) -> Floats:
        return now + self._every * np.linspace(0, 1, self._count)

    def visited(self, pages: np.ndarray, changed: np.ndarray, modified_at: Floats, now: float) -> Floats:
        return np.full(len(pages), now + self._every)


class NutchAdaptive:
    """AdaptiveFetchSchedule of Apache Nutch 1.x with the values of its nutch-default.xml.

    An interval is multiplied by 1 - dec_rate after a change and by 1 + inc_rate otherwise. With sync_delta, it is at
    least the time since the last modification (`delta`), and the next visit is earlier by sync_delta_rate delta. As in
    the original, delta is 0 after a change.
    """

    INC_RATE, DEC_RATE, SYNC_DELTA_RATE = 0.4, 0.2, 0.3
    SHORTEST, LONGEST = 60.0, 365 * DAY

    def __init__(self, web: Simulation) -> None:
        self._intervals = np.full(len(web.rates), len(web.rates) / web.per_day * DAY)  # what the budget permits

    def start(self, now: float) -> Floats:
        return now + self._intervals * np.linspace(0, 1, len(self._intervals))

    def visited(self, pages: np.ndarray, changed: np.ndarray, modified_at: Floats, now: float) -> Floats:
        chosen = self._intervals[pages] * np.where(changed, 1 - self.DEC_RATE, 1 + self.INC_RATE)
        delta = np.where(changed, 0.0, now - modified_at)
        chosen = np.clip(np.maximum(chosen, delta), self.SHORTEST, self.LONGEST)
        self._intervals[pages] = chosen
        return now - self.SYNC_DELTA_RATE * delta + chosen
