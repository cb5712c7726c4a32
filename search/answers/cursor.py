"""Cursors: the place after a hit in the order of all hits of a query, as text that a client sends back."""

import base64
import binascii
import hashlib
import json
import math
from typing import NamedTuple

MAX_CURSOR = 16_384
"""The most characters of a cursor; it has the URL of a hit."""

_FORMAT = 1


class CursorError(ValueError):
    """A cursor that cannot be used; the message says why, and what to do."""


class Cursor(NamedTuple):
    """The place after a hit."""

    key: float  # the score of the hit, or its date in days since 1970
    url: str
    round: int  # of the index that the hit is of, as `Index.as_of`
    hits: int  # up to this place


def encode(cursor: Cursor, query: str, order: str) -> str:
    """The cursor as text, for URLs and command lines.

    >>> decode(encode(Cursor(1.5, "http://a.org/", 3, 10), "herring", "score"), "herring", "score")
    Cursor(key=1.5, url='http://a.org/', round=3, hits=10)
    """
    parts = json.dumps([_FORMAT, _digest(query, order), *cursor])
    return base64.urlsafe_b64encode(parts.encode()).decode().rstrip("=")


def decode(text: str, query: str, order: str) -> Cursor:
    """The cursor in a text; CursorError if it is none, or not of this query in this order."""
    try:
        if len(text) > MAX_CURSOR:
            raise ValueError
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        format_, digest, key, url, round_, hits = json.loads(data)
        cursor = Cursor(float(key), url, round_, hits)
        numbers = (type(format_), type(round_), type(hits)) == (int, int, int) and min(round_, hits) >= 0
        if not (numbers and format_ == _FORMAT and isinstance(url, str) and math.isfinite(cursor.key)):
            raise ValueError
    except (ValueError, TypeError, RecursionError, OverflowError, binascii.Error):
        raise CursorError(f"{text[:20]!r} is not a cursor: give the value of next of the page before") from None
    if digest != _digest(query, order):
        raise CursorError("the cursor is of another query or order: give the same ones, or no cursor")
    return cursor


def _digest(query: str, order: str) -> str:
    data = json.dumps([query, order]).encode()  # escapes lone surrogates, which UTF-8 does not have
    return hashlib.blake2b(data, digest_size=8).hexdigest()
