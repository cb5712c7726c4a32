"""What the watch finds: phrases, parts of texts, images in other sizes."""

import doctest
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from beamtrawl.transforms.duplicates.shingles import Texts, shingles
from beamtrawl.transforms.observers import phrases
from beamtrawl.transforms.observers.images import KnownImages
from beamtrawl.transforms.observers.phrases import Phrases
from tests.support.files import png

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


@pytest.mark.parametrize(("phrase", "text", "times"), PHRASES.values(), ids=PHRASES)
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


@pytest.mark.parametrize(("known", "other", "share"), TEXTS.values(), ids=TEXTS)
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
