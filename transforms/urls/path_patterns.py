"""Finds the longest of many robots.txt patterns that match a URL, at a bounded cost.

A pattern is a sequence of literals between stars (RFC 9309, 2.2.3). It matches if they follow each other in the URL,
and the leftmost place of each is enough to know. Of the patterns whose beginning is that of the URL, those are compared
whose longest literal it has, the longest pattern first.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

MOST_STEPS = 2000
"""Bound of the work for one URL. A step takes about half a microsecond: looking for a literal in 1,000 characters."""

_COMPARISONS = 1000  # of characters that cost a step, in the worst case of str.find
_LOOKS = 8  # for the longest literal of a pattern that cost a step

_STARS = re.compile(r"\*+")


class TooExpensive(Exception):
    """The work for a URL exceeds MOST_STEPS."""


class _Pattern(NamedTuple):
    length: int
    number: int
    telling: str  # the longest of the literals
    literals: tuple[str, ...]  # after a star each
    end: str | None  # the literal at the end of the URL, "": the head is all of it; None if anything may follow
    needs: int  # characters of the literals and the end


class Patterns(Generic[T]):
    """Normalized patterns with a value each."""

    def __init__(self, patterns: Iterable[tuple[str, T]]) -> None:
        self._values: list[T] = []
        by_head: dict[str, list[_Pattern]] = defaultdict(list)  # the literal before the first star
        for number, (pattern, value) in enumerate(patterns):
            head, *after_stars = _STARS.split(pattern.removesuffix("$"))
            end = None
            if pattern.endswith("$"):
                end = (after_stars.pop() or None) if after_stars else ""  # after a star, an empty end is any end
            literals = tuple(filter(None, after_stars))
            needs = sum(map(len, literals)) + len(end or "")
            telling = max(literals, key=len, default="")
            by_head[head].append(_Pattern(len(pattern), number, telling, literals, end, needs))
            self._values.append(value)
        self._heads = {head: _Head(of_head) for head, of_head in by_head.items()}
        self._sizes = sorted({len(head) for head in by_head}, reverse=True)

    def longest(self, url: str) -> list[T]:
        """The values of the longest patterns that match a normalized path with query, in the order of the patterns.

        Raises TooExpensive.
        """
        search = _Search(url)
        search.pay(len(self._sizes) // _LOOKS)
        for size in self._sizes:
            if (head := self._heads.get(url[:size])) and size <= len(url):
                search.compare(head, size)
        return [self._values[number] for number in sorted(search.longest)]


class _Head:
    """Patterns with the same beginning, the longest first, and what it costs to look for their longest literals."""

    def __init__(self, patterns: Iterable[_Pattern]) -> None:
        self.patterns = sorted(patterns, key=lambda pattern: -pattern.length)
        self._characters = sum(len(pattern.telling) for pattern in self.patterns)

    def cost(self, url: str) -> int:
        return 1 + len(self.patterns) // _LOOKS + len(url) * self._characters // _COMPARISONS


class _Search:
    """The numbers of the longest patterns that match a URL so far, and the work done for it."""

    def __init__(self, url: str) -> None:
        self.longest: list[int] = []
        self._url, self._length, self._paid = url, 0, 0

    def compare(self, head: _Head, start: int) -> None:
        """Keep the longest patterns of a head, which ends at `start`, that match."""
        self.pay(head.cost(self._url))
        for pattern in [pattern for pattern in head.patterns if pattern.telling in self._url]:
            if pattern.length < self._length:
                break
            if self._matches(pattern, start):
                if pattern.length > self._length:
                    self._length, self.longest = pattern.length, []
                self.longest.append(pattern.number)

    def _matches(self, pattern: _Pattern, position: int) -> bool:
        self.pay(1)
        if position + pattern.needs > len(self._url):
            return False
        for literal in pattern.literals:
            start = self._url.find(literal, position)
            read = (len(self._url) if start < 0 else start) - position
            self.pay(1 + read * len(literal) // _COMPARISONS)
            if start < 0:
                return False
            position = start + len(literal)
        if pattern.end is None:
            return True
        return self._url.endswith(pattern.end, position) if pattern.end else position == len(self._url)

    def pay(self, steps: int) -> None:
        self._paid += steps
        if self._paid > MOST_STEPS:
            raise TooExpensive
