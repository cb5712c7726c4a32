"""Finds the longest of many robots.txt patterns that match a URL, at a bounded cost.

A pattern is a sequence of literals between stars (RFC 9309, 2.2.3). It matches if they follow each other in the URL,
and the leftmost place of each is enough to know. So patterns that begin with the same literals share one search, and of
many literals that may follow only those are looked for that have a rare substring in common with the URL.
"""

import bisect
import functools
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

MOST_STEPS = 1000
"""Bound of the work for one URL. A step takes about half a microsecond: looking for a literal in 1,000 characters."""

_COMPARISONS = 1000  # of characters that cost a step, in the worst case of str.find
_LIGHT = 8  # operations of other kinds that cost a step
_NODE, _CANDIDATE = 4 * _LIGHT, 3  # operations for a node that matches, and for one that may match
_FEW = 8  # branches of a node that are tried one by one
_GRAM = 3  # characters of the substrings by which one of more branches is found
_GRAMS_OF = 256  # characters of a literal that are read for that

_STARS = re.compile(r"\*+")


class TooExpensive(Exception):
    """The work for a URL exceeds MOST_STEPS."""


class Patterns(Generic[T]):
    """Normalized patterns with a value each."""

    def __init__(self, patterns: Iterable[tuple[str, T]]) -> None:
        self._values: list[T] = []
        self._exact: dict[str, list[_Pattern]] = {}
        heads: dict[str, list[_Pattern]] = {}
        for number, (pattern, value) in enumerate(patterns):
            head, parsed = _parse(pattern, number)
            same = self._exact if parsed.end == "" else heads
            same.setdefault(head, []).append(parsed)
            self._values.append(value)
        self._heads = _Prefixes(heads)
        self._roots = {head: _root(found) for head, found in heads.items() if len(found) > _FEW}
        _prepare(self._roots.values())

    def longest(self, url: str) -> list[T]:
        """The values of the longest patterns that match a normalized path with query, in the order of the patterns.

        Raises TooExpensive.
        """
        search = _Search(url)
        search.found(self._exact.get(url, ()))
        for head, found in self._heads.of(url, search.pay):
            if head not in self._roots:
                self._roots[head] = _root(found)
            search.visit(self._roots[head], len(head))
        return [self._values[number] for number in sorted(pattern.number for pattern in search.longest)]


class _Pattern(NamedTuple):
    literals: tuple[str, ...]  # after a star each
    end: str | None  # the literal at the end of the URL; None if anything may follow
    length: int
    needs: int  # characters of the literals and the end
    number: int


def _parse(pattern: str, number: int) -> tuple[str, _Pattern]:
    """The literal before the first star, and the rest."""
    head, *literals = _STARS.split(pattern.removesuffix("$"))
    end = None
    if pattern.endswith("$"):
        end = (literals.pop() or None) if literals else ""  # after a star, an empty end is any end
    needs = sum(map(len, literals)) + len(end or "")
    return head, _Pattern(tuple(filter(None, literals)), end, len(pattern), needs, number)


class _Prefixes(Generic[T]):
    """Values by text; finds those whose text is a prefix of another one.

    In the order of the texts, all prefixes of a text are among the last entry before it, its longest prefix, and so on.
    """

    def __init__(self, values: Mapping[str, T]) -> None:
        self._entries = sorted(values.items(), key=lambda entry: entry[0])
        self._texts = [text for text, _ in self._entries]
        self._longest_prefix: list[int] = []  # -1: none
        above: list[int] = []
        for number, text in enumerate(self._texts):
            while above and not text.startswith(self._texts[above[-1]]):
                above.pop()
            self._longest_prefix.append(above[-1] if above else -1)
            above.append(number)

    def of(self, text: str, pay: Callable[[int], None]) -> Iterator[tuple[str, T]]:
        """Texts and values, the longest first."""
        number = bisect.bisect_right(self._texts, text) - 1
        while number >= 0:
            pay(1)
            if text.startswith(self._texts[number]):
                yield self._entries[number]
            number = self._longest_prefix[number]


