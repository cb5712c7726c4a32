"""Determines the language of a page from its text and from what it declares."""

import functools
import re
from collections.abc import Iterable
from pathlib import Path

from py3langid.langid import LanguageIdentifier

from .model import load

_TAG = re.compile(r"([A-Za-z]{2,3})(?:[-_][\w-]*)?")
_NO_LANGUAGE = frozenset({"mis", "mul", "und", "zxx"})  # ISO 639 codes for no, several and unknown languages

# Languages, of the 140 in the model, that detection may return. The others are mostly false positives. `zxx` collects
# numbers and program text.
_GUESSED = (
    "af am ar as az be bg bn bs ca cs cy da de el en es et eu fa fi fr ga gl gu ha he hi hr hu hy id is it ja ka"
    " kk km kn ko ku ky lo lt lv mg mk ml mn mr ms mt my ne nl nn no or pa pl ps pt ro ru si sk sl so sq sr sv sw"
    " ta te tg th tk tl tr tt ug uk ur uz vi xh yo zh zu zxx"
)
_RELATED = (frozenset({"bs", "hr", "sr"}), frozenset({"id", "ms"}), frozenset({"nn", "no"}))
_FROM_START, _FROM_MIDDLE = 100, 300  # characters of the sample; many pages start with English words
_LEAST, _LEAST_PROBABILITY = 50, 0.5  # minimum characters and probability of a detection
_ENOUGH, _CERTAIN = 200, 0.9  # the same of a detection that overrides a declaration


def choose_language(stated: Iterable[str], text: str) -> str:
    """The primary language subtag, in lower case; "" if it is unknown.

    `stated` are declared language tags, in order; the first single language counts, and a list of languages declares
    none. A certain detection overrides the declaration, because many pages keep the declaration of their template. For
    languages that are easily confused, or that are never detected, the declaration wins.

    >>> choose_language(["de, fr", "pt-BR"], "")
    'pt'
    >>> choose_language(["en"], "Diese Seite wurde übersetzt, und an die Angabe der Sprache hat niemand gedacht. " * 3)
    'de'
    """
    said = stated_language(stated)
    if len(text) < (_ENOUGH if said else _LEAST):
        return said
    guess, probability = _identifier().classify(_sample(text))
    if guess in _NO_LANGUAGE or probability < (_CERTAIN if said else _LEAST_PROBABILITY):
        return said
    is_theirs = said and (said not in _GUESSED.split() or any({said, guess} <= related for related in _RELATED))
    return said if is_theirs else str(guess)


def stated_language(stated: Iterable[str]) -> str:
    """The primary subtag of the first declared single language, in lower case; "" if none is declared."""
    return next(filter(None, map(_primary, stated)), "")


def _primary(tag: str) -> str:
    match = _TAG.fullmatch(tag.strip())
    return match[1].lower() if match and match[1].lower() not in _NO_LANGUAGE else ""


def _sample(text: str) -> str:
    middle = max(_FROM_START, (len(text) - _FROM_MIDDLE) // 2)
    return f"{text[:_FROM_START]} {text[middle : middle + _FROM_MIDDLE]}"


_copies: Path | None = None  # see `keep_copy_in`


def keep_copy_in(folder: Path | None) -> None:
    """Have this process load the model from a copy in a folder, and make one there if there is none."""
    global _copies  # noqa: PLW0603 - the model is one for the process, too
    _copies = folder


def load_model() -> None:
    """Load the model, which takes half a second without a copy, before processes that need it are forked."""
    _identifier()


@functools.cache
def _identifier() -> LanguageIdentifier:
    return load(_GUESSED.split(), _copies)
