"""Text analysis: text to index terms, with the same function for documents and queries.

A word is a run of letters, digits and marks of any script, in its NFKC and case-folded form. Chinese and Japanese
do not separate words by spaces, and Korean attaches endings to them, so runs of these scripts become overlapping
bigrams of characters, which need no dictionary. Runs of Thai, Lao, Khmer, Burmese and the others of UNSPACED become
overlapping pairs of `clusters`. docs/scripts.md lists the scripts. A token that holds several words (foo_bar, node.js,
3.11) is indexed as its parts at consecutive positions; a query searches for the parts and, as a phrase, for the whole.

An identifier, a run of letters, digits and underscores (foo_bar, __init__), is one more term at the position of its
first part. It does not count for the length of a text, and is no part of a phrase. The same holds for the pairs of
words that follow one another in a title.

Terms are exact forms. `word_class` maps the forms of one word in a language to a common key.
"""

import bisect
import itertools
import re
import unicodedata
from collections.abc import Sequence

import Stemmer

from . import light_stems

MAX_TERM_LENGTH = 64
"""Characters of a term; the rest of a longer word is neither indexed nor searched."""

CJK = (
    "\u1100-\u11ff\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u312f\u3131-\u318f\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Han, Hiragana, Katakana, Bopomofo and Hangul, as ranges for a regular expression's character class."""

UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecf\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109d\u1780-\u17d3\u17d7"
    "\u17dc\u17dd\u1950-\u1974\u1980-\u19c9\u1a20-\u1a7c\u1aa7\u1b00-\u1b4c\ua000-\ua48c\ua980-\ua9c0\ua9cf\ua9e0-\ua9ef"
    "\ua9fa-\ua9fe\uaa60-\uaa7f\uaa80-\uaadd"
)
"""The other scripts without spaces between words, with their marks and without their digits, as CJK has its own.

Thai, Lao, Burmese, Khmer, Tai Le, New Tai Lue, Tai Tham, Balinese, Yi, Javanese and Tai Viet: those whose words a
dictionary finds (Unicode Standard Annex 14, class SA), and those that break lines between any syllables.
"""

UNSEEN = "[\u200b-\u200d\u2060]"
"""What some write between the letters or words of UNSPACED scripts and some do not, as a regular expression."""

JOINERS = "[\u200c\u200d]"
"""Zero-width joiner and non-joiner, which some write beside a virama and some do not, as a regular expression."""

STOP_WORDS = frozenset(
    """
    a about after all also an and any are as at be been but by can could d did do does for from had has have
    he her his how i if in into is it its just ll m me more most my no not of on or other our over re s she
    should so some such t than that the their them then there these they this to up us ve was we were what
    when where which who why will with would you your
    """.split()  # noqa: SIM905
)
"""English function words, which are dropped from queries that have other words.

Some are fragments of contractions: don't, it's, we'll.
"""

STEMMERS = {
    **{"ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english"},
    **{"es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish", "fr": "french"},
    **{"ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian"},
    **{"lt": "lithuanian", "nb": "norwegian", "ne": "nepali", "nl": "dutch", "nn": "norwegian", "no": "norwegian"},
    **{"pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish"},
    **{"ta": "tamil", "tr": "turkish", "yi": "yiddish"},
}
"""The Snowball algorithm of each language that has one, by ISO 639-1 code."""

MAX_NAME = 4
"""Words of a name that is a term of its own; longer ones are found by their words."""

MAX_NAMED = 8
"""Words of a query in which names are looked for."""

# Scripts in which accents are often omitted. In other scripts, marks distinguish words.
_ACCENTED = re.compile("([a-zα-ωе])[\u0300-\u036f]+")
_MAY_BE_ACCENTED = re.compile("[\u00c0-\u03ff\u0450-\u045f\u1e00-\u1fff]")
# What is often not typed: points of Hebrew, Arabic (with Kashida) and Syriac, the nukta of Devanagari, stress in
# Cyrillic. Vowels of Thaana, and marks of other scripts, are always written.
_OMITTED = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u093c]+"
    "|(?<=[\u0400-\u04ff])[\u0300\u0301]+"
)
_MAY_BE_TYPED_OTHERWISE = re.compile(r"[\u0300\u0301\u0591-\u074a\u0929-\u093c]|[^\D0-9]")
_DIGITS = {n: str(unicodedata.decimal(chr(n))) for n in range(0x660, 0x10000) if unicodedata.category(chr(n)) == "Nd"}
# Letters that have two forms by keyboard, yeh and kaf above all: those of Arabic, but in Persian and its neighbours.
_AS_TYPED = _DIGITS | str.maketrans("أإٱىیک\u0929\u0931\u0934", "اااييك\u0928\u0930\u0933")
_PERSIAN = _DIGITS | str.maketrans("أإٱىيك", "اااییک")
_AS_TYPED_IN = dict.fromkeys(("fa", "ur", "ps", "ckb"), _PERSIAN) | {"ug": _DIGITS}  # Uyghur has both yehs

