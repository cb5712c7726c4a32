"""Parsed queries: a condition on documents, and the words, phrases and names that are scored."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ..index.postings import Unit


@dataclass(frozen=True, slots=True)
class Word:
    """Documents that contain a word in any of its forms, in any field or in one."""

    term: str
    field: str | None = None


@dataclass(frozen=True, slots=True)
class Phrase:
    """Documents with consecutive exact forms in title or body, or in one field; a single form, in any field."""

    terms: tuple[str, ...]
    field: str | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """Documents with a fact: site, lang, type, or a date from a day on (after) or before it."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Fact:
    """Documents with a value of a fact, in any letter case; * stands for any characters."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class AllOf:
    """Documents that match all parts; every document if there are none."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Documents that match any part; none if there are none."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Documents that do not match the part."""

    part: "Condition"


Condition = Word | Phrase | Filter | Fact | AllOf | AnyOf | Not


class Query(NamedTuple):
    """A parsed query; all terms are those of `analysis.tokens`."""

    words: tuple[str, ...]  # scored, each once
    phrases: tuple[tuple[str, ...], ...]  # of two words or more, scored
    condition: Condition  # of the documents that match
    wider: Condition  # if nothing matches: phrases beside words are optional, except after a plus or an operator
    weights: Mapping[str, float]  # of each word, as often as it occurs; pairs of a run less (`pair_weights`)
    exact: tuple[tuple[str], ...] = ()  # forms of words that no phrase has, scored beside these
    pairs: tuple[str, ...] = ()  # of words in a row (`analysis.pairs`), scored where a title has them in a row
    nearness: float = 1.0  # the weight of exact forms, which falls with the number of words
    exact_weight: float = 1.0
    decay: float = 0.0  # of the weight of a unit with the share of the documents that have it
    names: tuple[str, ...] = ()  # `analysis.names_within`, scored where links name a section so
    excludes: bool = False  # some documents, by NOT or a minus
    addresses: tuple[str, ...] = ()  # of the page that is asked for, if the query is a URL, the likeliest first
    notes: tuple[str, ...] = ()  # a sentence on each filter whose value cannot be used, which is taken as words

    @property
    def scoring(self) -> tuple[Unit, ...]:
        """The words, phrases, exact forms and pairs, whose scores are added up; of names, the best one counts."""
        return (*self.words, *self.phrases, *self.exact, *self.pairs, *self.addresses)

    def weight(self, unit: Unit, share: float = 0.0) -> float:
        """The factor of the score of a unit that a `share` of the documents has.

        A word counts as often as it occurs, a pair of a run less; the more documents have a unit, the less, by `decay`.
        """
        if unit in self.addresses:
            return 1 / (1 + self.addresses.index(unit))
        rare = math.exp(-self.decay * share)
        if isinstance(unit, str):
            return self.weights.get(unit, 1) * rare
        return (self.exact_weight if len(unit) == 1 else 1) * rare
