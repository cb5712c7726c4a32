"""The newest row of each key: tables only grow, and of several rows of a key the newest counts."""

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any, TypeVar

K = TypeVar("K")
R = TypeVar("R", bound=Mapping[str, Any])


def newest(rows: Iterable[R], key: Callable[[R], K], age: Callable[[R], Any] = itemgetter("round")) -> dict[K, R]:
    """Return the newest row of each key, by its round unless `age` says otherwise; of equally old ones, the last.

    The keys are in the order in which they appear first.

    >>> newest([{"url": "/a", "round": 2}, {"url": "/a", "round": 1}], itemgetter("url"))
    {'/a': {'url': '/a', 'round': 2}}
    """
    found: dict[K, R] = {}
    for row in rows:
        name = key(row)
        if name not in found or age(row) >= age(found[name]):
            found[name] = row
    return found
