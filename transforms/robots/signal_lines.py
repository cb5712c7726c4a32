"""The Content-Signal lines of a robots.txt for one robot, and which of them decide about a URL.

`transforms/rights/signals.py` has the vocabulary.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..rights.signals import NO, SIGNALS, SignalLine, parse, render
from ..urls.path_patterns import Patterns, TooExpensive
from ..urls.path_rules import path_of, patterns_of, rule_of, target_of

_EVERY = b""  # the agent of lines before all groups


class Signal(NamedTuple):
    """What is said about a use of a URL, and the line that decides."""

    value: str
    line: SignalLine


class SignalLines:
    """The lines for one robot, in order."""

    def __init__(self, lines: Iterable[SignalLine]) -> None:
        stated = [(line, parse(line.statement)) for line in lines]
        self._general = _strictest((line, said) for line, said in stated if not line.path)
        self._special = [(line, said) for line, said in stated if line.path]

    def about(self, url: str) -> Mapping[str, Signal]:
        """What the lines say about a canonical URL, by key.

        For each signal by itself the line with the longest matching path decides, lines without a path come last; of
        several with one path, "no". All lines count alike if the URL would take too long (`patterns.MOST_STEPS`).
        """
        if not self._special:
            return self._general
        path, found = path_of(target_of(url)), dict(self._general)
        try:
            for patterns in self._patterns:
                found |= _strictest(patterns.longest(path))
        except TooExpensive:
            general = ((signal.line, {key: signal.value}) for key, signal in self._general.items())
            return _strictest([*general, *self._special])
        return found

    @functools.cached_property
    def _patterns(self) -> Sequence[Patterns[tuple[SignalLine, Mapping[str, str]]]]:
        """The lines with a path, for each signal, and for all other keys together."""
        groups: dict[str, list[tuple[str, tuple[SignalLine, Mapping[str, str]]]]] = {}
        for line, said in self._special:
            patterns = list(patterns_of(rule_of(False, line.path)))
            for name in dict.fromkeys(key if key in SIGNALS else "" for key in said):
                own = {key: value for key, value in said.items() if (key if key in SIGNALS else "") == name}
                groups.setdefault(name, []).extend((pattern, (line, own)) for pattern in patterns)
        return [Patterns(group) for group in groups.values()]


class SignalGroups:
    """Collects Content-Signal lines by agent.

    Such a line ends a sequence of user agents for other such lines, but not for rules: "parsing of other records MUST
    NOT interfere with the parsing of explicitly defined records" (RFC 9309 section 2.2.4). A line before all groups
    speaks to every robot, since there is no other to which it could.
    """

    def __init__(self) -> None:
        self.is_over = False  # whether the next user agent begins a group
        self._agents: set[bytes] = set()
        self._has_groups = False
        self._lines: dict[bytes, dict[tuple[bytes, str], int]] = {}  # numbers of distinct lines

    def agents(self, named: set[bytes]) -> None:
        """A line of user agents, with those of them that are relevant."""
        self._agents = named if self.is_over else self._agents | named
        self.is_over, self._has_groups = False, True

    def add(self, path: bytes, statement: str, number: int) -> None:
        """A line."""
        self.is_over = True
        for agent in self._agents if self._has_groups else (_EVERY,):
            self._lines.setdefault(agent, {}).setdefault((path, statement), number)

    def own(self, agent: bytes) -> tuple[SignalLine, ...]:
        """The lines of an agent's groups, else those before all groups (RSL 1.0, 4.4.2)."""
        found = self._lines.get(agent) or self._lines.get(_EVERY, {})
        return tuple(SignalLine(path, statement, number) for (path, statement), number in found.items() if statement)

    def of(self, agent: bytes) -> tuple[SignalLine, ...]:
        """The lines of an agent's groups and those before all groups."""
        found = (*self._lines.get(_EVERY, {}).items(), *self._lines.get(agent, {}).items())
        return tuple(SignalLine(path, statement, number) for (path, statement), number in found if statement)


def _strictest(lines: Iterable[tuple[SignalLine, Mapping[str, str]]]) -> dict[str, Signal]:
    """What lines of equal weight say together: of a signal "no", else the first value."""
    found: dict[str, Signal] = {}
    for line, said in lines:
        for key, value in said.items():
            if key not in found or (key in SIGNALS and value == NO != found[key].value):
                found[key] = Signal(value, line)
    return found


def statement_of(found: Mapping[str, Signal]) -> str:
    """What is said about a URL as a statement; "" if nothing is."""
    return render({key: signal.value for key, signal in found.items()})
