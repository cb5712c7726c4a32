"""Selects the documents that match a query's condition, apart from scoring."""

from collections.abc import Iterator, Mapping

import numpy as np

from ..index.crawls import CRAWL
from ..index.postings import Unit
from ..index.scored import Scored
from ..index.segments import Corpus, Mask
from ..query.conditions import AllOf, AnyOf, Condition, Fact, Filter, Not, Phrase, Word
from ..query.lexemes import day


def units(condition: Condition) -> Iterator[Unit]:
    """The words and phrases whose postings `matching` needs."""
    match condition:
        case Word(term):
            yield term
        case Phrase(terms, "url"):  # the field has no positions
            yield from ((term,) for term in terms)
        case Phrase(terms):
            yield terms
        case Not(part):
            yield from units(part)
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from units(part)


def named_crawls(condition: Condition) -> Iterator[str]:
    """The crawls that a condition names, if the index has several."""
    match condition:
        case Fact(name, value) if name == CRAWL:
            yield value
        case Not(part):
            yield from named_crawls(part)
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from named_crawls(part)


def is_of_site(host: str, site: str) -> bool:
    """Whether a host is that of a site or a subdomain; without a port, a site has all ports.

    >>> is_of_site("docs.a.org:8088", "a.org"), is_of_site("a.org:8088", "a.org:80"), is_of_site("ba.org", "a.org")
    (True, False, False)
    """
    name = host if ":" in site else host.partition(":")[0]
    return name == site or name.endswith(f".{site}")


def containing(unit: Scored, field: str | None, documents: int) -> Mask:
    """Whether each of so many documents has a word or phrase, in one field or in any."""
    mask = np.zeros(documents, bool)
    docs, frequencies = unit.postings
    if field is None:
        unit.mark(mask)
    elif field in frequencies:
        mask[docs[frequencies[field] > 0]] = True
    return mask


def matching(corpus: Corpus, scored: Mapping[Unit, Scored], condition: Condition) -> Mask:
    def having(unit: Unit, field: str | None) -> Mask:
        return containing(scored[unit], field, len(corpus.current))

    match condition:
        case Word(term, field):
            return having(term, field)
        case Phrase(terms, "url"):
            return np.logical_and.reduce([having((term,), "url") for term in terms])
        case Phrase(terms, field):
            return having(terms, field)
        case Filter("site", site):
            name, _, path = site.partition("/")
            of_site = corpus.having("host", lambda host: is_of_site(host, name))
            return of_site & corpus.below(path) if path else of_site
        case Filter("lang", language):
            return corpus.having("language", lambda found: found == language)
        case Filter("type", kind):  # html is text/html
            return corpus.having("media_type", lambda found: kind in (found, *found.split("/")))
        case Filter(name, value):
            moment = np.datetime64(day(value).replace(tzinfo=None), "us")  # type: ignore[union-attr]
            return corpus.dates >= moment if name == "after" else corpus.dates < moment
        case Fact(name, value):
            return corpus.having_fact(name, value)
        case Not(part):
            return ~matching(corpus, scored, part)
        case AllOf(parts):
            return np.logical_and.reduce([matching(corpus, scored, part) for part in parts])
        case AnyOf(parts):
            # In place: most queries are of this form.
            mask = np.zeros(len(corpus.current), bool)
            for part in parts:
                if isinstance(part, Word) and part.field is None:
                    scored[part.term].mark(mask)
                else:
                    mask |= matching(corpus, scored, part)
            return mask