_BARE = str.maketrans({"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l", "ı": "i"})

# \w excludes combining marks, which Hindi, Thai and Arabic words need. Marks beyond the basic plane separate words, in
# documents and in queries: including them makes all matching four times slower.
_MARKS = "".join(re.escape(c) for c in map(chr, range(0x300, 0x10000)) if unicodedata.category(c)[0] == "M")
_PAIR = " _ "  # between the two terms of a pair; no other term has a space
_IN_CJK, _OVERLAPPING = re.compile(f"[{CJK}]"), re.compile(f"[{CJK}{UNSPACED}]")
# C++, C# and .NET, which would otherwise be indexed as c and net.
_SPECIAL = r"[cfg](?:\+\+|#)|(?<!\w)\.net(?!\w)"
_LETTER = rf"[^\W_{CJK}{UNSPACED}]"
_SOLID = rf"(?![{_MARKS}])[{UNSPACED}](?:[{UNSPACED}{_MARKS}]|{UNSEEN})*"
_RUN = re.compile(rf"([{CJK}]+|{_SOLID})|({_SPECIAL}|{_LETTER}(?:{_LETTER}|[{_MARKS}])*)")
_IDENTIFIER = re.compile(rf"[^\W{CJK}{UNSPACED}](?:[^\W{CJK}{UNSPACED}]|[{_MARKS}])*")
_BEFORE = "\u0e40-\u0e44\u0ec0-\u0ec4\u19b5-\u19b7\u19ba\uaab5\uaab6\uaab9\uaabb\uaabc"  # vowels before their consonant
_AFTER = "\u0e30\u0e32\u0e33\u0e45\u0eb0\u0eb2\u0eb3"  # vowels behind it that are no marks
_VIRAMA = "\u1039\u17d2\u1a60\u1b44\ua9c0"  # joins the letter that follows
_CLUSTER = re.compile(rf"(?s:[{_BEFORE}]{{0,2}}.(?:(?<=[{_VIRAMA}])\w|[{_MARKS}{_AFTER}]){{0,29}})")
_INSIDE_CLUSTER = re.compile(rf"(?s:(?<=[{_BEFORE}{_VIRAMA}])\w|[{_MARKS}{_AFTER}])")
_SPLIT_AM = re.compile("([\u0e4d\u0ecd])([\u0e48-\u0e4b\u0ec8-\u0ecb]?)([\u0e32\u0eb2])")
_INSIDE_WORD = re.compile("[\u00ad\u200e\u200f\u2060\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]+")  # UAX 29, WB4
_JOINED = re.compile(f"(?<![\u0600-\u08ff]){JOINERS}|\u200d")  # in Arabic script, words end at a non-joiner
# The same, each anchored at its first character that is no letter: a search for one byte takes a fraction of the time.
_OF_SPECIAL = [
    re.compile(rb"\+\+(?<=[cfg]..)(?<![a-z0-9]...)", re.IGNORECASE | re.DOTALL),
    re.compile(rb"#(?<=[cfg].)(?<![a-z0-9]..)", re.IGNORECASE | re.DOTALL),
    re.compile(rb"\.net(?!\w)(?<!\w....)", re.IGNORECASE | re.DOTALL),
]
_SEPARATING = bytes(b if b > 127 or chr(b).isalnum() or b == ord("_") else ord(" ") for b in bytes(range(256)).lower())


def tokens(text: str) -> list[str]:
    """The terms of a text, in order.

    >>> tokens("Node.js’s foo_bar in C++: ＦＵＬＬ text, 全文検索")
    ['node', 'js', 's', 'foo', 'bar', 'in', 'c++', 'full', 'text', '全文', '文検', '検索']
    """
    return [term for piece in _pieces(text) for term in terms_of_piece(piece)[0]]


def identifiers(text: str) -> list[str]:
    """The identifiers of a text, in order, which are further terms of it.

    >>> identifiers("Foo_Bar.__init__ of a _ in 変数_名")
    ['foo_bar', '__init__']
    """
    return [term for piece in _pieces(text) for _, term in terms_of_piece(piece)[1]]


def pairs(terms: Sequence[str]) -> list[tuple[int, str]]:
    """The pairs of consecutive terms, each with the place of its first: as further terms of a title, and of a query.

    Stop words are left out before, so that "signals and slots" and "Signals & Slots" have the same pair. Terms of
    scripts without spaces have no pairs: they overlap.

    >>> pairs(tokens("The signals and slots of 全文 Qt"))
    [(1, 'signals _ slots')]
    """
    words = [(place, term) for place, term in enumerate(terms) if term not in STOP_WORDS]
    return [
        (place, f"{term}{_PAIR}{following}")
        for (place, term), (_, following) in itertools.pairwise(words)
        if not is_overlapping(term) and not is_overlapping(following)
    ]


