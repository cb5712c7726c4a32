"""Extrapolates a crawl from a random sample of its waiting URLs: pure functions of values."""

import collections
import math
import random
from collections.abc import Sequence
from typing import NamedTuple

HALVES = 200
"""Half samples that an interval is computed from."""

_FARTHEST = 10
_SHARE = 0.95  # of the half samples within the interval


class Unit(NamedTuple):
    """A sampled visit."""

    body_bytes: int
    found: Sequence[bytes]  # keys of the URLs that were unknown before, of any number of sampled pages


class Sample(NamedTuple):
    """What a crawl knows after a round of URLs chosen at random."""

    before: int  # visits before the round
    waiting: int  # when they were chosen, the chosen ones included
    units: Sequence[Unit]


class Extrapolation(NamedTuple):
    """The whole crawl: the visits so far, the waiting URLs and those that their pages will lead to."""

    pages: float  # infinite if the sample cannot tell
    generations: int  # of unknown URLs, each found by the one before
    body_bytes: float  # mean of the sample


def extrapolate(sample: Sample) -> Extrapolation:
    """Return what the sample says about the whole crawl.

    The unknown pages are taken to be like the waiting ones: both together lead to as many unknown URLs as `unknown_of`
    says, which is a number of unknown pages again. If it grows beyond `_FARTHEST` times the known ones, the sample
    shows no end.
    """
    mean = sum(unit.body_bytes for unit in sample.units) / len(sample.units)
    found = [unit.found for unit in sample.units]
    known, unknown, generations = sample.before + sample.waiting, 0.0, 0
    while (more := unknown_of(sample.waiting + unknown, found)) >= unknown + 1:
        unknown, generations = more, generations + 1
        if unknown > _FARTHEST * known:
            return Extrapolation(math.inf, 0, mean)
    return Extrapolation(known + unknown, generations, mean)


def unknown_of(pages: float, found: Sequence[Sequence[bytes]]) -> float:
    """Return how many distinct unknown URLs so many pages lead to, of which some were sampled.

    The estimator of species richness by Chao et al. (Ecological Monographs 84, 2014, equation 18) with pages as
    sampling units and URLs as species: many URLs that only one sampled page leads to mean many that none leads to.
    """
    counts = collections.Counter(key for keys in found for key in set(keys))
    singles, doubles = (sum(n == times for n in counts.values()) for times in (1, 2))
    sampled = len(found)
    if sampled >= pages or not singles:
        return float(len(counts))
    unseen = (sampled - 1) / sampled * (singles**2 / (2 * doubles) if doubles else singles * (singles - 1) / 2)
    if not unseen:
        return len(counts) + singles * (pages - sampled) / sampled
    return len(counts) + unseen * (1 - (1 - singles / (sampled * unseen + singles)) ** (pages - sampled))


def half_samples(sample: Sample) -> list[Sample]:
    """Return half samples, drawn without replacement: as far from the sample as it is from the waiting pages.

    With replacement, as a bootstrap draws, a page drawn twice would look like two pages with common links.
    """
    if len(sample.units) < 4:
        return []
    rng = random.Random(0)
    size = len(sample.units) // 2
    return [sample._replace(units=rng.sample(sample.units, size)) for _ in range(HALVES)]


def interval(figure: float, halves: Sequence[float], sample: Sample) -> tuple[float, float]:
    """Return the 95 % interval of a figure from those of the half samples; all pages in the sample leave no error."""
    left = math.sqrt(max(0.0, 1 - len(sample.units) / sample.waiting))
    if not halves or math.isinf(figure):
        return figure, figure
    ordered = sorted(halves)
    outside = int(len(ordered) * (1 - _SHARE) / 2)
    low, high = ordered[outside], ordered[-1 - outside]
    return min(figure, figure + (low - figure) * left), max(figure, figure + (high - figure) * left if left else figure)
