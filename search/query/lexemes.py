"""Splits a query into lexemes, and reads operators as text where they are not meant as operators.

A query is typed in the query language or pasted from a text, which may hold quotation marks, brackets, dashes and
capital letters of its own. The rules, in the order in which they apply:

- Curly quotation marks count as straight ones. A mark opens a phrase only after a space or a bracket: 15" is no phrase.
- e.g. and i.e. are left out, as stop words are.
- `--word` is text: an option of a command. So is a minus if nothing else is searched for.
- AND, OR and NOT are words in a query in capitals, and in one of more than LONG_QUERY words; unless one stands between
  every two operands (`A AND B OR C`), or in parentheses. In a query that is both, parentheses make no difference.
- In a query of more than LONG_QUERY words, a minus counts only at the end: `… -word`.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from ...transforms.indexing.analysis import tokens

MAX_PARTS = 512
"""The most tokens of a query, with operators and parentheses."""

LONG_QUERY = 8
"""The most words outside quotation marks of a query that is certainly typed; a longer one may be pasted."""

_MAX_DEPTH = 16

OPERATORS = ("AND", "OR", "NOT")
_SIGNS = ("-", "+", "NOT")
FIELDS = ("title", "url")
FILTERS = {
    "site": lambda value: re.sub(r"^\w+://", "", value).strip("*."),  # subdomains belong to a site
    "lang": lambda value: value if re.fullmatch("[a-z]{2,3}", value) else "",
    "type": lambda value: value,
    "after": lambda value: value if day(value) else "",
    "before": lambda value: value if day(value) else "",
}
"""By filter, its value in its normal form; empty if it is none."""


FACT = "fact"
"""The kind of a lexeme with the name of a fact of documents, such as `price:10`."""


class Lexeme(NamedTuple):
    """A part of a query."""

    kind: str  # ( ) - + AND OR NOT word, the name of a field or filter, or FACT
    text: str = ""
    is_quoted: bool = False
    fact: str = ""  # the name of the fact

    @property
    def is_filter(self) -> bool:
        """Whether it restricts the documents by something other than words."""
        return self.kind in FILTERS or self.kind == FACT

    @property
    def is_operand(self) -> bool:
        """Whether it is a word, a phrase or a filter, and no dash or the like."""
        return self.kind not in ("(", ")", "-", "+", *OPERATORS) and bool(tokens(self.text))


class Lexemes(NamedTuple):
    """The lexemes of a query."""

    parts: list[Lexeme]
    is_long: bool  # phrases and words are then optional, except after a plus or with an operator
    excluded_all: bool = False  # exclusions alone, which were made words


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


def lexemes(text: str, facts: frozenset[str] = frozenset()) -> Lexemes:
    """The lexemes of a query, as they are meant. `facts` are the names of those that the documents have.

    >>> [part.text or part.kind for part in lexemes("beam -museum").parts]
    ['beam', '-', 'museum']
    >>> [part.text or part.kind for part in lexemes("TO BE OR NOT TO BE").parts]
    ['TO', 'BE', 'or', 'not', 'TO', 'BE']
    """
    parts = _without_explaining(list(_split(text.translate(_STRAIGHT), facts)))
    words = [part.text for part in parts if part.kind == "word" and not part.is_quoted]
    is_long = len([word for word in words if any(map(str.isalnum, word))]) > LONG_QUERY
    is_capital = "".join(words).isupper()
    if (is_long or is_capital or not any(part.is_operand for part in parts)) and not _is_boolean(
        parts, in_groups=not (is_long and is_capital)
    ):
        parts = _without_operators(parts, is_long)
    if _has_subject(parts):
        return Lexemes(parts, is_long)
    return Lexemes(_without(parts, *_SIGNS), is_long, any(part.is_operand for part in parts))


def as_text(text: str, facts: frozenset[str] = frozenset()) -> Lexemes:
    """The lexemes of a query with filters, but without operators."""
    parts = _without_operators(_without_explaining(list(_split(text.translate(_STRAIGHT), facts))), True)
    return Lexemes(_without(parts, *_SIGNS), True)


def plain_query(text: str) -> str:
    """The query for a text that is not written in the query language, such as a title or what somebody else wrote.

    It finds pages by the words of the text: quotation marks, signs, parentheses and asterisks are left out, AND, OR and
    NOT are in small letters, and nothing is a field or a filter. Common words and the parts of a word such as node.js
    count as in any query.

    >>> plain_query('-rw "Beam" (site:a.org) NOT std::vec*')
    'rw Beam site/a.org not std/vec'
    """
    words = (word.lower() if word in OPERATORS else word.lstrip("+-") for word in text.translate(_BLANK).split())
    return " ".join(_NAMED.sub(r"\1/", word) for word in words if word)


_STRAIGHT = str.maketrans("“”„‟", '""""')

