"""Parses queries.

    query   = part part …               any of the words; all phrases, filters and parts with AND; nothing excluded
    part    = operand, or operands joined by AND and OR; AND binds closer
    operand = word | "phrase" | field:word | field:"phrase" | filter:value | (query) | NOT operand | -operand

A word matches all its forms; a phrase, of one word or more, matches exact forms. A token of several words (node.js,
3.11) matches each of them, and documents that contain them consecutively rank higher; with an operator or a field it
is a phrase. A Korean word also matches by its morphemes, where the index has them; with an operator, by all of them or
as a phrase. Fields are title and url; filters are site, lang, type, after and before. Input that is not of this form is
ignored or taken as words, so that every query has an answer.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from ...transforms.indexing.analysis import STOP_WORDS, tokens
from ..index.postings import Unit

MAX_TERMS = 64
"""The most words of a query, and of a phrase: enough for a pasted paragraph, and a bound on the cost."""

MAX_PARTS = 256
"""The most tokens of a query, with operators and parentheses."""

_MAX_WHOLE = 8  # a longer token, such as a Chinese sentence, is a phrase only in quotes
_SHORTENED = re.compile(r"\W*\w+(?:['’]\w+)+\W*")  # don't, crawler's: the analysis splits them, but they are one word
_HANGUL = re.compile("[\uac00-\ud7a3]+")
_MAX_DEPTH = 16


class Word(NamedTuple):
    """Documents that contain a word in any of its forms, in any field or in one."""

    term: str
    field: str | None = None


class Phrase(NamedTuple):
    """Documents with consecutive exact forms in title or body, or in one field; a single form, in any field."""

    terms: tuple[str, ...]
    field: str | None = None


class Filter(NamedTuple):
    """Documents with a fact: site, lang, type, or a date from a day on (after) or before it."""

    name: str
    value: str


class All(NamedTuple):
    """Documents that match all parts; every document if there are none."""

    parts: tuple["Condition", ...]


class Any(NamedTuple):
    """Documents that match any part; none if there are none."""

    parts: tuple["Condition", ...]


class Not(NamedTuple):
    """Documents that do not match the part."""

    part: "Condition"


Condition = Word | Phrase | Filter | All | Any | Not


class Query(NamedTuple):
    """A parsed query; all terms are those of `analysis.tokens`."""

    words: tuple[str, ...]  # scored, each once
    phrases: tuple[tuple[str, ...], ...]  # of two words or more, scored
    condition: Condition  # of the documents that match
    times: Mapping[str, int]  # how often each word occurs in the query
    notes: tuple[str, ...] = ()  # a sentence on each filter whose value cannot be used, which is taken as words

    @property
    def scoring(self) -> tuple[Unit, ...]:
        """The words and phrases."""
        return (*self.words, *self.phrases)

    def weight(self, unit: Unit) -> int:
        """The factor of a word's or phrase's score: a word counts as often as it occurs, a phrase once."""
        return self.times[unit] if isinstance(unit, str) else 1


def parse(text: str, morphemes: Callable[[str], Sequence[str]] = lambda text: ()) -> Query:
    """The query in a text; any text is a query.

    `morphemes` gives further terms of a word, for documents in Korean (`transforms/indexing/korean.py`).

    >>> query = parse('fast "full text" -odd site:a.org')
    >>> query.words, query.phrases
    (('fast', 'full', 'text'), (('full', 'text'),))
    >>> query.condition.parts[::2]
    (Phrase(terms=('full', 'text'), field=None), Filter(name='site', value='a.org'))
    """
    text = text.encode(errors="replace").decode()  # a command-line argument that is not UTF-8 has lone surrogates
    text = text.lower() if text.strip() in _OPERATORS else text
    parser = _Parser(_lexemes(text), morphemes)
    condition = parser.query()
    times = Counter(parser.words)
    words = tuple(times)[:MAX_TERMS]
    words = tuple(word for word in words if word not in STOP_WORDS) or words
    phrases, times_of_words = tuple(dict.fromkeys(parser.phrases)), {word: times[word] for word in words}
    return Query(words, phrases, condition, times_of_words, tuple(dict.fromkeys(parser.notes)))


def day(text: str) -> datetime | None:
    """The first moment of a year, a month or a day, in UTC; None if the text is no date.

    >>> day("2024-05").isoformat(), day("2024-13")
    ('2024-05-01T00:00:00+00:00', None)
    """
    if not re.fullmatch(r"\d{4}(-\d\d?){0,2}", text, re.ASCII):
        return None
    year, month, first = ([int(number) for number in text.split("-")] + [1, 1])[:3]
    try:
        return datetime(year, month, first, tzinfo=UTC)
    except ValueError:
        return None


class _Lexeme(NamedTuple):
    kind: str  # ( ) - AND OR NOT word phrase, or the name of a field or filter
    text: str
    is_quoted: bool = False


_OPERATORS = ("AND", "OR", "NOT")
_FIELDS = ("title", "url")
_FILTERS = {
    "site": lambda value: value.strip("."),
    "lang": lambda value: value if re.fullmatch("[a-z]{2,3}", value) else "",
    "type": lambda value: value,
    "after": lambda value: value if day(value) else "",
    "before": lambda value: value if day(value) else "",
}
_DATES = "a date is a year, a month or a day, such as 2024, 2024-05 or 2024-05-31"
_VALUES = {"lang": "a language is a code of two or three letters, such as en", "after": _DATES, "before": _DATES}
_PIECE = re.compile(
    rf"""(?P<minus>(?<![^\s(])-(?=\S))
    | (?P<name>(?<![^\s(-])(?:{"|".join([*_FIELDS, *_FILTERS])})):(?=[^\s"]|"[^"]*")
    | "(?P<phrase>[^"]*)"
    | (?P<open>(?<![^\s(-])\()
    | (?P<word>[^\s"]+)""",
    re.VERBOSE | re.IGNORECASE,
)


def _lexemes(text: str) -> Iterator[_Lexeme]:
    """The lexemes of a query. A parenthesis counts only where a group can begin or, inside a group, end."""
    depth, name = 0, "word"
    for number, piece in enumerate(_PIECE.finditer(text)):
        if number == MAX_PARTS:
            return
        if piece["minus"]:
            yield _Lexeme("-", "")
        elif piece["name"]:
            name = piece["name"].lower()
            continue
        elif piece["phrase"] is not None:
            yield _Lexeme(name, piece["phrase"], True)
        elif piece["open"]:
            if depth < _MAX_DEPTH:
                depth += 1
                yield _Lexeme("(", "")
        else:
            word = piece["word"]
            closed = min(depth, len(word) - len(word.rstrip(")")))
            depth -= closed
            word = word[: len(word) - closed]
            if word in _OPERATORS and name == "word":
                yield _Lexeme(word, "")
            elif word:
                yield _Lexeme(name, word)
            yield from [_Lexeme(")", "")] * closed
        name = "word"
    yield from [_Lexeme(")", "")] * depth


class _Piece(NamedTuple):
    """The terms of one token, before its role in the query is known."""

    terms: tuple[str, ...]
    morphemes: tuple[str, ...] = ()


class _Parser:
    """Parses the lexemes by recursive descent, and collects the words and phrases that are scored."""

    def __init__(self, lexemes: Iterable[_Lexeme], morphemes: Callable[[str], Sequence[str]]) -> None:
        self._lexemes = list(lexemes)
        self._morphemes = morphemes
        self._next = 0
        self.words: list[str] = []
        self.phrases: list[tuple[str, ...]] = []
        self.notes: list[str] = []

    def query(self, scores: bool = True) -> Condition:
        """The parts up to the end of the group: all required ones, or if there are none, any of the optional ones."""
        may: list[Condition] = []
        must: list[Condition] = []
        while self._next < len(self._lexemes) and not self._take(")"):
            part = self._part(scores)
            if isinstance(part, _Piece):
                may += map(Word, part.terms + part.morphemes)
            elif isinstance(part, Any) or (isinstance(part, Word) and part.field is None):
                may.append(part)
            elif part is not None:
                must.append(part)
        if not any(_requires(part, (Word, Phrase)) for part in must):
            if may := _without_stop_words(may):
                must.append(may[0] if len(may) == 1 else Any(tuple(may)))
            elif not any(_requires(part, (Filter,)) for part in must):
                return Any(())  # exclusions alone match nothing
        return must[0] if len(must) == 1 else All(tuple(must))

    def _part(self, scores: bool) -> Condition | _Piece | None:
        """Operands joined by OR and AND. An operator without an operand is ignored."""
        ways = [self._all(scores)]
        while self._take("OR"):
            ways.append(self._all(scores))
        return _join(Any, ways)

    def _all(self, scores: bool) -> Condition | _Piece | None:
        operands = [self._operand(scores)]
        while self._take("AND"):
            operands.append(self._operand(scores))
        return _join(All, operands)

    def _operand(self, scores: bool) -> Condition | _Piece | None:
        is_not = False
        while self._take("NOT") or self._take("-"):
            is_not = True
        operand = self._atom(scores and not is_not)
        return Not(_whole(operand)) if is_not and operand is not None else operand

    def _atom(self, scores: bool) -> Condition | _Piece | None:
        if self._next == len(self._lexemes) or self._lexemes[self._next].kind in (")", "AND", "OR"):
            return None
        lexeme = self._lexemes[self._next]
        self._next += 1
        if lexeme.kind == "(":
            return self.query(scores)
        if lexeme.kind in _FILTERS and (value := _FILTERS[lexeme.kind](lexeme.text.casefold().strip())):
            return Filter(lexeme.kind, value)
        if lexeme.kind in _VALUES:
            self.notes.append(f"{lexeme.kind}:{lexeme.text} is taken as words: {_VALUES[lexeme.kind]}")
        is_word = lexeme.kind not in _FIELDS
        text = f"{lexeme.kind} {lexeme.text}" if lexeme.kind in _FILTERS else lexeme.text
        terms = tuple(tokens(text))[:MAX_TERMS]
        morphemes = () if lexeme.is_quoted or not is_word else tuple(self._morphemes(text))[:MAX_TERMS]
        if scores:
            self.words += terms + morphemes
            is_whole = len(terms) <= _MAX_WHOLE and not _SHORTENED.fullmatch(text)
            if len(terms) > 1 and (lexeme.is_quoted or is_whole):
                self.phrases.append(terms)
        if not terms:
            return None
        if not is_word:
            return Word(terms[0], lexeme.kind) if len(terms) == 1 else Phrase(terms, lexeme.kind)
        return Phrase(terms) if lexeme.is_quoted else _Piece(terms, morphemes)

    def _take(self, kind: str) -> bool:
        """Whether a lexeme of this kind is next; if so, skip it."""
        if self._next < len(self._lexemes) and self._lexemes[self._next].kind == kind:
            self._next += 1
            return True
        return False


def _whole(part: Condition | _Piece) -> Condition:
    if not isinstance(part, _Piece):
        return part
    exact = Word(part.terms[0]) if len(part.terms) == 1 else Phrase(part.terms)
    # Morphemes cover only a part of a token that is partly in another script.
    if not part.morphemes or not all(map(_HANGUL.fullmatch, part.terms)):
        return exact
    return Any((exact, All(tuple(map(Word, part.morphemes)))))


def _join(kind: type[All] | type[Any], parts: Iterable[Condition | _Piece | None]) -> Condition | _Piece | None:
    found = [part for part in parts if part is not None]
    if len(found) < 2:
        return found[0] if found else None
    return kind(tuple(map(_whole, found)))


def _requires(condition: Condition, kinds: tuple[type, ...]) -> bool:
    """Whether a condition requires a part of these kinds."""
    if isinstance(condition, All | Any):
        return any(_requires(part, kinds) for part in condition.parts)
    return isinstance(condition, kinds)


def _without_stop_words(parts: list[Condition]) -> list[Condition]:
    """The distinct parts without stop words, or all if there are only stop words."""
    parts = list(dict.fromkeys(parts))[:MAX_TERMS]
    return [part for part in parts if not (isinstance(part, Word) and part.term in STOP_WORDS)] or parts