def is_overlapping(term: str) -> bool:
    """Whether a term is of a script without spaces between words: a part of a run, which overlaps the next one."""
    return _OVERLAPPING.search(term) is not None  # not only at the start: a morpheme has a prefix


def is_unspaced(term: str) -> bool:
    """Whether a term is of one of the UNSPACED scripts."""
    return _OVERLAPPING.match(term) is not None and not _IN_CJK.match(term)


def name(terms: Sequence[str]) -> str | None:
    """The terms of a name as one further term, without stop words if others are left; None for a long name.

    >>> name(tokens("The lists:foldl/3")), name(tokens("if"))
    ('lists _ foldl _ 3 _ ', 'if _ ')
    """
    words = [term for term in terms if term not in STOP_WORDS] or terms
    return _PAIR.join([*words, ""]) if 0 < len(words) <= MAX_NAME else None


def names_within(terms: Sequence[str]) -> list[str]:
    """The names (`name`) that may be in a query: of all its words in a row, but for stop words.

    >>> names_within(tokens("the DATABASES setting"))
    ['databases _ ', 'databases _ setting _ ', 'setting _ ']
    """
    words = [term for term in terms if term not in STOP_WORDS] or terms
    starts = range(len(words) if len(words) <= MAX_NAMED else 0)
    return [_PAIR.join([*words[i:j], ""]) for i in starts for j in range(i + 1, min(i + MAX_NAME, len(words)) + 1)]


def leading_to(name: str, id_: str) -> str:
    """A name as one further term with the id of the section that it leads to: they begin with `leading_to(name, "")`.

    >>> leading_to(name(["result", "columns"]), "resultset")
    'result _ columns _ #resultset'
    """
    return f"{name}#{id_}"


def is_name(term: str) -> bool:
    """Whether a term is a `name`."""
    return term.endswith(_PAIR)


def is_pair(term: str) -> bool:
    """Whether a term is one of `pairs`, or a name."""
    return _PAIR in term


def words_of(term: str) -> list[str]:
    """The two terms of a pair, those of a name; of any other term, itself."""
    return term.removesuffix(_PAIR).split(_PAIR)


def is_further(term: str) -> bool:
    """Whether a term is an identifier or a pair, beside the words that it consists of: no word has an underscore."""
    return "_" in term


def _pieces(text: str) -> list[str]:
    return separate_words(text.encode(errors="surrogatepass")).decode(errors="surrogatepass").split()


def separate_words(text: bytes) -> bytes:
    """A text in UTF-8 with ASCII letters lower-cased, and other ASCII characters but underscores replaced by spaces.

    The length stays. The pieces between spaces are one term each if they are ASCII without underscores. Only the other
    pieces need work by character (`terms_of_piece`), once for each distinct piece.
    """
    pieces = bytearray(text.translate(_SEPARATING))
    for found in itertools.chain.from_iterable(special.finditer(text) for special in _OF_SPECIAL):
        pieces[found.start() : found.end()] = found[0].lower()
    return bytes(pieces)


def terms_of_piece(piece: str) -> tuple[list[str], list[tuple[int, str]]]:
    """The terms of one piece of a text from `separate_words`, and its identifiers.

    Each identifier has the number of the terms before its parts. One of more than MAX_TERM_LENGTH characters has its
    parts only.
    """
    if piece.isascii() and piece.isalnum():
        return [piece[:MAX_TERM_LENGTH]], []
    folded = _folded(piece)
    if "_" not in folded:
        return _terms(folded), []
    folded = folded.replace("_\u200b", "_")  # a place for a line break
    names = [name for name in _IDENTIFIER.finditer(folded) if _is_whole(name[0])]
    return _terms(folded), list(zip(_terms_before(folded, names), [name[0] for name in names], strict=True))


def _folded(piece: str) -> str:
    folded = unicodedata.normalize("NFKC", _INSIDE_WORD.sub("", piece)).casefold()
    folded = folded.replace("\u02bb", "'").replace("\u02bc", "'")  # letters, for which most keyboards have apostrophes
    return _JOINED.sub("", folded) if "\u200d" in folded or "\u200c" in folded else folded


def _terms(folded: str) -> list[str]:
    terms = []
    for run, word in _RUN.findall(folded):
        if word:
            terms.append(word[:MAX_TERM_LENGTH])
        else:
            terms.extend(_of_run(run))
    return terms


def _of_run(run: str) -> list[str]:
    return overlapping(run if _IN_CJK.match(run) else clusters(run))


def overlapping(parts: Sequence[str]) -> list[str]:
    """The terms of the characters or clusters of a run in scripts without spaces: its pairs, or what is alone."""
    return list(map("".join, itertools.pairwise(parts))) if len(parts) > 1 else ["".join(parts)]


