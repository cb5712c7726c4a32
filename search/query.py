"""What a query asks for.

The language is small: words (any of them may match; more and rarer ones count more), "a phrase" that must be
there, -word or -"a phrase" that must not, and site:host. Whatever makes no sense in it is taken as words, so
that every query has an answer.
"""

import re
from typing import NamedTuple

from transforms.analysis import query_terms, tokens

MAX_TERMS = 64
"""Terms of a query that count: enough for a pasted sentence, not for a pasted book."""

Phrase = tuple[str, ...]

_PART = re.compile(r'(?P<minus>(?<!\S)-)?(?:"(?P<phrase>[^"]*)"|(?<!\S)site:(?P<site>[^\s"]+)|(?P<word>[^\s"]+)|")')


class Query(NamedTuple):
    """A query as the index understands it; all terms are those of `analysis.tokens`."""

    terms: tuple[str, ...]  # that score
    phrases: tuple[Phrase, ...] = ()  # that must all occur
    excluded: tuple[Phrase, ...] = ()  # none of which may occur
    sites: tuple[str, ...] = ()  # hosts; a document's host is one of them or below it


def parse(text: str) -> Query:
    """The query in a text; nothing is malformed.

    >>> parse('fast "full text" -odd site:a.org')
    Query(terms=('fast', 'full', 'text'), phrases=(('full', 'text'),), excluded=(('odd',),), sites=('a.org',))
    """
    text = text.encode(errors="replace").decode()  # an argument that is not UTF-8 comes with lone surrogates
    wanted, phrases, excluded, sites = [], [], [], []
    for part in _PART.finditer(text):
        words = part["phrase"] if part["phrase"] is not None else part["word"] or ""
        phrase = tuple(tokens(words))[:MAX_TERMS]
        if part["site"]:
            sites.append(part["site"].casefold().strip("."))
        elif part["minus"]:
            excluded.append(phrase)
        else:
            wanted.append(words)
            if part["phrase"] is not None:
                phrases.append(phrase)
    return Query(
        tuple(query_terms("\n".join(wanted)))[:MAX_TERMS],
        tuple(phrase for phrase in phrases if phrase),
        tuple(phrase for phrase in excluded if phrase),
        tuple(sites),
    )
