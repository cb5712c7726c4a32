"""What the watch finds: phrases, parts of texts, images in other sizes."""

import doctest
import io
import random

import pytest
from hypothesis import given, strategies as st
from PIL import Image

from beamtrawl.transforms.duplicates.shingles import Texts, shingles
from beamtrawl.transforms.observers import phrases
from beamtrawl.transforms.observers.images import KnownImages, difference_hash
from beamtrawl.transforms.observers.phrases import Phrases
from beamtrawl.transforms.plugins import PluginError
from tests.support.files import png
from tests.support.tables import each_row

# phrase, text, times
PHRASES = {
    "as it stands": ("Acme Co.", "x Acme Co. y", 1),
    "in other case, width and space": ("acme co.", "ＡＣＭＥ\n  CO.", 1),
    "several times": ("acme", "acme, Acme; ACME", 3),
    "within a word": ("acme", "acmes pacme a_acme", 0),
    "beside signs": ("c++", "in C++, ++", 1),
    "signs at its ends": ("(c) acme", "x(C) Acme.", 1),
    "no white space in Japanese": ("著作権", "この著作権法は", 1),
    "Korean, with an ending": ("고등어", "고등어는", 1),
    "parted": ("acme fish", "acme or fish", 0),
    "with a soft hyphen": ("acme", "ac\u00adme", 1),
    "empty": (" ", "a b", 0),
}


@each_row(PHRASES)
def test_phrases(phrase, text, times):
    assert [(found.phrase, found.times) for found in Phrases([phrase]).find(text)] == [(phrase, times)] * bool(times)


def test_a_phrase_comes_with_what_stands_around_it():
    (found,) = Phrases(["b"]).find("x" * 100 + " b " + "y" * 100)
    assert found.context == "x" * 59 + " b " + "y" * 59


WORDS = " ".join(f"word{n}" for n in range(400))
CHAPTER = " ".join(WORDS.split()[100:150])
SHORT = "one two three four five six seven eight nine ten"

# known text, other text, share of it that is found
TEXTS = {
    "the text itself": (WORDS, WORDS, 1.0),
    "within another": (WORDS, f"before {WORDS.upper()}, after", 1.0),
    "a paragraph of many": (WORDS, f"x {CHAPTER} y", 43 / 393),
    "too little of many": (WORDS, " ".join(CHAPTER.split()[:40]), None),
    "a fifth of a short one": (SHORT, "x one two three four five six seven eight y", 1 / 3),
    "the same words in another order": (WORDS, " ".join(reversed(WORDS.split())), None),
    "Chinese": ("千里之行始于足下合抱之木生于毫末", "老子说千里之行始于足下合抱之木生于毫末也", 1.0),
    "nothing": (WORDS, "", None),
}


@each_row(TEXTS)
def test_texts(known, other, share):
    found = [(name, part) for name, part, _ in Texts({"it": known}).find(other)]
    assert found == ([] if share is None else [("it", pytest.approx(share))])


def test_each_of_several_texts_is_found_for_itself():
    texts = Texts({"b": WORDS, "a": f"{SHORT} {CHAPTER}", "c": SHORT})
    assert [part.name for part in texts.find(CHAPTER)] == ["a", "b"]


@given(st.text())
def test_a_text_holds_itself(text):
    assert [part.share for part in Texts({"a": text}).find(text)] == [1.0] * bool(shingles(text))


def picture(size: tuple[int, int], form: str = "PNG", mode: str = "RGB") -> bytes:
    """One motif, in any size and form."""
    image = Image.radial_gradient("L").crop((20, 60, 200, 255)).convert(mode).resize(size)
    body = io.BytesIO()
    image.save(body, form)
    return body.getvalue()


KNOWN = KnownImages({"it": picture((300, 200))})
ALIKE = {
    "itself": picture((300, 200)),
    "smaller": picture((90, 60)),
    "JPEG": picture((600, 400), "JPEG"),
    "GIF": picture((100, 100), "GIF"),
    "grey": picture((300, 200), mode="L"),
}
UNLIKE = {
    "another": png([[(x * y * 7) % 256 for x in range(20)] for y in range(20)]),
    "plain": png([[9] * 20] * 20),
    "cut": picture((300, 200))[:90],
    "none": b"",
    "too large": b"P5 99999 99999 255 ",
}


@pytest.mark.parametrize("body", ALIKE.values(), ids=ALIKE)
def test_images_that_are_alike(body):
    assert [alike.name for alike in KNOWN.find(body)] == ["it"]


@pytest.mark.parametrize("body", UNLIKE.values(), ids=UNLIKE)
def test_images_that_are_not(body):
    assert list(KNOWN.find(body)) == []


def test_examples_in_docstrings():
    assert doctest.testmod(phrases).failed == 0


RISING = [[8 * y + x for x in range(8)] for y in range(9)]  # no bit of its hash is set


MIXED = [[(x * 37 + y * 91 + x * y * 13) % 256 for x in range(8)] for y in range(9)]  # half of them are


def flipped(picture: list[list[int]]) -> list[bytes]:
    """The picture with a few of its cells inverted, others in each."""
    pick, found = random.Random(1), []
    for number in range(120):
        other = [list(row) for row in picture]
        for cell in pick.sample(range(72), number // 12):
            other[cell // 8][cell % 8] = 255 - other[cell // 8][cell % 8]
        found.append(png(other))
    return found


def test_images_within_12_bits_are_alike_and_with_13_they_are_not():
    known, own = KnownImages({"it": png(MIXED)}), difference_hash(png(MIXED))
    is_found = {(difference_hash(it) ^ own).bit_count(): bool(list(known.find(it))) for it in flipped(MIXED)}
    assert {12, 13} <= is_found.keys()
    assert all(found is (distance <= 12) for distance, found in is_found.items())


def test_an_image_of_fewer_than_16_bits_is_too_plain():
    is_taken = {}
    for body in flipped(RISING):
        try:
            KnownImages({"it": body})
        except PluginError:
            is_taken[difference_hash(body).bit_count()] = False
        else:
            is_taken[difference_hash(body).bit_count()] = True
    assert {15, 16} <= is_taken.keys()
    assert all(taken is (count >= 16) for count, taken in is_taken.items())
