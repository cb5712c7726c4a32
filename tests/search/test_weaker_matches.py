"""Documents that follow where none is found: weaker matches."""

from beamtrawl.search.answers.searcher import Index
from tests.support.corpus import indexed


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
