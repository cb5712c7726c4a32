"""Queries that are still typed: the last word stands for all that begin with it; titles that begin so come first."""

import re

from ...transforms.indexing.analysis import tokens
from ..index.patterns import pattern
from ..query.lexemes import FIELDS, FILTERS
from .results.title_endings import first_part

COMPARED = 100
"""The most pages, the best of those that have all words in their titles, whose titles are compared with the text."""

_UNFINISHED = re.compile(r"(?:(?<![^\s(+-])(\w+):)?(\w+)$")
_BESIDE = re.compile(rf"(?<!\S)(?:[-+]\S*|(?:{'|'.join(FILTERS)}):\S*|(?:{'|'.join(FIELDS)}):)", re.IGNORECASE)


def unfinished(text: str) -> tuple[str, str]:
    """The query in which the last word of a text stands for all words that begin with it; and that word.

    It is empty, and the query the text, behind a space, in a filter or URL and for a single letter.

    >>> unfinished("create tab"), unfinished("title:lig"), unfinished("lang:en"), unfinished("create ")
    (('create tab*', 'tab'), ('title:lig*', 'lig'), ('lang:en', ''), ('create ', ''))
    """
    found = _UNFINISHED.search(text)
    stem = pattern(f"{found[2]}*") if found else None
    if not found or not stem or (found[1] or "").lower() in FILTERS or "://" in text:
        return text, ""
    before = text[: found.start(2)]
    return f"{before}{'' if found[1] or before[-1:] in ' (+-' else ' '}{stem}", stem.removesuffix("*")


def title_rank(text: str, title: str) -> int:
    """How a title begins: 0 if a text is all of its first part, 1 if it begins with the text, else 2.

    Filters, signs and the names of fields do not count.

    >>> titles = ("Vacuum", "VACUUM - SQLite", "Vacuum-tables", "The vacuum", "Vacuums")
    >>> [title_rank("vacuum", title) for title in titles]
    [0, 0, 1, 2, 1]
    """
    typed, first = _words(_BESIDE.sub("", text)), _words(first_part(title))
    if typed == first:
        return 0
    return 1 if _words(title).startswith(typed) else 2


def _words(text: str) -> str:
    return " ".join(tokens(text))
