"""A query with a time limit answers with what was compared in time, and says so."""

import itertools
import random

import pytest

from beamtrawl.runners.program.main import run
from beamtrawl.search.answers.results.hits import as_json
from beamtrawl.search.answers.searcher import TIMED_OUT, Index
from beamtrawl.search.gateway.app import create_app
from beamtrawl.search.index.deadline import Deadline
from tests.support.corpus import indexed

SEGMENTS, PAGES = 3, 60
QUERIES = ["old lighthouse", '"fog signal" old', "lighthous fog", "li* OR fog", "old -fog", "fog " * 9 + "a b c d e f"]


class Ticks:
    """A clock that goes on by a second whenever it is read."""

    def __init__(self):
        self.read = itertools.count().__next__

    def __call__(self):
        return float(self.read())


@pytest.fixture(scope="module")
def crawl(tmp_path_factory):
    pick = random.Random(1)
    words = ["old", "lighthouse", "fog", "signal", "a", "b", "c", "d", "e", "f"]
    rows = [
        {"url": f"http://a.test/{n}", "title": "Page", "text": " ".join(pick.choices(words, k=9))} for n in range(PAGES)
    ]
    return indexed(tmp_path_factory.mktemp("crawl"), *(rows[n::SEGMENTS] for n in range(SEGMENTS)))


@pytest.mark.parametrize(
    ("now", "seconds", "cuts"), [(4.9, 5, False), (5.0, 5, True), (9.0, None, False), (0.0, 0, True)]
)
def test_a_deadline_cuts_from_its_moment_on(now, seconds, cuts):
    times = [0.0, now]
    deadline = Deadline(seconds, lambda: times.pop(0))
    assert (deadline.cuts(), deadline.is_partial) == (cuts, cuts)


@pytest.mark.parametrize("query", QUERIES)
def test_an_answer_is_partial_until_there_is_time_for_all(crawl, query):
    complete = Index.open(crawl).search(query, PAGES)
    assert complete.hits and not complete.is_partial
    totals = []
    for seconds in range(60):
        index = Index.open(crawl, timer=Ticks())
        found = index.search(query, PAGES, timeout_s=seconds)
        assert found.is_partial == (TIMED_OUT in found.notes) == as_json(found).get("partial", False)
        if not found.is_partial:
            assert found == complete
            break
        totals.append(found.total)
        assert index.search(query, PAGES) == complete  # what was read in part is not kept
    assert totals[0] == 0 and not found.is_partial


def test_an_answer_is_made_of_the_segments_that_were_read(crawl):
    totals = [Index.open(crawl, timer=Ticks()).search("old", timeout_s=seconds).total for seconds in range(1, 6)]
    assert totals[0] == 0 < totals[1] < totals[2] < totals[3] == totals[4]


def test_the_console_says_that_results_are_partial(crawl, capsys):
    assert run(["search", crawl.root, "old", "--timeout", "0.000000001"]) == 0
    assert TIMED_OUT in capsys.readouterr().out
    assert run(["search", crawl.root, "old", "--timeout", "60"]) == 0
    assert TIMED_OUT not in capsys.readouterr().out


def test_the_gateway_says_that_results_are_partial(crawl):
    for timeout_s, is_partial in ((1.0, True), (1000.0, False)):
        client = create_app(crawl, clock=Ticks(), timeout_s=timeout_s).test_client()
        assert (TIMED_OUT in client.get("/?q=old").text) == is_partial
        assert client.get("/api/search?q=lighthouse").json.get("partial", False) == is_partial
