"""URLs as units of a query: they stand for the page at the URL."""

import itertools
import re
from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...transforms.urls.canonical import canonicalize, url_key
from .postings import Postings, Unit

SCORE = 10_000.0
"""The part of the score of the page at a URL: more than all the words of a URL add up to."""


def is_address(unit: Unit) -> bool:
    """Whether a unit is a URL: no word has these signs."""
    return "://" in unit


def spellings(text: str) -> list[str]:
    """The URLs that a typed one may be, with that itself first: of either scheme, with `www.` and a last slash or not.

    >>> spellings("a.org/b")[:3], spellings("http://")
    (['http://a.org/b', 'http://a.org/b/', 'https://a.org/b'], [])
    """
    url = canonicalize(text if "://" in text else f"http://{text}") or ""
    found = re.fullmatch(r"https?://(?:www\.)?([^?]*?)/?((?:\?.*)?)", url)
    ways = itertools.product(("http://", "https://"), ("", "www."), ("", "/"))
    urls = [f"{scheme}{www}{found[1]}{slash}{found[2]}" for scheme, www, slash in ways if found]
    return sorted(urls, key=lambda other: (other != url, abs(len(other) - len(url))))


def pages_at(addresses: Collection[str], keys: pa.ChunkedArray) -> dict[Unit, Postings]:
    """The documents at URLs; `keys` has the key of each document."""
    numbers = pc.index_in(keys, pa.array(map(url_key, addresses), keys.type)).to_numpy()  # NaN where it is none
    return {
        address: Postings(docs := np.flatnonzero(numbers == number).astype(np.int32), {"url": np.ones_like(docs)})
        for number, address in enumerate(addresses)
    }
