"""Estimates a whole crawl from one that was begun and then visited waiting URLs at random."""

import dataclasses
import math
from typing import NamedTuple

from .growth import Extrapolation, Sample, extrapolate, half_samples, interval
from .plan import FREE, Estimate, Plan, Prices, Rates, estimate, with_page_bytes

FIGURES = ("pages", "bytes_in", "disk_total", "time")
"""The fields of an estimate that have an interval."""


_REPETITION = -0.05
"""n times as many pages have n to the power of 1 - 0.05 times the bytes on disk: words, hosts and URLs repeat."""


class Whole(NamedTuple):
    """The estimate of a whole crawl."""

    found: Estimate
    intervals: dict[str, tuple[float, float]]  # 95 %, by field of the estimate; what the sample leaves open


def estimate_whole(
    sample: Sample, plan: Plan, rates: Rates, prices: Prices = FREE, at_most: int | None = None
) -> Whole | None:
    """Return the estimate of a crawl of at most so many visits; None if the sample shows no end and nothing else does.

    `plan.pages` and `plan.rounds` are ignored. Times have the error of the visits and bytes, not that of the machine.
    """
    sampled = extrapolate(sample)
    if math.isinf(sampled.pages) and at_most is None:
        return None

    def of(one: Extrapolation) -> Estimate:
        visits = min(one.pages, at_most or math.inf)
        visits = 10 * sampled.pages if math.isinf(visits) else visits  # a half sample that shows no end
        own = plan._replace(pages=max(1, round(visits / plan.hosts)), rounds=rates.rounds + one.generations)
        own_rates = dataclasses.replace(with_page_bytes(rates, one.body_bytes), head_visits=rates.head_visits)
        further = max(1.0, visits - sample.before) / len(sample.units)
        return estimate(own, _compressed(own_rates, plan.hosts, further**_REPETITION), prices)

    found, halves = of(sampled), [of(extrapolate(half)) for half in half_samples(sample)]
    intervals = {
        name: interval(getattr(found, name), [getattr(half, name) for half in halves], sample) for name in FIGURES
    }
    return Whole(found, intervals)


def _compressed(rates: Rates, hosts: int, ratio: float) -> Rates:
    """Return the rates with so many times the bytes on disk for each visit but the first ones."""
    first = hosts * rates.head_visits * rates.head_bytes / rates.body_bytes
    disk = {
        table: size._replace(visit=ratio * size.visit, once=size.once + (1 - ratio) * first * size.visit)
        for table, size in rates.disk.items()
    }
    return dataclasses.replace(rates, disk=disk)
