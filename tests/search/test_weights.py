"""Each weight of the ranking, by what it does to a score. `docs/ranking.md` states the same numbers."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.index.bm25f import field_factors, impacts
from beamtrawl.search.index.postings import Postings
from beamtrawl.search.query.parse import parse
from tests.support.corpus import indexed

FIELDS = ("title", "body", "headings", "url", "anchors")
TODAY = datetime(2026, 1, 2, tzinfo=UTC)


def impact(field: str, frequency: int, length: int = 100, **others: int) -> float:
    """The score of a term in a document that has it so often in a field; the average length of every field is 100."""
    factors = field_factors({name: np.array([length], np.int32) for name in FIELDS}, dict.fromkeys(FIELDS, 100.0))
    (score,) = impacts(
        Postings(np.array([0], np.int32), {name: np.array([tf]) for name, tf in {field: frequency, **others}.items()}),
        factors,
    )
    return float(score)


def test_a_word_that_the_url_alone_has_counts_a_tenth():
    alone = impact("body", 3) + 3 / 4.2
    assert impact("url", 1) == pytest.approx(alone / 10)
    assert impact("url", 1, title=1) > alone


@pytest.mark.parametrize(("field", "times"), [("title", 2), ("headings", 3), ("anchors", 3)])
def test_an_occurrence_in_a_name_of_the_page_counts_as_several_in_its_text_and_has_a_bonus(field, times):
    assert impact(field, 1) == pytest.approx(impact("body", times) + times / (times + 1.2))


def test_the_bonus_of_names_is_at_most_that_of_an_average_text():
    assert impact("title", 10**9) - impact("body", 10**9) == pytest.approx(impact("body", 1))


def test_one_occurrence_in_an_average_text_has_the_score_1():
    assert impact("body", 1) == pytest.approx(1)


def test_more_than_one_occurrence_counts_a_little_more_than_twice_at_most():
    assert impact("body", 10**9) == pytest.approx(2.2)


@pytest.mark.parametrize(("field", "b"), [("body", 0.6), ("title", 0.75), ("headings", 0.75), ("url", 0.75)])
def test_a_text_of_twice_the_average_length_needs_more_occurrences(field, b):
    assert impact(field, 1 + b, length=200) == pytest.approx(impact(field, 1))


def explained(path, rows, query="beacon"):
    """The explanations of the hits, by the last part of the URL."""
    hits = Index.open(indexed(path, rows)).search(query, limit=100, explain=True).hits
    return {hit.url.rpartition("/")[2]: hit.explanation for hit in hits}


def page(name, **facts):
    return {"url": f"http://a.test/{name}", "text": "red fish at the beacon", "fetched_at": TODAY} | facts


def test_a_phrase_adds_half_of_what_a_word_as_rare_adds(tmp_path):
    found = explained(tmp_path, [page("1"), page("2", text="green grass")], '"red fish" beacon')
    scores = {part.text: part.score for part in found["1"].parts}
    assert scores["red fish"] == pytest.approx(scores["beacon"] / 2)


# words of a query; the weights of one that no document has, a quarter of them, all of them
COMMON = [(1, [1, 1, 1]), (6, [1, 1, 1]), (7, [1, 0.7165, 0.2636]), (9, [1, 0.3679, 0.0183]), (12, [1, 0.3679, 0.0183])]


@pytest.mark.parametrize(("words", "weights"), COMMON)
def test_the_more_words_a_query_has_the_less_a_common_one_counts(words, weights):
    parsed = parse(" ".join(f"w{number}" for number in range(words)))
    assert [parsed.weight("w0", share) for share in (0, 0.25, 1)] == pytest.approx(weights, abs=1e-4)


def test_a_common_word_of_vietnamese_loses_half_as_much():
    parsed = parse("những người đã đến từ biển với nhiều câu chuyện")
    assert parsed.weight("đa", 0.25) == pytest.approx(np.exp(-0.5))


def test_a_common_word_of_a_sentence_counts_less_in_the_score_and_its_explanation(tmp_path):
    """The pages have one score each, so that what the first has of "beacon" is seen against the second's rare word."""
    texts = {"1": "beacon", "2": "heron", **{str(number): "beacon" for number in range(3, 9)}}
    index = Index.open(indexed(tmp_path, [page(name, text=text) for name, text in texts.items()]))
    score = {}
    for query in ("beacon heron grebe", "beacon heron grebe ibis stork crane egret tern gull skua"):
        hits = index.search(query, limit=100, explain=True).hits
        for hit in hits:
            assert hit.score == pytest.approx(sum(part.score for part in hit.explanation.parts))
        score[len(query.split())] = {hit.url[-1]: hit.score for hit in hits}
    assert score[3]["1"] / score[3]["2"] > 10 * score[10]["1"] / score[10]["2"]


# facts of a page; the factors of its score by links, quality and freshness
FACTORS = {
    "of which nothing is known": ({}, (1, 1, 1)),
    "without links": ({"link_rank": 0.0}, (1, 1, 1)),
    "with ten times the average link rank": ({"link_rank": 10.0}, (1.05, 1, 1)),
    "with the greatest link rank": ({"link_rank": 1e9}, (1.1, 1, 1)),
    "that is no spam": ({"spam_score": 0.0}, (1, 1, 1)),
    "that may be spam": ({"spam_score": 0.5}, (1, 0.75, 1)),
    "that is spam": ({"spam_score": 1.0}, (1, 0.5, 1)),
    "published today": ({"published_at": TODAY}, (1, 1, 1.05)),
    "published on the day after": ({"published_at": TODAY + timedelta(days=1)}, (1, 1, 1.05)),
    "published in the future, which is not believed": ({"published_at": TODAY + timedelta(days=100)}, (1, 1, 1)),
    "published a year ago": ({"published_at": TODAY - timedelta(days=365)}, (1, 1, 1.025)),
    "published two years ago": ({"published_at": TODAY - timedelta(days=730)}, (1, 1, 1.0125)),
}


@pytest.mark.parametrize(("facts", "factors"), FACTORS.values(), ids=FACTORS)
def test_links_quality_and_freshness_move_a_page_within_bounds(tmp_path, facts, factors):
    found = explained(tmp_path, [page("it", **facts), page("other", link_rank=1.0)])["it"]
    assert (found.links, found.quality, found.freshness) == pytest.approx(factors)


def test_a_page_of_the_best_links_and_date_stays_behind_one_that_answers_much_better(tmp_path):
    rows = [
        page("named", title="Beacon", spam_score=0.3),
        page("linked", text="a beacon among other things", link_rank=1e9, published_at=TODAY),
    ]
    assert next(iter(explained(tmp_path, rows))) == "named"


def test_a_long_word_in_a_script_without_spaces_does_not_outweigh_two_others(tmp_path):
    rows = [page("one", text="サーバー について"), page("two", text="Apache Beam について")]
    assert list(explained(tmp_path / "1", rows, "Apache Beam サーバー")) == ["two", "one"]
    assert list(explained(tmp_path / "2", rows, "Beam サーバー")) == ["one", "two"]


def test_a_page_that_is_surely_spam_stays_behind_its_equals_and_is_still_found(tmp_path):
    rows = [page("1", spam_score=1.0, link_rank=1e9, published_at=TODAY), page("2", spam_score=0.0)]
    assert list(explained(tmp_path, rows)) == ["2", "1"]
