"""Documents that follow those found: weaker matches, and those that share only common words with the query."""

import numpy as np
import pytest

from beamtrawl.search.answers.answer import read_up_to
from beamtrawl.search.answers.searcher import Index
from beamtrawl.search.index.postings import Postings
from beamtrawl.search.index.scored import scored
from tests.support.corpus import indexed


def test_documents_with_common_words_alone_fill_a_list_that_asks_for_more(tmp_path):
    texts = {
        **{f"strong{number}": "the fog signal of a lighthouse" for number in range(3)},
        **{f"common{number}": "the keeper" + " of birds" * number for number in range(14)},
        "neither": "birds alone",
        "excluded": "the museum of birds",
    }
    rows = [
        {"url": f"http://{'b' if number % 2 else 'a'}.test/{name}", "text": text, "language": "en"}
        for number, (name, text) in enumerate(texts.items())
    ]
    index = Index.open(indexed(tmp_path, rows))

    def told(query, limit, **options):
        found = index.search(query, limit, **options)
        strong = sum("strong" in hit.url for hit in found.hits)
        assert [hit.is_weaker for hit in found.hits] == [False] * strong + [True] * (len(found.hits) - strong)
        assert not any("excluded" in hit.url or "neither" in hit.url for hit in found.hits)
        return found.total, found.weaker, len(found.hits)

    query = "the signal of lighthouse -museum"
    assert told(query, 10) == (3, 0, 3)  # a first page never
    assert told(query, 11) == (3, 14, 11)
    assert told(query, 100) == (3, 14, 17)
    assert told(f"{query} site:a.test", 100) == (2, 7, 9)
    assert told(f"title:missing {query}", 100) == (0, 0, 0)
    assert told("the xylophone", 100) == (0, 0, 0)  # nothing matches, so there is no list to be filled
    assert told('the "fog signal" of -museum', 100) == told("+signal the of -museum", 100) == (3, 0, 3)
    assert told("of signal -museum", 2) == (3, 0, 2)
    assert told("NOT (the museum) signal of lighthouse", 100) == (3, 13, 16)
    without_phrase = index.search('signal of "signal fog" -museum', 100)
    assert (without_phrase.total, without_phrase.weaker) == (0, 16)
    hits = index.search(query, 100, explain=True).hits
    for hit in hits:
        words = {part.text.strip('"') for part in hit.explanation.parts}
        assert words == ({"the", "of"} if "common" in hit.url else {"signal", "lighthouse"}) or "common0" in hit.url
        assert hit.score == pytest.approx(sum(part.score for part in hit.explanation.parts))
    assert [hit.score for hit in hits[3:]] == sorted((hit.score for hit in hits[3:]), reverse=True)
    assert [hit.url for hit in pages_of(index, query)] == [hit.url for hit in hits]
    assert index.search(query, 100, order="date").weaker == 0


def pages_of(index, query):
    """The hits of eleven and then of two at a time."""
    shown, after = [], None
    while after or not shown:
        page = index.search(query, 2 if after else 11, after=after)
        shown += page.hits
        after = page.next
    return shown


def test_a_place_among_the_last_is_none_among_weaker_matches_of_lower_scores(tmp_path):
    rows = [{"title": "", "text": "signal" + " rock" * 400}] * 6 + [{"title": "Of", "text": ""}] * 8
    rows += [{"title": "", "text": "rock"}] * 26
    rows = [row | {"url": f"http://a.test/{number:02}", "language": "en"} for number, row in enumerate(rows)]
    index = Index.open(indexed(tmp_path, rows))
    query = 'signal of of of "signal fog"'
    hits = index.search(query, 100).hits
    assert [hit.url[-2:] for hit in hits] == [f"{number:02}" for number in range(14)]
    assert hits[5].score < hits[6].score
    assert pages_of(index, query) == hits


def test_common_words_are_read_until_there_are_enough_postings():
    sizes, read = {"the": 5, "of": 4, "to": 3}, []

    def read_word(words):
        read.extend(words)
        docs = np.arange(sizes[words[0]], dtype=np.int32)
        return {words[0]: scored(Postings(docs, {}), np.ones(len(docs), np.float32), 10)}

    for most, count in ((1, 1), (5, 1), (6, 2), (9, 2), (10, 3), (100, 3)):
        read.clear()
        found = read_up_to(most, list(sizes), read_word)
        assert read == list(sizes)[:count]
        assert [len(of.scores) for of in found.values()] == [size * (word in read) for word, size in sizes.items()]


def test_pages_without_a_phrase_are_weaker_matches_where_no_page_has_it(tmp_path):
    texts = {
        "phrase": "a long text on the coast, where a fog signal was heard",
        **{f"words{number}": "signal, fog and herring, herring, herring" for number in range(3)},
        "neither": "a lighthouse",
        "excluded": "fog museum",
    }
    rows = [{"url": f"http://a.test/{name}", "text": text, "language": "en"} for name, text in texts.items()]
    index = Index.open(indexed(tmp_path, rows))

    def told(query, **options):
        found = index.search(query, **options)
        return found.total, found.weaker, [(hit.url.rpartition("/")[2], hit.is_weaker) for hit in found.hits]

    with_words = [(f"words{number}", True) for number in range(3)]
    query = 'herring "herring fog" -museum'
    assert told(query) == (0, 4, [*with_words, ("phrase", True)])
    assert told(query, limit=2, offset=2) == (0, 4, [with_words[2], ("phrase", True)])
    (note,) = index.search(query).notes
    assert note.startswith("no page has the phrases in quotation marks")
    for size in (1, 2, 3, 4):
        shown, after = [], None
        while after or not shown:
            page = index.search(query, size, after=after)
            shown += page.hits
            after = page.next
        assert shown == index.search(query).hits
    assert index.search('herring "fog signal"').notes == ()
    assert told('herring "fog signal"') == told('"fog signal"') == (1, 0, [("phrase", False)])
    assert told('"herring fog"') == told('herring +"herring fog"') == told('"herring fog" AND herring') == (0, 0, [])
    assert told('herring "herring fog"', order="date") == (0, 0, [])
    assert index.search(query, facet_values=1).facets["lang"] == []