def runs(text: str) -> list[list[str]]:
    """The characters, or clusters, of each run of a text in scripts without spaces.

    >>> runs("ＦＵＬＬ全文 text, ไทย")
    [['全', '文'], ['ไท', 'ย']]
    """
    found = (run for piece in _pieces(text) if not piece.isascii() for run, _ in _RUN.findall(_folded(piece)) if run)
    return [list(run) if _IN_CJK.match(run) else clusters(run) for run in found]


def clusters(run: str) -> list[str]:
    """The clusters of a run in UNSPACED scripts: each a consonant with its vowels, marks and subscripts.

    At most MAX_TERM_LENGTH characters are two clusters. What separates words without being seen is left out.

    >>> clusters("โรงพยาบาล"), clusters("น้ำ"), clusters("ក្រុមហ៊ុន")
    (['โร', 'ง', 'พ', 'ยา', 'บา', 'ล'], ['น้ำ'], ['ក្រុ', 'ម', 'ហ៊ុ', 'ន'])
    """
    run = re.sub(UNSEEN, "", run)
    # NFKC divides the vowel am of Thai and Lao, which is written as one character; some put the tone between its parts.
    return _CLUSTER.findall(_SPLIT_AM.sub(lambda am: am[2] + chr(ord(am[3]) + 1), run))


def is_inside_cluster(text: str, place: int) -> bool:
    """Whether a place in a text is between the characters of a cluster, or between a letter of any script and its mark.

    >>> [place for place in range(7) if is_inside_cluster("ไปน้ำที่"[:7], place)]
    [1, 3, 4, 6]
    """
    return _INSIDE_CLUSTER.match(text, place) is not None


def _terms_before(folded: str, names: Sequence[re.Match[str]]) -> list[int]:
    """The number of terms before each of some matches in a text."""
    if not any(name.start() for name in names):
        return [0] * len(names)
    runs = list(_RUN.finditer(folded))
    before = list(itertools.accumulate((len(_of_run(run[1])) if run[1] else 1 for run in runs), initial=0))
    starts = [run.start() for run in runs]
    return [before[bisect.bisect_left(starts, name.start())] for name in names]


def _is_whole(name: str) -> bool:
    """Whether a run of letters, digits and underscores has both kinds, and is not too long to be a term."""
    return len(name) <= MAX_TERM_LENGTH and "_" in name and name.strip("_") != ""


def word_class(term: str, language: str) -> str:
    """The key that all forms of a word share in a language (of `term_forms.stemmed_as`): the stem without accents
    and points.

    An identifier has one form, itself. The forms of a pair are the pairs of the forms.

    >>> [word_class(term, "en") for term in ("connection", "connected", "naïve", "max_connections", "using _ queries")]
    ['connect', 'connect', 'naiv', 'max_connections', 'use _ queri']
    """
    return word_classes([term], language)[0]


def word_classes(terms: Sequence[str], language: str) -> list[str]:
    """`word_class` of each term."""
    if not is_further("".join(terms)):  # nearly always: no call for each term
        return _classes_of_words(terms, language)
    parts = {term: words_of(term) for term in terms if is_pair(term)}
    words = {*itertools.chain(*parts.values()), *(term for term in terms if not is_further(term))}
    found = dict(zip(words, _classes_of_words(list(words), language), strict=True))
    for term, of_term in parts.items():
        found[term] = _PAIR.join([found[part] for part in of_term]) + _PAIR * is_name(term)
    return [found.get(term, term) for term in terms]


def _classes_of_words(words: Sequence[str], language: str) -> list[str]:
    words = [word if word.isascii() else _as_typed(word, language) for word in words]
    # A stemmer is not thread-safe, and cheap to make. Its cache takes twice the time of the stemming that it saves.
    stems = Stemmer.Stemmer(STEMMERS[language], 0).stemWords(words) if language in STEMMERS else words
    stems = list(map(light_stems.STEMS[language], words)) if language in light_stems.STEMS else stems
    return [stem if stem.isascii() else _without_accents(stem) for stem in stems]


def _as_typed(word: str, language: str) -> str:
    """The word without points, and with the letters and digits of one keyboard of its language."""
    word = _without_accents(word) if language in ("en", "el") else word  # stemmers without marks: résumé, προϊόν
    if not _MAY_BE_TYPED_OTHERWISE.search(word):
        return word
    return _OMITTED.sub("", word).translate(_AS_TYPED_IN.get(language, _AS_TYPED)) or word


def _without_accents(term: str) -> str:
    if not _MAY_BE_ACCENTED.search(term):
        return term
    bare = _ACCENTED.sub(r"\1", unicodedata.normalize("NFD", term))
    return unicodedata.normalize("NFC", bare).translate(_BARE) or term
