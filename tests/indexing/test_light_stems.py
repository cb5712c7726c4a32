"""Stems of languages without a Snowball algorithm, also in segments that were written without them."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beamtrawl.search.index.segment import Segment
from beamtrawl.search.searcher import Index
from beamtrawl.transforms.indexing.analysis import word_class, word_classes
from beamtrawl.transforms.indexing.light_stems import STEMS
from beamtrawl.transforms.indexing.segment_files import Written, embedded_footers, read_file, write_opening
from beamtrawl.transforms.indexing.verify import folder_faults
from beamtrawl.transforms.indexing.write_segment import DOCS, FORMS, POSTINGS, write_segment
from tests.support.corpus import documents


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
    ],
)
def test_forms_of_one_word(language, forms, found):
    words = forms.split()
    classes = word_classes(words, language)
    assert set(classes) == {found} if found else len(set(classes)) == len(words)


@pytest.mark.parametrize("language", STEMS)
@given(word=st.text(alphabet="аоеиятвъщцзснйajiemsāēšņbu", min_size=1, max_size=12))
def test_a_stem_is_never_empty_nor_longer_than_by_a_letter(language, word):
    assert 1 <= len(STEMS[language](word)) <= len(word) + 1
    assert word_class(word, language)


ROWS = [
    {"url": f"http://a.test/{number}", "title": title, "text": text, "language": language}
    for number, (title, text, language) in enumerate(
        [("Нов град", "градовете", "bg"), ("Библиотека", "за книги", "bg"), (None, "naïve града", None)]
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
    assert faults(str(tmp_path), ["bg", "bg", None]) == []


def faults(root, languages):
    forms, docs = (read_file(root, f"index/{name}") for name in (FORMS, DOCS))
    return list(folder_faults([read_file(root, f"index/{POSTINGS}")], forms, docs, languages))


def test_a_segment_written_without_these_stems_is_searched_by_its_words(tmp_path):
    root = str(tmp_path)
    write_segment(root, "index", documents(*(row | {"language": None} for row in ROWS)))
    others = embedded_footers(pq.ParquetFile(f"{root}/index/{DOCS}").metadata)
    docs = read_file(root, f"index/{DOCS}")
    languages = pa.array([row["language"] for row in ROWS], docs.schema.field("language").type)
    docs = docs.set_column(docs.schema.get_field_index("language"), docs.schema.field("language"), languages)
    write_opening(root, f"index/{DOCS}", docs, {name: Written(None, footer) for name, footer in others.items()})
    segment = Segment(root, "index")
    assert found(segment, "градовете") == ["0"]
    assert found(segment, "нов град") == ["0"]
    assert found(segment, "книги") == ["1"]
    assert found(segment, "naive") == ["2"]
    assert faults(root, languages.to_pylist()) == []
