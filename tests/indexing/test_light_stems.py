"""Stems of languages without a Snowball algorithm, also in segments that were written without them."""

import doctest
import re
import time
import unicodedata
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.index.segment import Segment
from beamtrawl.transforms.indexing import endings as endings_module
from beamtrawl.transforms.indexing.analysis import word_class, word_classes
from beamtrawl.transforms.indexing.endings import ENDINGS, LEAST
from beamtrawl.transforms.indexing.light_stems import STEMS
from beamtrawl.transforms.indexing.read_segment import read_footer
from beamtrawl.transforms.indexing.segment_files import Written, read_file, write_opening
from beamtrawl.transforms.indexing.write_segment import DOCS, DOCSTORE, FORMS, POSTINGS, write_segment
from tests.support.corpus import documents
from tests.support.index_faults import folder_faults


@pytest.mark.parametrize(
    ("language", "forms", "found"),
    [
        ("bg", "град градът града градове градовете", "град"),
        ("bg", "език езикът езици езиците", "език"),
        ("bg", "птица птици птиците", "птик"),
        ("bg", "книга книгата книги книгите", "книг"),
        ("bg", "голям големите", None),  # other vowels
        ("bg", "той то та", None),  # short words stay
        ("lv", "grāmata grāmatas grāmatai grāmatu grāmatām", "gramat"),
        ("lv", "brālis brāļa brāļiem", "bral"),
        ("lv", "roze rozes rožu rozēm", "roz"),
        ("lv", "lielais lielajam lielajiem liela", "liel"),
        ("lv", "māksla māja", None),
        ("lv", "un es ar", None),
        ("uk", "область області областей областями областях", "област"),
        ("uk", "новий нового новому нова нові", "нов"),
        ("uk", "рік дня він", None),
        ("hr", "zakon zakona zakonu zakoni zakonima zakonom", "zakon"),
        ("bs", "grad grada gradovi gradovima", "grad"),
        ("sl", "mesto mesta mestu mestih mestom", "mest"),
        ("sl", "volitve volitev", None),  # a vowel comes and goes
        ("sk", "žena ženy ženami ženách ženou", "zen"),
        ("mk", "градот градови градовите", "град"),
        ("gl", "cidade cidades", "cidad"),
        ("is", "hestur hesti hestar hestarnir hestanna", "hest"),
        ("sq", "qyteti qytetit qytetet qyteteve", "qyt"),
        ("bn", "সরকার সরকারের সরকারকে সরকারে", "সরকা"),
        ("dv", "ސަރުކާރު ސަރުކާރުގެ ސަރުކާރުން", "ސަރުކާރ"),
        ("gu", "સરકાર સરકારે સરકારનો સરકારને સરકારમાં", "સરકાર"),
        ("mr", "सरकार सरकारने सरकारला सरकारच्या सरकारची", "सरकार"),
        ("pa", "ਕਿਤਾਬ ਕਿਤਾਬਾਂ", "ਕਿਤਾਬ"),
        ("si", "රජය රජයේ", "රජය"),
        ("ur", "کتاب کتابیں کتابوں", "کتاب"),
        ("ckb", "پەرتووک پەرتووکەکە پەرتووکەکان پەرتووکێک", "پەرتووک"),
        ("kn", "ನಗರ ನಗರದಲ್ಲಿ ನಗರಕ್ಕೆ ನಗರಗಳು", "ನಗರ"),
        ("ml", "കേരളം കേരളത്തിൽ കേരളത്തിന്റെ", "കേരള"),
        ("te", "దేశం దేశంలో దేశంలోని", "దేశ"),
        ("ka", "ქალაქი ქალაქის ქალაქში ქალაქები ქალაქებში", "ქალაქ"),
        ("kk", "қала қалада қаланың қалалар қалаларда", "қала"),
        ("mn", "хот хотод хотын хотоос хотууд", "хот"),
        ("ug", "شەھەر شەھەردە شەھەرنىڭ شەھەرلەر شەھەرلەردە", "شەھەر"),
        ("uz", "kitob kitobi kitobni kitoblar kitoblarimizda", "kitob"),
        ("am", "መንግስት መንግስትን", "መንግስት"),
        ("ti", "ሃገር ሃገርን", "ሃገር"),
    ],
)
def test_forms_of_one_word(language, forms, found):
    words = forms.split()
    classes = word_classes(words, language)
    assert set(classes) == {found} if found else len(set(classes)) == len(words)