class _Node:
    """Patterns with the same head and first literals; what follows is computed when it is needed."""

    def __init__(self, patterns: Sequence[_Pattern], depth: int = 0, left: int = 0) -> None:
        """Of patterns in the order of literals, the first `depth` of which are common, with `left` characters."""
        first, last = patterns[0].literals, patterns[-1].literals
        pairs = zip(first[depth:], last[depth:], strict=False)
        common = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
        self.literals = first[depth : depth + common]
        self.length = max(pattern.length for pattern in patterns)
        self.needs = min(pattern.needs for pattern in patterns) - left
        self.patterns, self._depth = patterns, depth + common
        self._left = left + sum(map(len, self.literals))

    def prepare(self) -> list["_Node"]:
        """The nodes below, after all properties are computed."""
        _ = self.open, self.ends, self.index
        return self.below

    @functools.cached_property
    def open(self) -> list[_Pattern]:
        """Patterns that match here, whatever follows."""
        return [pattern for pattern in self._here if pattern.end is None]

    @functools.cached_property
    def ends(self) -> _Prefixes[list[_Pattern]]:
        """Patterns that match here if the URL ends as they do, by the reversed end."""
        found: dict[str, list[_Pattern]] = {}
        for pattern in self._here:
            if pattern.end is not None:
                found.setdefault(pattern.end[::-1], []).append(pattern)
        return _Prefixes(found)

    @functools.cached_property
    def below(self) -> list["_Node"]:
        """Nodes for the next literals, the one with the longest pattern last."""
        rest = self.patterns[len(self._here) :]
        groups = itertools.groupby(rest, lambda pattern: pattern.literals[self._depth])
        nodes = [_Node(list(group), self._depth, self._left) for _, group in groups]
        return sorted(nodes, key=lambda node: node.length)

    @functools.cached_property
    def index(self) -> dict[int, dict[tuple[str, ...], list["_Node"]]]:
        """Nodes below by a substring of their first literal, the one that fewest of them have, and by its length."""
        first = [node.literals[0][:_GRAMS_OF] for node in self.below]
        grams = [list(_grams(literal, min(_GRAM, len(literal)))) for literal in first]
        common = Counter(itertools.chain.from_iterable(grams))
        index: dict[int, dict[tuple[str, ...], list[_Node]]] = {}
        for node, own in zip(self.below, grams, strict=True):
            rarest = min(own, key=common.__getitem__)
            index.setdefault(len(rarest), {}).setdefault(rarest, []).append(node)
        return index

    @functools.cached_property
    def _here(self) -> Sequence[_Pattern]:
        return list(itertools.takewhile(lambda pattern: len(pattern.literals) == self._depth, self.patterns))


def _root(patterns: Iterable[_Pattern]) -> _Node:
    """The node of patterns with the same head."""
    return _Node(sorted(patterns, key=lambda pattern: pattern.literals))


def _prepare(nodes: Iterable[_Node]) -> None:
    """Compute what would take long for the first URL that gets there."""
    to_do = list(nodes)
    while to_do:
        node = to_do.pop()
        if len(node.patterns) > _FEW:
            to_do += node.prepare()


class _Search:
    """The longest matching patterns found so far, and the work done for it."""

    def __init__(self, url: str) -> None:
        self.longest: list[_Pattern] = []
        self._url, self._reversed, self._length, self._paid = url, url[::-1], 0, 0
        self._grams: dict[int, set[tuple[str, ...]]] = {}

    def found(self, patterns: Iterable[_Pattern]) -> None:
        for pattern in patterns:
            if pattern.length > self._length:
                self._length, self.longest = pattern.length, []
            if pattern.length == self._length:
                self.longest.append(pattern)

    def visit(self, root: _Node, position: int) -> None:
        """Add the patterns of a node that match from a position on."""
        to_do = [(root, position)]
        while to_do:
            node, position = to_do.pop()
            if node.length < self._length or position + node.needs > len(self._url):
                continue
            after = self._after(node.literals, position)
            if after is None:
                continue
            self.pay(_NODE)
            self.found(node.open)
            for end, patterns in node.ends.of(self._reversed, self.pay):
                if after + len(end) <= len(self._url):
                    self.found(patterns)
            to_do += [(below, after) for below in self._likely(node)]

    def _after(self, literals: Sequence[str], position: int) -> int | None:
        """The position behind the leftmost places of literals, None if one is missing."""
        for literal in literals:
            start = self._url.find(literal, position)
            read = (len(self._url) if start < 0 else start) - position
            self.pay(_LIGHT * (1 + read * len(literal) // _COMPARISONS))
            if start < 0:
                return None
            position = start + len(literal)
        return position

    def _likely(self, node: _Node) -> Sequence[_Node]:
        """The nodes below that may match, the one with the longest pattern last."""
        self.pay(min(len(node.below), _FEW))
        if len(node.below) <= _FEW:
            return node.below
        found: list[_Node] = []
        for size, by_gram in node.index.items():
            if size not in self._grams:
                self.pay(len(self._url))
                self._grams[size] = set(_grams(self._url, size))
            grams = self._grams[size]
            fewer, more = sorted((grams, by_gram), key=len)
            self.pay(len(fewer))
            for gram in fewer:
                if gram in more:
                    self.pay(_CANDIDATE * len(by_gram[gram]))
                    found += by_gram[gram]
        return sorted(found, key=lambda below: below.length)

    def pay(self, operations: int) -> None:
        self._paid += operations
        if self._paid > MOST_STEPS * _LIGHT:
            raise TooExpensive


def _grams(text: str, size: int) -> Iterator[tuple[str, ...]]:
    return zip(*(text[start:] for start in range(size)), strict=False)
