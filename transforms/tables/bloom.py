"""Vectorised operations on keys: partitions of the key space, and a Bloom filter.

URL keys and content digests are 16 bytes of BLAKE2b, uniformly distributed, so their bytes serve as hash values.
"""

import hashlib

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_HASHES = 6
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # Knuth's multiplicative hashing
_TOGETHER = 1 << 16  # keys whose places are in memory at a time: 250 bytes of each
_BITS_PER_KEY = 20  # with six hashes, a false positive rate of 0.03 %: rarely one in a row group

Words = NDArray[np.uint64]


def words(keys: pa.Array | pa.ChunkedArray) -> Words:
    """Keys (binary(16), no nulls) as an array of shape (n, 2)."""
    array = keys.combine_chunks() if isinstance(keys, pa.ChunkedArray) else keys
    if not len(array):
        return np.empty((0, 2), np.uint64)
    buffer = array.buffers()[1]
    return np.frombuffer(buffer, np.uint64, 2 * len(array), 16 * array.offset).reshape(-1, 2)


def partitions(keys: pa.Array | pa.ChunkedArray, count: int) -> NDArray[np.int64]:
    """The partition of each key, 0 to count - 1: equal ranges of the key space, in ascending order."""
    first = words(keys)[:, 0]
    return ((first & 0xFF) * 256 + ((first >> np.uint64(8)) & 0xFF)).astype(np.int64) * count >> 16


def shard(host: str, count: int) -> int:
    """The shard of a host, and of its site (`canonical.site`); unlike `hash`, the same in every process and run."""
    site = host.removeprefix("www.")
    return int.from_bytes(hashlib.blake2b(site.encode(), digest_size=4).digest()) * count >> 32


def shards(hosts: pa.ChunkedArray, count: int) -> NDArray[np.int64]:
    encoded = hosts.combine_chunks().dictionary_encode()
    numbers = np.array([shard(host, count) for host in encoded.dictionary.to_pylist()], np.int64)
    return numbers[encoded.indices.to_numpy()]


class Bloom:
    """A set of keys, by their first words, with false positives and without false negatives."""

    def __init__(self, expected: int, bits: bytes | None = None) -> None:
        size = max(64, expected * _BITS_PER_KEY)
        self._expected = expected
        self._mask = np.uint64((1 << (size - 1).bit_length()) - 1)
        self._bits = np.zeros((int(self._mask) + 1) // 8, np.uint8) if bits is None else np.frombuffer(bits, np.uint8)

    @classmethod
    def of(cls, first_words: Words) -> "Bloom":
        """A filter for just so many keys."""
        bloom = cls(len(first_words))
        bloom.add_words(first_words)
        return bloom

    def add(self, keys: pa.Array | pa.ChunkedArray) -> None:
        self.add_words(words(keys)[:, 0])

    def add_words(self, first_words: Words) -> None:
        for start in range(0, len(first_words), _TOGETHER):
            for place in self._places(first_words[start : start + _TOGETHER]):
                np.bitwise_or.at(self._bits, (place >> np.uint64(3)).astype(np.int64), _bit(place))

    def mask(self, keys: pa.Array | pa.ChunkedArray) -> NDArray[np.bool_]:
        """Whether each key may be in the set."""
        found = np.ones(len(keys), np.bool_)
        for place in self._places(words(keys)[:, 0]):
            found &= (self._bits[(place >> np.uint64(3)).astype(np.int64)] & _bit(place)) != 0
        return found

    def __reduce__(self) -> tuple[type, tuple[int, bytes]]:
        return Bloom, (self._expected, self._bits.tobytes())

    def _places(self, first: Words) -> list[Words]:
        # Kirsch and Mitzenmacher (2006): linear combinations of two hashes replace any number of hashes.
        second: Words = first * _SPREAD ^ first >> np.uint64(32)
        places: list[Words] = [first + np.uint64(i) * second for i in range(_HASHES)]
        return [place & self._mask for place in places]


def _bit(place: Words) -> NDArray[np.uint8]:
    return np.left_shift(1, (place & np.uint64(7)).astype(np.uint8)).astype(np.uint8)
