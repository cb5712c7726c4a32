"""Suggestions as somebody types: queries that begin as the text does, and titles of pages that it finds."""

import textwrap
from typing import NamedTuple

from ..answers.searcher import Index
from ..index.patterns import pattern

MAX_TITLE = 80
"""The most characters of a title that is suggested."""

TITLES = 3
"""The most titles that are suggested."""


class Suggestion(NamedTuple):
    """A query, and the URL of the page whose title it is; empty if it is no title."""

    text: str
    url: str = ""


def suggestions(index: Index, text: str, most: int = 8) -> list[Suggestion]:
    """At most `most` queries for a text whose last word may be unfinished: titles first, then completed words.

    Titles are those of the best pages, as a page of hits shows them; words are the most frequent ones, in the index of
    these pages. URLs are as crawled, of any scheme.
    """
    start, space, unfinished = text.rstrip().rpartition(" ") if text == text.rstrip() else (text.rstrip(), " ", "")
    stem = pattern(f"{unfinished}*")
    hits = index.search(text, TITLES, typing=True).hits if text.strip() else []
    titles = [
        Suggestion(textwrap.shorten(title, MAX_TITLE, placeholder=" …"), hit.url)
        for hit, title in zip(hits, index.short_titles(hits), strict=True)
    ]
    words = [Suggestion(f"{start}{space}{word}") for word in index.words_like(stem)[: 2 * most]] if stem else []
    distinct: dict[str, Suggestion] = {}
    for suggestion in [*titles, *words]:
        if suggestion.text and (suggestion.url or suggestion.text.casefold() != text.strip().casefold()):
            distinct.setdefault(suggestion.text.casefold(), suggestion)
    return list(distinct.values())[:most]
