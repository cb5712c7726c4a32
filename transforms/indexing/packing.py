"""Writes postings as numbers: the frequencies of all fields in one, and ascending numbers as gaps."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from .invert import Longs

FIELD_BITS: Mapping[str, tuple[int, int]] = {
    "body": (0, 24),
    "title": (24, 8),
    "headings": (32, 16),
    "url": (48, 15),
    "anchors": (0, 24),
}
"""The first bit and the number of bits of a field's frequency in `tf`. Anchors have a `tf` of their own."""


def pack(frequencies: Mapping[str, npt.NDArray[np.int32]]) -> Longs:
    """The frequencies of all fields as one number for each posting, by FIELD_BITS; each is capped to its bits.

    The excess of a title counts as body, so that the sum of both is still the number of positions.

    >>> [hex(number) for number in pack({"body": np.array([1]), "title": np.array([257]), "url": np.array([2])})]
    ['0x20000ff000003']
    """
    fields = {field: tf.astype(np.int64) for field, tf in frequencies.items()}
    if "title" in fields:
        beyond = np.maximum(fields["title"] - max_frequency("title"), 0)
        fields["body"] = fields["body"] + beyond
    parts = [np.minimum(tf, max_frequency(field)) << FIELD_BITS[field][0] for field, tf in fields.items()]
    return np.bitwise_or.reduce(parts)


def unpack(packed: Longs, fields: Sequence[str]) -> dict[str, npt.NDArray[np.int32]]:
    """The inverse of `pack`, for these fields."""
    return {field: (packed >> FIELD_BITS[field][0] & max_frequency(field)).astype(np.int32) for field in fields}


def max_frequency(field: str) -> int:
    """The largest frequency of a field that `tf` can hold."""
    return (1 << FIELD_BITS[field][1]) - 1


def gaps(values: npt.NDArray[np.int32], starts: Longs) -> npt.NDArray[np.int32]:
    """Ascending runs of numbers as differences; runs begin at `starts`, and the first number of each stays."""
    result = np.diff(values, prepend=np.int32(0))
    firsts = starts[starts < len(values)]  # an empty run at the end starts after the last value
    result[firsts] = values[firsts]
    return result


def undo_gaps(differences: npt.NDArray[np.int32], lengths: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """The inverse of `gaps`, from the lengths of the runs."""
    sums = np.zeros(len(differences) + 1, np.int32)  # modulo 2**32, and so is what is subtracted
    np.cumsum(differences, dtype=np.int32, out=sums[1:])
    before = sums[np.cumsum(lengths) - lengths]
    return sums[1:] - np.repeat(before, lengths)


def varint(value: int) -> bytes:
    """A non-negative number in groups of seven bits, lowest first; all bytes but the last have the eighth bit set.

    >>> varint(300).hex()
    'ac02'
    """
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
