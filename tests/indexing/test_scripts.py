"""The table of scripts in the documentation, held to the analysis; hostile runs."""

import time
from pathlib import Path

import pytest

from beamtrawl.transforms.indexing.analysis import MAX_TERM_LENGTH, clusters, is_unspaced, tokens
from tests.support.tables import each_row

LINES = (Path(__file__).parents[2] / "docs" / "scripts.md").read_text(encoding="utf-8").splitlines()
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in LINES if line.count("|") == 5][2:12]
assert len(ROWS) == 10


@pytest.mark.parametrize(("scripts", "kind", "example", "terms"), ROWS, ids=[row[0][:20] for row in ROWS])
def test_scripts_have_the_terms_of_the_documentation(scripts, kind, example, terms):
    assert tokens(example.replace(",", " ")) == terms.split()
    assert (kind == "pairs of clusters") == is_unspaced(tokens(example)[0])


HOSTILE = {
    "one run": ("ก", 300_000),
    "marks without a letter": ("\u0e31", 300_000),
    "subscripts without end": ("ក្", 100_000),
    "vowels before a consonant": ("เ", 300_000),
    "scripts in turns": ("กa", 150_000),
    "unseen spaces": ("ก\u200b", 150_000),
    "am": ("ำ", 300_000),
}


@each_row(HOSTILE)
def test_hostile_runs_take_linear_time_and_have_short_terms(part, times):
    began = time.process_time()
    found = tokens(part * times)
    assert time.process_time() - began < 5
    assert max(map(len, found), default=0) <= MAX_TERM_LENGTH


def test_clusters_are_the_run_without_what_is_not_seen():
    assert "".join(clusters("ទឹក\u200bក្រូច")) == "ទឹកក្រូច"