@pytest.mark.parametrize("language", ["bg", "lv"])
@given(word=st.text(alphabet="аоеиятвъщцзснйajiemsāēšņbu", min_size=1, max_size=12))
def test_a_stem_is_never_empty_nor_longer_than_by_a_letter(language, word):
    assert 1 <= len(STEMS[language](word)) <= len(word) + 1
    assert word_class(word, language)


@given(st.sampled_from(sorted(ENDINGS)).flatmap(lambda language: st.tuples(st.just(language), of_endings(language))))
def test_words_of_endings_keep_a_beginning_that_is_its_own_stem(given_):
    language, word = given_
    stem = STEMS[language](word)
    assert word.startswith(stem)
    assert len(stem) >= min(len(word), LEAST)
    assert STEMS[language](stem) == stem


def of_endings(language):
    return st.lists(st.sampled_from([*ENDINGS[language].split(), "x"]), max_size=8).map("".join)


@pytest.mark.parametrize("language", ENDINGS)
def test_each_ending_is_taken(language):
    endings = tokens_of(ENDINGS[language])
    assert len(set(endings)) == len(endings)
    assert {STEMS[language](f"123{ending}") for ending in endings} == {"123"}


def tokens_of(endings):
    """The endings as words of a text have them."""
    return unicodedata.normalize("NFKC", endings).casefold().split()


def test_the_documentation_has_each_language_with_endings():
    text = (Path(__file__).parents[2] / "docs" / "scripts.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| [^|]+ \(`(\w+)`\) \|", text, re.MULTILINE)) == ENDINGS.keys() - {"bs"}


def test_examples():
    assert not doctest.testmod(endings_module).failed


def test_hostile_words_take_linear_time():
    began = time.process_time()
    assert STEMS["uk"]("а" * 300_000) == "ааа"
    assert STEMS["uk"]("x" * 300_000) == "x" * 300_000
    assert time.process_time() - began < 3


ROWS = [
    {"url": f"http://a.test/{number}", "title": title, "text": text, "language": language}
    for number, (title, text, language) in enumerate(
        [
            ("Нов град", "градовете", "bg"),
            ("Библиотека", "за книги", "bg"),
            (None, "naïve града", None),
            ("Cestopis", "šumama i gradovima", "hr"),
        ]
    )
]


def found(segment, query):
    return [hit.url[-1] for hit in Index([segment]).search(query).hits]


def test_a_word_is_found_in_its_forms_in_pages_of_the_language(tmp_path):
    write_segment(str(tmp_path), "index", documents(*ROWS))
    segment = Segment(str(tmp_path), "index")
    assert found(segment, "градът") == ["0"]
    assert found(segment, "книга") == ["1"]
    assert sorted(found(segment, "града")) == ["0", "2"]
    assert found(segment, "grad") == found(segment, "suma") == ["3"]
    assert faults(str(tmp_path), [row["language"] for row in ROWS]) == []


def faults(root, languages):
    forms, docs = (read_file(root, f"index/{name}") for name in (FORMS, DOCS))
    return list(folder_faults([read_file(root, f"index/{POSTINGS}")], forms, docs, languages))


def test_a_segment_written_without_these_stems_is_searched_by_its_words(tmp_path):
    root = str(tmp_path)
    write_segment(root, "index", documents(*(row | {"language": None} for row in ROWS)))
    docs = read_file(root, f"index/{DOCS}")
    languages = pa.array([row["language"] for row in ROWS], docs.schema.field("language").type)
    docs = docs.set_column(docs.schema.get_field_index("language"), docs.schema.field("language"), languages)
    write_opening(
        root,
        f"index/{DOCS}",
        docs,
        {name: Written(None, read_footer(root, f"index/{name}")) for name in (POSTINGS, FORMS, DOCSTORE)},
    )
    segment = Segment(root, "index")
    assert found(segment, "градовете") == ["0"]
    assert found(segment, "нов град") == ["0"]
    assert found(segment, "книги") == ["1"]
    assert found(segment, "naive") == ["2"]
    assert found(segment, "sumama") == ["3"]
    assert found(segment, "grad") == []
    assert faults(root, languages.to_pylist()) == []
