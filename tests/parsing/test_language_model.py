"""Copies of the language model: they answer as the model itself, and a bad one is made anew."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from beamtrawl.transforms.parsing.language.model import copy_name, load

LANGUAGES = ["de", "en", "ja", "ru", "sr"]
TEXTS = [
    "Diese Seite handelt von Heringen, und an die Fischer hat dabei niemand gedacht.",
    "Herring gather where the tide turns, and the boats know it.",
    "ニシンは潮の変わり目に集まる。",
    "Сельдь собирается там, где поворачивает прилив.",
    "",
    "1234 5678",
]
BYTES = [bytes([first, 0x80 | last]) * 50 for first in (0xC3, 0xD0, 0xDF) for last in (0, 0x1F, 0x3F)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy."""
    folder = tmp_path_factory.mktemp("cache") / "made"
    load(LANGUAGES, folder)
    return folder


def test_a_copy_answers_as_the_model_does(folder: Path) -> None:
    assert [path.name for path in folder.iterdir()] == [copy_name(LANGUAGES)]
    model, copy = load(LANGUAGES, None), load(LANGUAGES, folder)
    assert [copy.rank(text) for text in TEXTS] == [model.rank(text) for text in TEXTS]
    assert [copy.classify(text)[0] for text in TEXTS[:4]] == ["de", "en", "ja", "ru"]


def test_a_copy_answers_as_the_package_does(folder: Path) -> None:
    packaged, copy = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True), load(LANGUAGES, folder)
    packaged.set_languages(LANGUAGES)
    for text in [*TEXTS, " ".join(TEXTS), "\0" * 9, "ß " * 99, "the" * 2_000, *map(bytes.decode, BYTES)]:
        assert dict(copy.rank(text)) == pytest.approx(dict(packaged.rank(text)), rel=1e-4), text


def flip(path: Path) -> None:
    """Change one bit in the middle."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        (byte,) = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "a bit": flip,
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "cut at its end": lambda path: os.truncate(path, path.stat().st_size - 64),
    "empty": lambda path: os.truncate(path, 0),
    "something else": lambda path: path.write_text("no copy"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_copy_is_made_anew(folder: Path, damage: Callable[[Path], object]) -> None:
    path = folder / copy_name(LANGUAGES)
    before = path.read_bytes()
    damage(path)
    assert load(LANGUAGES, folder).classify(TEXTS[0])[0] == "de"
    assert path.read_bytes() == before


def test_where_nothing_can_be_written_the_model_is_loaded_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert load(LANGUAGES, tmp_path / "file").classify(TEXTS[0])[0] == "de"


def test_other_languages_and_versions_have_other_copies() -> None:
    assert copy_name(LANGUAGES) != copy_name(LANGUAGES[1:])
