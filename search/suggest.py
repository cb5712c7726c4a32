"""Suggestions as somebody types: queries that begin as the text does, and titles of pages that it finds."""

import textwrap

from .index.patterns import pattern
from .searcher import Index

MAX_TITLE = 80
"""The most characters of a title that is suggested."""

TITLES = 3
"""The most titles that are suggested."""


def suggestions(index: Index, text: str, most: int = 8) -> list[str]:
    """At most `most` queries for a text whose last word may be unfinished: titles first, then completed words.

    Titles are those of the best pages; words are the most frequent ones, in the index of these pages.
    """
    start, space, unfinished = text.rstrip().rpartition(" ") if text == text.rstrip() else (text.rstrip(), " ", "")
    stem = pattern(f"{unfinished}*")
    hits = index.search(f"{start}{space}{stem or unfinished}", TITLES).hits if text.strip() else []
    titles = [textwrap.shorten(hit.title, MAX_TITLE, placeholder=" …") for hit in hits]
    words = [f"{start}{space}{word}" for word in index.words_like(stem)[: 2 * most]] if stem else []
    distinct: dict[str, str] = {}
    for found in [*titles, *words]:
        if found and found.casefold() != text.strip().casefold():
            distinct.setdefault(found.casefold(), found)
    return list(distinct.values())[:most]
