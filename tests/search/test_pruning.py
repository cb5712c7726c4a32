"""A search that leaves out documents finds what one finds that scores them all, to the last bit."""

import random

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.index.deadline import Deadline
from beamtrawl.search.index.postings import Postings
from beamtrawl.search.index.pruning import MAX_UNITS, Weighted, all_scores, best, highest
from beamtrawl.search.index.scored import scored
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.indexing.merge_policy import ALL
from beamtrawl.transforms.indexing.write_segment import ROW_POSTINGS
from benchmarks.asking import best as candidates
from tests.support.corpus import commit
from tests.support.crawls import InProcess
from tests.support.merging import merge

NO_LIMIT = Deadline()


def units(pick, documents):
    """Units of a query as an index has them: rare and frequent ones, with outliers and with equal scores."""
    for _ in range(pick.choice([1, 2, 3, 3, 4, 8, MAX_UNITS + 1])):
        share = pick.choice([0.0005, 0.01, 0.05, 0.3, 0.95])
        chosen = np.flatnonzero(np.random.default_rng(pick.getrandbits(32)).random(documents) < share)
        docs = chosen.astype(np.int32)
        most = pick.choice([0.1, 1.0, 10.0])
        random_ = np.random.default_rng(pick.getrandbits(32))
        scores = {
            "spread": most * random_.random(len(docs)),
            "few values": most * random_.integers(1, 4, len(docs)),
            "outliers": most * random_.pareto(2, len(docs)),
            "by site": most * (1 + (docs >> 9) % 5) * (1 + random_.random(len(docs)) / 9),
        }[pick.choice(["spread", "few values", "outliers", "by site"])]
        yield Weighted(
            scored(Postings(docs, {}), scores.astype(np.float32), documents), pick.choice([1, 1, 1, 2, 5, 0.37, 0.018])
        )


@settings(max_examples=200)
@given(st.randoms(use_true_random=False), st.integers(1, 20_000), st.sampled_from([1, 10, 100, 1000]))
def test_the_best_are_those_of_all_scores(pick, documents, most):
    asked = list(units(pick, documents))
    share = pick.choice([1.0, 1.0, 0.5, 0.01])
    found = np.random.default_rng(pick.getrandbits(32)).random(documents) < share
    scores = all_scores(asked, documents, NO_LIMIT)
    expected = highest(scores, found, most)
    docs, values = best(asked, found, most, NO_LIMIT)
    assert docs.tolist() == expected.tolist()
    assert values.tolist() == scores[expected].tolist()


def test_the_bounds_of_rare_units_add_up():
    """The best documents are among the hundred best of no unit: they have a little of each of three."""

    def unit(docs, scores):
        return Weighted(scored(Postings(docs.astype(np.int32), {}), scores.astype(np.float32), 20_000), 1)

    docs = np.arange(20_000)
    both = (docs >= 200) & (docs < 300)  # of the rare units, of which each has 200 documents that are better for it
    first, second, frequent = (docs[some] for some in ((docs < 200) | both, both | (docs > 19_800), docs < 10_000))
    asked = [
        unit(first, np.where(both[first], 0.9, 1.0)),
        unit(second, np.where(both[second], 0.9, 1.0)),
        unit(frequent, np.where(frequent > 9_800, 2.0, 0.5)),
    ]
    assert [each.unit.maxima is None for each in asked] == [True, True, False]
    docs, values = best(asked, np.ones(20_000, bool), 10, NO_LIMIT)
    assert docs.tolist() == list(range(200, 300))
    assert values == pytest.approx(np.full(100, 2.3))


SITES = ["a.test", "b.a.test", "c.test"]
WORDS = [f"w{number}" for number in range(60)]
PER_ROUND = 600


def rows(pick, numbers, round_):
    """Documents whose words are as unequally frequent as those of a language."""

    def some(most):
        return " ".join(pick.choices(WORDS, weights=[1 / (n + 1) for n in range(len(WORDS))], k=pick.randint(0, most)))

    return [
        {
            "url": f"http://{SITES[number % 3]}/{number}",
            "title": some(3),
            "text": some(40),
            "language": pick.choice(["en", "de"]),
            "spam_score": pick.choice([None, 0.0, 0.25, 1.0]),
            "anchors": [some(2) for _ in range(pick.randint(0, 2))],
            "link_rank": pick.choice([0.0, 1.0, 30.0]),
            "round": round_,
        }
        for number in numbers
    ]


def query(pick):
    def part():
        word = pick.choices(WORDS, weights=[1 / (n + 3) for n in range(len(WORDS))])[0]
        other = pick.choice(WORDS)
        forms = ["{0}", f'"{{0}} {other}"', f"{{0}} AND {other}", f"-{other}", f"site:{pick.choice(SITES)}"]
        forms += [f"lang:{pick.choice(['en', 'de'])}", "title:{0}", "{0} OR site:c.test", "w1*", "{0} {0}"]
        return pick.choices(forms, weights=[30, 4, 3, 2, 2, 2, 2, 1, 1, 2])[0].format(word)

    return " ".join(part() for _ in range(pick.choice([1, 2, 2, 3, 3, 4, 6, 12])))


@pytest.mark.parametrize("row_postings", [50, ROW_POSTINGS], ids=["lists in several rows", "lists in one row"])
def test_the_first_hundred_are_the_first_hundred_of_all(tmp_path, row_postings):
    """In segments with tombstones, and once they are merged."""
    pick, crawl = random.Random(3), CrawlDir(str(tmp_path))
    for round_ in (1, 2, 3):
        again = pick.sample(range(PER_ROUND), 150) if round_ > 1 else []
        written = rows(pick, [*again, *range(PER_ROUND * (round_ - 1), PER_ROUND * round_)], round_)
        gone = [f"http://{SITES[n % 3]}/{n}" for n in pick.sample(range(PER_ROUND), 50) if n not in again]
        halves = (written[n::2] for n in range(2))
        commit(crawl, round_, *halves, gone=gone if round_ > 1 else [], row_postings=row_postings)
    for merged in (False, True):
        if merged:
            merge(crawl, InProcess(), ALL)
        index = Index.open(crawl)
        for _ in range(40):
            text = query(pick)
            assert candidates(index, text, 100) == candidates(index, text, 3 * PER_ROUND)[:100], (merged, text)
