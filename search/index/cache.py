"""A cache of values, bounded by weight."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Cache(Generic[Key, Value]):
    """Values by key; the least recently used ones are evicted when the total weight exceeds `most`.

    Thread-safe; two threads may both read the same key.
    """

    def __init__(self, most: int, weigh: Callable[[Value], int] = lambda _: 1) -> None:
        self._most, self._weigh = most, weigh
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self.weight = 0
        """The total weight of what is cached."""

    def get(self, keys: Collection[Key], read: Callable[[list[Key]], Mapping[Key, Value]]) -> dict[Key, Value]:
        """The values of the keys, in their order. All missing ones are read by one call.

        Keys that `read` does not return are not in the result either.
        """
        found: dict[Key, Value] = {}
        with self._lock:
            for key in keys:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    found[key] = self._kept[key][0]
        if len(found) == len(keys):
            return found
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        if missing:
            new = read(missing)
            with self._lock:
                for key, value in new.items():
                    self._keep(key, value)
            found |= new
        return {key: found[key] for key in keys if key in found}

    def entries(self) -> list[tuple[Key, int]]:
        """What is cached, as keys with weights, the least recently used ones first."""
        with self._lock:
            return [(key, weight) for key, (_, weight) in self._kept.items()]

    def _keep(self, key: Key, value: Value) -> None:
        weight = self._weigh(value)
        self.weight += weight - self._kept.pop(key, (None, 0))[1]
        self._kept[key] = value, weight
        while self.weight > self._most and len(self._kept) > 1:
            _, (_, weight) = self._kept.popitem(last=False)
            self.weight -= weight
