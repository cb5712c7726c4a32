"""Identifiers of programs in texts; what a near duplicate is indexed by."""

import doctest

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from beamtrawl.transforms.duplicates import near_rows as module
from beamtrawl.transforms.duplicates.near_rows import (
    MOST_IDENTIFIERS,
    identifiers,
    is_folded,
    reduce_near_duplicates,
)
from beamtrawl.transforms.tables.schemas import DOCUMENTS

# text: its identifiers
TEXTS = {
    "__init__ of foo__bar": ["foo__bar"],
    "GTK_WIDGET_SHOW": ["GTK_WIDGET_SHOW"],
    "QuadCurve2D.Float, QuadCurve2D": ["QuadCurve2D"],
    "gtk_show gtk_show": ["gtk_show"],
    "avx512vbmi2 4f9a02c711 aB3dE9x": [],
    "The end. Of Tides: see U.S. and e.g. GTK": ["U.S", "e.g"],
    "été_show": [],
    "": [],
}


@pytest.mark.parametrize(("text", "expected"), TEXTS.items(), ids=TEXTS)
def test_identifiers(text: str, expected: list[str]) -> None:
    assert identifiers(text) == expected


@given(st.text(st.sampled_from("abAB01_.: ")))
def test_any_text_has_identifiers_that_stand_in_it(text: str) -> None:
    found = identifiers(text)
    assert len(set(found)) == len(found)
    assert all(name in text for name in found)


def test_the_number_of_identifiers_is_bounded() -> None:
    assert len(identifiers(" ".join(f"name_x{number}" for number in range(MOST_IDENTIFIERS + 9)))) == MOST_IDENTIFIERS


def test_a_near_duplicate_is_indexed_by_its_identifiers() -> None:
    owner, first = b"o" * 16, b"f" * 16
    rows = [
        {"title": "A", "text": "call gtk_show"},
        {"title": "B", "text": "call gtk_show or std::vec", "near_duplicate_of": owner, "same_content_as": first},
        {"title": "C", "text": "only words", "near_duplicate_of": owner},
        {"title": "D", "text": "only words", "same_content_as": first},
    ]
    table = pa.Table.from_pylist(rows, schema=DOCUMENTS)
    assert is_folded(table).to_pylist() == [False, False, True, False]
    reduced = reduce_near_duplicates(table)
    assert reduced.schema == DOCUMENTS
    assert reduced["text"].to_pylist() == ["call gtk_show", "gtk_show std::vec", "", "only words"]
    assert reduced["same_content_as"].to_pylist() == [None, owner, owner, first]
    assert reduced["title"].to_pylist() == ["A", "B", "C", "D"]


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(module).failed == 0
