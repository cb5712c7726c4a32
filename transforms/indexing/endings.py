"""Stems of languages without a Snowball algorithm: words without the endings of nouns and adjectives.

A light stemmer (J. Savoy, "Light Stemming Approaches for the French, Portuguese, German and Hungarian Languages", 2006;
L. Dolamic and J. Savoy, "Comparative Study of Indexing and Search Strategies for the Hindi, Marathi, and Bengali
Languages", 2010) takes the longest ending of a list from a word, again and again: a noun may have one of number, one of
possession and one of case. Verbs, prefixes and changes of sounds inside a word are left alone. The lists are those of
cases, plurals, articles and postpositions in grammars; docs/scripts.md has what each is worth.
"""

import functools
import unicodedata
from collections.abc import Callable, Mapping

LEAST = 3
"""Characters of a word that are left at least."""

_SERBO_CROATIAN = "ovima evima oga ega omu emu ome ima ama ovi evi ove eve ova eva og eg om em im ih oj a e i o u"

ENDINGS: Mapping[str, str] = {
    # Slavic
    "bs": _SERBO_CROATIAN,
    "hr": _SERBO_CROATIAN,
    "mk": "иот ата ото ите от та то те ови еви иња ска ски ско ов ев и а о е",
    "sk": "iach ami ého ému ých ými ách iam iou ach ou ím ým ej om ov am ia ie iu ií á é í ý ú ä a e i o u y",
    "sl": "jih jem jev ega emu imi ima ami ama oma ema jo ja je ju ov ev om em am ah ih im eh a e i o u",
    "uk": "ього ьому ого ому його йому ами ями іям іями іях ові еві єві ими іми ах ях ам ям ою ею єю ом ем єм ів їв ей "
    "ій ії ію ією іє ий ім им ої их іх їй їх їм а я о е є у ю и і ї й ь",
    # Other languages of Europe
    "gl": "s a o e i",
    "is": "arinnar innar anna unum inum inni ina inn ins ið nar nir num in um ur ar ir an na a i s u",
    "sq": "ëve ave eve ive ve ut it es ës ën in un ët at et ja je sh i u a t e ë",
    # Indo-Aryan
    "bn": "য়ের েদেরকে দেরকে েদের দের েরা রা য়ে ের কে তে য় র ে গুলো গুলি টি টা খানা",
    "dv": "ތަކުގެ ތަކުން ތައް އެއް އަކީ އަކަށް ގެ ގައި އަށް އިން އި ން ު ަ ި ެ",
    "gu": "માંથી માટે માં નો ની નું ના ને થી એ પર ઓ ાં ો ી ું ા ે િ",
    "mr": "मध्ये मधील ातील तील साठी बद्दल पर्यंत कडून कडे वरील वर ांनी च्या चा ची चे चं नी ने ला ना तून हून शी त "
    "ांच या ्या ां ा े ी ो ि ू ु",
    "pa": "ੀਆਂ ਿਆਂ ੀਆ ਿਆ ਆਂ ਾਂ ੋਂ ੀਂ ਣਾ ਦਾ ਦੀ ਦੇ ਣ ੇ ਾ ੀ ਿ ੂ ੁ",
    "si": "යන්ගේ න්ගේ යන්ට න්ට ගෙන් වලට වලින් යන් ගේ වල න් ට ය ව ක් ක ේ ු ා ි ී ්",
    "ur": "وں یوں یاں ئیں یں ات ین نے نا نی تا تے تی ے ا ی",
    # Sorani Kurdish
    "ckb": "ەوە دا را ەکانی ەکان کانی کان ەکەی ەکە کە ێکی ێک یەکی یەک یانی یانە یان انی انە ان ەیە ایە ە ی",
    # Dravidian
    "kn": "ಗಳನ್ನು ಗಳಲ್ಲಿ ಗಳಿಗೆ ಗಳಿಂದ ಗಳು ಗಳ ವನ್ನು ಯನ್ನು ನ್ನು ದಲ್ಲಿ ಯಲ್ಲಿ ಲ್ಲಿ ಕ್ಕೆ ದಿಂದ ಯಿಂದ ಿಂದ ಿಗೆ ಗೆ ದ ನ ಯ ರು ರ ಾ ಿ ೀ ು ೆ ೇ",
    "ml": "ങ്ങളുടെ ങ്ങളിൽ ങ്ങൾ ത്തിന്റെ ത്തിലെ ത്തിൽ ത്തിന് ത്തെ കളുടെ കളിൽ കൾ യുടെ യിലെ യിൽ യെ ക്ക് ിന്റെ ന്റെ ിലെ ിൽ "
    "ിനെ ിന് നെ ുടെ ായി െ ും ം ാ ി ീ ു ്",
    "te": "లలో లకు లను లతో లపై నుండి నుంచి లు లో కు ను ని కి తో పై ల ా ి ీ ు ూ ం",
    # Georgian
    "ka": "ისთვის სთვის თვის იდან დან ისგან სგან გან თან მდე ში ზე ც ების ებს ებმა ებით ებად ები ებ ის ით ად მა ს ი ა "
    "ე ო",
    # Turkic and Mongolian, by vowel harmony
    "kk": "ның нің дың дің тың тің нан нен дан ден тан тен мен бен пен нда нде ға ге қа ке на не ды ді ты ті ны ні да "
    "де та те ымыз іміз мыз міз сы сі ым ім ы і лар лер дар дер тар тер",
    "mn": "аас ээс оос өөс аар ээр оор өөр аа ээ оо өө ийн ын ийг ыг тай тэй той ий ы ад эд од өд нд д т г "
    "ууд үүд нууд нүүд",
    "ug": "نىڭ دىن تىن نى غا گە قا كە دا دە تا تە ىمىز سى ى لار لەر لىر",
    "uz": "ning dagi ni ga ka qa dan da ingiz imiz ing im si i lar",
    # Ethiopian
    "am": "ዎችን ዎች ውን ችን ች ን ም ው ና ዋ ዊ",
    "ti": "ታት ን ት ና ካ ኩም ኦም ዎ",
}
"""The endings of each language, divided by spaces."""


def without(endings: frozenset[str], longest: int, word: str) -> str:
    """The word after endings of at most `longest` characters are taken from it, until none is left.

    >>> without(frozenset(["i", "lar", "da"]), 3, "kitoblarida")
    'kitob'
    """
    end = len(word)
    while end > LEAST:
        for length in range(min(longest, end - LEAST), 0, -1):
            if word[end - length : end] in endings:
                end -= length
                break
        else:
            break
    return word[:end]


def _stemmer(endings: str) -> Callable[[str], str]:
    distinct = frozenset(unicodedata.normalize("NFKC", endings).split())
    return functools.partial(without, distinct, max(map(len, distinct)))


STEMS: Mapping[str, Callable[[str], str]] = {language: _stemmer(endings) for language, endings in ENDINGS.items()}
"""By language, the function that takes the endings from a word in small letters."""
