"""Words that are typed in another way than they are written: each pair has one class, so one finds the other.

Right is what Lucene's analysers of the language do (HebrewMarks by ICU folding, ArabicNormalizer, PersianNormalizer,
HindiNormalizer), or Unicode's decomposition.
"""

from beamtrawl.transforms.indexing.analysis import tokens, word_class
from tests.support.tables import each_row

# language, as written, as typed
SAME = {
    "Hebrew points": ("he", "שָׁלוֹם", "שלום"),
    "Hebrew presentation forms": ("", "\ufb2aלום", "שלום"),
    "Hebrew cantillation": ("he", "בְּרֵאשִׁ֖ית", "בראשית"),
    "Yiddish": ("yi", "ייִדיש", "יידיש"),
    "Arabic points": ("ar", "مُحَمَّد", "محمد"),
    "Arabic points in no language": ("", "مُحَمَّد", "محمد"),
    "Urdu points": ("ur", "اُردُو", "اردو"),
    "Kashida": ("", "محـــمد", "محمد"),
    "Arabic presentation forms": ("", "\ufee3\ufea4\ufee4\ufeaa", "محمد"),
    "Arabic hamza on alef": ("", "أحمد", "احمد"),
    "Arabic dagger alef": ("", "هٰذا", "هذا"),
    "Persian yeh and kaf on an Arabic keyboard": ("fa", "کتابی", "كتابي"),
    "Arabic yeh and kaf on a Persian keyboard": ("", "كتابي", "کتابی"),
    "Syriac points": ("", "ܡܰܠܟܳܐ", "ܡܠܟܐ"),
    "Devanagari nukta": ("", "क़लम", "कलम"),
    "Devanagari nukta, composed": ("", "\u0931", "\u0930"),
    "Russian stress": ("", "за́мок", "замок"),
    "Russian yo": ("", "ёлка", "елка"),
    "Vietnamese": ("", "tiếng", "tieng"),
    "Greek": ("", "Ἀθῆναι", "αθηναι"),
    "German": ("", "Müller", "muller"),
    "Turkish dotless i": ("", "ışık", "isik"),
    "Turkish dotted I": ("", "İzmir", "izmir"),
    "Polish": ("", "łódź", "lodz"),
    "full width": ("", "Ｌｉｎｕｘ", "linux"),
    "half-width kana": ("", "ｶﾞ", "ガ"),
    "Arabic digits": ("", "٢٠٢٤", "2024"),
    "Persian digits": ("fa", "۲۰۲۴", "2024"),
    "Devanagari digits": ("", "२०२४", "2024"),
    "Thai digits": ("", "๒๕๖๓", "2563"),
    "full-width digits": ("", "２０２４", "2024"),
    "a soft hyphen": ("", "light\u00adhouse", "lighthouse"),
    "a decomposed letter": ("", "cafe\u0301", "café"),
    "the alphabets of Serbian": ("sr", "живот", "život"),
    "ligatures": ("", "ﬁnance", "finance"),
    "Arabic ligatures": ("", "\ufefb", "لا"),
    "a ligature of Dutch": ("", "ĳs", "ijs"),
    "signs of units": ("", "㎏", "kg"),
    "numbers in circles": ("", "①", "1"),
    "sigma at the end of a word": ("", "ΛΟΓΟΣ", "λόγος"),
    "Vietnamese d": ("", "Đà Nẵng", "da nang"),
    "apostrophes": ("", "don’t", "don't"),
    "Ukrainian apostrophes": ("uk", "м’ята", "м'ята"),
    "Ukrainian apostrophe that is a letter": ("uk", "мʼята", "м'ята"),
    "Uzbek letter o": ("uz", "oʻzbek", "o'zbek"),
    "accents that English stems do not know": ("en", "Beyoncé’s résumé", "Beyonce's resume"),
    "Greek diaeresis": ("el", "προϊόν", "προιον"),
    "marks of direction": ("", "ab\u200ec", "abc"),
    "a variant of a character": ("", "葛\U000e0100飾区", "葛飾区"),
    "product numbers": ("", "COVID-19 AR-7", "covid 19 ar 7"),
    "paths and flags": ("", "/etc/passwd --verbose", "etc passwd verbose"),
    "mail addresses": ("", "Jo.Doe@a.test", "jo doe a test"),
}


@each_row(SAME)
def test_one_class(language, written, typed):
    classes = [[word_class(term, language) for term in tokens(text)] for text in (written, typed)]
    assert classes[0] == classes[1]


# What is not the same, though it looks alike.
DIFFERENT = {
    "Thaana's vowels are letters": ("", "ދިވެހި", "ދވހ"),
    "short i and i": ("", "мой", "мои"),
    "Ukrainian yi": ("", "їх", "іх"),
    "Bengali letters with a dot": ("", "\u09a1\u09bc", "\u09a1"),
    "Arabic madda": ("", "آب", "اب"),
    "voiced kana": ("", "ガ", "カ"),
    "C, C++ and C#": ("", "C++", "C#"),
    "versions": ("", "3.1", "3.11"),
    "product numbers": ("", "AR-7", "AR-8"),
    "C and C++": ("", "C", "C++"),
    "iteration marks": ("ja", "人々", "人人"),
}


@each_row(DIFFERENT)
def test_other_classes(language, one, other):
    assert [word_class(term, language) for term in tokens(one)] != [
        word_class(term, language) for term in tokens(other)
    ]
