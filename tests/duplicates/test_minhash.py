"""Signatures estimate what two texts have in common, and bands bring together those with much of it."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.duplicates.minhash import band_keys, signature, similarities

# Stated here and not imported: a changed limit fails a test.
BANDS = 10
FEWEST_WORDS = 40
MAX_BYTES = 1 << 18
SLOTS = 128

LETTERS = "abcdefghijklmnop"


def text_of(seed: int, words: int = 400, letters: str = LETTERS) -> list[str]:
    chance = random.Random(seed)
    return ["".join(chance.choices(letters, k=5)) for _ in range(words)]


def signed(text: str | list[str], title: str = "Tides") -> np.ndarray:
    found = signature(title, text if isinstance(text, str) else " ".join(text))
    assert found is not None
    assert len(found) == SLOTS
    return np.frombuffer(found, np.uint8)


def pairs(words: list[str]) -> set[tuple[str, str]]:
    return set(itertools.pairwise(words))


@pytest.mark.parametrize("words", [50, 400, 5_000])
@pytest.mark.parametrize("edited", [0.01, 0.03, 0.2])
def test_the_estimate_is_near_the_jaccard_similarity(words, edited):
    errors = []
    for seed in range(20):
        one, chance = text_of(seed, words), random.Random(-seed)
        other = [f"new{place}" if chance.random() < edited else word for place, word in enumerate(one)]
        exact = len(pairs(one) & pairs(other)) / len(pairs(one) | pairs(other))
        errors.append(similarities(signed(one), signed(other)[np.newaxis])[0] - exact)
    assert abs(np.mean(errors)) < 0.03
    assert np.std(errors) < 0.06


def test_what_makes_no_difference():
    text = text_of(1)
    assert (signed("  ".join(text).upper() + "!") == signed(text)).all()
    assert (signed(text, "Tides, page 2") == signed(text, "tides,  page (10)")).all()
    assert (signed(text, "Appendix A") == signed(text, "Appendix B")).all()


@pytest.mark.parametrize("title", ["Winds", "Tides 1.2", ""])
def test_under_another_title_texts_have_nothing_in_common(title):
    assert similarities(signed(text_of(1)), signed(text_of(1), title)[np.newaxis])[0] < 0.05


def test_characters_are_the_words_of_languages_without_spaces():
    text = "".join(chr(0x4E00 + number) for number in random.Random(1).choices(range(3_000), k=400))
    edited = text[:200] + "新" + text[201:]
    assert similarities(signed(text), signed(edited)[np.newaxis])[0] > 0.95
    assert signature("", text[: FEWEST_WORDS - 1]) is None


def test_a_short_text_has_no_signature():
    assert signature("Tides", " ".join(text_of(1, FEWEST_WORDS - 1))) is None
    assert signature("Tides", " ".join(text_of(1, FEWEST_WORDS))) is not None
    assert signature("Tides", "") is None


def test_one_word_for_ever_has_one_too():
    assert signed("tide " * 100_000) is not None


def test_of_a_very_long_text_the_beginning_counts():
    text = "tide and wind and rain " * (MAX_BYTES // 23 + 1)
    assert (signed(text + "snow " * 1000) == signed(text)).all()


def test_signatures_do_not_change_with_releases():
    """They are kept in table near: whoever makes others must have them made anew."""
    assert signature("Tides", " ".join(text_of(1, 60))).hex()[:32] == "ea9d8eec6850998e86e7108d1c0debcc"  # type: ignore[union-attr]


@given(st.text(), st.text(min_size=100))
def test_any_text_may_be_signed(title, text):
    assert signature(title, text) == signature(title, text)


def shared(one: np.ndarray, other: np.ndarray) -> bool:
    keys = band_keys(np.stack([one, other]))
    return bool((keys[0] == keys[1]).all(axis=1).any())


def test_a_band_brings_the_alike_together_and_keeps_others_apart():
    met = apart = 0
    for seed in range(60):
        one, chance = text_of(seed), random.Random(-seed)
        met += shared(signed(one), signed([f"new{n}" if chance.random() < 0.03 else w for n, w in enumerate(one)]))
        apart += not shared(signed(one), signed(text_of(seed + 1_000)))
    assert (met, apart) == (60, 60)


def test_bands_have_different_keys():
    keys = band_keys(np.zeros((3, SLOTS), np.uint8))
    assert keys.shape == (3, BANDS, 2)
    assert len(np.unique(keys[0, :, 0])) == len(np.unique(keys[0, :, 1])) == BANDS
    assert (keys[0] == keys[1]).all()