_BLANK = str.maketrans(dict.fromkeys('"“”„‟()*', " "))
_NAMED = re.compile(r"^(\w+):+")  # any word may be the name of a fact

_EXPLAINING = re.compile(r"\W*(?:e\.g|i\.e)\b\W*", re.IGNORECASE)


@functools.lru_cache(16)
def _piece(facts: frozenset[str]) -> re.Pattern[str]:
    names = "|".join(map(re.escape, [*FIELDS, *FILTERS, *sorted(facts)]))
    return re.compile(
        rf"""(?P<sign>(?<![^\s(])[-+](?=[^\s+-]))
        | (?P<name>(?<![^\s(+-])(?:{names})):(?=[^\s"]|"[^"]*")
        | (?<!\w)"(?P<phrase>[^"]*)"(?!\w)
        | (?P<open>(?<![^\s(+:-])\()
        | (?P<word>[^\s"]+)""",
        re.VERBOSE | re.IGNORECASE,
    )


def _split(text: str, facts: frozenset[str]) -> Iterator[Lexeme]:
    """The lexemes as they stand. A parenthesis counts only where a group can begin or, inside a group, end."""
    groups, name = [""], ""  # the name before each open group, which all of its words have
    for number, piece in enumerate(_piece(facts).finditer(text)):
        if number == MAX_PARTS:
            break
        if piece["sign"]:
            yield Lexeme(piece["sign"])
        elif piece["name"]:
            name = piece["name"].lower()
            continue
        elif piece["phrase"] is not None:
            yield _named(name or groups[-1], piece["phrase"], True)
        elif piece["open"]:
            if len(groups) <= _MAX_DEPTH:
                groups.append(name or groups[-1])
                yield Lexeme("(")
        else:
            word = piece["word"]
            closed = min(len(groups) - 1, len(word) - len(word.rstrip(")")))
            word = word[: len(word) - closed]
            if word in OPERATORS and not name:
                yield Lexeme(word)
            elif word:
                yield _named(name or groups[-1], word, False)
            del groups[len(groups) - closed :]
            yield from [Lexeme(")")] * closed
        name = ""
    yield from [Lexeme(")")] * (len(groups) - 1)


def _named(name: str, text: str, is_quoted: bool) -> Lexeme:
    """A word or phrase, after the name of a field, a filter or a fact, if there is one."""
    if not name or name in FIELDS or name in FILTERS:
        return Lexeme(name or "word", text, is_quoted)
    return Lexeme(FACT, text, is_quoted, name)


def _without_explaining(parts: list[Lexeme]) -> list[Lexeme]:
    """The parts with e.g. and i.e. emptied, which are stop words of two words; as they are if there is nothing else."""
    found = [
        part._replace(text="") if part.kind == "word" and _EXPLAINING.fullmatch(part.text) else part for part in parts
    ]
    return found if any(map(str.isalnum, "".join(part.text for part in found))) else parts


def _is_boolean(parts: Sequence[Lexeme], in_groups: bool) -> bool:
    """Whether AND, OR and NOT are meant: they join all operands, or `in_groups` some in parentheses."""
    depth, needs_operator = 0, False
    is_joined = has_operand = any(part.is_operand for part in parts)
    for part in parts:
        depth += (part.kind == "(") - (part.kind == ")")
        if in_groups and part.kind in ("AND", "OR") and depth:
            return has_operand
        if part.kind in OPERATORS or part.kind in ("-", "+"):
            needs_operator = False
        elif part.is_operand:
            is_joined = is_joined and (not needs_operator or part.is_filter)
            needs_operator = needs_operator or not part.is_filter
    return is_joined


def _without_operators(parts: Sequence[Lexeme], is_long: bool) -> list[Lexeme]:
    """The parts with AND, OR and NOT as words; if they are a long text, without parentheses and inner minuses too."""
    found = [Lexeme("word", part.kind.lower()) if part.kind in OPERATORS else part for part in parts]
    if not is_long:
        return found
    found = [part for part in found if part.kind not in ("(", ")")]
    end = len(found)
    while end >= 2 and (found[end - 2].kind == "-" or found[end - 1].is_filter):
        end -= 2 if found[end - 2].kind == "-" else 1
    return _without(found[:end], "-") + found[end:]


def _has_subject(parts: Sequence[Lexeme]) -> bool:
    """Whether anything is searched for, not only excluded."""
    return any(
        part.is_operand and (not number or parts[number - 1].kind not in ("-", "NOT"))
        for number, part in enumerate(parts)
    )


def _without(parts: Sequence[Lexeme], *kinds: str) -> list[Lexeme]:
    return [part for part in parts if part.kind not in kinds]
