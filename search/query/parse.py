"""Parses queries.

    query   = part part …               any of the words; all phrases, filters, parts with AND or +; nothing excluded
    part    = operand, or operands joined by AND and OR; AND binds closer
    operand = word | "phrase" | field:word | field:"phrase" | filter:value | (query) | NOT operand | -operand | +operand

A word matches all its forms; a phrase, of one word or more, matches exact forms. A token of several words (node.js,
3.11) matches each of them, and documents that contain them consecutively rank higher; with an operator or a field it is
a phrase. The fewer words a query has, the more its exact forms score; the more, the less those that many documents
have. Two words in a row score where a title has them so. An identifier (foo_bar, __init__) matches as its parts do, and
documents that contain it as it stands rank higher. A word with an asterisk (dja*) matches all words of this pattern. A
single cluster of a script without spaces (น้ำ) matches all pairs of clusters that begin with it. A Korean word also
matches by its morphemes, where the index has them; with an operator, by all of them or as a phrase. Fields are title
and url; filters are site, lang, type, after and before. Input that is not of this form is ignored or taken as words, so
that every query has an answer; `lexemes` decides where operators are text. In a long query phrases are optional. In a
shorter query of phrases and words that finds nothing, documents without the phrases are weaker matches.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple, TypeVar

from ...transforms.indexing.analysis import (
    STOP_WORDS,
    identifiers,
    is_further,
    is_overlapping,
    names_within,
    pairs,
    tokens,
)
from ...transforms.indexing.write_segment import url_text
from ..index.addresses import spellings
from ..index.patterns import is_pattern, pattern, with_beginnings
from .conditions import AllOf, AnyOf, Condition, Fact, Filter, Not, Phrase, Query, Word
from .lexemes import FACT, FIELDS, FILTERS, Lexeme, Lexemes, as_text, lexemes
from .pair_weights import pair_weights

MAX_TERMS = 128
"""The most words of a query, stop words aside: enough for a pasted paragraph, and a bound on the cost."""

MAX_PHRASE = 64
"""The most words of a phrase, and of a token."""

EMPTY = "the query is empty: give words, or a filter such as lang:en"
_EXCLUSIONS = "exclusions alone are searched for as words: give a word or a filter, such as lang:en, beside them"
_NOTHING = "the query searches for nothing: give a word, or a filter such as lang:en"

_MAX_WHOLE = 8  # a longer token, such as a path, is a phrase only in quotes
_WHOLE_NEARNESS, _NO_NEARNESS = 3, 6  # words of a query up to which, and from which
_VIETNAMESE = re.compile("[ơưạ-ỹ]")  # letters that other languages hardly have, of folded words
_VIETNAMESE_EXACT = 2  # times the weight of an exact form: with it, the form and the word without marks weigh the same
_DECAY = 4.0  # a word in a quarter of the documents has 0.37 of its weight; half of it in Vietnamese, of syllables
_SHORTENED = re.compile(r"\W*\w+(?:['’]\w+)+\W*")  # don't, crawler's: the analysis splits them, but they are one word
_CODE_SIGNS = re.compile(
    r"(?:.*?\w)??(?P<signs>(?<=\boperator)\W+|[<>=~^]|->|(?!!+$)[][<>=~^|!+*/%&]{2,})", re.IGNORECASE
)
_ADDRESS = re.compile(r"https?://\S+|(?!\w+:/)[^\s/]+[.:][^\s/]*/\S*", re.IGNORECASE)
_HANGUL = re.compile("[\uac00-\ud7a3]+")

_Part = TypeVar("_Part")


def parse(
    text: str,
    morphemes: Callable[[str], Sequence[str]] = lambda text: (),
    is_text: bool = False,
    facts: frozenset[str] = frozenset(),
) -> Query:
    """The query in a text; any text is a query.

    `morphemes` gives further terms of a word, for documents in Korean (`transforms/indexing/korean.py`). With `is_text`
    nothing but filters is read as query language. `facts` are the names of the facts that the documents have.

    >>> query = parse('fast "full text" -odd site:a.org')
    >>> query.words, query.phrases
    (('fast', 'full', 'text'), (('full', 'text'),))
    >>> query.condition.parts[::2]
    (Phrase(terms=('full', 'text'), field=None), Filter(name='site', value='a.org'))
    """
    text = text.encode(errors="replace").decode()  # a command-line argument that is not UTF-8 has lone surrogates
    parts = as_text(text, facts) if is_text else lexemes(text, facts)
    parser = _Parser(parts, morphemes)
    condition = parser.query()
    words = tuple(_without_common({word: word in STOP_WORDS for word in parser.weights}))
    phrases = tuple(dict.fromkeys(parser.phrases))
    has_tones = _VIETNAMESE.search("".join(words)) is not None
    near = nearness(len(words))
    return Query(
        words,
        phrases,
        condition,
        _Parser(parts, morphemes, False).query() if parser.is_mixed else condition,
        {word: parser.weights[word] for word in words},
        tuple(_exact_forms(words, {*itertools.chain(*phrases)})) if near or has_tones else (),
        () if parser.is_long else tuple(dict.fromkeys(pair for _, pair in pairs(parser.in_order))),
        near,
        _VIETNAMESE_EXACT if has_tones else near,
        _DECAY * sentence(len(words)) / (_VIETNAMESE_EXACT if has_tones else 1),
        tuple(dict.fromkeys(names_within(parser.in_order))),
        parser.excludes,
        _addresses(parts),
        _notes(parser.notes, text, condition),
    )


def _addresses(lexemes: Lexemes) -> tuple[str, ...]:
    """The URLs that a query of a URL alone, and perhaps filters, asks for."""
    first, *others = [part for part in lexemes.parts if not part.is_filter] or [Lexeme("word")]
    is_url = first.kind in ("word", "url") and not first.is_quoted and _ADDRESS.fullmatch(first.text)
    return tuple(spellings(first.text)) if is_url and not others else ()


def _notes(notes: list[str], text: str, condition: Condition) -> tuple[str, ...]:
    """What is said of a query, also of one of exclusions or signs only."""
    if not text.strip():
        return (EMPTY,)
    return tuple(dict.fromkeys(notes)) or ((_NOTHING,) if condition == AnyOf(()) else ())


_DATES = "a date is a year, a month or a day, such as 2024, 2024-05 or 2024-05-31"
_ELSEWHERE = re.compile("^(?:(?:all)?in|file)(?=(?:title|url|type)$)")  # intitle: of other search engines
_WILD = re.compile(r"(?<!\S)(?=\**\w)\w*(?:\*|\?(?=\w))[\w*?]*(?!\S)")
_VALUES = {"lang": "a language is a code of two or three letters, such as en", "after": _DATES, "before": _DATES}


class _Piece(NamedTuple):
    """The terms of one token, before its role in the query is known."""

    terms: tuple[str, ...]
    morphemes: tuple[str, ...] = ()
    is_quoted: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """What is searched for as words."""
        return tuple(with_beginnings(term, len(self.terms) == 1) for term in self.terms) + self.morphemes


class _Parser:
    """Parses the lexemes by recursive descent, and collects the words and phrases that are scored."""

    def __init__(
        self, lexemes: Lexemes, morphemes: Callable[[str], Sequence[str]], requires_phrases: bool = True
    ) -> None:
        self._lexemes, self.is_long, excluded_all = lexemes
        self._requires_phrases = requires_phrases and not self.is_long
        self._morphemes = morphemes
        self._next = 0
        self.weights: defaultdict[str, float] = defaultdict(float)  # of words, in order
        self.in_order: list[str] = []  # the words of the query without what is searched for beside them
        self.phrases: list[tuple[str, ...]] = []
        self._has_words = self._has_phrases = False  # that are scored, outside quotation marks and required
        self.excludes = False
        self.notes = [_EXCLUSIONS] if excluded_all else []

    @property
    def is_mixed(self) -> bool:
        """Whether the query has phrases that are required and words beside them."""
        return self._has_phrases and self._has_words

    def query(self, scores: bool = True) -> Condition:
        """The parts up to the end of the group: all required ones, or if there are none, any of the optional ones."""
        may: list[Condition] = []
        must: list[Condition] = []
        while self._next < len(self._lexemes) and not self._take(")"):
            part = self._part(scores)
            if isinstance(part, _Piece) and part.is_quoted and self._requires_phrases:
                must.append(_whole(part))
                self._has_phrases = True
            elif isinstance(part, _Piece):
                may += map(Word, part.words)
            elif isinstance(part, AnyOf | Word) and not _restricts(part):
                may.append(part)
            elif part is not None:
                must.append(part)
        if not any(_requires(part, (Word, Phrase)) for part in must):
            is_common = {part: isinstance(part, Word) and part.term in STOP_WORDS for part in may}
            if may := _without_common(is_common):
                must.append(may[0] if len(may) == 1 else AnyOf(tuple(may)))
            elif not any(_requires(part, (Filter, Fact)) for part in must):
                return AnyOf(())  # exclusions alone match nothing
        return must[0] if len(must) == 1 else AllOf(tuple(must))

    def _part(self, scores: bool) -> Condition | _Piece | None:
        """Operands joined by OR and AND. An operator without an operand is ignored."""
        ways = [self._all(scores)]
        while self._take("OR"):
            ways.append(self._all(scores))
        return _join(AnyOf, ways)

    def _all(self, scores: bool) -> Condition | _Piece | None:
        operands = [self._operand(scores)]
        while self._take("AND"):
            operands.append(self._operand(scores))
        return _join(AllOf, operands)

    def _operand(self, scores: bool) -> Condition | _Piece | None:
        is_not, is_required = False, self._take("+")
        while self._take("NOT") or self._take("-"):
            is_not = True
        operand = self._atom(scores and not is_not)
        if operand is None or not (is_not or is_required):
            return operand
        self.excludes |= is_not
        return Not(_whole(operand)) if is_not else AllOf((_whole(operand),))

    def _atom(self, scores: bool) -> Condition | _Piece | None:
        if self._next == len(self._lexemes) or self._lexemes[self._next].kind in (")", "AND", "OR"):
            return None
        lexeme = self._lexemes[self._next]
        self._next += 1
        if lexeme.kind == "(":
            start, group = self._next, self.query(scores)
            return group if any(part.is_operand for part in self._lexemes[start : self._next]) else None
        if lexeme.kind == FACT and (value := " ".join(lexeme.text.casefold().split())):
            return Fact(lexeme.fact, value)
        if lexeme.kind in FILTERS and (value := FILTERS[lexeme.kind](lexeme.text.casefold().strip())):
            return Filter(lexeme.kind, value)
        if lexeme.kind in _VALUES:
            self.notes.append(f"{lexeme.kind}:{lexeme.text} is taken as words: {_VALUES[lexeme.kind]}")
        return self._text(lexeme, scores)

    def _text(self, lexeme: Lexeme, scores: bool) -> Condition | _Piece | None:
        """A word, a phrase or a pattern, also of a field; what it is searched for is collected if it scores."""
        is_word, is_quoted = lexeme.kind not in FIELDS, lexeme.is_quoted
        text = f"{lexeme.kind} {lexeme.text}" if lexeme.kind in FILTERS else lexeme.text
        text = url_text(text) if lexeme.kind == "url" or _ADDRESS.fullmatch(text) else text
        like = None if is_quoted or self.is_long else pattern(text)
        terms = (like,) if like else tuple(tokens(text))[:MAX_PHRASE]
        morphemes = () if is_quoted or like or not is_word else tuple(self._morphemes(text))[:MAX_PHRASE]
        piece = _Piece(terms, morphemes, is_quoted)
        if unsearched := "" if is_quoted or like or self.is_long else _signs(text):
            self.notes.append(f"{unsearched} is not searched: an index has words, without signs")
        elif not (like or self.is_long) and (wild := _WILD.search(text)):
            self.notes.append(f"{wild[0]} is no pattern: one has two letters or digits before an asterisk, as li*se")
        name, colon, _ = text.casefold().partition(":")
        if colon and not (is_quoted or self.is_long) and (own := _ELSEWHERE.sub("", name)) in (*FIELDS, *FILTERS):
            self.notes.append(f"{name}: is searched for as a word; to filter, write {own}:VALUE")
        if scores:
            self._has_words |= bool(terms) and not is_quoted
            self.in_order += () if like else terms
            words = (terms if is_quoted else piece.words) + (() if like else tuple(identifiers(text))[:MAX_PHRASE])
            of_pairs = pair_weights(text) if any(map(is_overlapping, terms)) else {}
            for word in words:
                self.weights[word] += of_pairs.get(word, 1)
            if len(terms) > 1 and (is_quoted or _is_name(text, terms)):
                self.phrases.append(terms)
        if not terms:
            return None
        if not is_word:
            return Word(with_beginnings(terms[0], True), lexeme.kind) if len(terms) == 1 else Phrase(terms, lexeme.kind)
        return piece

    def _take(self, kind: str) -> bool:
        """Whether a lexeme of this kind is next; if so, skip it."""
        if self._next < len(self._lexemes) and self._lexemes[self._next].kind == kind:
            self._next += 1
            return True
        return False


def nearness(words: int) -> float:
    """The weight of how the words of a query are written, given their number: long ones are told apart by their words.

    >>> [round(nearness(words), 2) for words in (3, 4, 5, 6)]
    [1.0, 0.67, 0.33, 0.0]
    """
    return min(1.0, max(0.0, (_NO_NEARNESS - words) / (_NO_NEARNESS - _WHOLE_NEARNESS)))


def sentence(words: int) -> float:
    """How much a query of so many words is a sentence, of which in every language some only hold it together.

    >>> [round(sentence(words), 2) for words in (6, 7, 8, 9)]
    [0.0, 0.33, 0.67, 1.0]
    """
    return 1 - nearness(words - _WHOLE_NEARNESS)


def _exact_forms(words: Sequence[str], in_phrases: Set[str]) -> Iterator[tuple[str]]:
    """The words of a query as they are written, but for those that phrases have as they are.

    A page about decorators is none about what is decorated. In Vietnamese, marks make other words: ma is a ghost, má a
    mother.
    """
    for word in words:
        if not (word in in_phrases or is_further(word) or is_pattern(word) or is_overlapping(word)):
            yield (word,)


def _signs(text: str) -> str:
    """The signs of a token of code that no term has; empty if there are none, or such as texts have, too.

    >>> _signs("operator<="), _signs("operator[]"), _signs("<="), _signs("C++"), _signs("a?"), _signs("node.js/")
    ('<=', '[]', '<=', '', '', '')
    """
    match = _CODE_SIGNS.fullmatch(text)
    return match["signs"] if match and match["signs"] not in "".join(tokens(text)) else ""


def _is_name(text: str, terms: Sequence[str]) -> bool:
    """Whether an unquoted token of several words names one thing. Terms that overlap do not."""
    return len(terms) <= _MAX_WHOLE and not _SHORTENED.fullmatch(text) and not any(map(is_overlapping, terms))


def _whole(part: Condition | _Piece) -> Condition:
    if not isinstance(part, _Piece):
        return part
    exact = Word(part.words[0]) if len(part.terms) == 1 and not part.is_quoted else Phrase(part.terms)
    # Morphemes cover only a part of a token that is partly in another script.
    if not part.morphemes or not all(map(_HANGUL.fullmatch, part.terms)):
        return exact
    return AnyOf((exact, AllOf(tuple(map(Word, part.morphemes)))))


def _join(kind: type[AllOf] | type[AnyOf], parts: Iterable[Condition | _Piece | None]) -> Condition | _Piece | None:
    given = [part for part in parts if part is not None]
    if len(given) < 2:
        return given[0] if given else None
    return kind(tuple(map(_whole, given)))


def _requires(condition: Condition, kinds: tuple[type, ...]) -> bool:
    """Whether a condition requires a part of these kinds."""
    if isinstance(condition, AllOf | AnyOf):
        return any(_requires(part, kinds) for part in condition.parts)
    return isinstance(condition, kinds)


def _restricts(condition: Condition) -> bool:
    """Whether it is of filters, facts and fields alone, which are required, also one of several."""
    if isinstance(condition, AllOf | AnyOf):
        return condition.parts != () and all(map(_restricts, condition.parts))
    if isinstance(condition, Not):
        return _restricts(condition.part)
    return isinstance(condition, Filter | Fact) or condition.field is not None


def _without_common(is_common: Mapping[_Part, bool]) -> list[_Part]:
    """The parts that are no common words, or all if there are no others; MAX_TERMS at most."""
    return ([part for part in is_common if not is_common[part]] or list(is_common))[:MAX_TERMS]
