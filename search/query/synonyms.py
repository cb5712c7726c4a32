"""Synonyms: words that an operator says mean the same, in a file of the crawl."""

from collections.abc import Mapping, Sequence

from ...transforms.directory.crawl_dir import CrawlDir, CrawlDirError
from ...transforms.indexing.analysis import identifiers, tokens

FILE = "synonyms.txt"
"""The file of synonyms, in DIR."""

Synonyms = Mapping[str, Sequence[str]]
"""By word, the other words of its meaning."""


def read_synonyms(crawl: CrawlDir) -> Synonyms:
    """The synonyms of a crawl, if it has any; CrawlDirError if the file has a line that is none."""
    return parse_synonyms(crawl.read_text(FILE), crawl.path(FILE)) if crawl.exists(FILE) else {}


def parse_synonyms(text: str, name: str) -> Synonyms:
    """The synonyms in a text: lines of words of one meaning, separated by commas; # begins a comment.

    CrawlDirError, with the `name` of the text, for a line with fewer than two words or with anything but single
    words and identifiers.

    >>> parse_synonyms("car, automobile # vehicles", "synonyms.txt")
    {'car': ['automobile'], 'automobile': ['car']}
    """
    found: dict[str, list[str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = [word.strip() for word in line.partition("#")[0].split(",") if word.strip()]
        terms = [_terms(word) for word in words]
        for word, parts in zip(words, terms, strict=True):
            if len(parts) != 1:
                raise CrawlDirError(f"{name}, line {number}: {word!r} is not one word; a synonym is one")
        if len(words) == 1:
            raise CrawlDirError(f"{name}, line {number}: {words[0]!r} stands alone; add its synonyms, after commas")
        group = list(dict.fromkeys(parts[0] for parts in terms))
        for term in group:
            others = found.setdefault(term, [])
            others += [other for other in group if other != term and other not in others]
    return found


def _terms(word: str) -> list[str]:
    """The terms of a word; of an identifier, itself."""
    names = identifiers(word)
    return names if names == [word.casefold()] else tokens(word)
