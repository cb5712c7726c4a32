"""A new index reads ahead what is slow to read: what was asked for before, and the most frequent words."""

import itertools
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.gateway.reload import LatestIndex
from beamtrawl.search.index.pages import FEWEST
from beamtrawl.transforms.directory.crawl_dir import CrawlDir
from beamtrawl.transforms.indexing.analysis import is_name
from tests.support.corpus import commit, indexed

FREQUENT = ["a", "reef", "test"]  # of all documents; two are of their URLs
REEF, TIDE = FEWEST + 1000, FEWEST + 500  # documents


@pytest.fixture(scope="module")
def crawl(tmp_path_factory):
    crawl = CrawlDir(str(tmp_path_factory.mktemp("crawl")))
    rows = [
        {
            "url": f"http://a.test/{n:05d}",
            "title": "Gull" if n % 100 == 0 else "",
            "text": "reef" + " tide" * (n < TIDE) + f" w{n}",
            "fetched_at": datetime(2026, 1, 1, tzinfo=UTC),
        }
        for n in range(REEF)
    ]
    commit(crawl, 1, rows)
    return crawl


def words(index):
    """What is cached, without the exact forms and the names that are looked up with words."""
    return [unit for unit, _ in index.cached() if (not is_name(unit) if isinstance(unit, str) else len(unit) > 1)]


def test_frequent_words_are_read_ahead_the_most_frequent_first(crawl):
    index = Index.open(crawl)
    index.warm()
    assert words(index) == []  # the index is small
    index.warm(least=TIDE)
    assert words(index) == [*FREQUENT, "tide"]
    asked = Index.open(crawl)
    for query in ("reef tide", "gull -reef", "tide gull w7"):
        assert index.search(query).hits == asked.search(query).hits


def test_half_of_the_cache_is_filled(crawl):
    index = Index.open(crawl)
    index.warm(least=REEF)
    weights = [weight for _, weight in index.cached()]
    for size, expected in ((sum(weights[:2]), FREQUENT[:2]), (sum(weights[:2]) + 1, FREQUENT)):
        small = Index.open(crawl, cache_bytes=2 * size)
        small.warm(least=REEF)
        assert words(small) == expected


def test_what_was_used_last_is_kept_longest(crawl):
    before, index = Index.open(crawl), Index.open(crawl)
    for query in ("gull", '"reef tide"', "w7", "w8", "gull"):
        before.search(query)
    index.warm(before.cached(), least=TIDE)
    known = words(before)
    assert words(index)[-len(known) :] == known and known[-1] == "gull"
    assert {*words(index)} - {*known} == {*FREQUENT, "tide"} - {*known}


def test_two_hundred_words_at_most_are_read_because_they_were_asked_for(crawl):
    before, index = Index.open(crawl), Index.open(crawl)
    for number in range(210):
        before.search(f"w{number}")
    index.warm(before.cached())
    assert len(index.cached()) == 200
    assert words(index) == [f"w{number}" for number in range(144, 210)]  # with an exact form and a name each


def test_it_ends_when_the_index_is_not_used_any_more(crawl):
    before, index = Index.open(crawl), Index.open(crawl)
    before.search("gull reef tide")
    index.warm(before.cached(), iter([True, True, False]).__next__, TIDE)
    assert words(index) == words(before)[:2]


def test_a_new_index_reads_ahead_what_the_one_before_was_asked(tmp_path):
    crawl = indexed(tmp_path, [{"url": "http://a.test/1", "text": "reef tide"}])
    times, started = itertools.count(step=10), []
    latest = LatestIndex(crawl, lambda: float(next(times)), start=started.append)
    latest.ask(lambda index: index.search("tide reef"))
    commit(crawl, 2, [{"url": "http://a.test/2", "text": "reef"}])
    new = latest.get()
    assert len(started) == 2 and words(new) == []
    for start in started:  # the first is of an index that is replaced
        start()
    assert words(new) == ["tide", "reef", "tide _ reef"]
    assert new.search("reef").total == 2


ENDING = """
import threading
from beamtrawl.search.gateway.reload import in_background

raised = threading.Event()

def read():
    threading.main_thread().join()
    raised.set()
    raise RuntimeError("cannot schedule new futures after interpreter shutdown")

threading.Thread(target=raised.wait).start()  # which the end of the process waits for
in_background(read)
"""


def test_the_end_of_the_process_ends_it_without_a_word():
    ended = subprocess.run([sys.executable, "-c", ENDING], check=False, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
