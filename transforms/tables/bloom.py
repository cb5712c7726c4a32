"""Vectorised operations on keys: partitions of the key space, and a Bloom filter.

URL keys and content digests are 16 bytes of BLAKE2b, uniformly distributed, so their bytes serve as hash values.
"""

import hashlib

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_HASHES = 6
_BITS_PER_KEY = 20  # with six hashes, a false positive rate of 0.03 %: rarely one in a row group


def words(keys: pa.Array | pa.ChunkedArray) -> NDArray[np.uint64]:
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
    """The shard of a host, and of its site (`urls.site`); unlike `hash`, the same in every process and every run."""
    site = host.removeprefix("www.")
    return int.from_bytes(hashlib.blake2b(site.encode(), digest_size=4).digest()) * count >> 32


def shards(hosts: pa.ChunkedArray, count: int) -> NDArray[np.int64]:
    """The `shard` of each host."""
    encoded = hosts.combine_chunks().dictionary_encode()
    numbers = np.array([shard(host, count) for host in encoded.dictionary.to_pylist()], np.int64)
    return numbers[encoded.indices.to_numpy()]


class Bloom:
    """A set of keys with false positives and without false negatives.

    `|=` computes the union of filters of one size. The bits are pickled as bytes.
    """

    def __init__(self, expected: int, bits: bytes | None = None) -> None:
        size = max(64, expected * _BITS_PER_KEY)
        self._expected = expected
        self._mask = np.uint64((1 << (size - 1).bit_length()) - 1)
        self._bits = (
            np.zeros((int(self._mask) + 1) // 8, np.uint8) if bits is None else np.frombuffer(bits, np.uint8).copy()
        )

    @property
    def is_empty(self) -> bool:
        return not self._bits.any()

    def add(self, keys: pa.Array | pa.ChunkedArray) -> None:
        for place in self._places(keys):
            np.bitwise_or.at(self._bits, (place >> np.uint64(3)).astype(np.int64), _bit(place))

    def mask(self, keys: pa.Array | pa.ChunkedArray) -> NDArray[np.bool_]:
        """Whether each key may be in the set."""
        found = np.ones(len(keys), np.bool_)
        for place in self._places(keys):
            found &= (self._bits[(place >> np.uint64(3)).astype(np.int64)] & _bit(place)) != 0
        return found

    def __ior__(self, other: "Bloom") -> "Bloom":
        self._bits |= other._bits
        return self

    def __reduce__(self) -> tuple[type, tuple[int, bytes]]:
        return Bloom, (self._expected, self._bits.tobytes())

    def _places(self, keys: pa.Array | pa.ChunkedArray) -> list[NDArray[np.uint64]]:
        # Kirsch and Mitzenmacher (2006): linear combinations of two hashes replace any number of hashes.
        pair = words(keys)
        return [(pair[:, 0] + np.uint64(i) * pair[:, 1]) & self._mask for i in range(_HASHES)]


def _bit(place: NDArray[np.uint64]) -> NDArray[np.uint8]:
    return np.left_shift(1, (place & np.uint64(7)).astype(np.uint8)).astype(np.uint8)
