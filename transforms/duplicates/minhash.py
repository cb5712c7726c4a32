"""Signatures of texts, which estimate the similarity of two texts.

A text is the set of its pairs of adjacent words. Its signature is a sketch of that set (Dahlgaard, Knudsen and
Thorup, Fast Similarity Sketching, 2017), one byte per slot: the share of equal slots estimates the Jaccard similarity
of two texts, with an error of about 0.03. Signatures are stored across rounds and must not depend on the release of a
library, so they are implemented here in numpy.
"""

import hashlib

import numpy as np
import numpy.typing as npt

SLOTS = 128
"""Bytes of a signature; a power of two."""

BANDS = 10
"""Number of groups of slots. Texts that agree in all slots of a group are compared."""

FEWEST_WORDS = 40
"""Minimum number of words of a text with a signature; shorter texts have too little content to compare."""

MAX_BYTES = 1 << 18
"""Maximum number of UTF-8 bytes of a text that are used."""

_SLOTS_PER_BAND = 5  # with ten bands, 99.8 % of the texts with 89 % in common are compared, 98 % of those with 80 %
_DRAWS = 700  # enough to fill all slots

Hashes = npt.NDArray[np.uint64]
Signatures = npt.NDArray[np.uint8]

_ODD = np.uint64(0x9E3779B97F4A7C15)
_INVERSE = np.uint64(pow(int(_ODD), -1, 1 << 64))
_EMPTY = ~np.uint64(0)

_LETTERS = bytes(b if b > 127 or chr(b) in "abcdefghijklmnopqrstuvwxyz0123456789_" else 0 for b in range(256))
# The first bytes of U+3000 to U+DFFF: in Han, Kana and Hangul each character counts as a word.
_FIRST_IDEOGRAPH, _IDEOGRAPHS = np.uint8(0xE3), np.uint8(0xEE - 0xE3)


def signature(title: str, text: str) -> bytes | None:
    """The signature of a text; None if it has too few words.

    Texts with different titles have similarity 0, because users search for a page by its title. Whole
    numbers and single characters in a title are ignored, as in "Page 2" and "Page 3".
    """
    words = _words(text)
    if len(words) < FEWEST_WORDS:
        return None
    slots = _sketch(_mix(_mix(words[:-1]) + words[1:] ^ _title_hash(title)))
    return (slots & np.uint64(0xFF)).astype(np.uint8).tobytes()


def similarities(one: Signatures, others: Signatures) -> npt.NDArray[np.float64]:
    """The estimated similarity, from 0 to 1, of a signature (SLOTS) with each of some others (n × SLOTS)."""
    return (others == one).mean(axis=1)


def band_keys(signatures: Signatures) -> Hashes:
    """The band keys (n × BANDS × 2) of signatures (n × SLOTS); signatures that share a key are compared."""
    used = signatures[:, : BANDS * _SLOTS_PER_BAND].reshape(len(signatures), BANDS, _SLOTS_PER_BAND).astype(np.uint64)
    packed = (used << (np.arange(_SLOTS_PER_BAND, dtype=np.uint64) * np.uint64(8))).sum(axis=2, dtype=np.uint64)
    first = _mix(packed | np.arange(BANDS, dtype=np.uint64) << np.uint64(48))
    return np.stack([first, _mix(first + _ODD)], axis=2)


def _powers(base: np.uint64) -> Hashes:
    powers = np.full(MAX_BYTES + 1, base, np.uint64)
    powers[0] = 1
    return np.multiply.accumulate(powers)


_POWERS, _INVERSE_POWERS = _powers(_ODD), _powers(_INVERSE)


def _words(text: str) -> Hashes:
    """A polynomial hash of the bytes of each word, with an odd base; it is independent of the word's position."""
    lowered = text[:MAX_BYTES].lower().encode()[:MAX_BYTES]
    data = np.frombuffer(lowered.translate(_LETTERS), np.uint8)  # 0 between words
    in_word = data != 0
    begins = in_word.copy()
    begins[1:] &= ~in_word[:-1]
    begins |= data - _FIRST_IDEOGRAPH < _IDEOGRAPHS  # lower bytes wrap around
    starts = np.flatnonzero(begins)
    if not len(starts):
        return np.empty(0, np.uint64)
    return _mix(np.add.reduceat(data * _POWERS[: len(data)], starts) * _INVERSE_POWERS[starts])


def _title_hash(title: str) -> np.uint64:
    words = [word for word in title.lower().split() if len(word) > 1 and not word.strip(".,:;()[]#").isdecimal()]
    return np.frombuffer(hashlib.blake2b(" ".join(words).encode(), digest_size=8).digest(), np.uint64)[0]


def _sketch(pairs: Hashes) -> Hashes:
    """The slots of a set: each draw hashes the whole set into slots; a slot keeps the minimum of its first draw."""
    slots = np.full(SLOTS, _EMPTY)
    draw = 0
    while (slots == _EMPTY).any():
        if draw:
            pairs = np.unique(pairs)
        draws = np.arange(draw, draw + 1 + _DRAWS // len(pairs), dtype=np.uint64)
        thrown = _mix(pairs + (draws * _ODD)[:, np.newaxis])
        values = thrown >> np.uint64(16) | (draws << np.uint64(48))[:, np.newaxis]
        np.minimum.at(slots, (thrown & np.uint64(SLOTS - 1)).astype(np.intp).ravel(), values.ravel())
        draw += len(draws)
    return slots


def _mix(values: Hashes) -> Hashes:
    """The finaliser of SplitMix64, which maps similar values to unrelated ones."""
    values = (values ^ values >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ values >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return values ^ values >> np.uint64(31)
