"""Which documents of a segment a query lets through, apart from how well they answer it."""

import numpy as np
import numpy.typing as npt

from search.query import All, Any, Condition, Filter, Not, Phrase, Word, day
from search.segment import Segment
from search.terms import Postings

Mask = npt.NDArray[np.bool_]


def matching(segment: Segment, condition: Condition) -> Mask:
    """Whether each of a segment's documents fulfils the condition."""
    match condition:
        case Word(term, field):
            return _among(segment, segment.word(term), field)
        case Phrase(terms, "url"):  # it keeps no positions
            return np.logical_and.reduce([_among(segment, segment.phrase((term,)), "url") for term in terms])
        case Phrase(terms, field):
            return _among(segment, segment.phrase(terms), field)
        case Filter("site", site):  # a host, or one below it
            return segment.having("host", lambda host: host == site or host.endswith(f".{site}"))
        case Filter("lang", language):
            return segment.having("language", lambda found: found == language)
        case Filter("type", kind):  # html is text/html
            return segment.having("media_type", lambda found: kind in (found, *found.split("/")))
        case Filter(name, value):
            moment = np.datetime64(day(value).replace(tzinfo=None), "us")  # type: ignore[union-attr]
            return segment.dates >= moment if name == "after" else segment.dates < moment
        case Not(part):
            return ~matching(segment, part)
        case All(parts):
            return np.logical_and.reduce([matching(segment, part) for part in parts])
        case Any(parts):
            return np.logical_or.reduce([np.zeros(segment.documents, bool), *(matching(segment, p) for p in parts)])


def _among(segment: Segment, postings: Postings, field: str | None) -> Mask:
    mask = np.zeros(segment.documents, bool)
    if field is None:
        mask[postings.docs] = True
    elif field in postings.frequencies:
        mask[postings.docs[postings.frequencies[field] > 0]] = True
    return mask
