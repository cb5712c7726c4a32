"""Stems of languages without a Snowball algorithm: words without the endings of nouns and adjectives.

- Bulgarian: articles and plurals, after J. Savoy, "Searching Strategies for the Bulgarian Language", 2007, section 3.
  The consonants к and г, which become ц and з before endings (език, езици), are one with these in all words.
- Latvian: the cases of nouns and adjectives, after K. Kreslins, "A stemming algorithm for Latvian", 1996, without the
  endings of verbs. Softened consonants (brālis, brāļa) lose their marks with all accents (`analysis.word_class`).
- Others lose the `endings` of nouns and adjectives alone.

A stem has three letters at least.
"""

import re
from collections.abc import Callable, Mapping

from . import endings

_BULGARIAN = (  # steps, each with the least length of a word, its ending, and what stands for the first that fits
    ((6, "ища", ""), (7, "ият", ""), *((6, ending, "") for ending in ("ът", "то", "те", "та", "ия")), (5, "ят", "")),
    ((7, "овци", "о"), (7, "ове", ""), (7, "еве", "й"), (6, "ища", ""), (6, "та", ""), (5, "си", "х"), (5, "и", "")),
    tuple((4, ending, "") for ending in ("я", "а", "о", "е")),
    ((5, "ен", "н"), (4, "ц", "к"), (4, "з", "г")),
)
_FLEETING = re.compile("ъ(?=.$)")

_LATVIAN = (  # endings, the longest first, each with the vowels that a word with it has at least
    *(("ajiem", 4), ("ajai", 4), *((ending, 3) for ending in ("ajam", "ajām", "ajos", "ajās", "iem", "ajā", "ais"))),
    *(("ai", 3), ("ei", 3)),
    *((ending, 2) for ending in ("ām", "am", "ēm", "īm", "im", "um", "us", "as", "ās", "es", "os", "ij", "īs", "ēs")),
    *((ending, 2) for ending in ("is", "ie", "u", "a", "i", "e", "ā", "ē", "ī", "ū", "o")),
    *(("s", 1), ("š", 1)),
)
_SOFTENING = ("iem", "us", "os", "u", "a", "i")
_SOFT = re.compile("(?<=[pbmv])j$")
_VOWEL = re.compile("[aāeēiīouū]")


def bulgarian(word: str) -> str:
    """The stem of a Bulgarian word in small letters.

    >>> [bulgarian(word) for word in ("град", "градът", "градове", "езици", "език")]
    ['град', 'град', 'град', 'език', 'език']
    """
    for step in _BULGARIAN:
        for least, ending, instead in step:
            if len(word) >= least and word.endswith(ending):
                word = word[: len(word) - len(ending)] + instead
                break
    return _FLEETING.sub("", word) if len(word) > 4 else word


def latvian(word: str) -> str:
    """The stem of a Latvian word in small letters.

    >>> [latvian(word) for word in ("pilsēta", "pilsētām", "upe", "upju", "lielajiem", "liels")]
    ['pilsēt', 'pilsēt', 'upe', 'up', 'liel', 'liel']
    """
    vowels = len(_VOWEL.findall(word))
    for ending, least in _LATVIAN:
        if vowels >= least and len(word) >= len(ending) + 3 and word.endswith(ending):
            stem = word[: -len(ending)]
            if ending in _SOFTENING:
                stem = _SOFT.sub("", re.sub("kš$", "kst", stem) if ending[0] == "u" else stem)
            return stem
    return word


STEMS: Mapping[str, Callable[[str], str]] = {"bg": bulgarian, "lv": latvian, **endings.STEMS}
"""By language, the function that makes stems."""
