"""Draws the sample of URLs that are fetched although alias rules exclude them, to verify the rules.

The sample is drawn with a secret of the crawl: a site that knows this program cannot tell which URLs will be fetched.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..urls.canonical import user_folder
from .rules import Stratum

LEAST = 20
"""Minimum sample of a rule, over all templates of an origin, or of the folder of a user."""

FIRST = 3
"""Minimum sample in each template."""

CROWD = 20
"""Of so many URLs of one class in a round, at least one is in the sample: they may be articles of one script."""


class Count(NamedTuple):
    """The URLs that a rule has concerned in a template."""

    held: int = 0
    sampled: int = 0  # fetched nevertheless

    def plus(self, other: "Count") -> "Count":
        return Count(self.held + other.held, self.sampled + other.sampled)


class Found(NamedTuple):
    """A newly found URL that rules would hold back."""

    url_key: bytes
    class_key: bytes
    strata: frozenset[Stratum]


class Sample:
    """Draws the sample of a round; `counts` are those of earlier rounds, and `taken` those of this one."""

    def __init__(self, secret: bytes, counts: Mapping[Stratum, Count]) -> None:
        self._secret, self._counts = secret, counts
        self.taken: dict[Stratum, Count] = {}

    def draw(self, found: Sequence[Found]) -> set[bytes]:
        """The keys of the URLs to be fetched.

        In each template they are at least FIRST, and at least the square root of all URLs that the rule has concerned
        there; over all templates at least LEAST.
        """
        chosen = {key for crowd in _crowds(found) for key in self._ordered(crowd)[:1]}
        of_rule: Counter[tuple[str, ...]] = Counter()
        for stratum, count in self._counts.items():
            of_rule[_owner(stratum)] += count.sampled
        for stratum, some in sorted(_by_stratum(found).items()):
            before = self._counts.get(stratum, Count())
            least = max(FIRST, math.isqrt(before.held + before.sampled + len(some) - 1) + 1) - before.sampled
            least = max(least, LEAST - of_rule[_owner(stratum)])
            missing = least - sum(one.url_key in chosen for one in some)
            others = [one for one in some if one.url_key not in chosen]
            chosen.update(self._ordered(others)[: max(0, missing)])
            sampled = sum(one.url_key in chosen for one in some)
            of_rule[_owner(stratum)] += sampled
            self.taken[stratum] = self.taken.get(stratum, Count()).plus(Count(len(some) - sampled, sampled))
        return chosen

    def _ordered(self, found: Iterable[Found]) -> list[bytes]:
        """The keys in an order that only the secret tells."""
        return sorted((one.url_key for one in found), key=self._rank)

    def _rank(self, key: bytes) -> bytes:
        return hashlib.blake2b(key, key=self._secret, digest_size=16).digest()


def _by_stratum(found: Iterable[Found]) -> dict[Stratum, list[Found]]:
    some: dict[Stratum, list[Found]] = {}
    for one in found:
        for stratum in one.strata:
            some.setdefault(stratum, []).append(one)
    return some


def _crowds(found: Iterable[Found]) -> list[list[Found]]:
    """The members of each large class."""
    classes: dict[bytes, list[Found]] = {}
    for one in found:
        classes.setdefault(one.class_key, []).append(one)
    return [members for members in classes.values() if len(members) >= CROWD]


def _owner(stratum: Stratum) -> tuple[str, ...]:
    rule, scope = stratum
    return (*rule, user_folder(scope))
